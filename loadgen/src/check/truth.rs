//! Truth: what the generator reports beside what a server with known delays really did.

use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::delay_server::{DelayServer, Delays, Served};
use super::finding::{Finding, Grade};
use super::load::Load;
use super::{Effort, Means};
use crate::engine::{self, Pacing, RunResult, Stop};
use crate::histogram::Times;
use crate::report::units;

/// The figures that are compared, with their quantiles.
const FIGURES: [(&str, f64); 7] = [
    ("p25", 0.25),
    ("p50", 0.50),
    ("p75", 0.75),
    ("p90", 0.90),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("max", 1.0),
];
/// Beyond this quantile a figure rests on a few requests: an accident of the machine moves it.
const RESTS_ON_MANY: f64 = 0.99;
/// Precision of the histograms: three significant digits.
const PRECISION: f64 = 0.001;
/// A machine that was busy for a moment makes times longer; one that is wrong by construction is
/// wrong each time.
const ATTEMPTS: u32 = 3;

const MILLISECOND: Duration = Duration::from_millis(1);

/// All cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Whether the reports are true.
    pub finding: Finding,
    /// One for each server and loop.
    pub cases: Vec<Case>,
}

/// One load on one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What the server did.
    pub name: String,
    /// Requests per second that were due; `null` in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Connections kept open.
    pub connections: u32,
    /// How good it is.
    pub grade: Grade,
    /// Loads until it was good, at most three.
    pub attempts: u32,
    /// Requests that the generator says it sent.
    pub requests_sent: u64,
    /// Requests that the generator says were completed.
    pub requests_completed: u64,
    /// Requests that the server answered.
    pub requests_served: u64,
    /// Service times.
    pub service_time_us: Vec<Compared>,
    /// Response times; `null` in a closed loop.
    pub response_time_us: Option<Vec<Compared>>,
}

/// One figure, µs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// `p50` and the like.
    pub figure: String,
    /// From the server's own record.
    pub computed: f64,
    /// What the generator reports.
    pub reported: f64,
    /// Reported less computed: the way there and back, and two wake-ups.
    pub deviation: f64,
    /// The same in percent of what was computed.
    pub deviation_percent: f64,
}

/// A case before it is run.
struct Plan {
    name: &'static str,
    delays: Delays,
    rate_per_s: Option<f64>,
    connections: u32,
    requests: u64,
}

/// Runs all cases.
///
/// # Errors
/// A server or the engine cannot be started.
pub(super) fn measure(means: &Means<'_>, effort: &Effort) -> Result<Truth, String> {
    let mut cases = Vec::new();
    for plan in plans(effort.truth_requests) {
        let mut best: Option<Case> = None;
        for attempt in 1..=ATTEMPTS {
            if means.stop.is_raised() {
                return Ok(judge(cases));
            }
            let case = run(means, &plan, attempt)?;
            let better = best.as_ref().is_none_or(|best| case.grade < best.grade);
            best = if better { Some(case) } else { best };
            if best.as_ref().is_some_and(|best| best.grade == Grade::Good) {
                break;
            }
        }
        cases.extend(best);
    }
    Ok(judge(cases))
}

/// The cases; `share` of the requests of a full check.
fn plans(share: f64) -> Vec<Plan> {
    let constant = Delays::Constant(MILLISECOND);
    let peaks = Delays::TwoPeaks { usual: MILLISECOND, rare: 10 * MILLISECOND, every: 5 };
    let stall = |at| Delays::Stall { usual: MILLISECOND, stall: Duration::from_secs(1), at };
    let requests = |full: f64| (full * share).round().max(20.0) as u64;
    let plan = |name, delays, rate_per_s, connections, requests| Plan {
        name,
        delays,
        rate_per_s,
        connections,
        requests,
    };
    vec![
        plan("constant 1 ms", constant, None, 4, requests(3_000.0)),
        plan("1 ms, each fifth 10 ms", peaks, None, 4, requests(1_500.0)),
        plan("1 ms, one stall of 1 s", stall(100), None, 1, requests(800.0)),
        plan("constant 1 ms", constant, Some(500.0), 1, requests(600.0)),
        plan("1 ms, each fifth 10 ms", peaks, Some(150.0), 1, requests(220.0)),
        // A quarter of the requests and more are due in the stall.
        plan("1 ms, one stall of 1 s", stall(20), Some(200.0), 1, requests(400.0).max(300)),
    ]
}

fn run(means: &Means<'_>, plan: &Plan, attempt: u32) -> Result<Case, String> {
    let server = DelayServer::start(plan.delays, &means.pins.server_cpus)
        .map_err(|error| format!("the server with known delays: {error}"))?;
    let pacing = plan.rate_per_s.map_or(Pacing::Closed, |per_second| Pacing::Rate { per_second });
    let load = Load {
        address: server.address(),
        trust: None,
        connections: plan.connections,
        pacing,
        stop: Stop::Requests(NonZeroU64::new(plan.requests).unwrap_or(NonZeroU64::MIN)),
        warmup: Duration::ZERO,
        cpus: &means.pins.generator_cpus,
    };
    let result = engine::run(&load.spec(), means.stop, &mut ()).map_err(|e| e.to_string())?;
    Ok(case(plan, &result, &server.finish(), attempt))
}

/// Puts what was reported beside what was served.
fn case(plan: &Plan, result: &RunResult, served: &[Served], attempt: u32) -> Case {
    let took: Vec<Duration> = served.iter().map(|served| served.took).collect();
    let service = compare(&Times::of(&result.service_time_ns), took);
    let response = plan.rate_per_s.zip(result.response_time_ns.as_ref());
    let response =
        response.map(|(rate, times)| compare(&Times::of(times), response_times(rate, served)));
    let requests = result.requests;
    let served = served.len() as u64;
    let figures = service.iter().chain(response.iter().flatten());
    let figures = figures.map(grade).max().unwrap_or(Grade::Bad);
    let counted = requests.sent == served && requests.completed == plan.requests;
    Case {
        name: plan.name.into(),
        rate_per_s: plan.rate_per_s,
        connections: plan.connections,
        grade: if counted { figures } else { Grade::Bad },
        attempts: attempt,
        requests_sent: requests.sent,
        requests_completed: requests.completed,
        requests_served: served,
        service_time_us: service,
        response_time_us: response,
    }
}

/// Response times as the server saw them: from the moment a request was due to its answer. Request k
/// is due at k / rate after a start that is not known here, but no request arrives before it is due: the
/// one that came closest tells the start, late by the way there.
fn response_times(rate_per_s: f64, served: &[Served]) -> Vec<Duration> {
    let due = |number: u64| Duration::from_secs_f64(number as f64 / rate_per_s);
    let start = served.iter().filter_map(|s| s.read_at.checked_sub(due(s.number))).min();
    let Some(start) = start else { return Vec::new() };
    let time = |s: &Served| (s.read_at + s.took).saturating_duration_since(start + due(s.number));
    served.iter().map(time).collect()
}

fn compare(reported: &Times, mut true_times: Vec<Duration>) -> Vec<Compared> {
    true_times.sort_unstable();
    let reported = reported.figures();
    let value = |figure: &str| reported.iter().find(|(name, _)| *name == figure)?.1;
    let compared = FIGURES.iter().filter_map(|(figure, quantile)| {
        let (computed, reported) = (at_rank(&true_times, *quantile)?, value(figure)?);
        let deviation = reported - computed;
        Some(Compared {
            figure: (*figure).into(),
            computed,
            reported,
            deviation,
            deviation_percent: deviation / computed.max(1e-3) * 100.0,
        })
    });
    compared.collect()
}

/// The smallest time that enough requests do not exceed, µs.
fn at_rank(sorted: &[Duration], quantile: f64) -> Option<f64> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    let time = sorted.get(rank.clamp(1, sorted.len().max(1)) - 1)?;
    Some(time.as_secs_f64() * 1e6)
}

/// Nothing takes less than the server itself took. What comes on top is the loopback and two wake-ups.
fn grade(compared: &Compared) -> Grade {
    let Compared { computed, deviation, .. } = *compared;
    if deviation < -(computed * PRECISION + 1.0) {
        return Grade::Bad;
    }
    let good = 200.0 + 0.01 * computed;
    let grade = Grade::at_most(deviation, good, 5.0 * good);
    let many = FIGURES
        .iter()
        .any(|(figure, quantile)| *figure == compared.figure && *quantile <= RESTS_ON_MANY);
    if many { grade } else { grade.min(Grade::Tolerable) }
}

fn judge(cases: Vec<Case>) -> Truth {
    let grade = cases.iter().map(|case| case.grade).max().unwrap_or(Grade::Bad);
    let wrong = cases.iter().filter(|case| case.requests_sent != case.requests_served).count();
    let medians: Vec<&Compared> = cases
        .iter()
        .flat_map(|case| case.service_time_us.iter().chain(case.response_time_us.iter().flatten()))
        .filter(|compared| compared.figure == "p50")
        .collect();
    let most = medians.iter().map(|compared| compared.deviation.abs()).fold(0.0, f64::max);
    let value = if wrong > 0 {
        format!(
            "the generator and the server counted different numbers of requests in {wrong} cases"
        )
    } else {
        format!(
            "every request was counted by both sides; medians are at most {} from what the server \
             did",
            units::time_us(most)
        )
    };
    let finding = Finding::new("truth", grade, value)
        .figure("largest_deviation_of_a_median_us", most)
        .advise(
            "times are longer than the server made them: other work runs on these CPUs, or threads \
             wake up late (see background load, timer, loopback)",
        );
    Truth { finding, cases }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn ms(times: &[u64]) -> Vec<Duration> {
        times.iter().map(|ms| Duration::from_millis(*ms)).collect()
    }

    #[test]
    fn response_times_run_from_the_due_moment() {
        // Due at 0, 10, 20, 30 ms; the second takes 25, and those behind it are read late.
        let came = Instant::now() + Duration::from_secs(1);
        let served: Vec<Served> = [(0, 1), (10, 25), (36, 1), (38, 1)]
            .into_iter()
            .zip(0..)
            .map(|((read_ms, took_ms), number)| Served {
                number,
                read_at: came + Duration::from_millis(read_ms),
                took: Duration::from_millis(took_ms),
            })
            .collect();
        assert_eq!(response_times(100.0, &served), ms(&[1, 25, 17, 9]));
        // A first request that came late does not move the start.
        let late = Served { read_at: came + Duration::from_millis(5), ..served[0] };
        let served = [&[late], &served[1..]].concat();
        assert_eq!(response_times(100.0, &served), ms(&[6, 25, 17, 9]));
        assert_eq!(response_times(100.0, &[]), ms(&[]));
    }

    #[test]
    fn ranks_are_nearest() {
        let times = ms(&(1..=1000).collect::<Vec<_>>());
        for (quantile, truth) in [(0.0, 1e3), (0.5, 500e3), (0.99, 990e3), (1.0, 1e6)] {
            assert!((at_rank(&times, quantile).unwrap() - truth).abs() < 1e-6, "{quantile}");
        }
        assert_eq!(at_rank(&[], 0.5), None);
    }

    fn compared(figure: &str, computed: f64, reported: f64) -> Compared {
        let deviation = reported - computed;
        let deviation_percent = deviation / computed * 100.0;
        Compared { figure: figure.into(), computed, reported, deviation, deviation_percent }
    }

    #[test]
    fn a_figure_below_the_servers_own_time_is_never_right() {
        assert_eq!(grade(&compared("p50", 1_000.0, 1_060.0)), Grade::Good);
        assert_eq!(grade(&compared("p50", 1_000.0, 999.5)), Grade::Good, "precision");
        assert_eq!(grade(&compared("p50", 1_000.0, 900.0)), Grade::Bad);
        assert_eq!(grade(&compared("max", 1_000.0, 900.0)), Grade::Bad);
    }

    #[test]
    fn what_comes_on_top_is_bounded_and_single_requests_weigh_less() {
        assert_eq!(grade(&compared("p50", 1_000.0, 1_500.0)), Grade::Tolerable);
        assert_eq!(grade(&compared("p50", 1_000.0, 9_000.0)), Grade::Bad);
        assert_eq!(grade(&compared("max", 1_000.0, 9_000.0)), Grade::Tolerable);
        assert_eq!(grade(&compared("p75", 500_000.0, 505_000.0)), Grade::Good);
    }

    #[test]
    fn lost_requests_are_bad_and_told() {
        let case = Case {
            name: "a".into(),
            rate_per_s: None,
            connections: 1,
            grade: Grade::Bad,
            attempts: 3,
            requests_sent: 10,
            requests_completed: 10,
            requests_served: 9,
            service_time_us: Vec::new(),
            response_time_us: None,
        };
        let truth = judge(vec![case]);
        assert_eq!(truth.finding.grade, Grade::Bad);
        assert!(truth.finding.value.contains("different numbers of requests in 1"), "{truth:?}");
    }
}
