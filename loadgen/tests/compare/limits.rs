//! What limits a contender or the generator, and how the result tells it.

use serde_json::Value;

use crate::bench::{Bench, HELLO, Outcome, contender};

/// A contender that uses all the CPU time it gets: 2 ms for each request.
fn busy(name: &str) -> String {
    contender(name, "hello", &[("SPIN_MS", "2")])
}

#[test]
fn a_cpu_quota_is_kept_and_told() {
    let bench = Bench::new(&[HELLO, &busy("one")]);
    let outcome = bench.compare(&["--cpu-quota", "0.5", "--duration", "4s"]);
    if outcome.status == Some(2) {
        assert!(outcome.stderr.contains("--cpu-quota 0.5 cannot be put in force: "), "{outcome:?}");
        assert!(!bench.out().join("trials.jsonl").exists(), "it must not run unlimited");
        eprintln!("skipped: {}", outcome.stderr);
        return;
    }
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let cell = outcome.cell("one");
    let cpu_percent = cell["cpu_percent"].as_f64().unwrap();
    assert!(cpu_percent <= 53.0, "{cell}");
    // Where the quota was used up in every period, all of it was used.
    let throttled = cell["throttled_percent"].as_f64().unwrap();
    assert!(throttled > 0.0, "{cell}");
    if throttled >= 95.0 {
        assert!(cpu_percent >= 47.0, "{cell}");
        // The tests beside this one may take the CPUs, but it is never the client's limit.
        assert!(
            ["server-bound", "host-noisy"].contains(&cell["verdict"].as_str().unwrap()),
            "{cell}"
        );
    }
    assert_eq!(outcome.result()["manifest"]["cpu_quota"], 0.5);
}

#[test]
fn warm_up_lasts_until_the_rate_is_steady_or_its_bound() {
    let profile = "[profiles.steady]\ntrials = 1\nwarmup = \"500ms\"\nwarmup_max = \"2s\"\n\
        duration = \"1s\"\n";
    let bench = Bench::new(&[profile, HELLO, &contender("one", "hello", &[("DELAY_MS", "5")])]);
    let outcome = bench.compare(&["--profile", "steady"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let load = outcome.result()["trials"][0]["load"].clone();
    let (warmup, steady) = (load["warmup_s"].as_f64().unwrap(), &load["warmup_steady"]);
    assert!((0.7..10.0).contains(&warmup), "a few steps at least, and its bound: {warmup}");
    assert!(warmup > 1.7 || *steady == true, "{warmup} {steady}");
}

#[test]
fn the_generators_ceiling_is_in_the_result() {
    let tls = HELLO.replace("\"hello\"", "\"secure\"\ntls = true");
    let bench = Bench::new(&[HELLO, &tls, &contender("one", "hello", &[])]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    let ceilings = result["manifest"]["generator_ceilings"].as_array().unwrap();
    assert_eq!(ceilings.len(), 1, "only loads that occur: {ceilings:?}");
    let number = |value: &Value| value.as_f64().unwrap();
    let rate = number(&ceilings[0]["rate_per_s"]);
    let cell = outcome.cell("one");
    // Far above what the stub reaches, unless this machine was busy just then.
    assert!(rate > number(&cell["rate_per_s"]) / 4.0, "{rate} {cell}");
    assert_eq!(result["trials"][0]["generator_ceiling_per_s"], ceilings[0]["rate_per_s"]);
}

#[test]
fn forms_for_one_worker_and_for_many_have_tables_of_their_own() {
    let with = |name: &str, workers: &str| {
        contender(name, "hello", &[]) + &format!("workers = {workers:?}\n")
    };
    let suite = [HELLO, &with("single", "one"), &with("cluster", "many")].concat();
    let bench = || Bench::new(&[&suite]);
    let names = |outcome: &Outcome| {
        let cells = outcome.result()["cells"].as_array().unwrap().clone();
        let name = |cell: &Value| cell["contender"].as_str().unwrap().to_owned();
        cells.iter().map(name).collect::<Vec<String>>()
    };
    let one = bench();
    assert_eq!(names(&one.compare(&[])), ["single"]);
    let many = bench();
    let outcome = many.compare(&["--workers", "2"]);
    assert_eq!(names(&outcome), ["cluster"]);
    // The stub has one thread whatever it is asked for, and that is told.
    assert_eq!(outcome.cell("cluster")["working_threads"], 1);
    let warnings = outcome.result()["warnings"].to_string();
    assert!(warnings.contains("asked for 2 worker(s)"), "{warnings}");
    assert!(warnings.contains("1 cluster"), "{warnings}");
    let mixed = bench();
    let outcome = mixed.compare(&["--contender", "single,cluster"]);
    assert_eq!(names(&outcome), ["single", "cluster"]);
    assert!(outcome.stderr.contains("Warning: mixed tables: 1 worker(s)"), "{outcome:?}");
}
