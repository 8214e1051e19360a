//! The machine, and the versions of the programs that ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Pid;

use super::exit::wait_for_exit;
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
    ask(command).ok()
}

/// The first line that a program prints.
///
/// # Errors
/// In one line, why there is none: the program cannot be started, fails, or says nothing.
pub fn ask(command: &[String]) -> Result<String, String> {
    let (program, arguments) = command.split_first().ok_or("no program")?;
    let failed = |error: std::io::Error| format!("{program} cannot be started: {error}");
    let mut child = Command::new(program)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("DENO_NO_UPDATE_CHECK", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if !wait_for_exit(Pid::from_child(&child), VERSION_TIMEOUT).map_err(failed)? {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("{} says nothing", command.join(" ")));
    }
    let output = child.wait_with_output().map_err(failed)?;
    let first = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    match first(&output.stdout) {
        Some(line) if output.status.success() => Ok(line),
        _ => {
            let why = first(&output.stderr).map(|line| format!(": {line}")).unwrap_or_default();
            Err(format!("{} ends with {}{why}", command.join(" "), output.status))
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_the_first_line_and_failures_are_none() {
        let shell = |script: &str| version(&["/bin/sh".into(), "-c".into(), script.into()]);
        assert_eq!(shell("echo v1; echo more").as_deref(), Some("v1"));
        assert_eq!(shell("echo v1; exit 1"), None);
        assert_eq!(version(&["/nowhere/at/all".into()]), None);
    }
}
