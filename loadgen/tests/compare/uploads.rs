//! Comparisons whose contenders are clients, through the real binary and the real sink.

use serde_json::Value;

use crate::bench::{Bench, python};

const UPLOAD: &str = "[[scenario]]\nname = \"up\"\nrole = \"client\"\nmethod = \"POST\"\n\
    headers = { Content-Type = \"text/plain\" }\nupload_bytes = 1095\n\
    answer = { status = 204, content = \"counted\" }\n";

/// A `[[contender]]` on the stub.
fn client(name: &str, mode: &str, more: &str) -> String {
    let stub = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compare/client.py");
    format!(
        "[[contender]]\nname = {name:?}\nscenarios = [\"up\"]\n\
         command = [{:?}, {stub:?}]\nenv = {{ MODE = {mode:?} }}\n{more}\n",
        python().display().to_string(),
    )
}

#[test]
fn the_client_is_measured_and_the_sink_has_counted_all_it_claims() {
    let delayed = client("delayed", "right", "sink = [\"--quick-ack\", \"false\"]");
    let bench = Bench::new(&[UPLOAD, &client("one", "right", ""), &delayed]);
    let outcome = bench.compare(&["--trials", "3"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let result = outcome.result();
    assert_eq!(result["manifest"]["uploads"], serde_json::json!({ "up": 1095 }));
    assert_eq!(result["manifest"]["generator_ceilings"], serde_json::json!([]));
    let cell = outcome.cell("one");
    assert_eq!(cell["connections"], 1);
    for figure in ["rate_per_s", "mb_per_s", "cpu_percent", "cpu_us_per_request"] {
        assert!(cell[figure].as_f64().unwrap() > 0.0, "{figure}: {cell}");
    }
    assert!(cell["service_time_us"]["p99"].as_f64().unwrap() > 0.0, "{cell}");
    assert!(cell["memory_mib"]["peak"].as_f64().unwrap() > 1.0, "{cell}");
    let verdict = cell["verdict"].as_str().unwrap();
    assert!(["contender-bound", "host-noisy"].contains(&verdict), "{cell}");
    for trial in result["trials"].as_array().unwrap() {
        let count = |value: &Value| value.as_u64().unwrap();
        let (sink, load) = (&trial["sink"], &trial["load"]);
        // One upload comes before the window.
        assert_eq!(count(&sink["requests"]), count(&load["requests"]["completed"]) + 1, "{trial}");
        assert_eq!(count(&sink["bytes"]), count(&sink["requests"]) * 1095, "{trial}");
        assert_eq!(trial["answer"]["framing"], "content-length");
        let quick = !sink["command"].to_string().contains("--quick-ack");
        assert_eq!(quick, trial["contender"] == "one", "{trial}");
    }
    let note = "delayed: the sink was started with --quick-ack false";
    let report = outcome.report();
    for text in [note, "uploads/s | MB/s", "the contender is the client: it uploads"] {
        assert!(report.contains(text), "{text}: {report}");
    }
    assert!(outcome.stderr.contains("uploads/s"), "{outcome:?}");
}

#[test]
fn clients_that_do_not_do_the_work_have_no_figures() {
    let bench = Bench::new(&[
        UPLOAD,
        &client("right", "right", ""),
        &client("boasts", "boasts", ""),
        &client("wrong-byte", "wrong-byte", ""),
        &client("wrong-type", "wrong-type", ""),
        &client("dies", "dies", ""),
        "[[contender]]\nname = \"gone\"\nscenarios = [\"up\"]\ncommand = [\"/nowhere/at/all\"]\n",
    ]);
    let outcome = bench.compare(&["--duration", "300ms"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert_ne!(outcome.cell("right")["verdict"], "invalid", "{}", outcome.reason("right"));
    let boasts = outcome.reason("boasts");
    let numbers: Vec<u64> = boasts
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [claimed, size, _, _, counted, bytes] = numbers[..] else { panic!("{boasts}") };
    assert_eq!((claimed, size, bytes), (counted + 1, 1095, counted * 1095), "{boasts}");
    assert!(outcome.reason("wrong-byte").starts_with("the upload differs from the file at byte"));
    assert_eq!(outcome.reason("wrong-type"), "Content-Type is text/html, not text/plain");
    assert_eq!(outcome.reason("dies"), "ended before it was ready: exit status 1");
    assert!(outcome.stderr.contains("out of luck"), "{outcome:?}");
    assert!(outcome.reason("gone").contains("cannot start /nowhere/at/all"));
    for name in ["boasts", "wrong-byte", "wrong-type", "dies", "gone"] {
        let cell = outcome.cell(name);
        assert_eq!((&cell["verdict"], &cell["rate_per_s"]), (&"invalid".into(), &Value::Null));
    }
}
