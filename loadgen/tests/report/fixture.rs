//! A comparison with everything a report must show: several scenarios and contenders, three
//! numbers of connections, and cells that are invalid, client-bound, noisy and tied.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use loadgen::experiment::checked::Checked;
use loadgen::experiment::pins::Pins;
use loadgen::experiment::plan::{self, Cell};
use loadgen::experiment::preflight::AnswerShape;
use loadgen::experiment::record::{Comparison, Host, Load, Manifest, Requests, SCHEMA, Trial};
use loadgen::experiment::sampler::{Memory, ThreadShare, WindowCost};
use loadgen::experiment::summary;
use loadgen::experiment::verdict::Verdict;
use loadgen::histogram::{self, Times};

/// Trials of each cell.
pub(crate) const TRIALS: u32 = 5;
const SEED: u64 = 7;
const WINDOW_S: f64 = 1.5;

/// A contender in a scenario: its median rate at 100 connections and its CPU time per request.
type Player = (&'static str, f64, f64);

const SCENARIOS: [(&str, &[u32], &[Player]); 4] = [
    (
        "hello",
        &[10, 50, 100],
        &[
            ("rust", 231_000.0, 3.9),
            ("node", 48_200.0, 20.6),
            ("deno", 97_400.0, 10.1),
            ("bun", 121_000.0, 8.2),
            ("node-fastify", 41_800.0, 23.8),
            ("bun-elysia", 120_500.0, 8.2),
        ],
    ),
    ("https", &[50, 100], &[("rust", 160_000.0, 6.0), ("node", 30_000.0, 33.0), ("bad", 0.0, 0.0)]),
    (
        "qr <&> long name",
        &[10],
        &[
            ("rust", 6_120.5, 163.0),
            ("node", 47.2, 21_180.0),
            ("a-contender-with-a-very-long-name", 52.9, 18_900.0),
        ],
    ),
    ("fib", &[25], &[("rust", 310.0, 3_220.0), ("node-express", 71.0, 14_080.0)]),
];

/// The comparison. `rate` scales the rates of a scenario and contender, and the CPU time against it.
pub(crate) fn comparison(rate: impl Fn(&str, &str) -> f64) -> Comparison {
    let cells = cells();
    let order = plan::order(&cells, TRIALS, SEED);
    let trials: Vec<Trial> = order
        .iter()
        .enumerate()
        .map(|(index, planned)| {
            let scale = rate(&planned.cell.scenario, &planned.cell.contender);
            trial(planned.clone(), index, scale)
        })
        .collect();
    let manifest = manifest(order);
    Comparison {
        schema: SCHEMA.into(),
        host: host(),
        cells: summary::cells(
            &cells,
            &trials,
            &manifest.ceiling,
            manifest.least_difference(),
            SEED,
        ),
        skipped: vec!["deno: not on this machine; npm ci in runtimes/ fetches it".into()],
        warnings: summary::warnings(&trials, manifest.workers),
        interrupted: false,
        trials,
        manifest,
    }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (scenario, levels, players) in SCENARIOS {
        for &connections in levels {
            for (contender, _, _) in players {
                let (scenario, contender) = (scenario.into(), (*contender).into());
                cells.push(Cell { scenario, contender, connections });
            }
        }
    }
    cells
}

fn player(cell: &Cell) -> Player {
    let scenario = SCENARIOS.iter().find(|(name, _, _)| *name == cell.scenario).unwrap();
    *scenario.2.iter().find(|(name, _, _)| *name == cell.contender).unwrap()
}

/// A number from -1 to 1 that looks random and is always the same.
fn noise(index: usize, salt: usize) -> f64 {
    let mixed = (index * 31 + salt * 17 + 5).wrapping_mul(2_654_435_761) % 1000;
    mixed as f64 / 500.0 - 1.0
}

fn trial(planned: plan::PlannedTrial, index: usize, scale: f64) -> Trial {
    let (name, rate, cost_us) = player(&planned.cell);
    let verdict = match (name, planned.cell.scenario.as_str(), planned.cell.connections) {
        ("bad", _, _) => Verdict::Invalid,
        ("rust", "hello", 100) => Verdict::ClientBound,
        (_, "fib", _) => Verdict::HostNoisy,
        _ => Verdict::ServerBound,
    };
    let levels = f64::from(planned.cell.connections) / 100.0;
    let rate = rate * scale * (0.7 + 0.3 * levels.min(1.0)) * (1.0 + 0.012 * noise(index, 1));
    let cost_us = cost_us / scale * (1.0 + 0.012 * noise(index, 2));
    let valid = verdict != Verdict::Invalid;
    Trial {
        started_at: format!("2026-11-30T12:{:02}:{:02}Z", index / 20 % 60, index * 3 % 60),
        seed: index as u64,
        verdict,
        reason: match verdict {
            Verdict::Invalid => "the answer's body is \"<h1>Not Found</h1>\", not 12 bytes".into(),
            Verdict::ClientBound => "the generator was 98.1 % busy, the server 71.4 %".into(),
            Verdict::HostNoisy => "other processes took 23.0 % of the CPUs in use".into(),
            _ => "the server was 99.2 % busy".into(),
        },
        command: vec![format!("/opt/bin/{name}"), "--flag=<x>".into()],
        port: 40_000,
        ready_ms: valid.then_some(41.5),
        answer: valid.then(|| answer(name)),
        load: valid.then(|| load(rate, planned.cell.connections, index)),
        server: valid.then(|| WindowCost {
            elapsed_s: WINDOW_S + 0.002,
            cpu_user_s: rate * cost_us * 0.6 / 1e6 * WINDOW_S,
            cpu_system_s: rate * cost_us * 0.4 / 1e6 * WINDOW_S,
            threads: 7,
            busy_threads: vec![ThreadShare { name: "main".into(), cpu_percent: 97.0 }],
            context_switches: 1200,
            host_busy_s: 2.9,
            host_steal_s: 0.0,
            ..WindowCost::default()
        }),
        generator_ceiling_per_s: None,
        cpu_source: valid.then(|| "cgroup v2 cpu.stat".into()),
        memory_mib: valid.then(|| Memory {
            mean: 20.0 + cost_us.min(80.0),
            peak: 25.0 + cost_us.min(80.0),
            proportional: None,
            samples: 15,
            sampler_cpu_s: 0.001,
        }),
        sink: None,
        output: (!valid).then(|| "Error: <something> went wrong\n    at main".into()),
        planned,
    }
}

fn answer(name: &str) -> AnswerShape {
    AnswerShape {
        headers: vec!["content-length".into(), "content-type".into(), "date".into()],
        content_type: Some("text/plain; charset=utf-8".into()),
        head_bytes: 100 + name.len(),
        body_bytes: 12,
        framing: "content-length".into(),
        warnings: Vec::new(),
    }
}

fn load(rate: f64, connections: u32, index: usize) -> Load {
    let completed = (rate * WINDOW_S) as u64;
    let mean_us = f64::from(connections) / rate * 1e6;
    let times = service_times(mean_us, index);
    let step = |step: usize| (rate / 10.0 * (1.0 + 0.04 * noise(index, step + 3))) as u64;
    Load {
        elapsed_s: WINDOW_S,
        warmup_s: 0.8,
        warmup_steady: None,
        requests: Requests {
            sent: completed + u64::from(connections),
            completed,
            in_flight_at_end: connections.into(),
            ..Requests::default()
        },
        rate_per_s: rate,
        service_time_us: Times { mean: Some(mean_us), ..Times::of(&times) },
        service_time_ns_hdr: histogram::encode(&times),
        status: BTreeMap::from([(200, completed)]),
        content_checked: 15,
        generator_busy_fraction: 0.4,
        timeline: (0..15).map(step).collect(),
        ..Load::default()
    }
}

/// A skewed distribution with this mean, about.
fn service_times(mean_us: f64, index: usize) -> Histogram<u64> {
    let mut times = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    for step in 0..4000 {
        let quantile = (f64::from(step) + 0.5) / 4000.0;
        let tail = (1.0 - quantile).powf(-0.35) * (1.0 + 0.01 * noise(index, 2));
        times.record((mean_us * 650.0 * tail) as u64).unwrap();
    }
    times
}

fn manifest(order: Vec<plan::PlannedTrial>) -> Manifest {
    Manifest {
        version: "0.1.0".into(),
        git_revision: Some("0123abc".into()),
        command_line: vec!["loadgen".into(), "compare".into()],
        started_at: "2026-11-30T12:00:00Z".into(),
        profile: "quick".into(),
        trials_per_cell: TRIALS,
        warmup_s: 0.8,
        warmup_max_s: 0.8,
        duration_s: WINDOW_S,
        windows: Vec::new(),
        scale: 1.0,
        seed: SEED,
        order,
        ceiling: "rust".into(),
        workers: 1,
        cpu_quota: None,
        generator_ceilings: Vec::new(),
        check: Some(checked()),
        generator_threads: 1,
        pins: Pins { server_cpus: vec![0], generator_cpus: vec![1], warning: None },
        versions: BTreeMap::from([("node".into(), "v24.1.0".into())]),
        requests: BTreeMap::from([("hello".into(), "GET http://HOST/".into())]),
        uploads: BTreeMap::new(),
        runtimes_lock_sha256: None,
        suite_sha256: String::new(),
        resumed_at: Vec::new(),
    }
}

fn checked() -> Checked {
    Checked {
        file: "/home/somebody/.local/state/loadgen/check.json".into(),
        started_at: "2026-11-29T08:30:00Z".into(),
        age_days: 1.1,
        objections: Vec::new(),
        ratio_spread: 0.02,
        smallest_difference_percent: 2.2,
        generator_ceilings: Vec::new(),
    }
}

fn host() -> Host {
    Host {
        cpu_model: "Example CPU @ 3.00GHz".into(),
        cpus: 2,
        cpus_allowed: vec![0, 1],
        memory_mib: 7_951,
        kernel: "6.1.0".into(),
        os: "Debian GNU/Linux 12 (bookworm)".into(),
        architecture: "x86_64".into(),
        governor: None,
        virtualised: Some("kvm".into()),
        open_files_limit: 1_048_576,
        mitigations: BTreeMap::from([("meltdown".into(), "Not affected".into())]),
    }
}
