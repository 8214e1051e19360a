//! What must hold for whatever comes from outside. libFuzzer looks for a counterexample
//! (`fuzz/run.sh`), and the tests replay what it found (`tests/corpus.rs`).

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use loadgen::engine::hot::{Parser, Writer};
use loadgen::engine::{
    Addresses, Body, Expectations, Framing, Pacing, RequestSpec, RunSpec, Stop, Target, Template,
};
use loadgen::experiment::record::{self, Comparison};
use loadgen::report::run::{self, RunReport};
use loadgen::report::{compare, diff};
use loadgen::scenario::{Suite, request_bytes};
use loadgen::schema;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;

/// Any bytes are a response or an error, and the same in one piece, in two and byte by byte; as they
/// are, and as the body of a chunked response.
pub(crate) fn response(bytes: &[u8]) {
    let mut parser = Parser::default();
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    chunked.extend_from_slice(bytes);
    for bytes in [bytes, &chunked] {
        let whole = parser.response(&[bytes]);
        let (first, second) = bytes.split_at(bytes.len() / 2);
        assert_eq!(parser.response(&[first, second]), whole);
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(parser.response(&each), whole);
    }
}

/// Any text is a template or an error; a request with it as its body says how long the body is.
pub(crate) fn template(bytes: &[u8]) {
    let Ok(template) = Template::parse(bytes) else { return };
    // Each may ask for a megabyte.
    if bytes.windows(5).filter(|window| *window == b"rand:").count() > 2 {
        return;
    }
    let mut writer = Writer::new(&spec(Body::Template(template, Framing::ContentLength)));
    for _ in 0..3 {
        let request = writer.request();
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
            panic!("no end of the head");
        };
        let head = String::from_utf8_lossy(&request[..end]);
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        assert_eq!(length.map(str::parse), Some(Ok(request.len() - end - 4)));
    }
}

/// Any text is a suite or an error; the requests of its scenarios have as many lines as they should.
pub(crate) fn suite(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // No file is read that a fuzzer makes up, and each placeholder may ask for a megabyte.
    if text.contains("file") || text.matches("rand:").count() > 2 {
        return;
    }
    let Ok(suite) = Suite::parse("suite.toml", text, Path::new("data")) else { return };
    let mut random = SmallRng::seed_from_u64(1);
    for scenario in &suite.scenarios {
        let request = request_bytes(scenario, "127.0.0.1:80", &mut random);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
            panic!("no end of the head");
        };
        let lines = request[..end].split(|&byte| byte == b'\n').count();
        let expected = 2 + scenario.headers.len() + usize::from(scenario.body.is_some());
        assert_eq!(lines, expected, "{:?}", String::from_utf8_lossy(&request));
    }
}

/// Any bytes are a result or an error; of a result every report can be made.
pub(crate) fn result(bytes: &[u8]) {
    if let Ok(comparison) = schema::read::<Comparison>(bytes, record::SCHEMA) {
        let _ = compare::text(&comparison);
        let _ = compare::markdown(&comparison);
        let _ = (compare::cells_csv(&comparison), compare::trials_csv(&comparison));
        if let Ok(figures) = compare::figures(&comparison) {
            let _ = compare::html(&comparison, &figures);
        }
        let differences = diff::differences(&comparison, &comparison);
        let _ = diff::text(&diff::diff(&comparison, &comparison, 0.05, differences));
    }
    if let Ok(report) = schema::read::<RunReport>(bytes, run::SCHEMA) {
        let _ = (run::text(&report), run::csv(&report), run::markdown(&report));
        let _ = run::merge(&[report.clone(), report]);
    }
}

fn spec(body: Body) -> RunSpec {
    RunSpec {
        target: Target {
            url: "http://127.0.0.1/".into(),
            authority: "127.0.0.1".into(),
            addresses: Addresses::Tcp(Vec::new()),
            tls: None,
        },
        request: RequestSpec {
            method: "POST".into(),
            path: Template::literal("/"),
            headers: Vec::new(),
            body,
        },
        connections: NonZeroU32::MIN,
        threads: NonZeroUsize::MIN,
        pacing: Pacing::Closed,
        stop: Stop::Duration(Duration::from_secs(1)),
        warmup: Duration::ZERO,
        ramp: Duration::ZERO,
        timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        drain: Duration::ZERO,
        keep_alive: true,
        expect: Expectations::default(),
        sampling: None,
        cpus: Vec::new(),
        seed: 1,
    }
}
