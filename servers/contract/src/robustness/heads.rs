//! Hostile and unusual request heads (cases SRV-04 and SRV-20).

use anyhow::{Result, ensure};

use super::Subject;
use crate::Running;
use crate::case::Cases;

/// What is sent, under a name, and the statuses that are right for it.
type Head = (&'static str, Vec<u8>, &'static [u16]);

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    for (name, bytes, expected) in targets(subject.path).into_iter().chain(fields()) {
        cases.case(name, || {
            let response = running.connect()?.request(&bytes)?;
            ensure!(expected.contains(&response.status), "status {}", response.status);
            subject.answers(running)
        });
    }
    let right = String::from_utf8_lossy(subject.right);
    for host in ["", "[::1]:8080", "a.b-c:1"] {
        cases.case(&format!("Host: {host:?}"), || {
            succeeds(running, &right.replace("localhost", host))
        });
    }
    cases.case("an upgrade that nobody wants", || {
        let line_end = right.find("\r\n").map_or(0, |at| at + 2);
        let (line, rest) = right.split_at(line_end);
        let request = format!("{line}Upgrade: h2c\r\nConnection: Upgrade\r\n{rest}");
        let mut client = running.connect()?;
        for _ in 0..2 {
            let response = client.request(&request)?;
            ensure!((200..300).contains(&response.status), "status {}", response.status);
        }
        Ok(())
    });
    cases.case("an absolute target", || {
        let path = subject.path;
        let absolute = format!(" http://localhost{path} ");
        succeeds(running, &right.replacen(&format!(" {path} "), &absolute, 1))
    });
}

fn succeeds(running: &Running, request: &str) -> Result<()> {
    let response = running.connect()?.request(request)?;
    ensure!(response.status < 300, "status {}", response.status);
    Ok(())
}

fn with(head: &str) -> Vec<u8> {
    format!("{head}\r\n\r\n").into_bytes()
}

/// Methods, targets and versions.
fn targets(path: &str) -> Vec<Head> {
    let long = format!("GET /{} HTTP/1.1\r\nHost: x", "a".repeat(70_000));
    vec![
        ("CONNECT", with("CONNECT h:443 HTTP/1.1\r\nHost: h:443"), &[405]),
        ("TRACE", with("TRACE / HTTP/1.1\r\nHost: x"), &[405]),
        ("OPTIONS *", with("OPTIONS * HTTP/1.1\r\nHost: x"), &[200, 204]),
        ("a method in lower case", with(&format!("get {path} HTTP/1.1\r\nHost: x")), &[405]),
        ("HTTP/1.2", with("GET / HTTP/1.2\r\nHost: x"), &[400, 505]),
        ("HTTP/2.0", with("GET / HTTP/2.0\r\nHost: x"), &[400, 505]),
        ("a raw byte", b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[400, 404, 405]),
        ("a NUL", b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), &[400]),
        ("an escaped NUL", with("GET /%00 HTTP/1.1\r\nHost: x"), &[400, 404, 405]),
        ("an escaped line end", with("GET /a%0d%0ab HTTP/1.1\r\nHost: x"), &[400, 404, 405]),
        ("a path of 70,000 bytes", with(&long), &[400, 414, 431]),
    ]
}

/// The fields after the request line.
fn fields() -> Vec<Head> {
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}", "a".repeat(17_000));
    let many = format!("GET / HTTP/1.1\r\nHost: x{}", "\r\nX: y".repeat(100));
    vec![
        ("two Hosts", with("GET / HTTP/1.1\r\nHost: a\r\nHost: a"), &[400]),
        ("a Host that is none", with("GET / HTTP/1.1\r\nHost: a b"), &[400]),
        ("Expect: else", with("GET / HTTP/1.1\r\nHost: x\r\nExpect: else"), &[417]),
        ("a space before the colon", with("GET / HTTP/1.1\r\nHost : x"), &[400]),
        ("a folded field", with("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c"), &[400]),
        (
            "two lengths",
            with("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2"),
            &[400],
        ),
        ("a signed length", with("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1"), &[400]),
        (
            "an unknown coding",
            with("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunkedd"),
            &[400, 501],
        ),
        ("a field of 17,000 bytes", with(&long), &[431]),
        ("101 fields", with(&many), &[431]),
    ]
}
