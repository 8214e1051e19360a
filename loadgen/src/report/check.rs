//! A check for the terminal.

use std::fmt::Write as _;

use super::units;
use crate::check::Check;
use crate::check::agreement::{Agreement, LoadKind};
use crate::check::ceiling::Ceilings;
use crate::check::finding::{Finding, Grade};
use crate::check::noise::Noise;
use crate::check::truth::{Case, Compared, Truth};

/// A generator that is less busy than this was not the limit.
const GENERATOR_BUSY: f64 = 0.9;
/// The figures that have room in the table.
const SHOWN: [&str; 3] = ["p50", "p99", "max"];

/// The whole of it, with a final newline and without escape codes.
pub fn text(check: &Check) -> String {
    let mut text = heading(check);
    if let Some(findings) = &check.machine {
        text.push_str("\nMachine\n");
        for finding in findings {
            text.push_str(&line(finding));
        }
    }
    text.extend(check.ceiling.iter().map(ceiling));
    text.extend(check.truth.iter().map(truth));
    text.extend(check.noise.iter().map(noise));
    text.extend(check.agreement.iter().map(agreement));
    text.push_str(&conclusion(check));
    text
}

fn heading(check: &Check) -> String {
    let host = &check.host;
    format!(
        "loadgen {} checked {} UTC in {:.0} s: {}, {}, Linux {}\n",
        check.version,
        check.started_at.replace('T', " ").trim_end_matches('Z'),
        check.elapsed_s,
        host.cpu_model,
        units::counted(host.cpus as u64, "CPU"),
        host.kernel
    )
}

/// A finding, and below it what to do.
fn line(finding: &Finding) -> String {
    let mut text =
        format!("  {:<10} {:<19} {}\n", finding.grade.name(), finding.name, finding.value);
    if let Some(advice) = &finding.advice {
        let _ = writeln!(text, "{:33}→ {advice}", "");
    }
    text
}

fn ceiling(part: &Ceilings) -> String {
    let mut text =
        String::from("\nGenerator ceiling, against a server that does nothing but answer\n");
    let mut rows = vec![
        ["", "connections", "requests/s", "CPU per request", "generator busy"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for load in &part.loads {
        let scheme = if load.tls { "HTTPS" } else { "HTTP" };
        let at_least = if load.generator_busy_fraction < GENERATOR_BUSY { "≥ " } else { "" };
        rows.push(vec![
            format!("{scheme}, {} B", units::count(load.response_bytes as u64)),
            load.connections.to_string(),
            format!("{at_least}{}", units::rate(load.rate_per_s)),
            units::time_us(load.generator_cpu_us_per_request),
            format!("{:.0} %", load.generator_busy_fraction * 100.0),
        ]);
    }
    text.push_str(&aligned(&rows));
    text.push_str("  ≥: something else was the limit, the generator can do more.\n");
    text + &line(&part.finding)
}

fn truth(part: &Truth) -> String {
    let mut text =
        String::from("\nTruth: what is reported beside what a server with known delays did\n");
    let mut rows =
        vec![["", "figure", "computed", "reported", "deviation", ""].map(str::to_owned).to_vec()];
    for case in &part.cases {
        let mut first = true;
        for (kind, figures) in kinds(case) {
            for compared in figures.iter().filter(|c| SHOWN.contains(&c.figure.as_str())) {
                let name = if first { name(case) } else { String::new() };
                let grade = if first { case.grade.name() } else { "" };
                first = false;
                rows.push(vec![
                    name,
                    format!("{kind} {}", compared.figure),
                    units::time_us(compared.computed),
                    units::time_us(compared.reported),
                    deviation(compared),
                    grade.to_owned(),
                ]);
            }
        }
    }
    text.push_str(&aligned(&rows));
    for case in part.cases.iter().filter(|case| case.requests_sent != case.requests_served) {
        let _ = writeln!(
            text,
            "  {}: {} sent by the generator, {} answered by the server",
            name(case),
            units::count(case.requests_sent),
            units::count(case.requests_served)
        );
    }
    text + &line(&part.finding)
}

/// What the clients of a load wait for: the response time where there is a schedule.
fn kinds(case: &Case) -> Vec<(&'static str, &Vec<Compared>)> {
    match &case.response_time_us {
        None => vec![("service", &case.service_time_us)],
        Some(response) => vec![("response", response)],
    }
}

fn name(case: &Case) -> String {
    match case.rate_per_s {
        None => format!("{}; closed loop", case.name),
        Some(rate) => format!("{}; {rate}/s", case.name),
    }
}

fn deviation(compared: &Compared) -> String {
    let sign = if compared.deviation < 0.0 { "-" } else { "+" };
    let size = units::time_us(compared.deviation.abs());
    format!("{sign}{size} ({:+.1} %)", compared.deviation_percent)
}

fn noise(part: &Noise) -> String {
    let rates: Vec<String> = part.rates_per_s.iter().map(|rate| units::rate(*rate)).collect();
    format!(
        "\nNoise: {} of {} at {} connections, {} each, a fresh process each time\n  requests/s: {}\n{}",
        units::counted(part.rates_per_s.len() as u64, "trial"),
        part.contender,
        part.connections,
        units::round_time_us(part.duration_s * 1e6),
        rates.join("  "),
        line(&part.finding)
    )
}

fn agreement(part: &Agreement) -> String {
    let mut text =
        String::from("\nAgreement with other load generators, one thread each, in turn\n");
    let heading = ["", "generator", "requests/s", "p50", "CPU per request", "busy", ""];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let mut last = None;
    for figures in &part.figures {
        let load = match figures.load {
            _ if last == Some(figures.load) => String::new(),
            LoadKind::Delayed => {
                format!("each answer after 2 ms, {} connections", figures.connections)
            }
            LoadKind::Full => format!("full speed, {} connections", figures.connections),
        };
        last = Some(figures.load);
        let dash = || "-".to_owned();
        rows.push(vec![
            load,
            figures.tool.clone(),
            figures.rate_per_s.map_or_else(dash, units::rate),
            units::time_us_or_dash(figures.p50_us),
            units::time_us_or_dash(figures.cpu_us_per_request),
            figures.busy_fraction.map_or_else(dash, |busy| format!("{:.0} %", busy * 100.0)),
            figures.note.clone().unwrap_or_default(),
        ]);
    }
    if rows.len() > 1 {
        text.push_str(&aligned(&rows));
    }
    text + &line(&part.finding)
}

fn conclusion(check: &Check) -> String {
    if check.interrupted {
        return "\nEnded early: the parts above are what was measured.\n".into();
    }
    if check.publishable {
        let tolerable = check.findings().filter(|f| f.grade == Grade::Tolerable).count();
        let mut text = String::from("\nFigures from this machine can be published");
        if tolerable > 0 {
            let _ = write!(
                text,
                "; {} should be told beside them",
                units::counted(tolerable as u64, "line")
            );
        }
        return text + ".\n";
    }
    let mut text =
        String::from("\nFigures from this machine should not be published as it is now:\n");
    for objection in &check.objections {
        let _ = writeln!(text, "  - {objection}");
    }
    text
}

/// Columns two spaces apart, the first and the last to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let length = |text: &String| text.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(length).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - length(cell));
            let left = column == 0 || column + 1 == columns;
            let cell = if left { format!("{cell}{space}") } else { format!("{space}{cell}") };
            let _ = write!(line, "  {cell}");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let rows = [vec!["a".to_owned(), "10 µs".into()], vec!["long".into(), "9 ms".into()]];
        assert_eq!(aligned(&rows), "  a     10 µs\n  long  9 ms\n");
    }

    #[test]
    fn advice_stands_below_its_finding() {
        let bad = Finding::new("timer", Grade::Bad, "late").advise("do this");
        let text = line(&bad);
        assert!(text.starts_with("  bad        timer               late\n"), "{text}");
        assert!(text.ends_with("→ do this\n"), "{text}");
    }
}
