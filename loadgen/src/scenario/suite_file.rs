//! The TOML form of a suite; every error points at its line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::suite::{Contender, Profile, RequestBody, Scenario, Suite, SuiteError, Workers};
use super::{Answer, Content};
use crate::cli::units;

/// What may stand in braces in a contender's command, environment and version command.
const PLACEHOLDERS: &[&str] = &[
    "bun",
    "cert",
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
struct SuiteToml {
    #[serde(default = "default_ceiling")]
    ceiling: String,
    #[serde(default)]
    profiles: BTreeMap<String, ProfileToml>,
    #[serde(default)]
    scenario: Vec<ScenarioToml>,
    #[serde(default)]
    contender: Vec<ContenderToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileToml {
    trials: Spanned<u32>,
    warmup: Spanned<String>,
    warmup_max: Option<Spanned<String>>,
    duration: Spanned<String>,
    ready_timeout: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioToml {
    name: Spanned<String>,
    #[serde(default)]
    tls: bool,
    #[serde(default = "default_method")]
    method: String,
    #[serde(default = "default_path")]
    path: Spanned<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Spanned<String>>,
    upload_bytes: Option<u64>,
    answer: AnswerToml,
    #[serde(default)]
    connections: BTreeMap<String, Spanned<Vec<u32>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerToml {
    #[serde(default = "default_status")]
    status: u16,
    media_type: Option<String>,
    content: Option<Spanned<ContentToml>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ContentToml {
    Text(String),
    Json(String),
    File(String),
    Echo,
    Qr,
    Fibonacci,
    Counted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContenderToml {
    name: Spanned<String>,
    scenarios: Vec<Spanned<String>>,
    command: Spanned<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    version: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    workers: Workers,
}

fn default_ceiling() -> String {
    "rust".into()
}
fn default_method() -> String {
    "GET".into()
}
fn default_path() -> Spanned<String> {
    Spanned::new(0..0, "/".into())
}
fn default_status() -> u16 {
    200
}

/// Profiles of a suite that names none, or not these.
fn default_profiles() -> BTreeMap<String, Profile> {
    let profile = |trials, warmup_ms, warmup_max_ms, duration_ms| Profile {
        trials,
        warmup: Duration::from_millis(warmup_ms),
        warmup_max: Duration::from_millis(warmup_max_ms),
        duration: Duration::from_millis(duration_ms),
        ready_timeout: Duration::from_secs(15),
    };
    BTreeMap::from([
        ("smoke".to_owned(), profile(1, 300, 300, 1_000)),
        ("quick".to_owned(), profile(5, 1_000, 3_000, 1_500)),
    ])
}

/// The file, its text, and the means to point into it.
struct Source<'a> {
    path: &'a str,
    text: &'a str,
    data_dir: &'a Path,
}

pub(super) fn parse(path: &str, text: &str, data_dir: &Path) -> Result<Suite, SuiteError> {
    let source = Source { path, text, data_dir };
    let file: SuiteToml = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.error(at, error.message().trim().replace('\n', ", "))
    })?;
    let mut suite = Suite {
        text: text.to_owned(),
        ceiling: file.ceiling,
        profiles: default_profiles(),
        scenarios: Vec::new(),
        contenders: Vec::new(),
    };
    for (name, profile) in file.profiles {
        suite.profiles.insert(name, source.profile(&profile)?);
    }
    for scenario in file.scenario {
        if suite.scenario(scenario.name.get_ref()).is_some() {
            let message = format!("scenario {:?} is there twice", scenario.name.get_ref());
            return Err(source.error(scenario.name.span().start, message));
        }
        suite.scenarios.push(source.scenario(scenario)?);
    }
    let mut taken = BTreeSet::new();
    for contender in file.contender {
        let contender = source.contender(contender, &suite, &mut taken)?;
        suite.contenders.push(contender);
    }
    Ok(suite)
}

impl Source<'_> {
    fn error(&self, at: usize, message: String) -> SuiteError {
        let line = self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        SuiteError::Invalid { path: self.path.to_owned(), line, message }
    }

    fn duration(&self, text: &Spanned<String>) -> Result<Duration, SuiteError> {
        units::duration(text.get_ref()).map_err(|message| self.error(text.span().start, message))
    }

    fn profile(&self, profile: &ProfileToml) -> Result<Profile, SuiteError> {
        if *profile.trials.get_ref() == 0 {
            let message = "trials must be 1 or more".to_owned();
            return Err(self.error(profile.trials.span().start, message));
        }
        let ready_timeout = profile.ready_timeout.as_ref().map(|text| self.duration(text));
        let warmup = self.duration(&profile.warmup)?;
        let warmup_max = profile.warmup_max.as_ref().map(|text| self.duration(text)).transpose()?;
        if let Some(text) = profile.warmup_max.as_ref().filter(|_| warmup_max < Some(warmup)) {
            let message = "warmup_max must not be shorter than warmup".to_owned();
            return Err(self.error(text.span().start, message));
        }
        Ok(Profile {
            trials: *profile.trials.get_ref(),
            warmup,
            warmup_max: warmup_max.unwrap_or(warmup),
            duration: self.duration(&profile.duration)?,
            ready_timeout: ready_timeout.transpose()?.unwrap_or(Duration::from_secs(15)),
        })
    }

    fn scenario(&self, toml: ScenarioToml) -> Result<Scenario, SuiteError> {
        let at = toml.name.span().start;
        let name = toml.name.into_inner();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            let message = format!("scenario name {name:?}: use letters, digits, - _ .");
            return Err(self.error(at, message));
        }
        if !toml.path.get_ref().starts_with('/') {
            let message = format!("path {:?} must begin with /", toml.path.get_ref());
            return Err(self.error(toml.path.span().start, message));
        }
        let body = match (toml.body, toml.upload_bytes) {
            (Some(body), Some(_)) => {
                let message = "body and upload_bytes exclude each other".to_owned();
                return Err(self.error(body.span().start, message));
            }
            (Some(body), None) => Some(RequestBody::Template(body.into_inner())),
            (None, bytes) => bytes.map(RequestBody::UploadFile),
        };
        let mut connections = BTreeMap::new();
        for (profile, levels) in toml.connections {
            if levels.get_ref().is_empty() || levels.get_ref().contains(&0) {
                let message = "connections must be a list of numbers from 1, like [50]".to_owned();
                return Err(self.error(levels.span().start, message));
            }
            connections.insert(profile, levels.into_inner());
        }
        Ok(Scenario {
            name,
            tls: toml.tls,
            method: toml.method,
            path: toml.path.into_inner(),
            headers: toml.headers.into_iter().collect(),
            body,
            answer: self.answer(toml.answer)?,
            connections,
        })
    }

    fn answer(&self, toml: AnswerToml) -> Result<Answer, SuiteError> {
        let content = match toml.content {
            None => Content::Any,
            Some(content) => {
                let at = content.span().start;
                self.content(content.into_inner()).map_err(|message| self.error(at, message))?
            }
        };
        Ok(Answer { status: toml.status, media_type: toml.media_type, content })
    }

    fn content(&self, toml: ContentToml) -> Result<Content, String> {
        Ok(match toml {
            ContentToml::Text(text) => Content::Text(text),
            ContentToml::Json(text) => Content::Json(
                serde_json::from_str(&text)
                    .map_err(|error| format!("json = {text:?} is not JSON: {error}"))?,
            ),
            ContentToml::File(name) => {
                let name = name.replace("{data}", &self.data_dir.display().to_string());
                let bytes = std::fs::read(&name).map_err(|error| format!("{name}: {error}"))?;
                Content::File(Arc::from(bytes))
            }
            ContentToml::Echo => Content::Echo,
            ContentToml::Qr => Content::Qr,
            ContentToml::Fibonacci => Content::Fibonacci,
            ContentToml::Counted => Content::Counted,
        })
    }

    fn contender(
        &self,
        toml: ContenderToml,
        suite: &Suite,
        taken: &mut BTreeSet<(String, String)>,
    ) -> Result<Contender, SuiteError> {
        let at = toml.name.span().start;
        let name = toml.name.into_inner();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            let message = format!("contender name {name:?}: use letters, digits, - _ .");
            return Err(self.error(at, message));
        }
        for scenario in &toml.scenarios {
            let known = || suite.scenarios.iter().map(|s| s.name.as_str()).collect::<Vec<_>>();
            if suite.scenario(scenario.get_ref()).is_none() {
                let (scenario_name, known) = (scenario.get_ref(), known().join(", "));
                let message = format!("no scenario {scenario_name:?}; there are: {known}");
                return Err(self.error(scenario.span().start, message));
            }
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
        self.placeholders(toml.command.get_ref(), toml.command.span().start)?;
        for value in toml.env.values() {
            self.placeholders(std::slice::from_ref(value.get_ref()), value.span().start)?;
        }
        if let Some(version) = &toml.version {
            self.placeholders(version.get_ref(), version.span().start)?;
        }
        Ok(Contender {
            name,
            scenarios: toml.scenarios.into_iter().map(Spanned::into_inner).collect(),
            command: toml.command.into_inner(),
            env: toml.env.into_iter().map(|(k, v)| (k, v.into_inner())).collect(),
            version: toml.version.map(Spanned::into_inner),
            workers: toml.workers,
        })
    }

    fn placeholders(&self, texts: &[String], at: usize) -> Result<(), SuiteError> {
        for text in texts {
            for open in text.match_indices('{').map(|(open, _)| open) {
                let Some(close) = text[open..].find('}') else { continue };
                let name = &text[open + 1..open + close];
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

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse("my.toml", text, Path::new(".")).unwrap_err().to_string()
    }

    const HELLO: &str =
        "[[scenario]]\nname = \"hello\"\nanswer = { content = { text = \"hi\" } }\n";

    #[test]
    fn the_built_in_suite_has_every_scenario_and_its_ceiling() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("data");
        let suite = Suite::load(None, &data).unwrap();
        let names: Vec<&str> = suite.scenarios.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["hello", "https", "json", "png", "qr", "fib", "upload"]);
        let ceiling = suite.contenders.iter().find(|c| c.name == suite.ceiling).unwrap();
        assert_eq!(ceiling.scenarios, names);
    }

    #[test]
    fn a_contender_of_any_language_is_six_lines() {
        let text = format!(
            "{HELLO}[[contender]]\nname = \"python\"\nscenarios = [\"hello\"]\n\
             command = [\"/usr/bin/python3\", \"hello.py\", \"--port={{port}}\"]\n"
        );
        let suite = parse("my.toml", &text, Path::new(".")).unwrap();
        assert_eq!(suite.contenders[0].command[2], "--port={port}");
        assert_eq!(suite.scenarios[0].connections_in("quick"), [50]);
        assert_eq!(suite.profiles["smoke"].trials, 1);
    }

    #[test]
    fn errors_point_at_their_line() {
        assert!(message("[[scenario]\n").starts_with("my.toml:1: "));
        let unknown_key = message(&format!("{HELLO}nmae = \"x\"\n"));
        assert!(unknown_key.starts_with("my.toml:4: unknown field `nmae`"), "{unknown_key}");
        let unknown_scenario = message(&format!(
            "{HELLO}[[contender]]\nname = \"a\"\nscenarios = [\"helo\"]\ncommand = [\"a\"]\n"
        ));
        assert_eq!(unknown_scenario, "my.toml:6: no scenario \"helo\"; there are: hello");
        let placeholder = message(&format!(
            "{HELLO}[[contender]]\nname = \"a\"\nscenarios = [\"hello\"]\ncommand = [\"{{nod}}\"]\n"
        ));
        assert!(placeholder.starts_with("my.toml:7: no placeholder {nod}; there are: bun,"));
        let shorter = "trials = 1\nwarmup = \"2s\"\nwarmup_max = \"1s\"\nduration = \"1s\"\n";
        let shorter = message(&format!("[profiles.mine]\n{shorter}"));
        assert_eq!(shorter, "my.toml:4: warmup_max must not be shorter than warmup");
        let time = message("[profiles.mine]\ntrials = 1\nwarmup = \"1h30\"\nduration = \"1s\"\n");
        assert!(time.starts_with("my.toml:3: "), "{time}");
    }

    #[test]
    fn the_same_name_twice_is_refused() {
        let contender = "[[contender]]\nname = \"a\"\nscenarios = [\"hello\"]\ncommand = [\"a\"]\n";
        let text = message(&format!("{HELLO}{contender}{contender}"));
        assert_eq!(text, "my.toml:9: contender \"a\" is there twice in scenario \"hello\"");
        assert!(message(&format!("{HELLO}{HELLO}")).contains("scenario \"hello\" is there twice"));
    }
}
