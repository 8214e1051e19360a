//! `loadgen check`: the harness proves itself on the machine it runs on.
//!
//! Five parts, each a file: what the [`machine`] is like, the generator's [`ceiling`], the [`truth`] of
//! its reports, the [`noise`] of repeated trials, and [`agreement`] with other generators. The result
//! is [`kept`] for the comparisons that follow on this machine.

pub mod agreement;
pub mod ceiling;
mod delay_server;
pub mod finding;
pub mod kept;
mod load;
mod machine;
pub mod noise;
pub mod truth;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use serde::{Deserialize, Serialize};

use crate::engine::StopFlag;
use crate::experiment::contender::Places;
use crate::experiment::host;
use crate::experiment::null_server_process::TlsFiles;
use crate::experiment::pins::{self, Pins};
use crate::experiment::record::Host;
use crate::utc;
use agreement::Agreement;
use ceiling::Ceilings;
use finding::{Finding, Grade};
use kept::Identity;
use noise::Noise;
use truth::Truth;

/// Value of [`Check::schema`].
pub const SCHEMA: &str = "loadgen-check/1";

/// A whole check; everything that is shown is derived from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of loadgen.
    pub version: String,
    /// Start, UTC.
    pub started_at: String,
    /// How long it took, s.
    pub elapsed_s: f64,
    /// Shorter than usual, and so less precise.
    pub quick: bool,
    /// Ended early by a signal: parts are missing.
    pub interrupted: bool,
    /// Whether figures from this machine can be published, as far as the parts that ran tell.
    pub publishable: bool,
    /// Why not, one line each.
    pub objections: Vec<String>,
    /// The machine.
    pub host: Host,
    /// The split of its CPUs.
    pub pins: Pins,
    /// What tells this machine and program from others.
    pub identity: Identity,
    /// What on the machine moves figures; `null` if it was not looked at.
    pub machine: Option<Vec<Finding>>,
    /// What the generator can reach.
    pub ceiling: Option<Ceilings>,
    /// Whether its reports are true.
    pub truth: Option<Truth>,
    /// What differences can be shown.
    pub noise: Option<Noise>,
    /// Whether other generators say the same.
    pub agreement: Option<Agreement>,
}

impl Check {
    /// All findings, in the order of the parts.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let machine = self.machine.iter().flatten();
        machine
            .chain(self.ceiling.iter().map(|part| &part.finding))
            .chain(self.truth.iter().map(|part| &part.finding))
            .chain(self.noise.iter().map(|part| &part.finding))
            .chain(self.agreement.iter().map(|part| &part.finding))
    }

    /// Whether every part ran, at full length.
    pub fn is_whole(&self) -> bool {
        let parts = self.machine.is_some()
            && self.ceiling.is_some()
            && self.truth.is_some()
            && self.noise.is_some()
            && self.agreement.is_some();
        parts && !self.quick && !self.interrupted
    }
}

/// A part of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Cores, clocks, limits, the loopback, and what else runs
    Machine,
    /// The highest rate the generator can see here, and what a request costs it
    Ceiling,
    /// Reported percentiles and counts beside those of a server with known delays
    Truth,
    /// The smallest difference between contenders that this machine can show
    Noise,
    /// The same load by wrk, oha, bombardier, h2load and autocannon, where they are on PATH
    Agreement,
}

impl Part {
    /// All, in the order they run.
    pub const ALL: [Self; 5] =
        [Self::Machine, Self::Ceiling, Self::Truth, Self::Noise, Self::Agreement];
}

/// How much is measured.
struct Effort {
    /// How long the idle machine is watched.
    sample: Duration,
    ceiling_rounds: usize,
    ceiling_window: Duration,
    /// Share of a full check's requests.
    truth_requests: f64,
    noise_trials: u32,
    noise_window: Duration,
    agreement_rounds: usize,
}

/// About a minute.
const FULL: Effort = Effort {
    sample: Duration::from_secs(2),
    ceiling_rounds: 3,
    ceiling_window: Duration::from_millis(250),
    truth_requests: 1.0,
    noise_trials: 14,
    noise_window: Duration::from_millis(500),
    agreement_rounds: 2,
};

/// About twenty seconds.
const QUICK: Effort = Effort {
    sample: Duration::from_millis(500),
    ceiling_rounds: 1,
    ceiling_window: Duration::from_millis(150),
    truth_requests: 0.3,
    noise_trials: 6,
    noise_window: Duration::from_millis(250),
    agreement_rounds: 1,
};

/// What the parts work with.
struct Means<'a> {
    places: &'a Places,
    pins: &'a Pins,
    client_tls: Arc<ClientConfig>,
    stop: &'a StopFlag,
}

impl Means<'_> {
    fn tls_files(&self) -> TlsFiles<'_> {
        let places = self.places;
        TlsFiles { cert: &places.cert, key: &places.key, client: &self.client_tls }
    }
}

/// What is asked for.
pub struct Asked<'a> {
    /// The parts to run.
    pub parts: &'a [Part],
    /// A shorter check.
    pub quick: bool,
    /// Where servers and certificate are.
    pub places: &'a Places,
    /// The split of the CPUs.
    pub pins: Pins,
    /// The CPUs this process may use.
    pub cpus_allowed: Vec<usize>,
    /// TLS that trusts the certificate.
    pub client_tls: Arc<ClientConfig>,
    /// Raised to end it early.
    pub stop: &'a StopFlag,
}

/// Runs the parts that were asked for. `began` is told of each.
///
/// A part that cannot be measured is a finding, not an error: it says what is wrong with the machine.
pub fn run(asked: Asked<'_>, mut began: impl FnMut(Part)) -> Check {
    let (start, started_at) = (Instant::now(), utc::now());
    let effort = if asked.quick { QUICK } else { FULL };
    let host = host::describe(&asked.cpus_allowed);
    let counted = machine::Counted::now(&asked.cpus_allowed);
    let means = Means {
        places: asked.places,
        pins: &asked.pins,
        client_tls: asked.client_tls,
        stop: asked.stop,
    };
    let mut wanted = |part| {
        let wanted = asked.parts.contains(&part) && !asked.stop.is_raised();
        if wanted {
            began(part);
        }
        wanted
    };
    let mut machine =
        wanted(Part::Machine).then(|| machine::look(&host, &asked.pins, effort.sample, asked.stop));
    // As in a comparison. Where it is refused, the line on pinning says so.
    let _ = pins::pin_this_thread(&asked.pins.generator_cpus);
    let mut broken = Vec::new();
    let ceiling = wanted(Part::Ceiling)
        .then(|| ok(ceiling::measure(&means, &effort), "ceiling", &mut broken));
    let truth =
        wanted(Part::Truth).then(|| ok(truth::measure(&means, &effort), "truth", &mut broken));
    let noise =
        wanted(Part::Noise).then(|| ok(noise::measure(&means, &effort), "noise", &mut broken));
    let agreement = wanted(Part::Agreement)
        .then(|| ok(agreement::measure(&means, &effort), "agreement", &mut broken));
    if let Some(machine) = &mut machine {
        machine.extend(counted.since());
    }
    let mut check = Check {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started_at,
        elapsed_s: start.elapsed().as_secs_f64(),
        quick: asked.quick,
        interrupted: asked.stop.is_raised(),
        publishable: false,
        objections: broken,
        host,
        pins: asked.pins,
        identity: Identity::here(),
        machine,
        ceiling: ceiling.flatten(),
        truth: truth.flatten(),
        noise: noise.flatten(),
        agreement: agreement.flatten(),
    };
    let bad = check.findings().filter(|finding| finding.grade == Grade::Bad);
    let bad: Vec<String> = bad.map(Finding::in_words).collect();
    check.objections.extend(bad);
    if check.interrupted {
        check.objections.push("ended early: parts of the check are missing".into());
    }
    check.publishable = check.objections.is_empty();
    check
}

/// A part that could not be measured speaks against the machine.
fn ok<T>(part: Result<T, String>, name: &str, broken: &mut Vec<String>) -> Option<T> {
    part.map_err(|reason| broken.push(format!("{name} could not be measured: {reason}"))).ok()
}
