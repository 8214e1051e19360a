//! What is not TLS on a TLS port, and who never finishes a handshake (cases SRV-02 and SRV-10).

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::{Subject, closes, connect};
use crate::Running;
use crate::case::Cases;

/// The start of a ClientHello of 512 bytes.
const HALF_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01";

pub(super) fn cases(cases: &mut Cases, subject: &Subject<'_>, running: &Running) {
    let noise: Vec<u8> =
        (0..1024_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let inputs: [(&str, &[u8]); 2] =
        [("plain HTTP to TLS", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ("noise to TLS", &noise)];
    for (name, input) in inputs {
        cases.case(name, || {
            let mut tcp = connect(running.address())?;
            tcp.write_all(input)?;
            closes(&mut tcp)?;
            subject.answers(running)
        });
    }
    cases.case("200 connections without a handshake", || {
        let idle = (0..200).map(|_| connect(running.address())).collect::<Result<Vec<_>>>()?;
        for mut tcp in idle.iter().step_by(2) {
            tcp.write_all(HALF_HELLO)?;
        }
        subject.answers(running)
    });
    cases.case("closed at once, and reset in the handshake", || {
        for _ in 0..50 {
            drop(connect(running.address())?);
            let mut tcp = connect(running.address())?;
            tcp.write_all(HALF_HELLO)?;
            // Without a time to linger, a close is a reset (socket(7), SO_LINGER).
            rustix::net::sockopt::set_socket_linger(&tcp, Some(Duration::ZERO))?;
        }
        subject.answers(running)
    });
    cases.case("no line of log for any of them", || {
        let log = running.stderr();
        ensure!(log.lines().filter(|line| !line.contains("debug build")).count() == 0, "{log}");
        Ok(())
    });
}
