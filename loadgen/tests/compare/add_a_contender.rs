//! What `docs/add-a-contender.md` tells a user to do works as it stands.

use std::process::Command;

use crate::bench::{Bench, HELLO, python};

const PAGE: &str = include_str!("../../../docs/add-a-contender.md");

/// The first block of code in `language`.
fn code(language: &str) -> &'static str {
    blocks(language)[0]
}

/// All blocks of code in `language`.
fn blocks(language: &str) -> Vec<&'static str> {
    let begin = format!("```{language}\n");
    let blocks = PAGE.split(&begin).skip(1);
    blocks.map(|from| from.split_once("```").expect("the block ends").0).collect()
}

#[test]
fn the_python_example_is_measured() {
    let toml = code("toml");
    assert_eq!(toml.lines().count(), 6, "the page promises six lines");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hello.py"), code("python")).unwrap();
    // Where the page says {workspace} the test has a folder of its own, and its own Python.
    let toml = toml
        .replace("{workspace}", &folder.path().display().to_string())
        .replace("/usr/bin/python3", &python().display().to_string());
    let bench = Bench::new(&[HELLO, &toml]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let cell = outcome.cell("python");
    assert!(cell["rate_per_s"].as_f64().unwrap() > 0.0, "{cell}");
    let version = outcome.result()["manifest"]["versions"]["python"].to_string();
    assert!(version.contains("Python 3."), "{version}");
}

/// Needs `go`; without it the test says so. The other one shows that its six lines are read.
#[test]
fn the_go_example_is_measured() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let go = std::env::split_paths(&path).map(|folder| folder.join("go")).find(|go| go.is_file());
    let Some(go) = go else {
        eprintln!("skipped: go is not on PATH");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hello.go"), code("go")).unwrap();
    let built = Command::new(&go)
        .args(["build", "-o", "hello-go", "hello.go"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(built.status.success(), "{built:?}");
    let toml = blocks("toml")[1]
        .replace("{workspace}", &folder.path().display().to_string())
        .replace("/usr/bin/go", &go.display().to_string());
    let bench = Bench::new(&[HELLO, &toml]);
    let outcome = bench.compare(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.cell("go")["rate_per_s"].as_f64().unwrap() > 0.0, "{}", outcome.cell("go"));
    let result = outcome.result();
    assert!(result["manifest"]["versions"]["go"].to_string().contains("go version go"));
    assert_eq!(result["warnings"], serde_json::json!([]), "nothing to tell of it");
}

#[test]
fn every_example_is_a_contender() {
    let examples = blocks("toml");
    assert_eq!(examples.len(), 2);
    let bench = Bench::new(&[HELLO, &examples.concat()]);
    let outcome = bench.list(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for name in ["python", "go"] {
        assert!(outcome.stdout.contains(&format!("\n  {name} ")), "{outcome:?}");
    }
}
