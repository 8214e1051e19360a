//! The contract of json: `POST /` with `{"urlToEmbed": "…"}` is answered with the same, by itself.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::case::Cases;
use crate::expect::{self, Surface, post};
use crate::{Framing, Program, Response, Scheme, Traits, embed};

/// Starts the program and asks it everything.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, traits: &Traits) -> Result<()> {
    let running = program.start(Scheme::Https)?;
    let mut cases = Cases::default();
    embed::cases(&mut cases, &running, traits, "/", None, &embedded);
    cases.case("the shortest form of JSON", || {
        let body = br#"{ "urlToEmbed": "https://example.com/" }"#;
        let response = running.connect()?.request(post("/", body))?;
        expect::body(&response, br#"{"urlToEmbed":"https://example.com/"}"#)
    });
    cases.case("POST / with a query", || {
        embedded(&running.connect()?.request(post("/?a=1", br#"{"urlToEmbed":"q"}"#))?, "q")
    });
    cases.case("a text of 100,000 characters", || {
        let text = "0123456789".repeat(10_000);
        let body = format!(r#"{{"urlToEmbed":"{text}"}}"#);
        embedded(&running.connect()?.request(post("/", body.as_bytes()))?, &text)
    });
    let right = post("/", br#"{"urlToEmbed":"x"}"#);
    Surface { right: &right, path: "/", beside: "/x", allow: &["POST"] }
        .cases(&mut cases, &running, traits);
    cases.finish(&running)
}

fn embedded(response: &Response, text: &str) -> Result<()> {
    expect::success(response, "application/json")?;
    ensure!(matches!(response.framing, Framing::Length(_)), "framing {:?}", response.framing);
    let value: Value = serde_json::from_slice(&response.body).context("the answer is not JSON")?;
    ensure!(value == json!({ "urlToEmbed": text }), "answer {value}");
    Ok(())
}
