//! The generator's own ceiling: what it reaches with requests and answers of a scenario's size on a
//! server that does nothing but answer, on the same CPUs.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::contender::{self, HOST};
use super::load::{self, LoadOptions};
use super::preflight::{AnswerShape, Reach};
use super::probe::Probe;
use super::process_group::ProcessGroup;
use super::trial::Setting;
use crate::engine::{self, Expectations, RunSpec};
use crate::scenario::{Content, Profile, RequestBody, Scenario};

/// Loads of one measurement, of which the best counts: a ceiling is what can be reached.
const ROUNDS: u64 = 3;
/// Each is short, because a ceiling needs no decimals.
const WARMUP: Duration = Duration::from_millis(100);
const DURATION: Duration = Duration::from_millis(250);
/// How long the server may take to start.
const READY_TIMEOUT: Duration = Duration::from_secs(5);
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
        Self {
            tls: scenario.tls,
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
    let port = contender::choose_port(None)?;
    let mut server = start(setting, scenario, port)?;
    let reach = Reach {
        address: SocketAddr::new(HOST, port),
        tls: scenario.tls.then(|| Arc::clone(&setting.tls)),
    };
    wait_until_ready(&reach, &mut server)?;
    let rounds = (1..=ROUNDS).map(|seed| round(setting, scenario, shape, &reach, seed));
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
        profile: Profile { duration: DURATION, ..setting.profile },
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

fn start(setting: &Setting<'_>, scenario: &Scenario, port: u16) -> Result<ProcessGroup, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let path = |path: &Path| path.as_os_str().to_owned();
    let mut command = Command::new(program);
    command
        .args(["null-server", "--port", &port.to_string()])
        .args(["--response-bytes", &body_sizes(scenario).1.to_string()])
        .args(["--workers", &setting.pins.server_cpus.len().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if scenario.tls {
        command.args(["--cert".into(), path(&setting.places.cert)]);
        command.args(["--key".into(), path(&setting.places.key)]);
    }
    ProcessGroup::spawn(command, &setting.pins.server_cpus, None, None)
        .map_err(|error| format!("the built-in null server: {error}"))
}

fn wait_until_ready(reach: &Reach, server: &mut ProcessGroup) -> Result<(), String> {
    let end = Instant::now() + READY_TIMEOUT;
    loop {
        match Probe::connect(reach.address, reach.tls.as_ref(), READY_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() >= end || server.exit().is_some() => {
                return Err(format!("the built-in null server does not start: {error}"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
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
