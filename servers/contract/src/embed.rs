//! What json and qr share: a body `{"urlToEmbed": "…"}`, its good forms and its bad ones.

use anyhow::{Context as _, Result, ensure};

use crate::case::Cases;
use crate::expect::{self, post, post_chunked};
use crate::{Response, Running, Traits};

/// Longest body that is read, in bytes; one more is 413.
const MAX_BODY: usize = 1024 * 1024;

/// Checks the answer for a text that was embedded.
pub(crate) type Answer<'a> = &'a dyn Fn(&Response, &str) -> Result<()>;

/// Bodies that are read, and the text they hold.
const GOOD: &[(&str, &str)] = &[
    (r#"{"urlToEmbed":"https://example.com/a?b=c"}"#, "https://example.com/a?b=c"),
    (" {\r\n\t\"urlToEmbed\" : \"spaces around\" } ", "spaces around"),
    (r#"{"a":[1,-2.5e3,true,null],"urlToEmbed":"others","z":{"urlToEmbed":"inner"}}"#, "others"),
    (r#"{"urlToEmbed":"first","urlToEmbed":"last"}"#, "last"),
    (r#"{"urlToEmbed":7,"urlToEmbed":"last"}"#, "last"),
    (r#"{"\u0075rlToEmbed":"escaped key"}"#, "escaped key"),
    (r#"{"urlToEmbed":"a\"b\\c\/d\n\u0001"}"#, "a\"b\\c/d\n\u{1}"),
    (r#"{"urlToEmbed":"\u00e9 \ud83d\ude00"}"#, "é 😀"),
    (r#"{"urlToEmbed":"naïve 日本語 😀"}"#, "naïve 日本語 😀"),
    (r#"{"urlToEmbed":"a%20b%2Fc"}"#, "a%20b%2Fc"),
    (r#"{"urlToEmbed":" "}"#, " "),
];

/// Bodies that are JSON but have no text to embed.
const MISSING: &[&str] = &[
    "{}",
    r#"{"urlToEmbed":""}"#,
    r#"{"urlToEmbed":null}"#,
    r#"{"urlToEmbed":42}"#,
    r#"{"urlToEmbed":true}"#,
    r#"{"urlToEmbed":["x"]}"#,
    r#"{"urlToEmbed":{"a":"x"}}"#,
    r#"{"URLTOEMBED":"x"}"#,
    r#"{"a":{"urlToEmbed":"x"}}"#,
    r#"{"urlToEmbed":"x","urlToEmbed":""}"#,
    "[]",
    r#"["urlToEmbed"]"#,
    "null",
    "7",
    r#""urlToEmbed""#,
];

/// Bodies that are not JSON.
const MALFORMED: &[&str] = &[
    "",
    " ",
    "{",
    "nonsense",
    r#"{"urlToEmbed":"x""#,
    r#"{"urlToEmbed":"x"}}"#,
    r#"{"urlToEmbed":"x",}"#,
    r#"{"urlToEmbed":"x"} {}"#,
    r#"{'urlToEmbed':'x'}"#,
    r#"{urlToEmbed:"x"}"#,
    r#"{"urlToEmbed":"\x"}"#,
    r#"{"urlToEmbed":"\u12"}"#,
    "{\"urlToEmbed\":\"raw\ncontrol\"}",
    r#"{"urlToEmbed":"x","n":01}"#,
    r#"{"urlToEmbed":"x","n":1.}"#,
    r#"{"urlToEmbed":"x","n":NaN}"#,
    "\u{feff}not even after a mark",
];

/// The cases of both scenarios on `path`; `message` is what the error must say where the text is
/// missing, if that is given.
pub(crate) fn cases(
    cases: &mut Cases,
    running: &Running,
    traits: &Traits,
    path: &str,
    message: Option<&str>,
    answer: Answer<'_>,
) {
    for (body, text) in GOOD {
        cases.case(&format!("body {body}"), || {
            answer(&running.connect()?.request(post(path, body.as_bytes()))?, text)
        });
    }
    for body in MISSING {
        cases.case(&format!("nothing to embed in {body}"), || {
            let response = refused(running, path, body.as_bytes(), 400)?;
            let found = expect::json_message(&response)?;
            ensure!(message.is_none_or(|m| m == found), "message {found:?}, not {message:?}");
            Ok(())
        });
    }
    for body in MALFORMED {
        cases.case(&format!("malformed JSON {body:?}"), || {
            expect::json_message(&refused(running, path, body.as_bytes(), 400)?)?;
            Ok(())
        });
    }
    framings(cases, running, path, answer);
    sizes(cases, running, traits, path, answer);
    if traits.strict_json {
        strict(cases, running, path, answer);
    }
    if traits.any_content_type {
        cases.case("no Content-Type", || {
            let request = String::from_utf8(post(path, br#"{"urlToEmbed":"x"}"#))?
                .replace("Content-Type: application/json\r\n", "");
            answer(&running.connect()?.request(request)?, "x")
        });
    }
}

/// A bad body has its status, and the program goes on.
fn refused(running: &Running, path: &str, body: &[u8], status: u16) -> Result<Response> {
    let response = running.connect()?.request(post(path, body))?;
    expect::status(&response, status)?;
    let good = running.connect()?.request(post(path, br#"{"urlToEmbed":"x"}"#));
    expect::status(&good.context("a right request after it")?, 200)?;
    Ok(response)
}

fn framings(cases: &mut Cases, running: &Running, path: &str, answer: Answer<'_>) {
    cases.case("a chunked body", || {
        let chunks: [&[u8]; 3] = [b"{\"urlToE", b"mbed\":\"in ", b"chunks\"}"];
        answer(&running.connect()?.request(post_chunked(path, &chunks))?, "in chunks")
    });
    cases.case("Expect: 100-continue", || {
        let mut client = running.connect()?;
        let request = String::from_utf8(post(path, br#"{"urlToEmbed":"waited"}"#))?
            .replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
        let response = client.request(request)?;
        answer(&response, "waited")
    });
    cases.case("a truncated body", || {
        let mut client = running.connect()?;
        let whole = post(path, br#"{"urlToEmbed":"truncated"}"#);
        client.send(&whole[..whole.len() - 5])?;
        client.finish_sending()?;
        let end = String::from_utf8_lossy(&client.read_to_end()?).into_owned();
        ensure!(!end.starts_with("HTTP/1.1 200"), "answered with {end:?}");
        Ok(())
    });
}

fn sizes(cases: &mut Cases, running: &Running, traits: &Traits, path: &str, answer: Answer<'_>) {
    let padded = |length: usize| {
        let mut body = br#"{"urlToEmbed":"padded"}"#.to_vec();
        body.resize(length, b' ');
        body
    };
    cases.case("a body of 1 MiB", || {
        answer(&running.connect()?.request(post(path, &padded(MAX_BODY)))?, "padded")
    });
    let over = padded(MAX_BODY + 1);
    let large = padded(8 * MAX_BODY);
    let chunks: Vec<_> = over.chunks(60_000).collect();
    for (name, request) in [
        ("a body of 1 MiB and a byte", post(path, &over)),
        ("a chunked body of 1 MiB and a byte", post_chunked(path, &chunks)),
        ("a body of 8 MiB", post(path, &large)),
    ] {
        cases.case(name, || {
            match running.connect()?.request(request) {
                Ok(response) => expect::status(&response, 413)?,
                Err(_) if !traits.lingers => {}
                Err(error) => return Err(error),
            }
            let good = running.connect()?.request(post(path, br#"{"urlToEmbed":"x"}"#));
            expect::status(&good.context("a right request after it")?, 200)
        });
    }
}

fn strict(cases: &mut Cases, running: &Running, path: &str, answer: Answer<'_>) {
    for body in [
        b"{\"urlToEmbed\":\"\xff\"}".as_slice(),
        b"{\"urlToEmbed\":\"\xc0\xaf\"}",
        b"{\"urlToEmbed\":\"\xed\xa0\x80\"}",
        b"{\"urlToEmbed\":\"x\",\"a\":\"\x80\"}",
        br#"{"urlToEmbed":"\ud800"}"#,
        br#"{"urlToEmbed":"\udc00\ud800"}"#,
    ] {
        let name = format!("not Unicode {}", body.escape_ascii());
        cases.case(&name, || {
            expect::json_message(&refused(running, path, body, 400)?)?;
            Ok(())
        });
    }
    let nested = |depth: usize| {
        // The object itself is the first level.
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"a":{open}{close},"urlToEmbed":"deep"}}"#).into_bytes()
    };
    cases.case("nesting of 100", || {
        answer(&running.connect()?.request(post(path, &nested(100)))?, "deep")
    });
    for depth in [130, 10_000, 500_000] {
        cases.case(&format!("nesting of {depth}"), || {
            expect::json_message(&refused(running, path, &nested(depth), 400)?)?;
            Ok(())
        });
    }
}
