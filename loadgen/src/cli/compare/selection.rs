//! Which cells of a suite are measured.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;

use super::Args;
use crate::experiment::contender::Places;
use crate::experiment::host;
use crate::experiment::plan::Cell;
use crate::scenario::{Contender, Role, Scenario, Suite};

/// A suite, and what of it is measured.
pub(super) struct Selection {
    pub(super) suite: Suite,
    pub(super) cells: Vec<Cell>,
    /// What is unusual about it.
    pub(super) warnings: Vec<String>,
}

impl Selection {
    /// What `args` ask for, of contenders that suit a table of `workers` workers each, or that were
    /// named.
    pub(super) fn new(args: &Args, mut suite: Suite, workers: usize) -> anyhow::Result<Self> {
        let scenarios = suite.scenarios.iter().map(|scenario| scenario.name.as_str());
        check_names("scenario", &args.scenario, scenarios)?;
        let contenders = suite.contenders.iter().map(|contender| contender.name.as_str());
        check_names("contender", &args.contender, contenders)?;
        if args.aa {
            let again = |contender: &Contender| Contender {
                name: format!("{}-again", contender.name),
                ..contender.clone()
            };
            let both = suite.contenders.iter().flat_map(|one| [one.clone(), again(one)]);
            suite.contenders = both.collect();
        }
        let mut cells = Vec::new();
        for scenario in &suite.scenarios {
            for contender in &suite.contenders {
                if wanted(args, scenario, contender, workers) {
                    cells.extend(levels(args, scenario, contender).iter().map(|&connections| {
                        Cell {
                            scenario: scenario.name.clone(),
                            contender: contender.name.clone(),
                            connections,
                        }
                    }));
                }
            }
        }
        if cells.is_empty() {
            bail!("none of the contenders asked for plays one of the scenarios asked for");
        }
        let warnings = mixed(&suite, &cells, workers);
        Ok(Self { suite, cells, warnings })
    }

    /// Contenders that are measured, with each of their scenarios.
    pub(super) fn played(&self) -> impl Iterator<Item = (&Contender, &str)> {
        self.suite.contenders.iter().flat_map(|contender| {
            let scenarios = contender.scenarios.iter().map(String::as_str);
            scenarios
                .filter(|scenario| self.has(scenario, &contender.name))
                .map(move |scenario| (contender, scenario))
        })
    }

    /// Scenarios that are measured.
    pub(super) fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        let measured =
            |scenario: &&Scenario| self.cells.iter().any(|cell| cell.scenario == scenario.name);
        self.suite.scenarios.iter().filter(measured)
    }

    fn has(&self, scenario: &str, contender: &str) -> bool {
        self.cells.iter().any(|cell| cell.scenario == scenario && cell.contender == contender)
    }

    /// Takes out the cells whose contender lacks a program.
    pub(super) fn keep_startable(&mut self, places: &Places) {
        let suite = &self.suite;
        self.cells.retain(|cell| {
            let contender = suite
                .contenders
                .iter()
                .find(|c| c.name == cell.contender && c.scenarios.contains(&cell.scenario));
            suite.scenario(&cell.scenario).zip(contender).is_some_and(|(scenario, contender)| {
                places.command_line(contender, scenario, 1).is_ok()
            })
        });
    }

    /// The version of each contender's program, asked of the very binary.
    pub(super) fn versions(&self, places: &Places) -> BTreeMap<String, String> {
        let mut known: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
        let mut versions = BTreeMap::new();
        for (contender, scenario) in self.played() {
            let Some(command) = places.version_command(contender, scenario) else { continue };
            let ask = || host::version(&command);
            let version = known.entry(command.clone()).or_insert_with(ask).clone();
            if let Some(version) = version {
                versions.entry(contender.name.clone()).or_insert(version);
            }
        }
        versions
    }
}

fn wanted(args: &Args, scenario: &Scenario, contender: &Contender, workers: usize) -> bool {
    let named = |names: &[String], name: &str| {
        names.iter().any(|n| n == name || name == format!("{n}-again"))
    };
    // What is asked for by its name is measured in every profile.
    contender.scenarios.contains(&scenario.name)
        && if args.scenario.is_empty() {
            scenario.belongs_to(&args.profile)
        } else {
            named(&args.scenario, &scenario.name)
        }
        && if args.contender.is_empty() {
            contender.workers.suits(workers) && contender.belongs_to(&args.profile)
        } else {
            named(&args.contender, &contender.name)
        }
}

/// Contenders that were named but can use another number of workers than the others are given.
fn mixed(suite: &Suite, cells: &[Cell], workers: usize) -> Vec<String> {
    let unsuited = suite.contenders.iter().filter(|contender| {
        !contender.workers.suits(workers)
            && cells.iter().any(|cell| {
                cell.contender == contender.name && contender.scenarios.contains(&cell.scenario)
            })
    });
    let mut names: Vec<&str> = unsuited.map(|contender| contender.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return Vec::new();
    }
    let names = names.join(", ");
    vec![format!("mixed tables: {workers} worker(s) asked for do not suit {names}")]
}

fn levels<'a>(args: &'a Args, scenario: &'a Scenario, contender: &'a Contender) -> &'a [u32] {
    if !args.connections.is_empty() && scenario.role == Role::Server {
        return &args.connections;
    }
    let own = contender.connections.get(&args.profile);
    own.map_or_else(|| scenario.connections_in(&args.profile), Vec::as_slice)
}

fn check_names<'a>(
    what: &str,
    asked: &[String],
    known: impl Iterator<Item = &'a str>,
) -> anyhow::Result<()> {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    match asked.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => bail!("no {what} {name:?}; there are: {}", known.join(", ")),
        None => Ok(()),
    }
}

/// SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256_of(path: &Path) -> Option<String> {
    Some(sha256(&std::fs::read(path).ok()?))
}

/// SHA-256 in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
