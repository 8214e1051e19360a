//! The files that `loadgen report` makes, from result.json alone.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::fixture::comparison;
use super::{folder, loadgen, report, stderr};

fn everything(folder: &std::path::Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for dir in [folder.to_owned(), folder.join("charts")] {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(folder).unwrap().display().to_string(), text));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn all_files_come_from_the_result_alone_and_are_the_same_again() {
    let folder = folder(&comparison(|_, _| 1.0));
    report(folder.path());
    let first = everything(folder.path());
    let names: BTreeSet<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["report.html", "report.md", "cells.csv", "trials.csv"] {
        assert!(names.contains(name), "{names:?}");
    }
    // 4 scenarios: an overview and 11 measures each; curves and timelines at 3, 2, 1 and 1 levels.
    let charts = names.iter().filter(|name| name.starts_with("charts/") && name.ends_with(".svg"));
    assert_eq!(charts.count(), 4 * 12 + 7 * 2, "{names:?}");
    assert_eq!(names.len(), 5 + 4 * 12 + 7 * 2, "nothing else is left: {names:?}");
    for (name, text) in first.iter().filter(|(name, _)| name != "result.json") {
        fs::remove_file(folder.path().join(name)).unwrap();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
    }
    report(folder.path());
    assert!(everything(folder.path()) == first);
}

#[test]
fn the_page_needs_nothing_else_and_runs_nothing() {
    let folder = folder(&comparison(|_, _| 1.0));
    report(folder.path());
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for reference in ["<script", "<link", "<img", "src=", "@import", "https://", "javascript:"] {
        assert!(!page.contains(reference), "{reference}");
    }
    // `http://` stands in text, never in an attribute; links stay in the page.
    for link in page.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..40]);
    }
    assert!(page.contains("qr &lt;&amp;&gt; long name") && !page.contains("<something>"));
    for shown in [
        "≥ 230,",
        "≤ 42.",
        "limited by the generator",
        "tied",
        "invalid",
        "Example CPU",
        "v24.1.0",
        "0123abc",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
}

#[test]
fn the_tables_have_every_published_measure() {
    let comparison = comparison(|_, _| 1.0);
    let folder = folder(&comparison);
    report(folder.path());
    let page = fs::read_to_string(folder.path().join("report.md")).unwrap();
    let (_, hello) = page.split_once("\n## hello\n").unwrap();
    let (figures, latency) = hello.split_once("\n### Latency: hello\n").unwrap();
    for heading in ["requests/s", "CPU %", "memory MiB"] {
        assert!(figures.contains(&format!("| {heading} |")), "{heading}: {figures}");
    }
    let columns = "| contender | connections | mean | p25 | p50 | p75 | p90 | p99 | p99.9 | max |";
    assert!(latency.contains(columns), "{latency}");
    let cell = comparison.cells.iter().find(|cell| cell.contender == "node").unwrap();
    assert_eq!(cell.connections, 10);
    let row = latency.lines().find(|line| line.starts_with("| node | 10 |")).unwrap();
    let of_row = row.split('|').skip(3).take(8).map(|entry| micros(entry.trim()));
    let time = cell.service_time_us.unwrap();
    let of_cell =
        [time.mean, time.p25, time.p50, time.p75, time.p90, time.p99, time.p99_9, time.max];
    for (shown, known) in of_row.zip(of_cell) {
        assert!((shown / known.unwrap() - 1.0).abs() < 0.01, "{row} {time:?}");
    }
    let html = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(html.contains("aria-label=\"Latency of hello\""));
}

/// `207 µs`, `1.24 ms` in µs.
fn micros(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap();
    let unit = [("µs", 1.0), ("ms", 1e3), ("s", 1e6)].iter().find(|(name, _)| *name == unit);
    number.replace(',', "").parse::<f64>().unwrap() * unit.unwrap().1
}

#[test]
fn csv_has_a_line_for_each_cell_and_each_trial() {
    let comparison = comparison(|_, _| 1.0);
    let folder = folder(&comparison);
    report(folder.path());
    for (name, rows) in
        [("cells.csv", comparison.cells.len()), ("trials.csv", comparison.trials.len())]
    {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        let heading = text.lines().next().unwrap();
        assert!(heading.starts_with("scenario,contender,connections,"), "{heading}");
        assert!(heading.contains("p99_9"), "{heading}");
        assert_eq!(text.lines().count(), rows + 1, "{name}");
        assert!(!heading.contains("_hdr") && !heading.contains("output"), "{heading}");
    }
}

#[test]
fn the_schema_describes_a_result() {
    let schema: Value =
        serde_json::from_str(include_str!("../../schema/compare.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let result = serde_json::to_value(comparison(|_, _| 1.0)).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let trials = result["trials"].as_array().unwrap();
    let loaded = trials.iter().position(|trial| trial["load"].is_object()).unwrap();
    for (pointer, value) in [
        ("/cells/0/verdict", Value::from("best")),
        ("/cells/0/rate_per_s", Value::from("fast")),
        (&format!("/trials/{loaded}/load/requests"), Value::from(3)),
        ("/schema", Value::from("loadgen-compare/99")),
    ] {
        let mut wrong = result.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(!validator.is_valid(&wrong), "{pointer}");
    }
}

#[test]
fn a_folder_without_a_result_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let output = loadgen(&["report", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("has no result.json"), "{output:?}");
    for (content, message) in [
        ("{", "is cut off after 1 bytes"),
        ("[]x", "is not JSON"),
        ("{}", "it has no schema"),
        ("{\"schema\":\"loadgen-run/1\"}", "this reads \"loadgen-compare/1\""),
        ("{\"schema\":\"loadgen-compare/1\"}", "is damaged"),
    ] {
        fs::write(empty.path().join("result.json"), content).unwrap();
        let output = loadgen(&["report", path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{output:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
    }
}

#[test]
fn sentences_say_what_the_trials_show() {
    let folder = folder(&comparison(|_, _| 1.0));
    report(folder.path());
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for sentence in [
        "24 of 29 cells can be ranked, 6 of these tied with another; 1: limited by the generator",
        "Fastest first, behind those that only the generator held back: bun and bun-elysia (tied), \
         then deno, then node, then node-fastify; rust: limited by the generator, so at least this; the ceiling is at least this high",
        "Fastest first: rust, then node; bad: invalid, not measured.",
        "Nothing can be ranked; all: host too noisy to conclude.",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
}

#[test]
fn a_comparison_without_ceiling_or_without_anything_has_a_report() {
    let mut without = comparison(|_, _| 1.0);
    without.cells.retain(|cell| cell.contender != "rust");
    for cell in &mut without.cells {
        cell.percent_of_ceiling = None;
        cell.percent_of_ceiling_interval = None;
    }
    without.trials.retain(|trial| trial.planned.cell.contender != "rust");
    let without = folder(&without);
    report(without.path());
    let page = fs::read_to_string(without.path().join("report.html")).unwrap();
    assert!(page.contains("the ceiling was not measured"));
    let mut nothing = comparison(|_, _| 1.0);
    nothing.cells.clear();
    nothing.trials.clear();
    nothing.interrupted = true;
    let nothing = folder(&nothing);
    report(nothing.path());
    let page = fs::read_to_string(nothing.path().join("report.html")).unwrap();
    assert!(page.contains("Ended early") && page.contains("No cell can be ranked"), "{page}");
}
