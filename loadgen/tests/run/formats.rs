//! Output formats, files, and merging.

use std::path::Path;

use serde_json::Value;

use crate::support::{Next, Outcome, Server, check, loadgen, loadgen_raw, ok};

/// The result of `loadgen merge` on these files.
fn merge(files: &[&Path]) -> Outcome {
    let mut args = vec!["merge", "--format", "json"];
    args.extend(files.iter().map(|file| file.to_str().unwrap()));
    loadgen_raw(&args)
}

/// A run of `n` requests against `server`, in a file.
fn run_to(file: &Path, server: &Server, n: &str, more: &[&str]) -> Value {
    let url = server.url("/");
    let mut args = vec!["run", "-n", n, "--format", "json", "-o", file.to_str().unwrap(), &url];
    args.extend(more);
    let outcome = loadgen_raw(&args);
    assert_eq!((outcome.code, &*outcome.stdout), (Some(0), ""), "{outcome:#?}");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

#[test]
fn merging_adds_counts_and_histograms_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.json"), dir.path().join("b.json"));
    let server = Server::canned(ok("ok"), Next::Keep);
    let first = run_to(&a, &server, "300", &["-c", "3"]);
    let second = run_to(&b, &server, "200", &["-c", "2"]);
    let sum = merge(&[&a, &b]);
    check(&sum);
    assert_eq!(sum.count("requests.completed"), 500);
    assert_eq!(sum.count("connections"), 5);
    assert_eq!(sum.count("status.200"), 500);
    let longest = [&first, &second].map(|run| run["elapsed_s"].as_f64().unwrap());
    assert_eq!(sum.number("elapsed_s"), longest[0].max(longest[1]));
    for (figure, pick) in [("min", f64::min as fn(f64, f64) -> f64), ("max", f64::max)] {
        let of = |run: &Value| run["service_time_us"][figure].as_f64().unwrap();
        assert_eq!(sum.number(&format!("service_time_us.{figure}")), pick(of(&first), of(&second)));
    }
    // A result merged with itself has the same percentiles, from the very same buckets.
    let twice = merge(&[&a, &a]);
    check(&twice);
    for figure in ["min", "mean", "p25", "p50", "p90", "p99", "max"] {
        assert_eq!(twice.get("service_time_us")[figure], first["service_time_us"][figure]);
    }
    assert_eq!(twice.count("service_time_us.count"), 600);
    // Merging is associative: (a + b) + a is a + (b + a).
    let ab = dir.path().join("ab.json");
    std::fs::write(&ab, &sum.stdout).unwrap();
    let (left, right) = (merge(&[&ab, &a]), merge(&[&a, &b, &a]));
    assert_eq!(left.get("service_time_us"), right.get("service_time_us"));
    assert_eq!(left.get("histograms"), right.get("histograms"));
}

#[test]
fn merging_keeps_rates_and_response_times() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.json"), dir.path().join("b.json"));
    let server = Server::canned(ok("ok"), Next::Keep);
    run_to(&a, &server, "40", &["--rate", "100"]);
    run_to(&b, &server, "20", &["--rate", "50"]);
    let sum = merge(&[&a, &b]);
    check(&sum);
    assert_eq!(sum.number("schedule.rate_per_s"), 150.0);
    assert_eq!(sum.count("response_time_us.count"), 60);
    assert_eq!(sum.count("schedule.due"), 60);
    let closed = dir.path().join("c.json");
    run_to(&closed, &server, "5", &[]);
    let refused = merge(&[&a, &closed]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("loop"), "{refused:#?}");
}

#[test]
fn what_is_not_a_result_is_refused_by_merge() {
    let dir = tempfile::tempdir().unwrap();
    let (a, bad) = (dir.path().join("a.json"), dir.path().join("bad.json"));
    let server = Server::canned(ok("ok"), Next::Keep);
    let result = run_to(&a, &server, "5", &[]).to_string();
    for text in [
        "",
        "{}",
        "[1]",
        "not JSON",
        &result.replace("loadgen-run/1", "loadgen-run/9"),
        &result.replace("\"service_time_ns\":\"", "\"service_time_ns\":\"AAAA"),
    ] {
        std::fs::write(&bad, text).unwrap();
        let outcome = merge(&[&a, &bad]);
        assert_eq!(outcome.code, Some(2), "{text}: {outcome:#?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{text}: {outcome:#?}");
    }
    assert_eq!(merge(&[&a, &dir.path().join("missing")]).code, Some(2));
    assert_eq!(merge(&[&a]).code, Some(2), "one result is nothing to merge");
}

#[test]
fn csv_is_a_line_of_names_and_a_line_of_values() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let outcome = loadgen_raw(&["run", "-n", "30", "--format", "csv", &server.url("/?a=1,2")]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    let names: Vec<&str> = lines[0].split(',').collect();
    // The URL alone holds a comma, and is quoted.
    let values = lines[1].replace("/?a=1,2", "/?a=1;2");
    let values: Vec<&str> = values.split(',').collect();
    assert_eq!(names.len(), values.len());
    let value = |name: &str| values[names.iter().position(|given| *given == name).unwrap()];
    assert_eq!(value("requests.completed"), "30");
    assert_eq!(value("status"), "200=30");
    assert_eq!(value("response_time_us.p50"), "", "not measured");
    assert!(value("service_time_us.p50").parse::<f64>().unwrap() > 0.0);
    assert!(value("url").starts_with('"'));
}

#[test]
fn text_and_markdown_say_what_json_says() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let text = loadgen_raw(&["run", "-n", "1234", "-c", "3", &server.url("/")]).stdout;
    for part in [
        &*format!("GET {}", server.url("/")),
        "closed loop, 3 connections",
        "1,234 sent: 1,234 completed, 0 failed, 0 timed out",
        "Status       200: 1,234",
        "Generator",
        "p99.9",
        "■",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let args = ["run", "-n", "1234", "--format", "markdown", &server.url("/")];
    let table = loadgen_raw(&args).stdout;
    assert!(table.contains("| completed | 1,234 |"), "{table}");
    assert!(table.contains("| service time p99 |"), "{table}");
}

#[test]
fn a_file_is_replaced_when_there_is_a_result_and_not_before() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "x".repeat(100_000)).unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(loadgen_raw(&["run", "-o", path, "htt"]).code, Some(2));
    assert_eq!(std::fs::metadata(file.path()).unwrap().len(), 100_000);
    let server = Server::canned(ok("ok"), Next::Keep);
    run_to(file.path(), &server, "3", &[]);
}

#[test]
fn a_result_that_cannot_be_written_is_not_lost() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let url = server.url("/");
    let args = ["run", "-n", "30", "--format", "json", "-o", "/dev/full", &url];
    let outcome = loadgen_raw(&args);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.starts_with("error: cannot write to /dev/full"), "{outcome:#?}");
    assert_eq!(outcome.count("requests.completed"), 30, "it is on standard output instead");
}

#[test]
fn a_result_says_what_the_generator_spent() {
    let server = Server::canned(ok("ok"), Next::Keep);
    let outcome = loadgen(&["-n", "3000", "-c", "4", &server.url("/")]);
    outcome.assert_all_right();
    let cpu_s = outcome.number("generator.cpu_user_s") + outcome.number("generator.cpu_system_s");
    assert!(cpu_s > 0.0 && cpu_s < outcome.number("elapsed_s") * 1.1 * 4.0, "{outcome:#?}");
    let per_request = outcome.number("generator.cpu_us_per_request");
    assert!((per_request / (cpu_s * 1e6 / 3000.0) - 1.0).abs() < 0.01, "{outcome:#?}");
    let steps = outcome.get("timeline.completed").as_array().unwrap().iter();
    assert_eq!(steps.map(|step| step.as_u64().unwrap()).sum::<u64>(), 3000);
}
