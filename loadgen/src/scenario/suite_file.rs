//! The TOML form of a suite; every error points at its line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::suite::{Profile, RequestBody, Role, Scenario, Suite};
use super::{Answer, Content};
use crate::cli::units;
use crate::engine::Template;
use crate::toml_file::{TomlError, TomlText};

mod by_profile;
mod contender;

use contender::ContenderToml;

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
    role: Role,
    #[serde(default)]
    tls: bool,
    #[serde(default = "default_method")]
    method: Spanned<String>,
    #[serde(default = "default_path")]
    path: Spanned<String>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    body: Option<Spanned<String>>,
    upload_bytes: Option<u64>,
    answer: AnswerToml,
    #[serde(default)]
    connections: BTreeMap<String, Spanned<Vec<u32>>>,
    #[serde(default)]
    profiles: Vec<Spanned<String>>,
    #[serde(default)]
    requests: BTreeMap<String, Spanned<u64>>,
    #[serde(default)]
    duration: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    cpu_quota: BTreeMap<String, Spanned<f64>>,
    typical_rate: Option<Spanned<f64>>,
    #[serde(default)]
    output_lines: u64,
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

fn default_ceiling() -> String {
    "rust".into()
}
fn default_method() -> Spanned<String> {
    Spanned::new(0..0, "GET".into())
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
        requests: None,
        ready_timeout: Duration::from_secs(15),
    };
    BTreeMap::from([
        ("smoke".to_owned(), profile(1, 300, 300, 1_000)),
        ("quick".to_owned(), profile(5, 800, 2_400, 1_000)),
    ])
}

/// The file, and what its parts are checked against.
struct Source<'a> {
    file: TomlText<'a>,
    data_dir: &'a Path,
    /// Names of the profiles.
    profiles: BTreeSet<String>,
}

pub(super) fn parse(path: &str, text: &str, data_dir: &Path) -> Result<Suite, TomlError> {
    let mut source = Source { file: TomlText { path, text }, data_dir, profiles: BTreeSet::new() };
    let file: SuiteToml = source.file.parse()?;
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
    source.profiles = suite.profiles.keys().cloned().collect();
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
    fn error(&self, at: usize, message: String) -> TomlError {
        self.file.error(at, message)
    }

    fn duration(&self, text: &Spanned<String>) -> Result<Duration, TomlError> {
        units::duration(text.get_ref()).map_err(|message| self.error(text.span().start, message))
    }

    fn profile(&self, profile: &ProfileToml) -> Result<Profile, TomlError> {
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
            requests: None,
            ready_timeout: ready_timeout.transpose()?.unwrap_or(Duration::from_secs(15)),
        })
    }

    fn scenario(&self, toml: ScenarioToml) -> Result<Scenario, TomlError> {
        let at = toml.name.span().start;
        if let Some(message) = client_error(&toml) {
            return Err(self.error(at, message.into()));
        }
        let name = toml.name.into_inner();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            let message = format!("scenario name {name:?}: use letters, digits, - _ .");
            return Err(self.error(at, message));
        }
        self.path(&toml.path)?;
        let body = match (toml.body, toml.upload_bytes) {
            (Some(body), Some(_)) => {
                let message = "body and upload_bytes exclude each other".to_owned();
                return Err(self.error(body.span().start, message));
            }
            (Some(body), None) => {
                self.template(&body)?;
                Some(RequestBody::Template(body.into_inner()))
            }
            (None, bytes) => bytes.map(RequestBody::UploadFile),
        };
        Ok(Scenario {
            name,
            role: toml.role,
            tls: toml.tls,
            method: units::method(toml.method.get_ref())
                .map_err(|message| self.error(toml.method.span().start, message))?,
            path: toml.path.into_inner(),
            headers: self.headers(toml.headers)?,
            body,
            answer: self.answer(toml.answer)?,
            connections: self.connections(toml.connections)?,
            profiles: self.belongs_to(toml.profiles)?,
            windows: self.windows(toml.requests, toml.duration)?,
            cpu_quota: self.cpu_quota(toml.cpu_quota)?,
            typical_rate: self.typical_rate(toml.typical_rate)?,
            output_lines: toml.output_lines,
        })
    }

    fn path(&self, path: &Spanned<String>) -> Result<(), TomlError> {
        let text = path.get_ref();
        if !text.starts_with('/') {
            return Err(self.error(path.span().start, format!("path {text:?} must begin with /")));
        }
        if let Some(wrong) = text.chars().find(|c| !c.is_ascii_graphic()) {
            let message = format!("path {text:?} holds {wrong:?}; write it percent-encoded");
            return Err(self.error(path.span().start, message));
        }
        self.template(path)
    }

    /// Names and values that can be sent (RFC 9110 section 5), and no framing, which follows from the
    /// body.
    fn headers(
        &self,
        toml: BTreeMap<String, Spanned<String>>,
    ) -> Result<Vec<(String, String)>, TomlError> {
        let mut headers = Vec::new();
        for (name, value) in toml {
            let at = value.span().start;
            if !units::is_token(&name) {
                return Err(self.error(at, format!("{name:?} is not a header name")));
            }
            if ["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()) {
                return Err(self.error(at, format!("{name} follows from the body; leave it out")));
            }
            if let Some(control) = value.get_ref().chars().find(|c| c.is_control() && *c != '\t') {
                let message = format!("the value of header {name} holds {control:?}");
                return Err(self.error(at, message));
            }
            self.template(&value)?;
            headers.push((name, value.into_inner()));
        }
        Ok(headers)
    }

    /// Whether the engine can expand the placeholders.
    fn template(&self, text: &Spanned<String>) -> Result<(), TomlError> {
        let parsed = Template::parse(text.get_ref()).map(drop);
        parsed.map_err(|error| self.error(text.span().start, error.to_string()))
    }

    fn answer(&self, toml: AnswerToml) -> Result<Answer, TomlError> {
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

    fn scenario_name(&self, suite: &Suite, name: &str, at: usize) -> Result<(), TomlError> {
        if suite.scenario(name).is_some() {
            return Ok(());
        }
        let known: Vec<&str> = suite.scenarios.iter().map(|s| s.name.as_str()).collect();
        Err(self.error(at, format!("no scenario {name:?}; there are: {}", known.join(", "))))
    }
}

/// What keeps a scenario from having clients as contenders.
fn client_error(toml: &ScenarioToml) -> Option<&'static str> {
    if toml.role == Role::Server {
        return None;
    }
    if toml.upload_bytes.is_none() {
        return Some("a scenario with role = \"client\" needs upload_bytes: the size of the file");
    }
    if toml.tls {
        return Some("a scenario with role = \"client\" cannot have tls: uploads are plain HTTP");
    }
    if !toml.connections.is_empty() {
        return Some("a scenario with role = \"client\" has no connections: it opens its own");
    }
    if !toml.requests.is_empty() {
        return Some("a scenario with role = \"client\" has no requests: its window is a time");
    }
    None
}

#[cfg(test)]
mod tests;
