//! Keys of a scenario or contender that have a value for each profile.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use toml::Spanned;

use super::Source;
use crate::cli::units;
use crate::scenario::Window;
use crate::toml_file::TomlError;

/// Requests per second where a scenario does not say what is usual.
const TYPICAL_RATE: f64 = 10_000.0;

type ByProfile<T> = BTreeMap<String, Spanned<T>>;

impl Source<'_> {
    /// Numbers of connections.
    pub(super) fn connections(
        &self,
        toml: ByProfile<Vec<u32>>,
    ) -> Result<BTreeMap<String, Vec<u32>>, TomlError> {
        let mut connections = BTreeMap::new();
        for (profile, levels) in toml {
            if levels.get_ref().is_empty() || levels.get_ref().contains(&0) {
                let message = "connections must be a list of numbers from 1, like [50]".to_owned();
                return Err(self.error(levels.span().start, message));
            }
            connections.insert(profile, levels.into_inner());
        }
        Ok(connections)
    }

    /// The profiles that something belongs to.
    pub(super) fn belongs_to(&self, toml: Vec<Spanned<String>>) -> Result<Vec<String>, TomlError> {
        for profile in &toml {
            self.check_profile(profile.get_ref(), profile.span().start)?;
        }
        Ok(toml.into_iter().map(Spanned::into_inner).collect())
    }

    /// Measured windows, by count or by time.
    pub(super) fn windows(
        &self,
        requests: ByProfile<u64>,
        duration: ByProfile<String>,
    ) -> Result<BTreeMap<String, Window>, TomlError> {
        let mut windows = BTreeMap::new();
        for (profile, count) in requests {
            let at = count.span().start;
            self.check_profile(&profile, at)?;
            let count = NonZeroU64::new(count.into_inner())
                .ok_or_else(|| self.error(at, "requests must be 1 or more".to_owned()))?;
            windows.insert(profile, Window::Requests(count));
        }
        for (profile, time) in duration {
            let at = time.span().start;
            self.check_profile(&profile, at)?;
            let time = units::positive_duration(time.get_ref())
                .map_err(|message| self.error(at, message))?;
            if windows.contains_key(&profile) {
                let message = format!("requests and duration exclude each other in {profile:?}");
                return Err(self.error(at, message));
            }
            windows.insert(profile, Window::Duration(time));
        }
        Ok(windows)
    }

    /// CPU time per time that a contender may use.
    pub(super) fn cpu_quota(
        &self,
        toml: ByProfile<f64>,
    ) -> Result<BTreeMap<String, f64>, TomlError> {
        let mut quotas = BTreeMap::new();
        for (profile, cpus) in toml {
            let at = cpus.span().start;
            self.check_profile(&profile, at)?;
            let cpus = units::cpu_share(&cpus.get_ref().to_string())
                .map_err(|message| self.error(at, format!("cpu_quota: {message}")))?;
            quotas.insert(profile, cpus);
        }
        Ok(quotas)
    }

    /// Requests per second for the estimate of time.
    pub(super) fn typical_rate(&self, toml: Option<Spanned<f64>>) -> Result<f64, TomlError> {
        let Some(rate) = toml else { return Ok(TYPICAL_RATE) };
        if rate.get_ref().is_finite() && *rate.get_ref() > 0.0 {
            return Ok(rate.into_inner());
        }
        let message = "typical_rate must be requests per second, more than 0".to_owned();
        Err(self.error(rate.span().start, message))
    }

    fn check_profile(&self, name: &str, at: usize) -> Result<(), TomlError> {
        if self.profiles.contains(name) {
            return Ok(());
        }
        let known: Vec<&str> = self.profiles.iter().map(String::as_str).collect();
        Err(self.error(at, format!("no profile {name:?}; there are: {}", known.join(", "))))
    }
}
