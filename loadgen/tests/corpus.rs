//! Every input that was ever found to be interesting, whole and cut off anywhere, by the properties that
//! fuzzing looks for counterexamples of; and, when asked for, mutations of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[path = "../fuzz/mutation.rs"]
mod mutation;
#[path = "../fuzz/targets.rs"]
mod targets;

/// Cuts of one input: every prefix of a small one, and some of a large one.
const CUTS: usize = 300;
/// A target that takes longer for one input hangs.
const HANGS: Duration = Duration::from_secs(10);

/// What is fuzzed, and the folders of its inputs below the package.
struct Target {
    name: &'static str,
    check: fn(&[u8]),
    folders: &'static [&'static str],
}

const RESPONSE: Target = Target {
    name: "response",
    check: targets::response,
    folders: &["fuzz/corpus/response", "tests/fixtures"],
};
const TEMPLATE: Target =
    Target { name: "template", check: targets::template, folders: &["fuzz/corpus/template"] };
const SUITE: Target =
    Target { name: "suite", check: targets::suite, folders: &["fuzz/corpus/suite"] };
const RESULT: Target =
    Target { name: "result", check: targets::result, folders: &["fuzz/corpus/result"] };

impl Target {
    /// The inputs of the corpus and where each is.
    fn inputs(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut inputs = Vec::new();
        for folder in self.folders {
            let folder = package(folder);
            let files =
                std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
            for file in files {
                let path = file.expect("a folder that can be read").path();
                let bytes = std::fs::read(&path).expect("a file that can be read");
                inputs.push((path, bytes));
            }
        }
        // The same order on every machine, so that a seed means the same.
        inputs.sort();
        assert!(!inputs.is_empty(), "nothing in {:?}", self.folders);
        inputs
    }

    /// Checks the corpus, and the beginnings of its inputs.
    fn replay(&self) {
        for (path, bytes) in self.inputs() {
            // Shown by a test that fails.
            println!("{}", path.display());
            (self.check)(&bytes);
            let cuts = (0..bytes.len()).step_by(bytes.len() / CUTS + 1);
            cuts.for_each(|cut| (self.check)(&bytes[..cut]));
        }
    }

    /// Checks mutations of the corpus for so long; an input that breaks the target is kept.
    fn fuzz(&self, seed: u64, length: Duration) {
        let dictionary = std::fs::read_to_string(package(&format!("fuzz/{}.dict", self.name)));
        let inputs = self.inputs().into_iter().map(|(_, bytes)| bytes).collect();
        let dictionary = dictionary.expect("a dictionary that can be read");
        let mut mutator = mutation::Mutator::new(seed, inputs, &dictionary);
        let (began, mut count) = (Instant::now(), 0_u64);
        while began.elapsed() < length {
            let input = mutator.input();
            let one = Instant::now();
            let held = catch_unwind(AssertUnwindSafe(|| (self.check)(&input))).is_ok();
            if !held || one.elapsed() > HANGS {
                let folder = package(&format!("fuzz/artifacts/{}", self.name));
                let file = folder.join(format!("seed-{seed}-{count}"));
                std::fs::create_dir_all(&folder).expect("a folder for what was found");
                std::fs::write(&file, &input).expect("a file for what was found");
                panic!("{}: {} breaks it or takes long", self.name, file.display());
            }
            count += 1;
        }
        println!("{}: {count} inputs, nothing found", self.name);
    }
}

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn responses() {
    RESPONSE.replay();
}

#[test]
fn templates() {
    TEMPLATE.replay();
}

#[test]
fn suites() {
    SUITE.replay();
}

#[test]
fn results() {
    RESULT.replay();
}

/// `FUZZ_SECONDS=30 cargo test -p loadgen --test corpus -- --ignored --nocapture`; with `FUZZ_SEED`, the
/// inputs of that seed again.
#[test]
#[ignore = "takes FUZZ_SECONDS (4)"]
fn mutations() {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().expect("a number"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = number("FUZZ_SEED").unwrap_or(now);
    let length = Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(4)) / 4;
    println!("seed {seed}");
    for target in [RESPONSE, TEMPLATE, SUITE, RESULT] {
        target.fuzz(seed, length);
    }
}
