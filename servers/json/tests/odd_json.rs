//! Odd JSON through the real server (case SRV-15): what is malformed is 400, what is only odd does not
//! matter, and the process lives.

use server_contract::{Client, Program, Result, Running, Scheme, expect};

fn start() -> Result<(Running, Client)> {
    let running = Program::new(env!("CARGO_BIN_EXE_server-json")).start(Scheme::Https)?;
    let client = running.connect()?;
    Ok((running, client))
}

/// A body with `value` as another member.
fn beside(value: &str) -> Vec<u8> {
    format!(r#"{{"other":{value},"urlToEmbed":"x"}}"#).into_bytes()
}

fn nested(levels: usize) -> String {
    // The object around it is the first.
    format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1))
}

#[test]
fn other_members_may_be_any_json() -> Result<()> {
    let (_running, mut client) = start()?;
    let numbers = [
        "117.63331139400017",
        "1.5777777777770001",
        "9007199254740993",
        "12345678901234567890123",
        "1e400",
        "-0",
    ];
    let objects = [r#"{"a":1,"a":2}"#, r#"{"C":0,"$serde_json::private::Number":0}"#];
    let nested = [nested(127), nested(128)];
    let values = numbers.into_iter().chain(objects).chain(nested.iter().map(String::as_str));
    for value in values.chain([r#""\uD834\uDD1E""#]) {
        let response = client.request(expect::post("/", &beside(value)))?;
        assert_eq!(response.status, 200, "{value:.60}");
        assert_eq!(response.body, br#"{"urlToEmbed":"x"}"#, "{value:.60}");
    }
    Ok(())
}

#[test]
fn what_is_malformed_is_400() -> Result<()> {
    let (_running, mut client) = start()?;
    let bodies: [Vec<u8>; 9] = [
        b"\"\xed\xa0\x80\"".to_vec(),
        b"{\"title\":\"\xff\xfe\"}".to_vec(),
        b"{\"title\":\"\xff\xfe\",\"urlToEmbed\":\"x\"}".to_vec(),
        br#"{"urlToEmbed":"\ud800"}"#.to_vec(),
        beside(&nested(129)),
        beside(&nested(100_000)),
        b"\xef\xbb\xbf{\"urlToEmbed\":\"x\"}".to_vec(),
        br#"{"urlToEmbed":"x"}{"urlToEmbed":"x"}"#.to_vec(),
        Vec::new(),
    ];
    for body in bodies {
        let response = client.request(expect::post("/", &body))?;
        assert_eq!(response.status, 400, "{:.60}", body.escape_ascii().to_string());
    }
    assert_eq!(client.request(expect::post("/", &beside("0")))?.status, 200);
    Ok(())
}

#[test]
fn ten_megabytes_are_413() -> Result<()> {
    let (running, mut client) = start()?;
    let body = beside(&format!("\"{}\"", "a".repeat(10_000_000)));
    assert_eq!(client.request(expect::post("/", &body))?.status, 413);
    assert_eq!(running.connect()?.request(expect::post("/", &beside("0")))?.status, 200);
    Ok(())
}
