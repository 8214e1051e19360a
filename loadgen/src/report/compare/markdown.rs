//! A comparison as a Markdown page.

use std::fmt::Write as _;

use super::role;
use super::table::{Grid, tables};
use super::windows;
use crate::experiment::record::{Comparison, Manifest};
use crate::report::claims::{self, Judgement};

/// The page: tables first, then how they were made.
pub fn markdown(comparison: &Comparison) -> String {
    let mut page = String::from("# Comparison\n\n");
    let manifest = &comparison.manifest;
    let _ = writeln!(page, "{}\n", how(manifest));
    if let Some(sentence) = windows::scaled(manifest) {
        let _ = writeln!(page, "**{sentence}**\n");
    }
    if comparison.interrupted {
        page.push_str("**Ended early: some trials are missing.**\n\n");
    }
    for table in tables(comparison) {
        let _ = writeln!(page, "## {}\n", table.scenario);
        if let Some(window) = windows::of_scenario(manifest, &table.scenario) {
            let _ = writeln!(page, "Each trial: {window}.\n");
        }
        rows(&mut page, &table.figures);
        for note in table.notes {
            let _ = writeln!(page, "- {}", escape(&note));
        }
        let _ = writeln!(page, "\n### Latency: {}\n", table.scenario);
        rows(&mut page, &table.latency);
    }
    if let Some(judgement) = Judgement::of(comparison) {
        page.push_str(&claims::section(&judgement));
    }
    page.push_str("## How to read it\n\n");
    page.push_str(
        "Times are service times: from the first byte of a request to the last of its answer. max \
         is that of all trials. CPU and memory are the server's, all threads and children. `% of ceiling` is the rate by that of the \
         Rust server of the scenario. Only server-bound rows are ranked; `=` marks rows that the \
         trials do not tell apart. A client-bound row says what the contender reached at least.\n\n",
    );
    if let Some(method) = role::method(comparison) {
        let _ = writeln!(page, "{method}\n");
    }
    list(&mut page, "Not measured", &comparison.skipped);
    list(&mut page, "Differences between the answers", &comparison.warnings);
    machine(&mut page, comparison);
    page
}

fn rows(page: &mut String, grid: &Grid) {
    let headings = &grid.headings;
    let _ = writeln!(page, "| {} |", headings.join(" | "));
    let _ = writeln!(page, "|---|{}---|", "--:|".repeat(headings.len() - 2));
    for row in &grid.rows {
        let _ = writeln!(page, "| {} |", row.iter().map(escape).collect::<Vec<_>>().join(" | "));
    }
    page.push('\n');
}

fn how(manifest: &Manifest) -> String {
    let trials = match manifest.trials_per_cell {
        1 => "one trial per row: no intervals, and nothing is told apart".to_owned(),
        2 => "two trials per row: too few for intervals, nothing is told apart".to_owned(),
        trials => format!("medians of {trials} trials, ± half of the 95 % bootstrap interval"),
    };
    format!(
        "Profile `{}`, {}: {trials}. Each trial is a fresh process, {} of warm-up, then measured \
         for {}, closed loop, contenders in random order (seed {}).",
        manifest.profile,
        manifest.started_at,
        manifest.warmup_in_words(),
        windows::of_all(manifest),
        manifest.seed
    )
}

fn list(page: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(page, "## {heading}\n");
    for line in lines {
        let _ = writeln!(page, "- {}", escape(line));
    }
    page.push('\n');
}

fn machine(page: &mut String, comparison: &Comparison) {
    let (host, manifest) = (&comparison.host, &comparison.manifest);
    let pins = &manifest.pins;
    let _ = writeln!(page, "## Machine and programs\n");
    let _ = writeln!(
        page,
        "- {}, {} CPUs, {} MiB, {} {}, {}",
        host.cpu_model, host.cpus, host.memory_mib, host.kernel, host.architecture, host.os
    );
    let _ = writeln!(
        page,
        "- server on CPU {:?}, generator on CPU {:?} with {} threads; servers asked to use {} worker(s)",
        pins.server_cpus, pins.generator_cpus, manifest.generator_threads, manifest.workers
    );
    if let Some(warning) = &pins.warning {
        let _ = writeln!(page, "- **{}**", escape(warning));
    }
    match &manifest.check {
        Some(check) => _ = writeln!(page, "- {}", escape(check.in_words())),
        None => page.push_str("- not checked with `loadgen check`\n"),
    }
    for (contender, version) in &manifest.versions {
        let _ = writeln!(page, "- {contender}: {}", escape(version));
    }
    let revision = manifest.git_revision.as_deref().unwrap_or("unknown revision");
    let _ = writeln!(page, "- loadgen {}, {revision}", manifest.version);
    let _ = writeln!(page, "- `{}`", manifest.command_line.join(" "));
}

/// Text that cannot end a table cell or begin markup.
fn escape(text: impl AsRef<str>) -> String {
    text.as_ref().replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
