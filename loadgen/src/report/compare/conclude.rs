//! What can and cannot be concluded from a comparison, in one sentence.

use crate::experiment::record::{CellResult, Comparison};
use crate::experiment::verdict::Verdict;
use crate::report::units;

/// Fewer trials carry no interval, so they tell nothing apart.
const MIN_TRIALS: u32 = 3;

/// The sentence for the whole comparison.
pub fn of_all(comparison: &Comparison) -> String {
    let cells = &comparison.cells;
    let count = |wanted: &dyn Fn(&CellResult) -> bool| cells.iter().filter(|c| wanted(c)).count();
    let with = |verdict| count(&|cell| cell.verdict == Some(verdict));
    let mut parts = Vec::new();
    if comparison.manifest.trials_per_cell < MIN_TRIALS {
        parts.push(format!(
            "With {} of each cell nothing is told apart: read orders of magnitude, no ranking",
            units::counted(comparison.manifest.trials_per_cell.into(), "trial")
        ));
    } else {
        let ranked = count(&|cell| cell.rank.is_some());
        let tied = count(&|cell| cell.tied);
        parts.push(match (ranked, tied) {
            (0, _) => "No cell can be ranked".into(),
            (_, 0) => format!("{ranked} of {} cells can be ranked, none of them tied", cells.len()),
            _ => format!(
                "{ranked} of {} cells can be ranked, {tied} of these tied with another",
                cells.len()
            ),
        });
    }
    let all = cells.len();
    let reasons = [
        (with(Verdict::ClientBound), "limited by the generator, lower bounds of what it can do"),
        (with(Verdict::SinkBound), "limited by the sink, lower bounds of what it can do"),
        (with(Verdict::HostNoisy), "measured on a noisy host, nothing can be concluded from it"),
        (with(Verdict::Invalid), "invalid, without a figure"),
        (count(&|cell| cell.verdict.is_none()), "not run"),
    ];
    for (number, reason) in reasons {
        if number > 0 {
            let number = if number == all { "every cell".into() } else { number.to_string() };
            parts.push(format!("{number}: {reason}"));
        }
    }
    if comparison.interrupted {
        parts.push("the run ended early".into());
    }
    sentence(&parts)
}

/// The sentence for `cells`: one scenario at one number of connections.
pub fn of_scenario(comparison: &Comparison, cells: &[&CellResult]) -> String {
    let names = |wanted: &dyn Fn(&CellResult) -> bool| -> Vec<&str> {
        cells.iter().filter(|c| wanted(c)).map(|c| c.contender.as_str()).collect()
    };
    let with = |verdict| names(&|cell| cell.verdict == Some(verdict));
    let mut parts = Vec::new();
    if comparison.manifest.trials_per_cell < MIN_TRIALS {
        parts.push("Too few trials to tell contenders apart".to_owned());
    } else {
        let ahead = (!cells.iter().any(|cell| cell.rank == Some(1)))
            .then(|| if with(Verdict::SinkBound).is_empty() { "generator" } else { "sink" });
        parts.push(order(&groups(cells), ahead));
    }
    let reasons = [
        (Verdict::ClientBound, "limited by the generator, so at least this"),
        (Verdict::SinkBound, "limited by the sink, so at least this"),
        (Verdict::HostNoisy, "host too noisy to conclude"),
        (Verdict::Invalid, "invalid, not measured"),
    ];
    for (verdict, reason) in reasons {
        let names = with(verdict);
        if names.len() == cells.len() && cells.len() > 1 {
            parts.push(format!("all: {reason}"));
        } else if !names.is_empty() {
            parts.push(format!("{}: {reason}", and(&names)));
        }
    }
    let ceiling = cells.iter().find(|cell| cell.contender == comparison.manifest.ceiling);
    let at_least = |cell: &&CellResult| cell.verdict.is_some_and(Verdict::is_at_least);
    if ceiling.is_some_and(at_least) && cells.len() > 1 {
        parts.push("the ceiling is at least this high, so shares of it are at most these".into());
    }
    sentence(&parts)
}

/// Names of the ranked contenders, fastest first; those that are tied stand together.
fn groups<'a>(cells: &[&'a CellResult]) -> Vec<Vec<&'a str>> {
    let mut ranked: Vec<(usize, &str)> =
        cells.iter().filter_map(|cell| Some((cell.rank?, cell.contender.as_str()))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut groups: Vec<(usize, Vec<&str>)> = Vec::new();
    for (rank, name) in ranked {
        match groups.last_mut() {
            Some((last, names)) if *last == rank => names.push(name),
            _ => groups.push((rank, vec![name])),
        }
    }
    groups.into_iter().map(|(_, names)| names).collect()
}

/// The groups in words; others, which cannot be ranked, were ahead of them where there is a `limit`:
/// what held those back.
fn order(groups: &[Vec<&str>], limit: Option<&str>) -> String {
    match groups {
        [] => "Nothing can be ranked".into(),
        [only] if only.len() == 1 => format!("Only {} can be ranked", only[0]),
        [only] => format!("The trials do not tell {} apart", and(only)),
        groups => {
            let names = |names: &Vec<&str>| match names.len() {
                1 => names[0].to_owned(),
                _ => format!("{} (tied)", and(names)),
            };
            let each: Vec<String> = groups.iter().map(names).collect();
            let each = each.join(", then ");
            match limit {
                None => format!("Fastest first: {each}"),
                Some(limit) => {
                    format!("Fastest first, behind those that only the {limit} held back: {each}")
                }
            }
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn and(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

fn sentence(parts: &[String]) -> String {
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(contender: &str, verdict: Verdict, rank: Option<usize>) -> CellResult {
        let contender = contender.into();
        CellResult { contender, verdict: Some(verdict), rank, ..CellResult::default() }
    }

    #[test]
    fn ties_stand_together_and_what_has_no_rank_has_a_reason() {
        let cells = [
            cell("node", Verdict::ServerBound, Some(2)),
            cell("rust", Verdict::ServerBound, Some(1)),
            cell("deno", Verdict::ServerBound, Some(2)),
            cell("bun", Verdict::ClientBound, None),
            cell("bad", Verdict::Invalid, None),
        ];
        let groups = groups(&cells.iter().collect::<Vec<_>>());
        assert_eq!(order(&groups, None), "Fastest first: rust, then node and deno (tied)");
        assert_eq!(
            order(&groups, Some("sink")),
            "Fastest first, behind those that only the sink held back: rust, then node and deno \
             (tied)"
        );
        assert_eq!(order(&groups[1..], None), "The trials do not tell node and deno apart");
        assert_eq!(order(&groups[..1], None), "Only rust can be ranked");
        assert_eq!(order(&[], None), "Nothing can be ranked");
        assert_eq!(and(&["a", "b", "c"]), "a, b and c");
    }
}
