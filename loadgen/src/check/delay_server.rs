//! A server whose delays are known: a given time for each request, and a record of the time it really
//! took.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::experiment::pins;

/// Every answer.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n\
    Hello world!";

/// The delay of each request, by its number from 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delays {
    /// The same for all.
    Constant(Duration),
    /// Every so many-th request takes longer.
    TwoPeaks {
        /// The delay of most.
        usual: Duration,
        /// The delay of the others.
        rare: Duration,
        /// The last of each so many is one of the others.
        every: u64,
    },
    /// One request takes very long.
    Stall {
        /// The delay of all others.
        usual: Duration,
        /// Its delay.
        stall: Duration,
        /// Its number.
        at: u64,
    },
}

impl Delays {
    fn of(self, number: u64) -> Duration {
        match self {
            Self::Constant(delay) => delay,
            Self::TwoPeaks { rare, every, .. } if number % every == every - 1 => rare,
            Self::Stall { stall, at, .. } if number == at => stall,
            Self::TwoPeaks { usual, .. } | Self::Stall { usual, .. } => usual,
        }
    }
}

/// A running server. A thread for each connection waits as a real handler does.
pub(super) struct DelayServer {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    accepting: Option<JoinHandle<Vec<Served>>>,
}

/// One request as the server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    /// Its number, from 0.
    pub(super) number: u64,
    /// When its last byte was read.
    pub(super) read_at: Instant,
    /// From then to the first byte of the answer: no client can measure less.
    pub(super) took: Duration,
}

impl DelayServer {
    /// Starts one on a free port of the loopback, on these CPUs.
    ///
    /// # Errors
    /// No port, or no thread.
    pub(super) fn start(delays: Delays, cpus: &[usize]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let (flag, cpus) = (Arc::clone(&ended), cpus.to_vec());
        let accept = move || {
            // Threads started from here on are pinned, too. Where that is refused, the line on pinning
            // says so.
            let _ = pins::pin_this_thread(&cpus);
            accept(&listener, delays, &flag)
        };
        let accepting = std::thread::Builder::new().name("delay server".into()).spawn(accept)?;
        Ok(Self { address, ended, accepting: Some(accepting) })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it when all its clients are gone; every request it answered, in their order.
    pub(super) fn finish(mut self) -> Vec<Served> {
        self.end()
    }

    fn end(&mut self) -> Vec<Served> {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        let joined = self.accepting.take().map(JoinHandle::join);
        let mut served = joined.and_then(Result::ok).unwrap_or_default();
        served.sort_unstable_by_key(|served| served.number);
        served
    }
}

impl Drop for DelayServer {
    fn drop(&mut self) {
        if self.accepting.is_some() {
            self.end();
        }
    }
}

fn accept(listener: &TcpListener, delays: Delays, ended: &AtomicBool) -> Vec<Served> {
    let next = Arc::new(AtomicU64::new(0));
    let mut connections = Vec::new();
    for stream in listener.incoming() {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let next = Arc::clone(&next);
        let serve = move || serve(stream, delays, &next);
        let thread = std::thread::Builder::new().stack_size(128 * 1024).spawn(serve);
        // A connection without a thread is closed, and its client sees that.
        connections.extend(thread.ok());
    }
    connections.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
}

/// Answers requests without bodies until the client closes.
fn serve(mut stream: TcpStream, delays: Delays, next: &AtomicU64) -> Vec<Served> {
    let _ = stream.set_nodelay(true);
    // Waits end when they should, not up to 50 µs later; what remains of that is in the record.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let (mut served, mut received, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return served,
            Ok(count) => received.extend_from_slice(&buffer[..count]),
        }
        let read_at = Instant::now();
        while let Some(end) = memchr::memmem::find(&received, b"\r\n\r\n") {
            received.drain(..end + 4);
            let number = next.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(delays.of(number).saturating_sub(read_at.elapsed()));
            let took = read_at.elapsed();
            if stream.write_all(ANSWER).is_err() {
                return served;
            }
            served.push(Served { number, read_at, took });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_by_number() {
        let [one, ten] = [1, 10].map(Duration::from_millis);
        let peaks = Delays::TwoPeaks { usual: one, rare: ten, every: 3 };
        assert_eq!([0, 1, 2, 3, 5].map(|n| peaks.of(n)), [one, one, ten, one, ten]);
        let stall = Delays::Stall { usual: one, stall: ten, at: 2 };
        assert_eq!([1, 2, 3].map(|n| stall.of(n)), [one, ten, one]);
    }

    #[test]
    fn every_request_is_on_the_record_with_the_time_it_took() {
        let delay = Duration::from_millis(3);
        let cpus = pins::allowed_cpus().unwrap();
        let server = DelayServer::start(Delays::Constant(delay), &cpus).unwrap();
        let mut client = TcpStream::connect(server.address()).unwrap();
        let mut answer = vec![0; ANSWER.len()];
        for part in [&b"GET / HTTP/1.1\r\n"[..], b"\r\nGET / HTTP/1.1\r\n\r\n"] {
            client.write_all(part).unwrap();
        }
        for _ in 0..2 {
            client.read_exact(&mut answer).unwrap();
            assert_eq!(answer, ANSWER);
        }
        drop(client);
        let served = server.finish();
        assert_eq!(served.iter().map(|served| served.number).collect::<Vec<_>>(), [0, 1]);
        assert!(served.iter().all(|served| served.took >= delay), "{served:?}");
    }

    #[test]
    fn a_server_without_clients_ends() {
        let cpus = pins::allowed_cpus().unwrap();
        let server = DelayServer::start(Delays::Constant(Duration::ZERO), &cpus).unwrap();
        assert_eq!(server.finish(), []);
    }
}
