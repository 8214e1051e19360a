//! The contract of png: `GET /logo.png` is the file of that name, read anew for every request.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context as _, Result, ensure};

use crate::case::Cases;
use crate::expect::{self, Surface, request};
use crate::{Framing, Program, Response, Running, Scheme, Traits};

/// Stands outside the served folder; no answer may contain it.
const SECRET: &[u8] = b"outside of the served folder";

/// Targets that lead, or seem to lead, out of the folder.
const OUTSIDE: &[&str] = &[
    "/../secret.png",
    "/./../secret.png",
    "/%2e%2e/secret.png",
    "/%2E%2E/secret.png",
    "/.%2e/secret.png",
    "/..%2fsecret.png",
    "/%2e%2e%2fsecret.png",
    "/..%5csecret.png",
    "/x/../../secret.png",
    "/logo.png/../../secret.png",
    "//../secret.png",
    "/..//secret.png",
    "/%252e%252e/secret.png",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/../../../../../../../../etc/passwd",
];

/// Targets that name no file.
const MISSING: &[&str] =
    &["/missing.png", "/", "/logo.png/", "/logo.png/x", "/LOGO.PNG", "/folder", "/logo.png%20"];

/// Starts the program and asks it everything.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, traits: &Traits) -> Result<()> {
    let running = program.start(Scheme::Http)?;
    let folder = running.data_dir();
    let logo = folder.join("logo.png");
    fs::write(&logo, pattern(12_058))?;
    fs::create_dir(folder.join("folder"))?;
    fs::write(folder.with_file_name("secret.png"), SECRET)?;

    let mut cases = Cases::default();
    for length in [12_058, 1, 70_000, 1_000_000] {
        cases.case(&format!("a file of {length} bytes"), || {
            fs::write(&logo, pattern(length))?;
            let response = running.connect()?.request(request("GET", "/logo.png"))?;
            file(&response, &pattern(length), traits)
        });
    }
    fs::write(&logo, pattern(12_058))?;
    cases.case("the file changed, on one connection", || changed(&running, traits));
    cases.case("HEAD", || expect::head_like_get(&running, "/logo.png", traits));
    for target in MISSING {
        cases.case(&format!("GET {target}"), || missing(&running, target));
    }
    for target in OUTSIDE {
        cases.case(&format!("GET {target}"), || outside(&running, target));
    }
    if traits.complete_file_server {
        complete(&mut cases, &running);
    }
    let right = request("GET", "/logo.png");
    Surface {
        right: right.as_bytes(),
        path: "/logo.png",
        beside: "/logo.pngx",
        allow: &["GET", "HEAD"],
    }
    .cases(&mut cases, &running, traits);
    cases.finish(&running)
}

/// Bytes that differ with the length of the file.
fn pattern(length: usize) -> Vec<u8> {
    let mut state = u32::try_from(length).unwrap_or(u32::MAX);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn file(response: &Response, expected: &[u8], traits: &Traits) -> Result<()> {
    expect::success(response, "image/png")?;
    expect::body(response, expected)?;
    if traits.sized_files {
        ensure!(matches!(response.framing, Framing::Length(_)), "framing {:?}", response.framing);
    }
    Ok(())
}

fn changed(running: &Running, traits: &Traits) -> Result<()> {
    let logo = running.data_dir().join("logo.png");
    let mut client = running.connect()?;
    for length in [12_058, 12_059, 500, 12_058] {
        fs::write(&logo, pattern(length))?;
        let response = client.request(request("GET", "/logo.png"))?;
        file(&response, &pattern(length), traits).with_context(|| format!("{length} bytes"))?;
    }
    Ok(())
}

/// 404, and the program goes on.
fn missing(running: &Running, target: &str) -> Result<()> {
    expect::status(&running.connect()?.request(request("GET", target))?, 404)?;
    let good = running.connect()?.request(request("GET", "/logo.png"));
    expect::status(&good.context("a right request after it")?, 200)
}

fn outside(running: &Running, target: &str) -> Result<()> {
    let response = running.connect()?.request(request("GET", target))?;
    ensure!((400..500).contains(&response.status), "status {}", response.status);
    ensure!(!contains(&response.body, SECRET), "the file outside was served");
    ensure!(!contains(&response.body, b"root:"), "/etc/passwd was served");
    Ok(())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Conditional requests and ranges (RFC 9110, sections 13 and 14), and symbolic links.
fn complete(cases: &mut Cases, running: &Running) {
    let with = |header: &str| -> Result<Response> {
        let get = format!("GET /logo.png HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n");
        running.connect()?.request(get)
    };
    let validators = || -> Result<(String, String)> {
        let response = running.connect()?.request(request("GET", "/logo.png"))?;
        let of = |name: &str| response.header(name).map(str::to_owned);
        Ok((of("etag").context("no ETag")?, of("last-modified").context("no Last-Modified")?))
    };
    cases.case("If-None-Match, the same", || {
        expect::status(&with(&format!("If-None-Match: {}", validators()?.0))?, 304)
    });
    cases.case("If-None-Match, another", || {
        expect::status(&with("If-None-Match: \"another\"")?, 200)
    });
    cases.case("If-Modified-Since, the same", || {
        expect::status(&with(&format!("If-Modified-Since: {}", validators()?.1))?, 304)
    });
    cases.case("If-None-Match goes before If-Modified-Since", || {
        let since = validators()?.1;
        let both = format!("If-None-Match: \"another\"\r\nIf-Modified-Since: {since}");
        expect::status(&with(&both)?, 200)
    });
    for (range, from, to) in [
        ("0-99", 0, 99),
        ("100-", 100, 12_057),
        ("-58", 12_000, 12_057),
        ("12057-99999", 12_057, 12_057),
    ] {
        cases.case(&format!("Range: bytes={range}"), || {
            let response = with(&format!("Range: bytes={range}"))?;
            expect::status(&response, 206)?;
            let told = response.header("content-range");
            let expected = format!("bytes {from}-{to}/12058");
            ensure!(told == Some(&expected), "Content-Range {told:?} instead of {expected:?}");
            expect::body(&response, &pattern(12_058)[from..=to])
        });
    }
    cases.case("Range past the end", || {
        let response = with("Range: bytes=12058-")?;
        expect::status(&response, 416)?;
        let told = response.header("content-range");
        ensure!(told == Some("bytes */12058"), "Content-Range {told:?}");
        Ok(())
    });
    cases.case("a symbolic link out of the folder", || {
        symlink("../secret.png", running.data_dir().join("link.png"))?;
        outside(running, "/link.png")
    });
}
