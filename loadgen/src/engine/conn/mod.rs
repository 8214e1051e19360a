//! One connection: its socket, its TLS session, the request being written and the response being
//! read.

mod write;

use std::os::fd::OwnedFd;

use crate::engine::clock::Nanos;
use crate::engine::failure::Failure;
use crate::engine::response::{AtEnd, ParseError, Progress, ResponseParser, snippet};
use crate::engine::socket;
use crate::engine::tap::Tap;
use crate::engine::tls::TlsSession;

/// Full buffers read in one go before the other connections have their turn.
const READS_PER_TURN: u32 = 8;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// No socket.
    Closed,
    /// TCP connect in progress.
    Connecting,
    /// TLS handshake in progress.
    Handshaking,
    /// Ready for requests, or busy with one.
    Open,
}

/// What reading came to.
#[derive(Debug)]
pub(crate) enum Received {
    /// Nothing the worker has to act on.
    Waiting,
    /// There may be more to read without a new event.
    Again,
    /// The TLS handshake was finished.
    Established,
    /// The response in progress is complete.
    Complete,
    /// Closed by the peer with no request in progress.
    ClosedIdle,
    /// The request in progress failed, or the handshake, or an idle connection.
    Failed(Failure),
}

/// The response side of a connection.
pub(crate) struct Response {
    /// A request was begun and its response is not complete.
    pub(crate) busy: bool,
    pub(crate) parser: ResponseParser,
    pub(crate) tap: Option<Box<Tap>>,
    complete: bool,
    failure: Option<Failure>,
}

impl Response {
    #[inline]
    fn feed(&mut self, bytes: &[u8]) {
        if self.failure.is_some() || bytes.is_empty() {
            return;
        }
        if !self.busy || self.complete {
            self.failure = Some(ParseError::Excess(snippet(bytes)).into());
            return;
        }
        match self.parser.advance(bytes, &mut self.tap) {
            Ok(Progress::Partial) => {}
            Ok(Progress::Complete(used)) => {
                self.complete = true;
                if used < bytes.len() {
                    self.failure = Some(ParseError::Excess(snippet(&bytes[used..])).into());
                }
            }
            Err(error) => self.failure = Some(error.into()),
        }
    }
}

/// One of a worker's connections; the slot outlives its sockets.
pub(crate) struct Conn {
    pub(crate) link: Link,
    pub(crate) response: Response,
    /// The request in progress was sent in the measured window.
    pub(crate) measured: bool,
    pub(crate) started: Nanos,
    pub(crate) due: Option<Nanos>,
    /// The peer closed its side.
    pub(crate) peer_closed: bool,
    /// Listed as idle by its worker.
    pub(crate) listed: bool,
    /// Counts sockets, so that an event of the last one is recognised.
    pub(crate) generation: u32,
    /// Requests begun on this socket.
    pub(crate) requests: u64,
    /// When connect or handshake began.
    pub(crate) connect_began: Nanos,
    /// Since when a unix listener's queue has been full; 0 when it is not.
    queued_since: Nanos,
    /// Wait before the next connect after one that failed, or was closed before it was used.
    pub(crate) backoff: Nanos,
    /// Index of the address being tried, and how many were tried in this attempt.
    pub(crate) address: usize,
    pub(crate) tried: usize,
    /// The first attempt to connect has ended, well or not.
    pub(crate) attempted: bool,
    socket: Option<OwnedFd>,
    tls: Option<Box<TlsSession>>,
    written: u64,
    write_done: bool,
    /// The expanded request, when the kernel did not take it in one go.
    unsent: Vec<u8>,
}

impl Conn {
    /// A slot without a socket.
    pub(crate) fn new(answers_head: bool, tap: Option<Box<Tap>>) -> Self {
        let parser = ResponseParser::new(answers_head);
        Self {
            link: Link::Closed,
            response: Response { busy: false, parser, tap, complete: false, failure: None },
            measured: false,
            started: 0,
            due: None,
            peer_closed: false,
            listed: false,
            generation: 0,
            requests: 0,
            connect_began: 0,
            queued_since: 0,
            backoff: 0,
            address: 0,
            tried: 0,
            attempted: false,
            socket: None,
            tls: None,
            written: 0,
            write_done: true,
            unsent: Vec::new(),
        }
    }

    /// Takes over a new socket.
    pub(crate) fn attach(&mut self, socket: OwnedFd) -> &OwnedFd {
        self.link = Link::Connecting;
        self.peer_closed = false;
        self.requests = 0;
        self.generation = self.next_generation();
        self.socket.insert(socket)
    }

    /// The generation of the next socket.
    pub(crate) fn next_generation(&self) -> u32 {
        self.generation.wrapping_add(1)
    }

    /// How long the queue of a unix listener has been full, which it is now.
    pub(crate) fn queued(&mut self, now: Nanos) -> Nanos {
        if self.queued_since == 0 {
            self.queued_since = now.max(1);
        }
        now.saturating_sub(self.queued_since)
    }

    /// The socket, while there is one.
    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    /// Connected, and the handshake, if there is one, is finished.
    pub(crate) fn opened(&mut self) {
        self.link = Link::Open;
        self.queued_since = 0;
    }

    /// Begins the TLS handshake.
    pub(crate) fn handshake(&mut self, session: TlsSession) -> Result<(), Failure> {
        self.link = Link::Handshaking;
        let tls = self.tls.insert(Box::new(session));
        tls.process(&mut [], |_| ())?;
        self.flush_records().map(|_| ())
    }

    /// The TLS session, if this is one.
    pub(crate) fn tls(&self) -> Option<&TlsSession> {
        self.tls.as_deref()
    }

    /// Drops the socket.
    pub(crate) fn close(&mut self) {
        self.link = Link::Closed;
        self.response.busy = false;
        self.write_done = true;
        self.tls = None;
        self.socket = None;
    }

    /// Whether the connection can carry a request now.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.link == Link::Open && !self.response.busy
    }

    /// Whether the last response leaves the connection usable.
    #[inline]
    pub(crate) fn reusable(&self) -> bool {
        self.write_done && !self.peer_closed && self.response.parser.keep_alive()
    }

    /// Begins a request; [`Conn::write`] follows.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos, due: Option<Nanos>, measured: bool) {
        self.started = now;
        self.due = due;
        self.measured = measured;
        self.written = 0;
        self.write_done = false;
        self.requests += 1;
        self.unsent.clear();
        self.backoff = 0;
        self.response.busy = true;
        self.response.complete = false;
        self.response.failure = None;
        self.response.parser.start();
        if let Some(tap) = &mut self.response.tap {
            tap.start();
        }
    }

    /// Reads what is there, at least until the kernel has no more for now; `ending` when the event
    /// said that the peer closed. Plaintext bytes are added to `received`.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        ending: bool,
        received: &mut u64,
    ) -> Received {
        if self.tls.is_some() {
            return self.receive_records(buffer, ending, received);
        }
        for _ in 0..READS_PER_TURN {
            let Some(socket) = &self.socket else { return Received::Waiting };
            match socket::read(socket, buffer) {
                Ok(None) => return Received::Waiting,
                Ok(Some(0)) => return self.end_of_input(true),
                Ok(Some(bytes)) => {
                    *received += bytes as u64;
                    self.response.feed(&buffer[..bytes]);
                    if let Some(outcome) = self.outcome(ending) {
                        return outcome;
                    }
                    // Less than asked for means the socket is empty: the next byte is a new event.
                    if bytes < buffer.len() && !ending {
                        return Received::Waiting;
                    }
                }
                Err(error) => return self.read_failed(Failure::from_io(error)),
            }
        }
        Received::Again
    }

    fn receive_records(&mut self, buffer: &mut [u8], ending: bool, received: &mut u64) -> Received {
        for _ in 0..READS_PER_TURN {
            let (Some(tls), Some(socket)) = (&mut self.tls, &self.socket) else {
                return Received::Waiting;
            };
            let kept = tls.carry.len();
            buffer[..kept].copy_from_slice(&tls.carry);
            let bytes = match socket::read(socket, &mut buffer[kept..]) {
                Ok(None) => return Received::Waiting,
                Ok(Some(0)) => {
                    let announced = tls.closed;
                    return self.end_of_input(announced);
                }
                Ok(Some(bytes)) => bytes,
                Err(error) => return self.read_failed(Failure::from_io(error)),
            };
            let short = kept + bytes < buffer.len();
            let filled = &mut buffer[..kept + bytes];
            let response = &mut self.response;
            let was_established = tls.established;
            let processed = tls.process(filled, |plain| {
                *received += plain.len() as u64;
                response.feed(plain);
            });
            let used = match processed {
                Ok(used) => used,
                // rustls cannot be asked for its alert after every error: the peer sees a close.
                Err(failure) => return Received::Failed(failure),
            };
            tls.carry.clear();
            tls.carry.extend_from_slice(&filled[used..]);
            let (established, closed) = (tls.established, tls.closed);
            if let Err(failure) = self.flush_records() {
                return self.read_failed(failure);
            }
            if let Some(outcome) = self.outcome(ending || closed) {
                return outcome;
            }
            if established && !was_established {
                return Received::Established;
            }
            if closed {
                return self.end_of_input(true);
            }
            if short && !ending {
                return Received::Waiting;
            }
        }
        Received::Again
    }

    /// What the bytes so far mean, if they mean something for the worker.
    #[inline]
    fn outcome(&mut self, ending: bool) -> Option<Received> {
        if let Some(failure) = self.response.failure.take() {
            return Some(Received::Failed(failure));
        }
        if self.response.complete && self.response.busy {
            self.peer_closed |= ending;
            return Some(Received::Complete);
        }
        None
    }

    fn read_failed(&mut self, failure: Failure) -> Received {
        self.peer_closed = true;
        if self.link == Link::Open && !self.response.busy {
            return Received::ClosedIdle;
        }
        Received::Failed(failure)
    }

    /// The peer closed its side; `announced` unless TLS should have said so and did not.
    fn end_of_input(&mut self, announced: bool) -> Received {
        self.peer_closed = true;
        if self.link == Link::Handshaking {
            return Received::Failed(Failure::Tls(
                "connection closed by the server during the handshake".into(),
            ));
        }
        if !self.response.busy {
            return Received::ClosedIdle;
        }
        let received = self.response.parser.body_len();
        match self.response.parser.end_of_input() {
            AtEnd::Complete if announced => {
                self.response.complete = true;
                Received::Complete
            }
            AtEnd::Complete => Received::Failed(Failure::TruncatedTls { received }),
            AtEnd::Nothing => Received::Failed(Failure::Closed),
            AtEnd::InHead => Received::Failed(Failure::TruncatedHead),
            AtEnd::InBody { received, expected: Some(expected) } => {
                Received::Failed(Failure::TruncatedLength { received, expected })
            }
            AtEnd::InBody { received, expected: None } => {
                Received::Failed(Failure::TruncatedChunks { received })
            }
        }
    }
}
