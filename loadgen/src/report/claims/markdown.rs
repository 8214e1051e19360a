//! Claims as Markdown: a section of a report, and the page of the articles.

use std::fmt::Write as _;

use super::{Judged, JudgedArticle, Judgement, measured, native, summary};
use crate::experiment::record::{CellResult, Comparison};
use crate::experiment::verdict::Verdict;
use crate::report::compare::windows;
use crate::report::units;

/// The claims of a report.
pub fn section(judgement: &Judgement) -> String {
    let mut page = String::from("## Published claims\n\n");
    let _ = writeln!(page, "{}\n", summary(judgement.claims()));
    for article in judgement.articles.iter().filter(|article| !article.claims.is_empty()) {
        let about = &article.article;
        let _ = writeln!(page, "### {}\n\n{}; {}\n", about.title, about.published, about.versions);
        table(&mut page, &article.claims);
    }
    page
}

/// The whole page: for each article what is run, what had to change, and what was found.
pub fn page(judgement: &Judgement, comparison: &Comparison) -> String {
    let (host, manifest) = (&comparison.host, &comparison.manifest);
    let mut page = String::from("# The five published comparisons, run again\n\n");
    page.push_str(
        "This page is made by `loadgen claims DIR --format page` from the result of one run; no figure in \
         it is written by hand. Ratios are judged, absolute rates of another machine are not. A claim \
         holds where the whole 95 % interval of its ratio is where the claim has it, at every number of \
         connections; \"about X\" is from X / 1.25 to 1.25 X. Fewer than three trials tell nothing.\n\n",
    );
    let _ = writeln!(
        page,
        "The run: `{}`, {}, on {}, {} CPUs, Linux {}; server on CPU {:?}, generator on CPU {:?}, {} of each \
         cell.{}\n",
        manifest.command_line.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
        manifest.started_at,
        host.cpu_model,
        host.cpus,
        host.kernel,
        manifest.pins.server_cpus,
        manifest.pins.generator_cpus,
        units::counted(manifest.trials_per_cell.into(), "trial"),
        windows::scaled(manifest).map_or_else(String::new, |sentence| format!(" **{sentence}**")),
    );
    let versions: Vec<String> = ["node", "deno", "bun"]
        .iter()
        .filter_map(|name| Some(format!("{name} {}", first_line(manifest.versions.get(*name)?))))
        .collect();
    let _ =
        writeln!(page, "Versions: {}.\n\n{}\n", versions.join(", "), summary(judgement.claims()));
    for article in &judgement.articles {
        of_article(&mut page, article, comparison);
    }
    page
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn of_article(page: &mut String, article: &JudgedArticle, comparison: &Comparison) {
    let about = &article.article;
    let _ = writeln!(page, "## {}\n\n{}; {}\n", about.title, about.published, about.versions);
    let _ = writeln!(page, "**What we run.** {}\n", about.runs);
    if !about.changes.is_empty() {
        page.push_str("**What had to change.**\n\n");
        for change in &about.changes {
            let _ = writeln!(page, "- {change}");
        }
        page.push('\n');
    }
    let _ = writeln!(page, "**What we found.** {}\n", summary(article.claims.iter()));
    table(page, &article.claims);
    for scenario in &about.scenarios {
        rates(page, comparison, scenario);
    }
}

fn table(page: &mut String, claims: &[Judged]) {
    page.push_str(
        "| claim | published | measured now | verdict | native |\n|---|---|---|---|---|\n",
    );
    for claim in claims {
        let found = if claim.levels.is_empty() { "–".into() } else { measured(claim) };
        let reason =
            if claim.reason.is_empty() { String::new() } else { format!(": {}", claim.reason) };
        let _ = writeln!(
            page,
            "| {} | {} | {} | **{}**{} | {} |",
            escape(&claim.claim),
            escape(&claim.published),
            escape(&found),
            claim.outcome.name(),
            escape(&reason),
            native(claim).unwrap_or_else(|| "–".into())
        );
    }
    page.push('\n');
}

/// Requests per second of a scenario: contenders by connections.
fn rates(page: &mut String, comparison: &Comparison, scenario: &str) {
    let cells: Vec<&CellResult> =
        comparison.cells.iter().filter(|cell| cell.scenario == scenario).collect();
    let mut levels: Vec<u32> = cells.iter().map(|cell| cell.connections).collect();
    levels.sort_unstable();
    levels.dedup();
    let mut contenders: Vec<&str> = Vec::new();
    for cell in &cells {
        if !contenders.contains(&cell.contender.as_str()) {
            contenders.push(&cell.contender);
        }
    }
    if cells.is_empty() {
        return;
    }
    let window = windows::of_scenario(&comparison.manifest, scenario)
        .map_or_else(String::new, |window| format!(", {window}"));
    let _ =
        writeln!(page, "{scenario}{window}: per second, with CPU % and MiB of memory (mean).\n");
    let headings: Vec<String> = levels.iter().map(|level| format!("{level} connections")).collect();
    let _ = writeln!(page, "| | {} |", headings.join(" | "));
    let _ = writeln!(page, "|---|{}", "--:|".repeat(levels.len()));
    for contender in contenders {
        let entry = |level: &u32| {
            let cell = cells.iter().find(|c| c.contender == contender && c.connections == *level);
            cell.map_or_else(String::new, |cell| figures(cell))
        };
        let entries: Vec<String> = levels.iter().map(entry).collect();
        let _ = writeln!(page, "| {contender} | {} |", entries.join(" | "));
    }
    page.push('\n');
}

fn figures(cell: &CellResult) -> String {
    let (Some(rate), Some(verdict)) = (cell.rate_per_s, cell.verdict) else { return "–".into() };
    let at_least = if verdict == Verdict::ClientBound { "≥ " } else { "" };
    let noisy = if verdict == Verdict::HostNoisy { " (noisy)" } else { "" };
    let cpu = cell.cpu_percent.map_or_else(String::new, |cpu| format!(", {cpu:.0} %"));
    let memory = cell.memory_mib.map_or_else(String::new, |m| format!(", {:.0} MiB", m.mean));
    format!("{at_least}{}{cpu}{memory}{noisy}", units::rate(rate))
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
