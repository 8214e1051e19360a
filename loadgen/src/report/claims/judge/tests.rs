//! Verdicts on claims, from results made by hand.

use super::*;
use crate::experiment::plan::{Cell, PlannedTrial};
use crate::experiment::record::{Host, Load, Manifest, Requests, SCHEMA};
use crate::experiment::summary;

/// A cell: contender, connections, verdict, and the rates of its trials.
type Measured<'a> = (&'a str, u32, Verdict, &'a [f64]);

const BOUND: Verdict = Verdict::ServerBound;

fn comparison(measured: &[Measured<'_>]) -> Comparison {
    let cell = |contender: &str, connections| Cell {
        scenario: "hello".into(),
        contender: contender.into(),
        connections,
    };
    let mut trials = Vec::new();
    for (contender, connections, verdict, rates) in measured {
        for (block, rate) in (0..).zip(*rates) {
            let planned = PlannedTrial { cell: cell(contender, *connections), block };
            trials.push(trial(planned, *verdict, *rate));
        }
    }
    let cells: Vec<Cell> = measured.iter().map(|m| cell(m.0, m.1)).collect();
    let manifest = Manifest { ceiling: "rust".into(), scale: 1.0, ..Manifest::default() };
    Comparison {
        schema: SCHEMA.into(),
        host: Host::default(),
        cells: summary::cells(&cells, &trials, "rust", 0.02, 7),
        skipped: Vec::new(),
        warnings: Vec::new(),
        interrupted: false,
        trials,
        manifest,
    }
}

fn trial(planned: PlannedTrial, verdict: Verdict, rate: f64) -> Trial {
    let requests = Requests { sent: 1000, completed: 1000, ..Requests::default() };
    Trial {
        planned,
        started_at: String::new(),
        seed: 1,
        verdict,
        reason: String::new(),
        command: Vec::new(),
        port: 1,
        ready_ms: None,
        answer: None,
        load: Some(Load { rate_per_s: rate, elapsed_s: 1.0, requests, ..Load::default() }),
        server: None,
        generator_ceiling_per_s: None,
        cpu_source: None,
        memory_mib: None,
        output: None,
        sink: None,
    }
}

fn claim(low: f64, high: Option<f64>) -> Claim {
    let side = |contender: &str| Side {
        scenario: "hello".into(),
        contender: contender.into(),
        connections: None,
    };
    Claim {
        name: "c".into(),
        article: "a".into(),
        claim: "Bun is faster".into(),
        published: "2.6".into(),
        measure: Measure::Rate,
        of: side("bun"),
        to: side("node"),
        connections: Vec::new(),
        expected: Expected { low, high },
        needs_server_cpus: 0,
    }
}

const NODE: &[f64] = &[100.0, 101.0, 99.0];

fn outcome(claim: &Claim, bun: Verdict, node: Verdict, rates: &[f64]) -> Outcome {
    let measured = [("bun", 50, bun, rates), ("node", 50, node, NODE), ("rust", 50, BOUND, NODE)];
    judge(claim, &comparison(&measured)).outcome
}

#[test]
fn the_whole_interval_decides() {
    let two_to_three = claim(2.0, Some(3.0));
    let judged = |rates: &[f64]| outcome(&two_to_three, BOUND, BOUND, rates);
    assert_eq!(judged(&[250.0, 251.0, 249.0]), Outcome::Holds);
    assert_eq!(judged(&[150.0, 151.0, 149.0]), Outcome::NoLongerHolds);
    assert_eq!(judged(&[350.0, 351.0, 349.0]), Outcome::NoLongerHolds, "faster is not as claimed");
    assert_eq!(judged(&[180.0, 200.0, 230.0]), Outcome::NotSeparable);
    assert_eq!(judged(&[250.0, 251.0]), Outcome::NotSeparable, "two trials have no interval");
    assert_eq!(judged(&[]), Outcome::NotMeasured);
}

#[test]
fn what_the_generator_or_the_sink_limited_is_a_bound() {
    let rates = [250.0, 251.0, 249.0];
    for (limited, own) in
        [(Verdict::ClientBound, BOUND), (Verdict::SinkBound, Verdict::ContenderBound)]
    {
        let of = |claim: &Claim| outcome(claim, limited, own, &rates);
        assert_eq!(of(&claim(2.0, None)), Outcome::Holds);
        assert_eq!(of(&claim(2.0, Some(3.0))), Outcome::NotSeparable);
        assert_eq!(of(&claim(0.0, Some(2.0))), Outcome::NoLongerHolds);
        let to = |claim: &Claim| outcome(claim, own, limited, &rates);
        assert_eq!(to(&claim(3.0, None)), Outcome::NoLongerHolds);
        assert_eq!(to(&claim(2.0, None)), Outcome::NotSeparable);
    }
    let noisy = Verdict::HostNoisy;
    assert_eq!(outcome(&claim(2.0, None), noisy, BOUND, &rates), Outcome::NotSeparable);
    assert_eq!(outcome(&claim(2.0, None), Verdict::Invalid, BOUND, &rates), Outcome::NotMeasured);
}

#[test]
fn a_claim_holds_where_it_holds_at_every_number_of_connections() {
    let fast: &[f64] = &[250.0, 251.0, 249.0];
    let measured = [
        ("bun", 50, BOUND, fast),
        ("bun", 300, BOUND, NODE),
        ("node", 50, BOUND, NODE),
        ("node", 300, BOUND, NODE),
        ("rust", 50, BOUND, &[500.0, 500.0, 500.0]),
    ];
    let result = comparison(&measured);
    let judged = judge(&claim(2.0, None), &result);
    assert_eq!(judged.outcome, Outcome::NoLongerHolds);
    assert_eq!(judged.reason, "not at 300 connections");
    assert_eq!((judged.levels[0].ceiling, judged.levels[1].ceiling), (Some(500.0), None));
    let only = Claim { connections: vec![50], ..claim(2.0, None) };
    assert_eq!(judge(&only, &result).outcome, Outcome::Holds);
    let side = |connections| Side { connections: Some(connections), ..claim(0.0, None).of };
    let across = Claim { of: side(300), to: side(50), ..claim(0.0, Some(0.5)) };
    let judged = judge(&across, &result);
    assert_eq!(judged.outcome, Outcome::Holds, "{judged:?}");
}

#[test]
fn what_needs_more_cpus_is_not_judged_and_no_failures_are_the_same() {
    let measured = [("bun", 50, BOUND, NODE), ("node", 50, BOUND, NODE)];
    let result = comparison(&measured);
    let needs = Claim { needs_server_cpus: 3, ..claim(2.0, None) };
    let judged = judge(&needs, &result);
    assert_eq!(judged.outcome, Outcome::NotSeparable);
    assert_eq!(judged.reason, "it needs 3 server CPUs to show, here are 0");
    let failures = Claim { measure: Measure::FailedShare, ..claim(0.0, Some(1.0)) };
    assert_eq!(judge(&failures, &result).outcome, Outcome::NoLongerHolds);
}
