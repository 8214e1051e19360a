//! What the steps of every request cost: the response parser, the recorder, the request writer.
//!
//! `cargo bench -p loadgen --bench hot` prints nanoseconds. `hot STEP COUNT` does one step that
//! often and nothing else, so that `instructions.sh` can count instructions.

use std::hint::black_box;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

use loadgen::engine::hot::{Parser, Recording, Writer};
use loadgen::engine::{
    Addresses, Body, Expectations, Framing, Pacing, RequestSpec, RunSpec, Stop, Target, Template,
};

const SHORT: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nHello world!";
const USUAL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 12\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nConnection: keep-alive\r\n\
    Keep-Alive: timeout=5\r\n\r\nHello world!";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    6\r\nHello \r\n6\r\nworld!\r\n0\r\n\r\n";

const STEPS: [&str; 6] =
    ["parse_short", "parse_usual", "parse_split", "parse_chunked", "record", "expand"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [step, count] = words.as_slice() {
        if let Ok(count) = count.parse() {
            run(step, count);
        }
        return;
    }
    for step in STEPS {
        run(step, 100_000);
        let count = 3_000_000;
        let start = Instant::now();
        run(step, count);
        println!("{step:<14} {:>7.1} ns", start.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
}

fn run(step: &str, count: u64) {
    let mut parser = Parser::default();
    let mut parse = |pieces: &[&[u8]]| {
        for _ in 0..count {
            assert_eq!(black_box(&mut parser).response(black_box(pieces)), Some((200, 12)));
        }
    };
    match step {
        "parse_short" => parse(&[SHORT]),
        "parse_usual" => parse(&[USUAL]),
        "parse_split" => parse(&[&USUAL[..100], &USUAL[100..]]),
        "parse_chunked" => parse(&[CHUNKED]),
        "record" => {
            let mut recording = Recording::default();
            for at in 0..count {
                black_box(&mut recording).completed(at * 1000, at * 1000 + 300_000 + at % 4096);
            }
        }
        "expand" => {
            let mut writer = Writer::new(&templated());
            for _ in 0..count {
                black_box(black_box(&mut writer).request());
            }
        }
        other => eprintln!("no step {other}: {STEPS:?}"),
    }
}

/// The request of the qr scenario: a different URL in the body every time.
fn templated() -> RunSpec {
    let body = r#"{"urlToEmbed":"https://example.com/{uuid}?n={seq}&r={rand:16}"}"#;
    let body = Template::parse(body).unwrap_or_else(|error| panic!("{error}"));
    RunSpec {
        target: Target {
            url: "http://127.0.0.1:3000/qr".into(),
            authority: "127.0.0.1:3000".into(),
            addresses: Addresses::Tcp(vec![([127, 0, 0, 1], 3000).into()]),
            tls: None,
        },
        request: RequestSpec {
            method: "POST".into(),
            path: Template::literal("/qr"),
            headers: vec![("Content-Type".into(), Template::literal("application/json"))],
            body: Body::Template(body, Framing::ContentLength),
        },
        connections: NonZeroU32::MIN,
        threads: NonZeroUsize::MIN,
        pacing: Pacing::Closed,
        stop: Stop::Requests(NonZeroU64::MIN),
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
