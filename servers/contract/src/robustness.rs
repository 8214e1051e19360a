//! What a server that may be exposed survives, whatever its scenario: hostile heads, bodies nobody
//! reads, slow clients, and the stop signals.

mod bodies;
mod crowd;
mod handshakes;
mod heads;
mod limits;
mod slow;
mod stop;

use std::io::Read as _;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::case::Cases;
use crate::{Program, Running, Scheme};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The shortest time limit of a server that was not told another.
const USUAL_LIMIT: Duration = Duration::from_secs(10);

/// A server's scenario, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The program.
    pub program: &'a Program,
    /// Whether it speaks TLS.
    pub scheme: Scheme,
    /// A request that is answered 2xx.
    pub right: &'a [u8],
    /// The path of that request.
    pub path: &'a str,
    /// What a POST of 100 MB to that path is answered, where the body is not read.
    pub large_post: Option<u16>,
}

impl Subject<'_> {
    /// Starts it with time limits of so many seconds.
    fn start_impatient(&self, seconds: u32) -> Result<Running> {
        ["handshake", "head", "idle", "stall"]
            .iter()
            .fold(self.program.clone(), |program, limit| {
                program.arg(format!("--{limit}-timeout")).arg(seconds.to_string())
            })
            .start(self.scheme)
    }

    fn answers(&self, running: &Running) -> Result<()> {
        let response = running.connect()?.request(self.right).context("a right request")?;
        ensure!(response.status < 300, "a right request: status {}", response.status);
        Ok(())
    }

    /// The method of the right request.
    fn method(&self) -> &str {
        let end = self.right.iter().position(|&byte| byte == b' ').unwrap_or(0);
        std::str::from_utf8(&self.right[..end]).unwrap_or_default()
    }
}

/// Asks a server everything about hostile heads and slow clients, descriptors, ports and signals.
///
/// # Errors
/// When it cannot be started, or one of the cases fails; each is named.
pub fn check(subject: &Subject<'_>) -> Result<()> {
    let running = subject.program.start(subject.scheme)?;
    let mut cases = Cases::default();
    heads::cases(&mut cases, subject, &running);
    bodies::small_cases(&mut cases, subject, &running);
    limits::cases(&mut cases, subject, &running);
    if subject.scheme == Scheme::Https {
        handshakes::cases(&mut cases, subject, &running);
    }
    slow::cases(&mut cases, subject, &subject.start_impatient(1)?);
    stop::cases(&mut cases, subject);
    cases.finish(&running)
}

/// Asks a server for its answer while large bodies come that nobody reads, 200 times each.
///
/// # Errors
/// When it cannot be started, or an answer is lost.
pub fn check_unread_bodies(subject: &Subject<'_>) -> Result<()> {
    let running = subject.program.start(subject.scheme)?;
    let mut cases = Cases::default();
    bodies::large_cases(&mut cases, subject, &running);
    cases.finish(&running)
}

/// Lets 500 slow clients at a server.
///
/// # Errors
/// When it cannot be started, keeps one of them, grows with them, or does not answer others.
pub fn check_crowd(subject: &Subject<'_>) -> Result<()> {
    // Time enough for all of them to get in.
    let running = subject.start_impatient(5)?;
    let mut cases = Cases::default();
    crowd::cases(&mut cases, subject, &running);
    cases.finish(&running)
}

/// The tests of a server that needs nothing around it: its [`Program`], then the fields of its
/// [`Subject`] after `program`.
#[macro_export]
macro_rules! robustness_tests {
    ($program:expr, $($field:tt)*) => {
        fn subject(program: &$crate::Program) -> $crate::robustness::Subject<'_> {
            $crate::robustness::Subject { program, $($field)* }
        }

        #[test]
        fn survives() -> $crate::Result<()> {
            $crate::robustness::check(&subject(&$program))
        }

        #[test]
        fn a_body_nobody_reads_never_costs_the_answer() -> $crate::Result<()> {
            $crate::robustness::check_unread_bodies(&subject(&$program))
        }

        #[test]
        fn slow_clients_are_sent_away() -> $crate::Result<()> {
            $crate::robustness::check_crowd(&subject(&$program))
        }
    };
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let tcp = TcpStream::connect(address).context("connect")?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    Ok(tcp)
}

/// Expects the server to close before any of its usual time limits, whatever it says before.
fn closes(tcp: &mut TcpStream) -> Result<()> {
    let started = Instant::now();
    let mut buffer = [0; 1024];
    while tcp.read(&mut buffer).is_ok_and(|length| length > 0) {}
    ensure!(started.elapsed() < USUAL_LIMIT, "closed after {:?}", started.elapsed());
    let _ = tcp.shutdown(Shutdown::Both);
    Ok(())
}
