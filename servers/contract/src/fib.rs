//! The contract of fib: `GET /fibonacci/31` is `{"n":31,"fibonacci":1346269}`.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::case::Cases;
use crate::expect::{self, Surface, request};
use crate::{Framing, Program, Running, Scheme, Traits};

/// Starts the program and asks it everything.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check(program: &Program, traits: &Traits) -> Result<()> {
    let running = program.start(Scheme::Http)?;
    let mut cases = Cases::default();
    for (n, fibonacci) in
        [(0, 0), (1, 1), (2, 1), (3, 2), (10, 55), (20, 6_765), (30, 832_040), (31, 1_346_269)]
    {
        cases.case(&format!("n = {n}"), || answers(&running, n, fibonacci));
    }
    for n in [
        "abc",
        "-1",
        "+1",
        "1.5",
        "1e1",
        "0x10",
        "46",
        "100",
        "4294967296",
        "18446744073709551647",
        "007",
        "%20",
        "1%20",
        "1,000",
        "NaN",
        "Infinity",
        "%D9%A3",
    ] {
        cases.case(&format!("n = {n}"), || refuses(&running, n));
    }
    cases.case("HEAD", || expect::head_like_get(&running, "/fibonacci/7", traits));
    let right = request("GET", "/fibonacci/10");
    Surface {
        right: right.as_bytes(),
        path: "/fibonacci/10",
        beside: "/fibonaccix/10",
        allow: &["GET", "HEAD"],
    }
    .cases(&mut cases, &running, traits);
    cases.finish(&running)
}

/// Starts the program and checks that it prints a line in every base case, no more and no fewer.
///
/// # Errors
/// When it cannot be started, or differs from the contract.
pub fn check_logging(program: &Program) -> Result<()> {
    let running = program.start(Scheme::Http)?;
    let mut cases = Cases::default();
    let mut printed = 0;
    // The base cases of fibonacci(n) are fibonacci(n + 1) in number.
    for (n, fibonacci, lines) in [(0, 0, 1), (1, 1, 1), (2, 1, 2), (10, 55, 89), (19, 4_181, 6_765)]
    {
        printed += lines;
        cases.case(&format!("n = {n}"), || {
            answers(&running, n, fibonacci)?;
            prints(&running, printed)
        });
    }
    cases.case("n = 46", || refuses(&running, "46"));
    cases.finish(&running)
}

/// Waits until so many lines are printed; the answer may be ahead of them.
fn prints(running: &Running, lines: usize) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let is_base_case = |line: &&str| ["base case 0", "base case 1"].contains(line);
        let found = running.stdout().lines().filter(is_base_case).count();
        if found >= lines || Instant::now() >= deadline {
            ensure!(found == lines, "{found} base cases were printed until now, not {lines}");
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn answers(running: &Running, n: u64, fibonacci: u64) -> Result<()> {
    let response = running.connect()?.request(request("GET", &format!("/fibonacci/{n}")))?;
    expect::success(&response, "application/json")?;
    ensure!(matches!(response.framing, Framing::Length(_)), "framing {:?}", response.framing);
    expect::body(&response, format!(r#"{{"n":{n},"fibonacci":{fibonacci}}}"#).as_bytes())
}

fn refuses(running: &Running, n: &str) -> Result<()> {
    let response = running.connect()?.request(request("GET", &format!("/fibonacci/{n}")))?;
    expect::status(&response, 400)?;
    ensure!(!response.body.is_empty(), "no reason given");
    Ok(())
}
