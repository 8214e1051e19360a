use super::*;
use crate::experiment::plan::PlannedTrial;
use crate::experiment::record::Requests;
use crate::experiment::sampler::WindowCost;

fn cell(contender: &str) -> Cell {
    Cell { scenario: "hello".into(), contender: contender.into(), connections: 50 }
}

fn trial(contender: &str, block: u32, rate: f64, verdict: Verdict) -> Trial {
    Trial {
        planned: PlannedTrial { cell: cell(contender), block },
        started_at: String::new(),
        seed: 1,
        verdict,
        reason: "because".into(),
        command: Vec::new(),
        port: 1,
        ready_ms: None,
        answer: None,
        load: Some(Load {
            rate_per_s: rate,
            requests: Requests { completed: 10, ..Requests::default() },
            ..Load::default()
        }),
        generator_ceiling_per_s: None,
        server: Some(WindowCost {
            elapsed_s: 1.0,
            cpu_user_s: 0.5,
            cpu_system_s: 0.5,
            ..WindowCost::default()
        }),
        cpu_source: None,
        memory_mib: None,
        sink: None,
        output: None,
    }
}

fn trials(contender: &str, rates: &[f64]) -> Vec<Trial> {
    (0..)
        .zip(rates)
        .map(|(block, rate)| trial(contender, block, *rate, Verdict::ServerBound))
        .collect()
}

fn summary(names: &[&str], trials: &[Trial]) -> Vec<CellResult> {
    let all: Vec<Cell> = names.iter().map(|name| cell(name)).collect();
    cells(&all, trials, "rust", stats::NOISE_THRESHOLD, 1)
}

const FAST: [f64; 5] = [100.0, 101.0, 99.0, 100.5, 99.5];
const SLOW: [f64; 5] = [50.0, 51.0, 49.0, 50.5, 49.5];

#[test]
fn medians_ranks_and_the_share_of_the_ceiling() {
    let all = [trials("rust", &FAST), trials("node", &SLOW)].concat();
    let results = summary(&["node", "rust"], &all);
    let (node, rust) = (&results[0], &results[1]);
    assert_eq!((rust.rank, node.rank), (Some(1), Some(2)));
    assert!(!rust.tied && !node.tied);
    assert!((node.percent_of_ceiling.unwrap() - 50.0).abs() < 1e-9);
    let interval = node.percent_of_ceiling_interval.unwrap();
    assert!(interval.low > 45.0 && interval.high < 55.0, "{interval:?}");
    assert!((rust.cpu_us_per_request.unwrap() - 10_000.0).abs() < 1e-6);
    assert!((node.cost_ratio_to_ceiling.unwrap() - 2.0).abs() < 1e-9);
    assert_eq!((node.requests, node.trials.used), (50, 5));
}

#[test]
fn the_same_contender_under_two_names_is_a_tie() {
    let shuffled = [99.5, 100.5, 100.0, 99.0, 101.0];
    let all = [trials("a", &FAST), trials("b", &shuffled), trials("c", &SLOW)].concat();
    let results = summary(&["a", "b", "c"], &all);
    assert_eq!(results.iter().map(|c| c.rank).collect::<Vec<_>>(), [Some(1), Some(1), Some(3)]);
    assert!(results[0].tied && results[1].tied && !results[2].tied);
}

#[test]
fn a_drift_of_the_machine_does_not_hide_a_difference() {
    let drift = [100.0, 60.0, 130.0, 80.0, 110.0];
    let slower = drift.map(|rate| rate * 0.9);
    let all = [trials("rust", &drift), trials("node", &slower)].concat();
    let results = summary(&["rust", "node"], &all);
    assert_eq!((results[0].rank, results[1].rank), (Some(1), Some(2)));
    let interval = results[1].percent_of_ceiling_interval.unwrap();
    assert!((interval.low - 90.0).abs() < 1e-9 && (interval.high - 90.0).abs() < 1e-9);
}

#[test]
fn blocks_that_count_for_one_of_two_are_not_compared() {
    let mut all = [trials("rust", &FAST), trials("node", &SLOW)].concat();
    all[0].verdict = Verdict::HostNoisy;
    all[6].verdict = Verdict::HostNoisy;
    let of = |name: &str| -> Vec<&Trial> {
        all.iter().filter(|trial| trial.planned.cell.contender == name).collect()
    };
    assert_eq!(block_ratios(&of("node"), &of("rust"), rate).len(), 3);
}

#[test]
fn what_is_noise_on_this_machine_is_a_tie() {
    let slower = FAST.map(|rate| rate * 0.92);
    let all = [trials("rust", &FAST), trials("node", &slower)].concat();
    let names = ["rust", "node"].map(cell);
    let ranks = |least| {
        let results = cells(&names, &all, "rust", least, 1);
        results.iter().map(|cell| cell.rank).collect::<Vec<_>>()
    };
    assert_eq!(ranks(stats::NOISE_THRESHOLD), [Some(1), Some(2)]);
    assert_eq!(ranks(0.10), [Some(1), Some(1)]);
}

#[test]
fn one_trial_tells_nobody_apart() {
    let all = [trials("rust", &FAST[..1]), trials("node", &SLOW[..1])].concat();
    let results = summary(&["rust", "node"], &all);
    assert!(results.iter().all(|cell| cell.rank == Some(1) && cell.tied));
    assert_eq!(results[0].rate_interval, None);
}

#[test]
fn invalid_and_client_bound_cells_are_not_ranked() {
    let mut all = trials("rust", &FAST);
    all.push(trial("bad", 0, 900.0, Verdict::Invalid));
    all.push(trial("bun", 0, 120.0, Verdict::ClientBound));
    let results = summary(&["rust", "bad", "bun"], &all);
    assert_eq!(results[1].verdict, Some(Verdict::Invalid));
    assert_eq!((results[1].rate_per_s, results[1].rank), (None, None));
    assert_eq!((results[2].verdict, results[2].rank), (Some(Verdict::ClientBound), None));
    assert!(results[2].rate_per_s.is_some(), "shown all the same");
}

#[test]
fn nobody_is_first_behind_a_contender_that_only_the_generator_held_back() {
    let mut all =
        [trials("rust", &FAST), trials("bun", &SLOW), trials("node", &[40.0; 5])].concat();
    for trial in &mut all[..5] {
        trial.verdict = Verdict::ClientBound;
    }
    let results = summary(&["rust", "bun", "node"], &all);
    let ranks: Vec<_> = results.iter().map(|cell| cell.rank).collect();
    assert_eq!(ranks, [None, Some(2), Some(3)]);
}

#[test]
fn a_few_noisy_trials_are_left_out_and_many_make_the_cell_noisy() {
    let mut all = trials("rust", &FAST);
    all[1].verdict = Verdict::HostNoisy;
    let results = summary(&["rust"], &all);
    assert_eq!((results[0].trials.used, results[0].trials.run), (4, 5));
    for trial in &mut all[..3] {
        trial.verdict = Verdict::HostNoisy;
    }
    assert_eq!(summary(&["rust"], &all)[0].verdict, Some(Verdict::HostNoisy));
}

#[test]
fn a_cell_that_never_ran_says_so() {
    let results = summary(&["rust"], &[]);
    assert_eq!((results[0].verdict, results[0].reason.as_str()), (None, "no trial ran"));
}
