//! The machine, and the versions of the programs that ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::record::Host;

/// How long a program may take to tell its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known of this machine.
pub fn describe(cpus_allowed: &[usize]) -> Host {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpu_info = read("/proc/cpuinfo");
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once([':', '='])?.1.trim().trim_matches('"').to_owned())
    };
    let memory_kb = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|value| value.split(' ').next()?.parse::<u64>().ok())
        .unwrap_or(0);
    let name = rustix::system::uname();
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Host {
        cpu_model: field(&cpu_info, "model name").unwrap_or_default(),
        cpus: cpu_info.lines().filter(|line| line.starts_with("processor")).count(),
        cpus_allowed: cpus_allowed.to_vec(),
        memory_mib: memory_kb / 1024,
        kernel: name.release().to_string_lossy().into_owned(),
        os: field(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_default(),
        architecture: name.machine().to_string_lossy().into_owned(),
        governor: Some(governor.trim().to_owned()).filter(|text| !text.is_empty()),
        virtualised: cpu_info.contains("hypervisor").then(|| "hypervisor".to_owned()),
        open_files_limit: limits.current.unwrap_or(u64::MAX),
        mitigations: mitigations(),
    }
}

fn mitigations() -> BTreeMap<String, String> {
    let files = fs::read_dir("/sys/devices/system/cpu/vulnerabilities").into_iter().flatten();
    files
        .flatten()
        .filter_map(|file| {
            let text = fs::read_to_string(file.path()).ok()?.trim().to_owned();
            (text != "Not affected").then(|| (file.file_name().to_string_lossy().into(), text))
        })
        .collect()
}

/// The first line that a program prints when asked for its version.
pub fn version(command: &[String]) -> Option<String> {
    let mut child = Command::new(command.first()?)
        .args(&command[1..])
        .env("NO_COLOR", "1")
        .env("DENO_NO_UPDATE_CHECK", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let end = Instant::now() + VERSION_TIMEOUT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= end {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// The revision of the source in `workspace`, with a mark if files were changed.
pub fn git_revision(workspace: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(workspace).args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let revision = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { revision } else { format!("{revision} and local changes") })
}

/// Now, UTC, as RFC 3339 writes it.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339(since.as_secs())
}

/// A time in seconds since 1970, UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_796_052_802), "2026-11-30T15:33:22Z");
        assert_eq!(rfc3339(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn versions_are_the_first_line_and_failures_are_none() {
        let shell = |script: &str| version(&["/bin/sh".into(), "-c".into(), script.into()]);
        assert_eq!(shell("echo v1; echo more").as_deref(), Some("v1"));
        assert_eq!(shell("echo v1; exit 1"), None);
        assert_eq!(version(&["/nowhere/at/all".into()]), None);
    }
}
