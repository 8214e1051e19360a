//! `loadgen claims`, and the claims in the reports.

use serde_json::Value;

use super::fixture::comparison;
use super::{folder, loadgen, report, stderr, stdout};

#[test]
fn claims_are_judged_in_every_form() {
    let folder = folder(&comparison(|_, _| 1.0));
    let path = folder.path().to_str().unwrap();
    let output = loadgen(&["claims", path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "loadgen-claims/1");
    let claims: Vec<&Value> = json["articles"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|article| article["claims"].as_array().unwrap())
        .collect();
    let of = |name: &str| *claims.iter().find(|claim| claim["name"] == name).unwrap();
    // Of the fixture: node 48,200, deno 97,400, bun 121,000.
    assert_eq!(of("hello-bun-node")["outcome"], "holds", "{}", of("hello-bun-node"));
    assert_eq!(of("makers-claim")["outcome"], "no longer holds");
    assert_eq!(of("png-node-deno")["outcome"], "not measured");
    let level = &of("hello-bun-node")["levels"][0];
    let ratio = level["ratio"].as_f64().unwrap();
    assert!((2.4..2.6).contains(&ratio), "{level}");
    assert!(level["interval"]["low"].as_f64().unwrap() <= ratio);
    assert!(level["ceiling"].as_f64().unwrap() > level["of"].as_f64().unwrap());

    let text = stdout(&loadgen(&["claims", path]));
    assert!(text.contains("no longer holds     The maker's claim"), "{text}");
    let page = stdout(&loadgen(&["claims", path, "--format", "page"]));
    assert!(page.contains("**What had to change.**") && page.contains("| **holds** |"), "{page}");

    report(folder.path());
    for name in ["report.html", "report.md"] {
        let report = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(
            report.contains("Published claims") && report.contains("no longer holds"),
            "{name}"
        );
    }
}

#[test]
fn errors_in_the_file_of_claims_point_at_their_line() {
    let folder = folder(&comparison(|_, _| 1.0));
    let file = folder.path().join("claims.toml");
    std::fs::write(&file, "# mine\n[[claim]]\nname = 3\n").unwrap();
    let arguments = ["claims", folder.path().to_str().unwrap(), "--claims", file.to_str().unwrap()];
    let output = loadgen(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("claims.toml:3: invalid type: integer `3`"), "{output:?}");
    std::fs::remove_file(&file).unwrap();
    assert!(stderr(&loadgen(&arguments)).contains("claims.toml: No such file"));
}
