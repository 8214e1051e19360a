//! `[[contender]]`: a program that plays scenarios, and what may stand in its command.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::Source;
use crate::scenario::{Contender, Role, Suite, Workers};
use crate::toml_file::TomlError;

/// What may stand in braces in a contender's command, environment and version command.
const PLACEHOLDERS: &[&str] = &[
    "bun",
    "cert",
    "client-bin",
    "data",
    "deno",
    "host",
    "key",
    "node",
    "port",
    "runtimes",
    "scenario",
    "server-bin",
    "workers",
    "workspace",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContenderToml {
    name: Spanned<String>,
    scenarios: Vec<Spanned<String>>,
    command: Spanned<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    sink: Option<Spanned<Vec<String>>>,
    version: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    workers: Workers,
    #[serde(default)]
    profiles: Vec<Spanned<String>>,
    #[serde(default)]
    connections: BTreeMap<String, Spanned<Vec<u32>>>,
    #[serde(default)]
    requests: BTreeMap<String, Spanned<u64>>,
    #[serde(default)]
    duration: BTreeMap<String, Spanned<String>>,
}

impl Source<'_> {
    /// A contender whose scenarios are there; `taken` is who plays which already.
    pub(super) fn contender(
        &self,
        toml: ContenderToml,
        suite: &Suite,
        taken: &mut BTreeSet<(String, String)>,
    ) -> Result<Contender, TomlError> {
        let at = toml.name.span().start;
        let name = toml.name.into_inner();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            let message = format!("contender name {name:?}: use letters, digits, - _ .");
            return Err(self.error(at, message));
        }
        for scenario in &toml.scenarios {
            self.scenario_name(suite, scenario.get_ref(), scenario.span().start)?;
            if !taken.insert((scenario.get_ref().clone(), name.clone())) {
                let message = format!(
                    "contender {name:?} is there twice in scenario {:?}",
                    scenario.get_ref()
                );
                return Err(self.error(at, message));
            }
        }
        if toml.command.get_ref().is_empty() {
            let message = "command is empty; it is a list: the program, then its arguments".into();
            return Err(self.error(toml.command.span().start, message));
        }
        self.placeholders(suite, toml.command.get_ref(), toml.command.span().start)?;
        for value in toml.env.values() {
            self.placeholders(suite, std::slice::from_ref(value.get_ref()), value.span().start)?;
        }
        if let Some(version) = &toml.version {
            self.placeholders(suite, version.get_ref(), version.span().start)?;
        }
        let is_client = |name: &Spanned<String>| {
            suite.scenario(name.get_ref()).is_some_and(|scenario| scenario.role == Role::Client)
        };
        if let Some(sink) = toml.sink.as_ref().filter(|_| !toml.scenarios.iter().any(is_client)) {
            let message = "sink is for scenarios with role = \"client\"".to_owned();
            return Err(self.error(sink.span().start, message));
        }
        Ok(Contender {
            name,
            scenarios: toml.scenarios.into_iter().map(Spanned::into_inner).collect(),
            command: toml.command.into_inner(),
            env: toml.env.into_iter().map(|(k, v)| (k, v.into_inner())).collect(),
            sink: toml.sink.map(Spanned::into_inner).unwrap_or_default(),
            version: toml.version.map(Spanned::into_inner),
            workers: toml.workers,
            profiles: self.belongs_to(toml.profiles)?,
            connections: self.connections(toml.connections)?,
            windows: self.windows(toml.requests, toml.duration)?,
        })
    }

    /// Whether everything in braces stands for something.
    fn placeholders(&self, suite: &Suite, texts: &[String], at: usize) -> Result<(), TomlError> {
        for text in texts {
            for open in text.match_indices('{').map(|(open, _)| open) {
                let Some(close) = text[open..].find('}') else { continue };
                let name = &text[open + 1..open + close];
                if let Some(scenario) = name.strip_prefix("server-bin:") {
                    self.scenario_name(suite, scenario, at)?;
                }
                let like_a_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if like_a_name && !name.is_empty() && !PLACEHOLDERS.contains(&name) {
                    let known = PLACEHOLDERS.join(", ");
                    let message = format!("no placeholder {{{name}}}; there are: {known}");
                    return Err(self.error(at, message));
                }
            }
        }
        Ok(())
    }
}
