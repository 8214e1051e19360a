//! The generator's own ceiling: what it reaches with requests and answers of a scenario's size on a
//! server that does nothing but answer, on the same CPUs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::load::{self, LoadOptions};
use super::null_server_process::{NullServerProcess, TlsFiles};
use super::preflight::{AnswerShape, Reach};
use super::trial::Setting;
use crate::engine::{self, Expectations, RunSpec};
use crate::scenario::{Content, Profile, RequestBody, Scenario};

/// Loads of one measurement, of which the best counts: a ceiling is what can be reached.
const ROUNDS: u64 = 3;
/// Each is short, because a ceiling needs no decimals.
const WARMUP: Duration = Duration::from_millis(100);
const DURATION: Duration = Duration::from_millis(250);
/// About the size of a QR code's picture, which depends on the contender.
const QR_BYTES: usize = 4 * 1024;
/// A short answer.
const SMALL_BYTES: usize = 30;
/// Sizes in the same class share a measurement: each class is four times the one before.
const SMALLEST_CLASS: usize = 256;

/// What decides how fast the generator can be: measured once for each that occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LoadShape {
    /// HTTPS.
    pub tls: bool,
    /// Connections kept open.
    pub connections: u32,
    /// Upper bound of the request's body, bytes.
    pub request_bytes: usize,
    /// Upper bound of the answer's body, bytes.
    pub response_bytes: usize,
}

/// What the generator reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The load.
    #[serde(flatten)]
    pub shape: LoadShape,
    /// Completed requests per second.
    pub rate_per_s: f64,
    /// Largest share of the time that one generator thread was on the CPU, 0 to 1.
    pub generator_busy_fraction: f64,
}

impl LoadShape {
    /// The load of `scenario` at `connections`.
    pub fn of(scenario: &Scenario, connections: u32) -> Self {
        let (request_bytes, response_bytes) = body_sizes(scenario);
        Self::new(scenario.tls, connections, request_bytes, response_bytes)
    }

    /// The load with bodies of these sizes.
    pub fn new(tls: bool, connections: u32, request_bytes: usize, response_bytes: usize) -> Self {
        Self {
            tls,
            connections,
            request_bytes: class(request_bytes),
            response_bytes: class(response_bytes),
        }
    }
}

/// Bytes in the bodies of a request and of its answer, about.
fn body_sizes(scenario: &Scenario) -> (usize, usize) {
    let request = match &scenario.body {
        None => 0,
        Some(RequestBody::Template(text)) => text.len(),
        Some(RequestBody::UploadFile(bytes)) => usize::try_from(*bytes).unwrap_or(usize::MAX),
    };
    let response = match &scenario.answer.content {
        Content::Text(text) => text.len(),
        Content::File(bytes) => bytes.len(),
        Content::Echo => request,
        Content::Qr => QR_BYTES,
        Content::Counted => 0,
        Content::Json(_) | Content::Fibonacci | Content::Any => SMALL_BYTES,
    };
    (request, response)
}

/// The class of a size: 0, or the next power of four times the smallest.
fn class(bytes: usize) -> usize {
    let mut class = SMALLEST_CLASS;
    while class < bytes {
        class = class.saturating_mul(4);
    }
    if bytes == 0 { 0 } else { class }
}

/// Measures what the generator reaches with `scenario` at `connections`.
///
/// # Errors
/// Why there is no such figure, in one line.
pub fn measure(
    setting: &Setting<'_>,
    scenario: &Scenario,
    connections: u32,
) -> Result<Ceiling, String> {
    let shape = LoadShape::of(scenario, connections);
    let places = setting.places;
    let tls = TlsFiles { cert: &places.cert, key: &places.key, client: &setting.tls };
    let response_bytes = body_sizes(scenario).1;
    let server_cpus = &setting.pins.server_cpus;
    let server =
        NullServerProcess::start(response_bytes, server_cpus, scenario.tls.then_some(tls))?;
    let rounds = (1..=ROUNDS).map(|seed| round(setting, scenario, shape, &server.reach, seed));
    let rounds = rounds.collect::<Result<Vec<Ceiling>, String>>()?;
    let best = rounds.into_iter().max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    best.filter(|ceiling| ceiling.rate_per_s > 0.0)
        .ok_or_else(|| "the built-in null server answered nothing".into())
}

/// One load.
fn round(
    setting: &Setting<'_>,
    scenario: &Scenario,
    shape: LoadShape,
    reach: &Reach,
    seed: u64,
) -> Result<Ceiling, String> {
    let options = LoadOptions {
        connections: shape.connections,
        profile: Profile { duration: DURATION, requests: None, ..setting.profile },
        warmup: WARMUP,
        threads: setting.pins.generator_cpus.len(),
        cpus: &setting.pins.generator_cpus,
        seed,
        cert: &setting.places.cert,
        data_dir: &setting.places.data,
    };
    let spec = load::run_spec(scenario, reach, &AnswerShape::default(), &options)?;
    // Its answers have the right size and nothing else.
    let spec = RunSpec { expect: Expectations::default(), sampling: None, ..spec };
    let result = engine::run(&spec, setting.stop, &mut ()).map_err(|error| error.to_string())?;
    let load = load::load(&result, shape.connections);
    Ok(Ceiling {
        shape,
        rate_per_s: load.rate_per_s,
        generator_busy_fraction: load.generator_busy_fraction,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_class_share_a_measurement() {
        assert_eq!([0, 1, 12, 256].map(class), [0, 256, 256, 256]);
        assert_eq!([257, 1024, 12_345].map(class), [1024, 1024, 16_384]);
        assert_eq!(class(usize::MAX), usize::MAX);
    }
}
