//! The kept check: written after a whole check, read by the comparisons that follow on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Check, SCHEMA};
use crate::experiment::checked::{Checked, CheckedCeiling};
use crate::experiment::pins::Pins;
use crate::experiment::record::Host;
use crate::utc;

/// A check older than this says little of the machine as it is now.
const MAX_AGE_DAYS: f64 = 30.0;
const DAY_S: f64 = 86_400.0;

/// What tells a machine and a program from others, besides what [`Host`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// SHA-256 of `/etc/machine-id` (which itself is not to be published, machine-id(5)).
    pub machine_sha256: Option<String>,
    /// The kernel's name for the time since it was started.
    pub boot_id: Option<String>,
    /// SHA-256 of the loadgen that ran.
    pub program_sha256: Option<String>,
}

impl Identity {
    /// Of this machine and this program.
    pub fn here() -> Self {
        let read = |path: &str| fs::read(path).ok();
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Self {
            machine_sha256: read("/etc/machine-id")
                .map(|id| sha256(&[b"loadgen check ", id.as_slice()].concat())),
            boot_id: boot_id.map(|id| id.trim().to_owned()),
            // The running file itself, also where it was replaced on the disk.
            program_sha256: read("/proc/self/exe").map(|program| sha256(&program)),
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where checks are kept: `$XDG_STATE_HOME/loadgen/check.json`, else below `~/.local/state` (XDG Base
/// Directory Specification). `None` where there is no home.
pub fn path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("loadgen/check.json"))
}

/// Keeps `check` in `file`: whole, or not at all.
///
/// # Errors
/// The folder cannot be written.
pub fn keep(check: &Check, file: &Path) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut text = serde_json::to_vec_pretty(check)?;
    text.push(b'\n');
    let temporary = folder.join(format!(".check.{}.tmp", std::process::id()));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// The machine and the moment of a comparison.
pub struct Now<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The split of its CPUs.
    pub pins: &'a Pins,
    /// Trials of each cell.
    pub trials: u32,
    /// UTC.
    pub started_at: &'a str,
}

/// The check to use in a comparison now, or why there is none, in one line.
///
/// # Errors
/// There is none, or one that says nothing of this machine now.
pub fn find(now: &Now<'_>) -> Result<Checked, String> {
    let Some(file) = path() else {
        return Err("this machine has no check: there is no home folder to keep one in".into());
    };
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("this machine has no check: `loadgen check` makes one in a minute".into());
        }
        Err(error) => return Err(format!("the check in {}: {error}", file.display())),
    };
    let ignored = |reason: String| {
        format!(
            "the check in {} is not used: {reason}; `loadgen check` makes a new one",
            file.display()
        )
    };
    let check = parse(&text).map_err(ignored)?;
    usable(&check, &Identity::here(), now).map_err(ignored)?;
    let age_days = age_days(&check, now).unwrap_or(0.0);
    Ok(checked(&check, &file, age_days, now.trials))
}

fn parse(text: &[u8]) -> Result<Check, String> {
    let value: Value =
        serde_json::from_slice(text).map_err(|error| format!("it is damaged ({error})"))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("it is a {other:?}, not {SCHEMA:?}")),
        None => return Err("it is damaged (it has no schema)".into()),
    }
    serde_json::from_value(value).map_err(|error| format!("it is damaged ({error})"))
}

/// Whether `check` says something of this machine, this program, and now.
fn usable(check: &Check, identity: &Identity, now: &Now<'_>) -> Result<(), String> {
    if !check.is_whole() || ratio_spread(check).is_none() {
        return Err("parts of it are missing".into());
    }
    let (then, host) = (&check.host, now.host);
    let same_machine = check.identity.machine_sha256 == identity.machine_sha256
        && then.cpu_model == host.cpu_model
        && then.cpus == host.cpus
        && then.virtualised == host.virtualised;
    if !same_machine {
        return Err(format!("it is of another machine ({}, {} CPUs)", then.cpu_model, then.cpus));
    }
    if then.kernel != host.kernel {
        return Err(format!("it is of another kernel ({})", then.kernel));
    }
    // A virtual machine may have been started on another host.
    if host.virtualised.is_some() && check.identity.boot_id != identity.boot_id {
        return Err("this virtual machine was started again since".into());
    }
    if check.version != env!("CARGO_PKG_VERSION")
        || check.identity.program_sha256 != identity.program_sha256
    {
        return Err("it was made by another build of loadgen".into());
    }
    if check.pins.server_cpus != now.pins.server_cpus
        || check.pins.generator_cpus != now.pins.generator_cpus
    {
        return Err("it is of another split of the CPUs".into());
    }
    match age_days(check, now) {
        Some(days) if days <= MAX_AGE_DAYS => Ok(()),
        Some(days) => Err(format!("it is {days:.0} days old")),
        None => Err(format!("it is of the future ({})", check.started_at)),
    }
}

fn ratio_spread(check: &Check) -> Option<f64> {
    check.noise.as_ref()?.ratio_spread
}

/// `None` for what is no moment, or not yet.
fn age_days(check: &Check, now: &Now<'_>) -> Option<f64> {
    let seconds = utc::seconds(now.started_at)?.checked_sub(utc::seconds(&check.started_at)?)?;
    Some(seconds as f64 / DAY_S)
}

fn checked(check: &Check, file: &Path, age_days: f64, trials: u32) -> Checked {
    let ceilings = check.ceiling.iter().flat_map(|part| &part.loads);
    let mut checked = Checked {
        file: file.display().to_string(),
        started_at: check.started_at.clone(),
        age_days,
        objections: check.objections.clone(),
        ratio_spread: ratio_spread(check).unwrap_or(0.0),
        smallest_difference_percent: 0.0,
        generator_ceilings: ceilings
            .map(|load| CheckedCeiling { shape: load.shape(), rate_per_s: load.rate_per_s })
            .collect(),
    };
    checked.smallest_difference_percent = checked.smallest_difference(trials) * 100.0;
    checked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::agreement::Agreement;
    use crate::check::ceiling::{CeilingOfLoad, Ceilings};
    use crate::check::finding::{Finding, Grade};
    use crate::check::noise::Noise;
    use crate::check::truth::Truth;

    fn identity() -> Identity {
        Identity {
            machine_sha256: Some("m".into()),
            boot_id: Some("b".into()),
            program_sha256: Some("p".into()),
        }
    }

    fn host() -> Host {
        let virtualised = Some("hypervisor".to_owned());
        Host {
            cpu_model: "C".into(),
            cpus: 2,
            kernel: "6.1".into(),
            virtualised,
            ..Host::default()
        }
    }

    fn pins() -> Pins {
        Pins { server_cpus: vec![0], generator_cpus: vec![1], warning: None }
    }

    fn check() -> Check {
        let finding = || Finding::new("a", Grade::Good, "b");
        Check {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: "2026-11-30T12:00:00Z".into(),
            elapsed_s: 60.0,
            quick: false,
            interrupted: false,
            publishable: true,
            objections: Vec::new(),
            host: host(),
            pins: pins(),
            identity: identity(),
            machine: Some(vec![finding()]),
            ceiling: Some(Ceilings {
                finding: finding(),
                loads: vec![CeilingOfLoad {
                    tls: false,
                    response_bytes: 12,
                    connections: 50,
                    rate_per_s: 150_000.0,
                    generator_cpu_us_per_request: 6.0,
                    generator_busy_fraction: 0.99,
                }],
            }),
            truth: Some(Truth { finding: finding(), cases: Vec::new() }),
            noise: Some(Noise {
                finding: finding(),
                contender: "server-hello".into(),
                connections: 50,
                duration_s: 0.5,
                rates_per_s: vec![100.0; 14],
                cpu_us_per_request: vec![6.0; 14],
                host_noisy: 0,
                ratio_spread: Some(0.04),
                cpu_ratio_spread: Some(0.02),
                usual_trials: 5,
                smallest_difference_percent: Some(4.4),
                smallest_cpu_difference_percent: Some(2.2),
            }),
            agreement: Some(Agreement {
                finding: finding(),
                tools: Vec::new(),
                figures: Vec::new(),
            }),
        }
    }

    /// Why a check is not used, ten days later on the same machine.
    fn why_not(change: impl Fn(&mut Check)) -> Option<String> {
        let mut check = check();
        change(&mut check);
        let (host, pins) = (host(), pins());
        let now = Now { host: &host, pins: &pins, trials: 5, started_at: "2026-12-10T12:00:00Z" };
        usable(&check, &identity(), &now).err()
    }

    #[test]
    fn a_check_of_this_machine_is_used_until_it_is_stale() {
        assert_eq!(why_not(|_| {}), None);
        let says = |change: fn(&mut Check), part: &str| {
            let reason = why_not(change).unwrap_or_default();
            assert!(reason.contains(part), "{reason:?}, not {part:?}");
        };
        says(|check| check.started_at = "2026-11-01T12:00:00Z".into(), "39 days old");
        says(|check| check.started_at = "2027-01-01T12:00:00Z".into(), "of the future");
        says(|check| check.started_at = "soon".into(), "of the future");
        says(|check| check.host.kernel = "6.2".into(), "another kernel (6.2)");
        says(|check| check.host.cpu_model = "D".into(), "another machine (D, 2 CPUs)");
        says(|check| check.identity.machine_sha256 = None, "another machine");
        says(|check| check.identity.boot_id = None, "started again since");
        says(|check| check.identity.program_sha256 = None, "another build of loadgen");
        says(|check| check.version = "0.0.1".into(), "another build of loadgen");
        says(|check| check.pins.server_cpus = vec![1], "another split of the CPUs");
        says(|check| check.quick = true, "parts of it are missing");
        says(|check| check.noise = None, "parts of it are missing");
    }

    #[test]
    fn a_machine_that_is_not_virtual_may_be_started_again() {
        let mut check = check();
        (check.host.virtualised, check.identity.boot_id) = (None, Some("c".into()));
        let (host, pins) = (Host { virtualised: None, ..host() }, pins());
        let now = Now { host: &host, pins: &pins, trials: 5, started_at: "2026-12-10T12:00:00Z" };
        assert_eq!(usable(&check, &identity(), &now), Ok(()));
    }

    #[test]
    fn what_a_comparison_takes_from_it() {
        let checked = checked(&check(), Path::new("/x/check.json"), 10.0, 5);
        assert!((checked.smallest_difference_percent - 4.394).abs() < 0.01, "{checked:?}");
        assert_eq!(checked.generator_ceilings[0].shape.connections, 50);
        assert_eq!((checked.file.as_str(), checked.objections.len()), ("/x/check.json", 0));
    }

    #[test]
    fn what_is_kept_is_read_again_and_damage_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/check.json");
        keep(&check(), &file).unwrap();
        let text = fs::read(&file).unwrap();
        assert_eq!(parse(&text), Ok(check()));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no other file");
        for (damage, part) in [
            (text[..text.len() / 2].to_vec(), "damaged"),
            (b"{}".to_vec(), "no schema"),
            (b"{\"schema\":\"loadgen-check/9\"}".to_vec(), "loadgen-check/9"),
            (b"{\"schema\":\"loadgen-check/1\"}".to_vec(), "damaged"),
            (Vec::new(), "damaged"),
        ] {
            let reason = parse(&damage).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
    }
}
