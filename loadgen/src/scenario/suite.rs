//! A suite: the scenarios, the contenders that play them, and how long is measured.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::{Answer, suite_file};
use crate::toml_file::{self, TomlError};

/// The suite that is built in.
const BUILT_IN: &str = include_str!("../../suite.toml");

/// Scenarios and contenders, checked: every name that is used is there.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The text it was read from.
    pub text: String,
    /// Name of the contender that the others are compared with.
    pub ceiling: String,
    /// How long is measured, by name.
    pub profiles: BTreeMap<String, Profile>,
    /// In the order of the file.
    pub scenarios: Vec<Scenario>,
    /// In the order of the file.
    pub contenders: Vec<Contender>,
}

/// How long and how often is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Trials of each cell.
    pub trials: u32,
    /// Shortest load before the measured window.
    pub warmup: Duration,
    /// Longest load before it: it ends when the rate is steady. Not more than `warmup`: its length is
    /// fixed.
    pub warmup_max: Duration,
    /// Length of the measured window.
    pub duration: Duration,
    /// Requests of the measured window, which then lasts as long as they take.
    pub requests: Option<NonZeroU64>,
    /// Bound on the time from start to the first right answer.
    pub ready_timeout: Duration,
}

/// A measured window of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// So many requests, however long they take.
    Requests(NonZeroU64),
    /// So long.
    Duration(Duration),
}

impl Window {
    /// The window shortened to this share of it, but at least one request.
    #[must_use]
    pub fn scaled(self, share: f64) -> Self {
        match self {
            Self::Requests(count) => {
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "counts are far below 2^53, and the share is positive"
                )]
                let scaled = (count.get() as f64 * share).round() as u64;
                Self::Requests(NonZeroU64::new(scaled).unwrap_or(NonZeroU64::MIN))
            }
            Self::Duration(duration) => Self::Duration(duration.mul_f64(share)),
        }
    }
}

/// What is sent, how, and what a right answer is.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, unique in the suite.
    pub name: String,
    /// Which side is measured.
    pub role: Role,
    /// HTTPS instead of HTTP.
    pub tls: bool,
    /// Method, as it goes on the wire.
    pub method: String,
    /// Request target, with placeholders of the engine.
    pub path: String,
    /// Headers, with placeholders of the engine.
    pub headers: Vec<(String, String)>,
    /// Body, if any.
    pub body: Option<RequestBody>,
    /// What a right answer is; `{data}` in a file name is resolved when the suite is loaded.
    pub answer: Answer,
    /// Connection counts by profile; the first entry of the file for profiles not named.
    pub connections: BTreeMap<String, Vec<u32>>,
    /// The profiles it belongs to; empty: all.
    pub profiles: Vec<String>,
    /// Measured windows by profile, instead of the profile's own.
    pub windows: BTreeMap<String, Window>,
    /// CPU time per time that a contender may use, by profile.
    pub cpu_quota: BTreeMap<String, f64>,
    /// Requests per second of a usual contender: how long a number of requests takes is estimated by
    /// it, and nothing else.
    pub typical_rate: f64,
    /// Lines that each request makes the contender print. It then prints to a pipe that is drained
    /// and counted; 0: its output is not looked at.
    pub output_lines: u64,
}

/// Which side of a scenario its contenders are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// They answer the requests of the generator.
    #[default]
    Server,
    /// They send the requests, to a server of ours.
    Client,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// Text with placeholders of the engine.
    Template(String),
    /// The upload file of this many bytes.
    UploadFile(u64),
}

/// A program that plays scenarios.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name, unique in each of its scenarios.
    pub name: String,
    /// The scenarios it plays.
    pub scenarios: Vec<String>,
    /// The program and its arguments, with placeholders.
    pub command: Vec<String>,
    /// Environment on top of what every contender gets, with placeholders.
    pub env: BTreeMap<String, String>,
    /// Options of the server that it uploads to, where it is the client.
    pub sink: Vec<String>,
    /// How it is asked for its version; `None`: not asked.
    pub version: Option<Vec<String>>,
    /// How many workers it can use.
    pub workers: Workers,
    /// The profiles it belongs to; empty: all.
    pub profiles: Vec<String>,
    /// Connection counts by profile, instead of the scenario's.
    pub connections: BTreeMap<String, Vec<u32>>,
    /// Measured windows by profile, instead of the scenario's.
    pub windows: BTreeMap<String, Window>,
}

/// How many workers a contender can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workers {
    /// One, whatever it is asked for.
    One,
    /// As many as it is asked for, in a form made for more than one.
    Many,
    /// As many as it is asked for.
    #[default]
    Any,
}

impl Workers {
    /// Whether a contender that can use so many belongs in a table of `asked` workers each.
    pub fn suits(self, asked: usize) -> bool {
        match self {
            Self::One => asked == 1,
            Self::Many => asked > 1,
            Self::Any => true,
        }
    }
}

impl Suite {
    /// The suite in `file`, or the one that is built in. `data_dir` is what `{data}` stands for.
    ///
    /// # Errors
    /// A file that cannot be read, or what is wrong in it, with its line.
    pub fn load(file: Option<&Path>, data_dir: &Path) -> Result<Self, TomlError> {
        let Some(file) = file else {
            return suite_file::parse("suite.toml", BUILT_IN, data_dir);
        };
        let (text, path) = toml_file::read(file)?;
        suite_file::parse(&path, &text, data_dir)
    }

    /// The suite in `text`, which came from `path`.
    ///
    /// # Errors
    /// What is wrong in it, with its line.
    pub fn parse(path: &str, text: &str, data_dir: &Path) -> Result<Self, TomlError> {
        suite_file::parse(path, text, data_dir)
    }

    /// The scenario of this name.
    pub fn scenario(&self, name: &str) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.name == name)
    }
}

/// Whether what belongs to `profiles` belongs to `profile`.
fn belongs(profiles: &[String], profile: &str) -> bool {
    profiles.is_empty() || profiles.iter().any(|name| name == profile)
}

impl Contender {
    /// Whether it is measured in `profile` without being named.
    pub fn belongs_to(&self, profile: &str) -> bool {
        belongs(&self.profiles, profile)
    }
}

impl Scenario {
    /// Whether it is measured in `profile` without being named.
    pub fn belongs_to(&self, profile: &str) -> bool {
        belongs(&self.profiles, profile)
    }

    /// The connection counts in `profile`.
    pub fn connections_in(&self, profile: &str) -> &[u32] {
        const DEFAULT: &[u32] = &[50];
        /// A client does one request after another.
        const CLIENT: &[u32] = &[1];
        if self.role == Role::Client {
            return CLIENT;
        }
        let levels = self.connections.get(profile).or_else(|| self.connections.values().next());
        levels.map_or(DEFAULT, Vec::as_slice)
    }

    /// The size of the file that its contenders upload, where they are the clients.
    pub fn uploaded_bytes(&self) -> Option<u64> {
        match (self.role, &self.body) {
            (Role::Client, Some(RequestBody::UploadFile(bytes))) => Some(*bytes),
            _ => None,
        }
    }

    /// What it sends, in one line: `POST https://HOST/qr {"urlToEmbed":"…"}`.
    pub fn request_line(&self) -> String {
        let body = match &self.body {
            None => String::new(),
            Some(RequestBody::Template(text)) => format!(" {text}"),
            Some(RequestBody::UploadFile(bytes)) => format!(" with a file of {bytes} bytes"),
        };
        let line = format!("{} {}://HOST{}{body}", self.method, self.scheme(), self.path);
        match self.role {
            Role::Server => line,
            Role::Client => format!(
                "the contender is the client: {line}, one upload after another, to server-upload, \
                 which acknowledges what it receives at once (TCP_QUICKACK)"
            ),
        }
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'static str {
        if self.tls { "https" } else { "http" }
    }
}
