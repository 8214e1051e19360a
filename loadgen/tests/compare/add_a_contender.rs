//! What `docs/add-a-contender.md` tells a user to do works as it stands.

use crate::bench::{Bench, HELLO, python};

const PAGE: &str = include_str!("../../../docs/add-a-contender.md");

/// The first block of code in `language`.
fn code(language: &str) -> &'static str {
    let (_, from) =
        PAGE.split_once(&format!("```{language}\n")).expect("the page has such a block");
    from.split_once("```").expect("the block ends").0
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

#[test]
fn every_example_is_a_contender() {
    let examples: Vec<&str> = PAGE.split("```toml\n").skip(1).collect();
    assert_eq!(examples.len(), 2);
    let examples = examples.iter().map(|example| example.split_once("```").unwrap().0);
    let bench = Bench::new(&[HELLO, &examples.collect::<String>()]);
    let outcome = bench.list(&[]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for name in ["python", "go"] {
        assert!(outcome.stdout.contains(&format!("\n  {name} ")), "{outcome:?}");
    }
}
