//! From a scenario to what the engine is asked for, and from its result to a trial's record.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::preflight::{AnswerShape, Reach};
use super::record::Load;
use crate::engine::{
    Addresses, Body, Expectations, Framing, Pacing, RequestSpec, RunResult, RunSpec, Sampling,
    Stop, Target, Template, TlsSpec,
};
use crate::histogram::{self, Times};
use crate::scenario::{Profile, RequestBody, Scenario};

/// One answer in this time, per generator thread, has its content checked.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Decoding a QR picture takes milliseconds of the generator's CPUs.
const COSTLY_SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// Gap between two connects: listeners that hand connections out in turn then spread them.
const RAMP: Duration = Duration::from_micros(200);
/// Bound on one request of a load.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// What one trial is asked for, besides its scenario.
#[derive(Clone, Debug)]
pub struct LoadOptions<'a> {
    /// Connections kept open.
    pub connections: u32,
    /// The window, among others.
    pub profile: Profile,
    /// Load before it, on the same connections.
    pub warmup: Duration,
    /// Generator threads.
    pub threads: usize,
    /// Their CPUs.
    pub cpus: &'a [usize],
    /// Seed of the random values.
    pub seed: u64,
    /// The certificate every contender was given.
    pub cert: &'a Path,
    /// Where the upload files are.
    pub data_dir: &'a Path,
}

/// The run that `scenario` means for the engine.
///
/// # Errors
/// A placeholder or file that cannot be used.
pub fn run_spec(
    scenario: &Scenario,
    reach: &Reach,
    shape: &AnswerShape,
    options: &LoadOptions<'_>,
) -> Result<RunSpec, String> {
    let connections = NonZeroU32::new(options.connections).ok_or("0 connections")?;
    let threads = options.threads.min(connections.get() as usize);
    Ok(RunSpec {
        target: target(scenario, reach, options.cert),
        request: request(scenario, options.data_dir)?,
        connections,
        threads: NonZeroUsize::new(threads).ok_or("0 threads")?,
        pacing: Pacing::Closed,
        stop: options
            .profile
            .requests
            .map_or(Stop::Duration(options.profile.duration), Stop::Requests),
        warmup: options.warmup,
        ramp: RAMP,
        timeout: REQUEST_TIMEOUT,
        connect_timeout: REQUEST_TIMEOUT,
        drain: Duration::from_secs(2),
        keep_alive: true,
        expect: expectations(scenario, shape),
        sampling: Some(sampling(scenario)),
        cpus: options.cpus.to_vec(),
        seed: options.seed,
    })
}

fn target(scenario: &Scenario, reach: &Reach, cert: &Path) -> Target {
    let authority = reach.address.to_string();
    Target {
        url: format!("{}://{authority}{}", scenario.scheme(), scenario.path),
        authority,
        addresses: Addresses::Tcp(vec![reach.address]),
        tls: scenario.tls.then(|| TlsSpec {
            server_name: reach.address.ip().to_string(),
            ca_file: Some(cert.to_owned()),
            ..TlsSpec::default()
        }),
    }
}

fn request(scenario: &Scenario, data_dir: &Path) -> Result<RequestSpec, String> {
    let headers = scenario.headers.iter();
    let headers: Result<Vec<_>, String> =
        headers.map(|(name, value)| Ok((name.clone(), template(value)?))).collect();
    let body = match &scenario.body {
        None => Body::None,
        Some(RequestBody::Template(text)) => {
            Body::Template(template(text)?, Framing::ContentLength)
        }
        Some(RequestBody::UploadFile(size)) => {
            let path = data_dir.join(format!("upload/{size}.bin"));
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            Body::Fixed(Arc::from(bytes), Framing::ContentLength)
        }
    };
    Ok(RequestSpec {
        method: scenario.method.clone(),
        path: template(&scenario.path)?,
        headers: headers?,
        body,
    })
}

fn template(text: &str) -> Result<Template, String> {
    Template::parse(text).map_err(|error| error.to_string())
}

/// Status of every answer, and its length where all right answers are equally long.
fn expectations(scenario: &Scenario, shape: &AnswerShape) -> Expectations {
    let varies = |text: &String| text.contains("{seq}");
    let request_varies = varies(&scenario.path)
        || matches!(&scenario.body, Some(RequestBody::Template(text)) if varies(text));
    let fixed = scenario.answer.has_fixed_length() && !request_varies;
    // The preflight of fib asks for another n than the load does.
    let fixed = fixed && !matches!(scenario.answer.content, crate::scenario::Content::Fibonacci);
    Expectations {
        status: vec![scenario.answer.status],
        length: fixed.then_some(shape.body_bytes as u64),
        ..Expectations::default()
    }
}

fn sampling(scenario: &Scenario) -> Sampling {
    let answer = scenario.answer.clone();
    let costly = matches!(answer.content, crate::scenario::Content::Qr);
    Sampling {
        interval: if costly { COSTLY_SAMPLE_INTERVAL } else { SAMPLE_INTERVAL },
        check: Arc::new(move |exchange| answer.check(exchange)),
    }
}

/// The record of what the engine measured.
pub fn load(result: &RunResult, connections: u32) -> Load {
    let elapsed_s = result.elapsed.as_secs_f64();
    let counts = result.requests;
    let service_time_us = Times::of(&result.service_time_ns);
    let rate_per_s = if elapsed_s > 0.0 { count(counts.completed) / elapsed_s } else { 0.0 };
    let waiting = rate_per_s * service_time_us.mean.unwrap_or(0.0) / 1e6;
    let tls = result.tls.as_ref().map(|tls| {
        let alpn = tls.alpn.as_deref().unwrap_or("no ALPN");
        format!("{} {} {alpn}", tls.version, tls.cipher)
    });
    Load {
        elapsed_s,
        warmup_s: result.warmup.elapsed.as_secs_f64(),
        warmup_steady: None,
        requests: counts,
        rate_per_s,
        service_time_us,
        service_time_ns_hdr: histogram::encode(&result.service_time_ns),
        status: result.status.clone(),
        errors: result.errors.iter().map(|(k, t)| (k.name().to_owned(), t.clone())).collect(),
        bytes_received: result.bytes.received,
        bytes_sent: result.bytes.sent,
        content_checked: result.samples.checked,
        tls,
        generator_cpu_user_s: result.generator.cpu_user.as_secs_f64(),
        generator_cpu_system_s: result.generator.cpu_system.as_secs_f64(),
        generator_busy_fraction: result.generator.busy_fraction,
        littles_law_residual: 1.0 - waiting / f64::from(connections.max(1)),
        timeline: result.timeline.clone(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}
