//! Every input that was ever found to be interesting, whole and cut off anywhere, by the properties that
//! fuzzing looks for counterexamples of.

use std::path::Path;

#[path = "../fuzz/targets.rs"]
mod targets;

/// Cuts of one input: every prefix of a small one, and some of a large one.
const CUTS: usize = 300;

/// Calls `target` with the files in `folders` below the package, and with their beginnings.
fn replay(target: fn(&[u8]), folders: &[&str]) {
    let mut inputs = 0;
    for folder in folders {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        for file in files {
            let path = file.expect("a folder that can be read").path();
            let bytes = std::fs::read(&path).expect("a file that can be read");
            // Shown by a test that fails.
            println!("{}", path.display());
            target(&bytes);
            (0..bytes.len()).step_by(bytes.len() / CUTS + 1).for_each(|cut| target(&bytes[..cut]));
            inputs += 1;
        }
    }
    assert!(inputs > 0, "nothing in {folders:?}");
}

#[test]
fn responses() {
    replay(targets::response, &["fuzz/corpus/response", "tests/fixtures"]);
}

#[test]
fn templates() {
    replay(targets::template, &["fuzz/corpus/template"]);
}

#[test]
fn suites() {
    replay(targets::suite, &["fuzz/corpus/suite"]);
}

#[test]
fn results() {
    replay(targets::result, &["fuzz/corpus/result"]);
}
