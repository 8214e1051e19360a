//! The records of an experiment: what is written after each trial, and the result made of them.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::ceiling::Ceiling;
use super::checked::Checked;
use super::pins::Pins;
use super::plan::{Cell, PlannedTrial};
use super::preflight::AnswerShape;
use super::sampler::{Memory, WindowCost};
use super::stats::{Interval, NOISE_THRESHOLD};
use super::verdict::Verdict;
pub use crate::engine::{ErrorTally as Failure, RequestCounts as Requests};
use crate::histogram::Times;

/// Value of [`Comparison::schema`].
pub const SCHEMA: &str = "loadgen-compare/1";

/// One trial, as appended to `trials.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was measured, and in which block.
    #[serde(flatten)]
    pub planned: PlannedTrial,
    /// Start, UTC.
    pub started_at: String,
    /// Seed of the random values in its requests.
    pub seed: u64,
    /// What its figures can be used for.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The command line of the contender.
    pub command: Vec<String>,
    /// The port it was given.
    pub port: u16,
    /// From its start to its first right answer, ms.
    pub ready_ms: Option<f64>,
    /// What its answers look like.
    pub answer: Option<AnswerShape>,
    /// What the generator measured.
    pub load: Option<Load>,
    /// What the server spent.
    pub server: Option<WindowCost>,
    /// What the generator reached with this load on a server that does nothing but answer.
    #[serde(default)]
    pub generator_ceiling_per_s: Option<f64>,
    /// How CPU time was counted.
    pub cpu_source: Option<String>,
    /// Memory of the server.
    pub memory_mib: Option<Memory>,
    /// What the sink counted, where the contender is the client. `server` and `memory_mib` are the
    /// client's then, and what `load` says of the generator is the sink's.
    #[serde(default)]
    pub sink: Option<SinkCounts>,
    /// Last lines of the contender's output, when it failed.
    pub output: Option<String>,
}

/// The server that a client uploads to, and what it counted from the start of the client to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkCounts {
    /// Its command line.
    pub command: Vec<String>,
    /// What of it this contender alone asks for.
    pub options: Vec<String>,
    /// Complete uploads.
    pub requests: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// What the generator measured in one window; where the contender is the client, what that tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Length of the window, s.
    pub elapsed_s: f64,
    /// Length of the warm-up before it, s.
    pub warmup_s: f64,
    /// Whether the rate was steady at its end; `null` where its length was fixed.
    #[serde(default)]
    pub warmup_steady: Option<bool>,
    /// Where each request ended.
    pub requests: Requests,
    /// Completed requests per second.
    pub rate_per_s: f64,
    /// Service time of completed requests.
    pub service_time_us: Times,
    /// The histogram it is taken from, ns: HdrHistogram V2, deflated, base64; merges without loss.
    #[serde(default)]
    pub service_time_ns_hdr: String,
    /// Final responses by status code.
    pub status: BTreeMap<u16, u64>,
    /// Failures by kind.
    pub errors: BTreeMap<String, Failure>,
    /// Response bytes received, heads included (for TLS: plaintext); 0 where the contender is the
    /// client, which does not tell.
    pub bytes_received: u64,
    /// Request bytes sent; of a client: bytes of its files.
    pub bytes_sent: u64,
    /// Answers whose content was checked during the load.
    pub content_checked: u64,
    /// Protocol and cipher, for TLS.
    pub tls: Option<String>,
    /// CPU time of the generator in user mode, s.
    pub generator_cpu_user_s: f64,
    /// CPU time of the generator in the kernel, s.
    pub generator_cpu_system_s: f64,
    /// Largest share of the window that one generator thread was on the CPU, 0 to 1.
    pub generator_busy_fraction: f64,
    /// Little's law: `(connections - rate × mean service time) / connections`.
    pub littles_law_residual: f64,
    /// Completed requests in each tenth of a second.
    pub timeline: Vec<u64>,
}

/// A whole comparison, as in `result.json`; everything else is derived from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// How it was asked for, and the machine.
    pub manifest: Manifest,
    /// The machine.
    pub host: Host,
    /// One entry for each scenario × contender × connections.
    pub cells: Vec<CellResult>,
    /// What was not measured, and how to get it.
    pub skipped: Vec<String>,
    /// Differences between contenders that readers must know.
    pub warnings: Vec<String>,
    /// Ended early by a signal.
    pub interrupted: bool,
    /// All trials, in the order they ran.
    pub trials: Vec<Trial>,
}

/// What is needed to run it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of loadgen.
    pub version: String,
    /// Revision of the source, if known.
    pub git_revision: Option<String>,
    /// The command line.
    pub command_line: Vec<String>,
    /// Start, UTC.
    pub started_at: String,
    /// Profile name.
    pub profile: String,
    /// Trials of each cell.
    pub trials_per_cell: u32,
    /// Shortest load before each window, s.
    pub warmup_s: f64,
    /// Longest load before each window, s: it ends when the rate is steady.
    #[serde(default)]
    pub warmup_max_s: f64,
    /// Each window that is not among `windows`, s.
    pub duration_s: f64,
    /// Windows and CPU quotas of each contender in each scenario.
    #[serde(default)]
    pub windows: Vec<PlannedWindow>,
    /// What counts and durations were multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// Seed of the order and of all random values.
    pub seed: u64,
    /// Order the trials were to run in.
    pub order: Vec<PlannedTrial>,
    /// Name of the contender the others are compared with.
    pub ceiling: String,
    /// Workers each contender was asked to use.
    pub workers: usize,
    /// CPU time per time that each contender may use at most, if it was bounded for all.
    #[serde(default)]
    pub cpu_quota: Option<f64>,
    /// Generator threads.
    pub generator_threads: usize,
    /// What the generator reached on a server that does nothing but answer.
    #[serde(default)]
    pub generator_ceilings: Vec<Ceiling>,
    /// The check of this machine that verdicts and ranks rest on; `null` if there was none.
    #[serde(default)]
    pub check: Option<Checked>,
    /// The split of the CPUs.
    pub pins: Pins,
    /// Version of each program, by contender, asked of the very binaries that ran.
    pub versions: BTreeMap<String, String>,
    /// What each scenario sends, in one line.
    #[serde(default)]
    pub requests: BTreeMap<String, String>,
    /// Size of the file in the scenarios whose contenders are clients and upload one, bytes.
    #[serde(default)]
    pub uploads: BTreeMap<String, u64>,
    /// SHA-256 of `runtimes/package-lock.json`.
    pub runtimes_lock_sha256: Option<String>,
    /// SHA-256 of the suite.
    #[serde(default)]
    pub suite_sha256: String,
    /// When the run was gone on with after it had ended early, UTC.
    #[serde(default)]
    pub resumed_at: Vec<String>,
}

fn one() -> f64 {
    1.0
}

/// How long, and under which bound, a contender is measured in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWindow {
    /// Scenario name.
    pub scenario: String,
    /// Contender name.
    pub contender: String,
    /// So many requests, however long they take; `null`: `duration_s` ends the window.
    pub requests: Option<NonZeroU64>,
    /// Length, s; for a number of requests an estimate.
    pub duration_s: f64,
    /// CPU time per time that the contender may use at most, if bounded.
    pub cpu_quota: Option<f64>,
}

impl Manifest {
    /// Whether counts and durations are shorter than the profile's.
    pub fn is_scaled(&self) -> bool {
        self.scale < 1.0
    }

    /// The window of `contender` in `scenario`, if it has one of its own.
    pub fn window(&self, scenario: &str, contender: &str) -> Option<&PlannedWindow> {
        self.windows.iter().find(|w| w.scenario == scenario && w.contender == contender)
    }

    /// Differences under this share are ties: what is known to be noise on this machine, and never
    /// less than [`NOISE_THRESHOLD`].
    pub fn least_difference(&self) -> f64 {
        let trials = self.trials_per_cell;
        self.check.as_ref().map_or(NOISE_THRESHOLD, |check| check.smallest_difference(trials))
    }

    /// The length of the warm-up in words: `1 s`, or `1 s to 3 s, until the rate was steady,`.
    pub fn warmup_in_words(&self) -> String {
        let (least, most) = (self.warmup_s, self.warmup_max_s);
        if most > least {
            format!("{least} s to {most} s, until the rate was steady,")
        } else {
            format!("{least} s")
        }
    }
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Host {
    pub cpu_model: String,
    pub cpus: usize,
    pub cpus_allowed: Vec<usize>,
    pub memory_mib: u64,
    pub kernel: String,
    pub os: String,
    pub architecture: String,
    pub governor: Option<String>,
    pub virtualised: Option<String>,
    pub open_files_limit: u64,
    pub mitigations: BTreeMap<String, String>,
}

/// One cell: medians over its trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Scenario name.
    pub scenario: String,
    /// Contender name.
    pub contender: String,
    /// Connections kept open.
    pub connections: u32,
    /// What its figures can be used for; `null` while none of its trials ran.
    pub verdict: Option<Verdict>,
    /// Why.
    pub reason: String,
    /// Place of a cell whose contender was the limit in its table, from 1; tied cells share one. Cells
    /// that the other side limited and that were ahead of it have a place too, though nobody knows which.
    pub rank: Option<usize>,
    /// Whether another cell has the same rank.
    pub tied: bool,
    /// Trials that count, and trials in all.
    pub trials: TrialCounts,
    /// Completed requests per second.
    pub rate_per_s: Option<f64>,
    /// 95 % bootstrap interval of the median rate over trials.
    pub rate_interval: Option<Interval>,
    /// Bytes of uploaded files per second, in millions, where the contender is the client.
    #[serde(default)]
    pub mb_per_s: Option<f64>,
    /// Blocks whose rate is far from the others' (modified z-score over 3.5).
    pub outlying_blocks: Vec<u32>,
    /// Service time: medians over the trials, but the least `min`, the largest `max`, and the
    /// `count` of all.
    pub service_time_us: Option<Times>,
    /// CPU of the server, percent of one CPU.
    pub cpu_percent: Option<f64>,
    /// CPU of the server in the kernel, percent of one CPU.
    pub cpu_system_percent: Option<f64>,
    /// CPU time of the server for one verified request.
    pub cpu_us_per_request: Option<f64>,
    /// 95 % bootstrap interval of it over trials.
    pub cpu_us_per_request_interval: Option<Interval>,
    /// Memory of the server.
    pub memory_mib: Option<Memory>,
    /// Threads of the server.
    pub threads: Option<usize>,
    /// Threads that shared the work: those with a quarter of the busiest one's CPU time or more.
    #[serde(default)]
    pub working_threads: Option<usize>,
    /// Context switches of all threads, per second.
    #[serde(default)]
    pub context_switches_per_s: Option<f64>,
    /// Load before the windows, s.
    #[serde(default)]
    pub warmup_s: Option<f64>,
    /// Share of the periods in which the CPU quota was used up, percent; `null` without a quota.
    #[serde(default)]
    pub throttled_percent: Option<f64>,
    /// Completed requests of all its trials.
    pub requests: u64,
    /// Failed and timed-out requests of all its trials.
    pub errors: u64,
    /// Share of the generator's time that was busy, 0 to 1.
    pub generator_busy_fraction: Option<f64>,
    /// Rate by what the generator reached on a server that does nothing but answer, percent.
    #[serde(default)]
    pub percent_of_generator_ceiling: Option<f64>,
    /// Rate by the ceiling's rate in the same scenario at the same connections: the median over blocks
    /// of the ratio within the block.
    pub percent_of_ceiling: Option<f64>,
    /// 95 % bootstrap interval of it.
    pub percent_of_ceiling_interval: Option<Interval>,
    /// CPU time per request by the ceiling's, in the same way.
    pub cost_ratio_to_ceiling: Option<f64>,
}

/// How many trials a cell rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    /// Those its figures are the medians of.
    pub used: usize,
    /// Those that ran.
    pub run: usize,
}

impl CellResult {
    /// The cell this is the result of.
    pub fn cell(&self) -> Cell {
        Cell {
            scenario: self.scenario.clone(),
            contender: self.contender.clone(),
            connections: self.connections,
        }
    }
}
