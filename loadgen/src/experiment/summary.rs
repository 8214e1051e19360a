//! From trials to cells: medians, intervals, the share of the ceiling, ranks and ties.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Cell;
use super::record::{CellResult, Load, Trial, TrialCounts};
use super::sampler::Memory;
use super::stats::{self, Interval, median};
use super::verdict::{Verdict, ratio};
use crate::histogram::Times;

/// Summarises the trials of each cell, in the order of `cells`. Differences under the share
/// `least_difference` are ties.
pub fn cells(
    cells: &[Cell],
    trials: &[Trial],
    ceiling: &str,
    least_difference: f64,
    seed: u64,
) -> Vec<CellResult> {
    let of_cell = |cell: &Cell| trials.iter().filter(|t| t.planned.cell == *cell).collect();
    let samples: Vec<Vec<&Trial>> = cells.iter().map(of_cell).collect();
    let mut results: Vec<CellResult> =
        cells.iter().zip(&samples).map(|(cell, trials)| summarise(cell, trials, seed)).collect();
    compare_with_ceiling(&mut results, &samples, ceiling, seed);
    rank(&mut results, &samples, least_difference, seed);
    results
}

/// Trials whose figures count: all but the invalid, and the noisy where there are better ones.
pub fn used<'a>(trials: &[&'a Trial]) -> Vec<&'a Trial> {
    let with = |wanted: &dyn Fn(Verdict) -> bool| -> Vec<&'a Trial> {
        trials.iter().copied().filter(|trial| wanted(trial.verdict)).collect()
    };
    let quiet = with(&|verdict| verdict.is_own() || verdict.is_at_least());
    if quiet.len() * 2 > trials.len() {
        return quiet;
    }
    with(&|verdict| verdict != Verdict::Invalid)
}

fn verdict(trials: &[&Trial]) -> (Option<Verdict>, String) {
    let reason = |verdict: Verdict| {
        let of_verdict = trials.iter().filter(|trial| trial.verdict == verdict);
        of_verdict.map(|trial| trial.reason.clone()).next().unwrap_or_default()
    };
    let count = |verdict: Verdict| trials.iter().filter(|t| t.verdict == verdict).count();
    let all = |wanted: fn(Verdict) -> bool| -> Vec<Verdict> {
        trials.iter().map(|trial| trial.verdict).filter(|verdict| wanted(*verdict)).collect()
    };
    let (own, at_least) = (all(Verdict::is_own), all(Verdict::is_at_least));
    let found = if trials.is_empty() {
        return (None, "no trial ran".into());
    } else if count(Verdict::Invalid) > 0 {
        Verdict::Invalid
    } else if count(Verdict::HostNoisy) * 2 >= trials.len() {
        Verdict::HostNoisy
    } else {
        let most = if at_least.len() > own.len() { at_least } else { own };
        most.first().copied().unwrap_or(Verdict::HostNoisy)
    };
    (Some(found), reason(found))
}

fn summarise(cell: &Cell, trials: &[&Trial], seed: u64) -> CellResult {
    let (verdict, reason) = verdict(trials);
    let used = if verdict == Some(Verdict::Invalid) { Vec::new() } else { used(trials) };
    let all = |value: &dyn Fn(&Trial) -> Option<f64>| -> Vec<f64> {
        used.iter().filter_map(|trial| value(trial)).collect()
    };
    let middle = |values: &[f64]| (!values.is_empty()).then(|| median(values));
    let (rates, costs) = (all(&rate), all(&cost));
    let loads: Vec<&Load> = trials.iter().filter_map(|trial| trial.load.as_ref()).collect();
    CellResult {
        scenario: cell.scenario.clone(),
        contender: cell.contender.clone(),
        connections: cell.connections,
        verdict,
        reason,
        trials: TrialCounts { used: used.len(), run: trials.len() },
        rate_per_s: middle(&rates),
        rate_interval: stats::median_interval(&rates, seed),
        mb_per_s: middle(&all(&mb_per_s)),
        outlying_blocks: outlying_blocks(&used, &rates),
        service_time_us: service_time(&used),
        cpu_percent: middle(&all(&|trial| cpu_percent(trial, false))),
        cpu_system_percent: middle(&all(&|trial| cpu_percent(trial, true))),
        cpu_us_per_request: middle(&costs),
        cpu_us_per_request_interval: stats::median_interval(&costs, seed),
        memory_mib: memory(&used),
        threads: used.iter().filter_map(|t| Some(t.server.as_ref()?.threads)).max(),
        working_threads: used
            .iter()
            .filter_map(|t| Some(t.server.as_ref()?.working_threads()))
            .max(),
        context_switches_per_s: middle(&all(&context_switches)),
        warmup_s: middle(&all(&|trial| Some(trial.load.as_ref()?.warmup_s))),
        throttled_percent: middle(&all(&throttled_percent)),
        percent_of_generator_ceiling: middle(&all(&|trial| {
            Some(rate(trial)? / trial.generator_ceiling_per_s? * 100.0)
        })),
        requests: loads.iter().map(|load| load.requests.completed).sum(),
        errors: loads.iter().map(|l| l.requests.failed + l.requests.timed_out).sum(),
        generator_busy_fraction: middle(&all(&|trial| {
            Some(trial.load.as_ref()?.generator_busy_fraction)
        })),
        ..CellResult::default()
    }
}

fn outlying_blocks(used: &[&Trial], rates: &[f64]) -> Vec<u32> {
    let measured: Vec<_> = used.iter().filter(|trial| trial.load.is_some()).collect();
    stats::outliers(rates).into_iter().map(|index| measured[index].planned.block).collect()
}

/// Completed requests per second of one trial.
pub fn rate(trial: &Trial) -> Option<f64> {
    Some(trial.load.as_ref()?.rate_per_s)
}

/// Uploaded megabytes per second of one trial whose contender is the client.
pub fn mb_per_s(trial: &Trial) -> Option<f64> {
    let load = trial.load.as_ref().filter(|_| trial.sink.is_some())?;
    #[expect(clippy::cast_precision_loss, reason = "bytes of a run are far below 2^53")]
    Some(load.bytes_sent as f64 / load.elapsed_s / 1e6)
}

/// CPU time per verified request of one trial, µs.
pub fn cost(trial: &Trial) -> Option<f64> {
    let (load, server) = (trial.load.as_ref()?, trial.server.as_ref()?);
    // The edges were read a moment before and after the engine's own: rates make them comparable.
    let cpus = (server.cpu_user_s + server.cpu_system_s) / server.elapsed_s;
    (load.rate_per_s > 0.0).then(|| cpus * 1e6 / load.rate_per_s)
}

fn context_switches(trial: &Trial) -> Option<f64> {
    let server = trial.server.as_ref()?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
    Some(server.context_switches as f64 / server.elapsed_s)
}

fn throttled_percent(trial: &Trial) -> Option<f64> {
    let throttling = trial.server.as_ref()?.throttling?;
    Some(ratio(throttling.throttled_periods, throttling.periods) * 100.0)
}

fn cpu_percent(trial: &Trial, only_system: bool) -> Option<f64> {
    let server = trial.server.as_ref()?;
    let user = if only_system { 0.0 } else { server.cpu_user_s };
    Some((user + server.cpu_system_s) / server.elapsed_s * 100.0)
}

fn memory(used: &[&Trial]) -> Option<Memory> {
    let all: Vec<Memory> = used.iter().filter_map(|trial| trial.memory_mib).collect();
    let middle = |value: fn(&Memory) -> f64| median(&all.iter().map(value).collect::<Vec<_>>());
    let proportional: Vec<f64> = all.iter().filter_map(|memory| memory.proportional).collect();
    (!all.is_empty()).then(|| Memory {
        mean: middle(|memory| memory.mean),
        peak: middle(|memory| memory.peak),
        proportional: (!proportional.is_empty()).then(|| median(&proportional)),
        samples: all.iter().map(|memory| memory.samples).sum(),
        sampler_cpu_s: middle(|memory| memory.sampler_cpu_s),
    })
}

fn service_time(used: &[&Trial]) -> Option<Times> {
    let all: Vec<Times> =
        used.iter().filter_map(|trial| Some(trial.load.as_ref()?.service_time_us)).collect();
    let values =
        |value: fn(&Times) -> Option<f64>| all.iter().filter_map(value).collect::<Vec<f64>>();
    let middle = |value: fn(&Times) -> Option<f64>| {
        let values = values(value);
        (!values.is_empty()).then(|| median(&values))
    };
    (!all.is_empty()).then(|| Times {
        count: all.iter().map(|times| times.count).sum(),
        min: values(|t| t.min).into_iter().reduce(f64::min),
        mean: middle(|t| t.mean),
        stdev: middle(|t| t.stdev),
        p25: middle(|t| t.p25),
        p50: middle(|t| t.p50),
        p75: middle(|t| t.p75),
        p90: middle(|t| t.p90),
        p95: middle(|t| t.p95),
        p99: middle(|t| t.p99),
        p99_9: middle(|t| t.p99_9),
        max: values(|t| t.max).into_iter().reduce(f64::max),
    })
}

/// A figure of one contender by the other's, within each block that counts for both: what the machine
/// did meanwhile, it did to both.
fn block_ratios(of: &[&Trial], to: &[&Trial], value: fn(&Trial) -> Option<f64>) -> Vec<f64> {
    let by_block = |trials: &[&Trial]| -> BTreeMap<u32, f64> {
        let figures = used(trials).into_iter();
        figures.filter_map(|trial| Some((trial.planned.block, value(trial)?))).collect()
    };
    let to = by_block(to);
    let ratio = |(block, value): (u32, f64)| Some(value / to.get(&block)?);
    by_block(of).into_iter().filter_map(ratio).filter(|ratio| ratio.is_finite()).collect()
}

fn compare_with_ceiling(
    results: &mut [CellResult],
    samples: &[Vec<&Trial>],
    ceiling: &str,
    seed: u64,
) {
    let key = |cell: &CellResult| (cell.scenario.clone(), cell.connections);
    let ceilings: BTreeMap<_, usize> = (0..results.len())
        .filter(|&i| results[i].contender == ceiling && results[i].rate_per_s.is_some())
        .map(|i| (key(&results[i]), i))
        .collect();
    for index in 0..results.len() {
        let Some(&top) = ceilings.get(&key(&results[index])) else { continue };
        if results[index].rate_per_s.is_none() {
            continue;
        }
        let ratios = |value| block_ratios(&samples[index], &samples[top], value);
        let (rates, costs) = (ratios(rate), ratios(cost));
        let middle = |ratios: &[f64]| (!ratios.is_empty()).then(|| median(ratios));
        let interval = if index == top { None } else { stats::median_interval(&rates, seed) };
        let cell = &mut results[index];
        cell.percent_of_ceiling = middle(&rates).map(|ratio| ratio * 100.0);
        cell.cost_ratio_to_ceiling = middle(&costs);
        cell.percent_of_ceiling_interval =
            interval.map(|i| Interval { low: i.low * 100.0, high: i.high * 100.0 });
    }
}

/// Ranks the server-bound cells of each scenario and connection count by rate; a cell that is not
/// told apart from the first of the group before it joins that group.
fn rank(results: &mut [CellResult], samples: &[Vec<&Trial>], least_difference: f64, seed: u64) {
    let tables: BTreeSet<(String, u32)> =
        results.iter().map(|cell| (cell.scenario.clone(), cell.connections)).collect();
    let ratios = |of: usize, to: usize| block_ratios(&samples[of], &samples[to], rate);
    let differ = |ratios: &[f64]| stats::differ(ratios, least_difference, seed);
    for table in tables {
        let with = |wanted: fn(Verdict) -> bool| {
            let found = |cell: &CellResult| {
                (&cell.scenario, cell.connections) == (&table.0, table.1)
                    && cell.verdict.is_some_and(wanted)
                    && cell.rate_per_s.is_some()
            };
            (0..results.len()).filter(|&i| found(&results[i])).collect::<Vec<usize>>()
        };
        // These reach at least what was seen, so whoever they were ahead of is behind them.
        let unranked = with(Verdict::is_at_least);
        let mut order = with(Verdict::is_own);
        order.sort_by(|&a, &b| {
            let rate = |index: usize| results[index].rate_per_s.unwrap_or(0.0);
            rate(b).total_cmp(&rate(a))
        });
        let mut first_of_group = 0;
        let mut ahead = 0;
        for (place, &index) in order.iter().enumerate() {
            let first = order[first_of_group];
            if place == 0 || differ(&ratios(index, first)) {
                first_of_group = place;
                let is_ahead = |&&other: &&usize| {
                    let ratios = ratios(other, index);
                    median(&ratios) > 1.0 && differ(&ratios)
                };
                ahead = unranked.iter().filter(is_ahead).count();
            } else {
                results[index].tied = true;
                results[first].tied = true;
            }
            results[index].rank = Some(first_of_group + ahead + 1);
        }
    }
}

/// What readers of the tables must know, one line each. `workers` is how many were asked for.
pub fn warnings(trials: &[Trial], workers: usize) -> Vec<String> {
    let mut warnings = answer_warnings(trials);
    warnings.extend(worker_warnings(trials, workers));
    warnings.extend(warmup_warnings(trials));
    warnings
}

/// How many threads shared the work, where more than one was asked for or the contenders of a
/// scenario differ: one worker is not compared with many unsaid.
fn worker_warnings(trials: &[Trial], workers: usize) -> Vec<String> {
    let mut most: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for trial in trials {
        let Some(server) = &trial.server else { continue };
        let cell = &trial.planned.cell;
        let of_scenario = most.entry(&cell.scenario).or_default();
        let threads = of_scenario.entry(&cell.contender).or_default();
        *threads = server.working_threads().max(*threads);
    }
    let mixed = most.into_iter().filter(|(_, contenders)| {
        let counts: BTreeSet<&usize> = contenders.values().collect();
        counts.len() > 1 || workers > 1
    });
    mixed
        .map(|(scenario, contenders)| {
            let mut by_count: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for (contender, threads) in contenders {
                by_count.entry(threads).or_default().push(contender);
            }
            let each = by_count.iter().map(|(count, who)| format!("{count} {}", who.join(", ")));
            let text = each.collect::<Vec<_>>().join("; ");
            format!("{scenario}: asked for {workers} worker(s), threads that did the work: {text}")
        })
        .collect()
}

/// Contenders whose rate still changed when their warm-up had its full length.
fn warmup_warnings(trials: &[Trial]) -> Vec<String> {
    let mut unsteady: BTreeMap<&Cell, u32> = BTreeMap::new();
    for trial in trials {
        if trial.load.as_ref().is_some_and(|load| load.warmup_steady == Some(false)) {
            *unsteady.entry(&trial.planned.cell).or_default() += 1;
        }
    }
    let line = |(cell, count): (&Cell, u32)| {
        format!(
            "{}/{} at {} connections: not steady after the longest warm-up in {count} trial(s)",
            cell.scenario, cell.contender, cell.connections
        )
    };
    unsteady.into_iter().map(line).collect()
}

/// Differences in bytes and headers between the contenders of a scenario (one line each).
fn answer_warnings(trials: &[Trial]) -> Vec<String> {
    let mut warnings = BTreeSet::new();
    let clients: BTreeSet<&str> = trials
        .iter()
        .filter(|trial| trial.sink.is_some())
        .map(|trial| trial.planned.cell.scenario.as_str())
        .collect();
    let mut shapes: BTreeMap<(&str, &str), &super::preflight::AnswerShape> = BTreeMap::new();
    for trial in trials {
        let Some(answer) = &trial.answer else { continue };
        let (scenario, contender) =
            (trial.planned.cell.scenario.as_str(), trial.planned.cell.contender.as_str());
        for warning in &answer.warnings {
            warnings.insert(format!("{scenario}/{contender}: {warning}"));
        }
        shapes.insert((scenario, contender), answer);
    }
    let scenarios: BTreeSet<&str> = shapes.keys().map(|(scenario, _)| *scenario).collect();
    for scenario in scenarios {
        let of_scenario: Vec<_> = shapes.iter().filter(|((s, _), _)| *s == scenario).collect();
        let mut sizes: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for ((_, contender), shape) in of_scenario {
            sizes.entry(shape.head_bytes).or_default().push(contender);
        }
        if sizes.len() > 1 {
            let each = sizes.iter().map(|(bytes, who)| format!("{bytes} B {}", who.join(", ")));
            let text = each.collect::<Vec<_>>().join("; ");
            let what = if clients.contains(scenario) { "request" } else { "response" };
            warnings.insert(format!("{scenario}: {what} heads differ in size: {text}"));
        }
    }
    warnings.into_iter().collect()
}

#[cfg(test)]
mod tests;
