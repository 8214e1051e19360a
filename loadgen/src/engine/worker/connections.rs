//! The connections of a worker: opening, giving up, opening again.

use std::cmp::Reverse;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::{BACKOFF, OPENS_PER_TURN, Phase, QUEUED, Worker, conn_token};
use crate::engine::clock::{NEVER, Nanos, nanos};
use crate::engine::conn::Link;
use crate::engine::control::Message;
use crate::engine::failure::Failure;
use crate::engine::socket;

impl Worker<'_> {
    /// Whether one more connection would get a request.
    pub(super) fn wanted(&self) -> bool {
        match self.phase {
            Phase::Setup | Phase::Warmup => true,
            Phase::Measured if self.pacer.is_some() => !self.all_sent(),
            Phase::Measured => self.remaining > self.connecting,
            Phase::Draining | Phase::Done => false,
        }
    }

    pub(super) fn reopen(&mut self, index: usize, now: Nanos) {
        if now >= self.phase_ends {
            self.advance_phase(now);
        }
        if matches!(self.phase, Phase::Draining | Phase::Done) {
            return;
        }
        self.openings.push(Reverse((now, index as u32)));
    }

    pub(super) fn back_off(&mut self, index: usize, now: Nanos) {
        let conn = &mut self.conns[index];
        conn.backoff = (conn.backoff * 2).clamp(BACKOFF.0, BACKOFF.1);
        let at = now + conn.backoff;
        if !matches!(self.phase, Phase::Draining | Phase::Done) {
            self.openings.push(Reverse((at, index as u32)));
        }
    }

    pub(super) fn open_due(&mut self, now: Nanos) {
        for _ in 0..OPENS_PER_TURN {
            let Some(&Reverse((at, index))) = self.openings.peek() else { return };
            if at > now {
                return;
            }
            if !self.wanted() {
                return;
            }
            self.openings.pop();
            self.connect(index as usize, now);
        }
    }

    /// A new attempt: all addresses in order, the one that worked last first.
    pub(super) fn connect(&mut self, index: usize, now: Nanos) {
        let conn = &mut self.conns[index];
        conn.tried = 0;
        conn.address = self.preferred;
        self.recorder.connections.attempted += 1;
        self.connect_to_next(index, now);
    }

    pub(super) fn connect_to_next(&mut self, index: usize, now: Nanos) {
        let addresses = &self.parts.spec.target.addresses;
        let count = socket::address_count(addresses).max(1);
        loop {
            let conn = &mut self.conns[index];
            let address = conn.address;
            conn.tried += 1;
            conn.connect_began = self.parts.clock.now();
            let result = socket::open(addresses, address).and_then(|opened| {
                let token = EventData::new_u64(conn_token(index, conn.next_generation()));
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                epoll::add(&self.epoll, conn.attach(opened.socket), token, flags)?;
                Ok(opened.connected)
            });
            match result {
                Ok(connected) => {
                    self.connecting += 1;
                    self.deadlines[index] =
                        now.saturating_add(nanos(self.parts.spec.connect_timeout).max(1));
                    if connected {
                        self.connected(index);
                    }
                    return;
                }
                // The queue of a unix listener is full: it takes the connection a little later.
                Err(Errno::AGAIN) if conn.queued(now) < nanos(self.parts.spec.connect_timeout) => {
                    conn.close();
                    self.recorder.connections.attempted -= 1;
                    self.openings.push(Reverse((now + QUEUED, index as u32)));
                    return;
                }
                Err(_) if conn.tried < count => {
                    conn.close();
                    conn.address = (address + 1) % count;
                }
                Err(error) => {
                    conn.close();
                    let text = socket::address_text(addresses, address);
                    self.connect_failed(index, &Failure::connect(error, &text), now);
                    return;
                }
            }
        }
    }

    pub(super) fn connect_ended(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        let Some(socket) = conn.socket() else { return };
        match socket::connect_result(socket) {
            Ok(()) => self.connected(index),
            Err(error) => self.address_failed(index, error),
        }
    }

    /// This address does not work: the next one, if there is one left and the connection still wanted.
    pub(super) fn address_failed(&mut self, index: usize, error: Errno) {
        let now = self.parts.clock.now();
        let addresses = &self.parts.spec.target.addresses;
        let count = socket::address_count(addresses);
        let (address, tried) = (self.conns[index].address, self.conns[index].tried);
        if tried < count && self.phase != Phase::Draining {
            self.close(index);
            self.conns[index].address = (address + 1) % count;
            self.connect_to_next(index, now);
        } else {
            let text = socket::address_text(addresses, address);
            self.connect_failed(index, &Failure::connect(error, &text), now);
        }
    }

    pub(super) fn connected(&mut self, index: usize) {
        let now = self.parts.clock.now();
        let conn = &mut self.conns[index];
        let took = now.saturating_sub(conn.connect_began);
        self.recorder.connect_time.saturating_record(took);
        self.preferred = conn.address;
        self.address.get_or_insert(conn.address);
        let Some(tls) = &self.parts.tls else {
            self.established(index);
            return;
        };
        conn.connect_began = now;
        if let Err(failure) = tls.session().and_then(|session| conn.handshake(session)) {
            self.connection_failed(index, &failure);
        }
    }

    /// Ready for its first request.
    pub(super) fn established(&mut self, index: usize) {
        let now = self.parts.clock.now();
        let conn = &mut self.conns[index];
        if let Some(tls) = conn.tls() {
            let took = now.saturating_sub(conn.connect_began);
            self.recorder.handshake_time.saturating_record(took);
            self.recorder.connections.resumed += u64::from(tls.resumed());
            if self.tls_info.is_none() {
                self.tls_info = Some(tls.info());
            }
        }
        conn.opened();
        self.deadlines[index] = NEVER;
        self.connecting -= 1;
        self.open += 1;
        let counts = &mut self.recorder.connections;
        counts.established += 1;
        counts.peak_open = counts.peak_open.max(self.open);
        self.first_attempt_ended(index);
        self.next_request(index, now);
    }

    pub(super) fn connect_failed(&mut self, index: usize, failure: &Failure, now: Nanos) {
        self.only_tls_failures &= matches!(failure, Failure::Tls(_));
        // After the end of the window nobody wants the connection any more.
        if self.phase != Phase::Draining {
            self.recorder.connections.failed += 1;
            self.recorder.error(failure);
        }
        self.close(index);
        self.back_off(index, now);
        self.first_attempt_ended(index);
    }

    pub(super) fn first_attempt_ended(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if !conn.attempted {
            conn.attempted = true;
            self.first_attempts += 1;
        }
        if !self.ready_sent && self.first_attempts == self.conns.len() as u64 {
            self.ready_sent = true;
            self.publish();
            self.tell(Message::Ready { only_tls_failures: self.only_tls_failures });
        }
    }

    /// The connection cannot go on; its request, if one is in progress, failed.
    #[cold]
    pub(super) fn connection_failed(&mut self, index: usize, failure: &Failure) {
        let now = self.parts.clock.now();
        let conn = &self.conns[index];
        match conn.link {
            Link::Closed => {}
            Link::Connecting | Link::Handshaking => self.connect_failed(index, failure, now),
            Link::Open if conn.response.busy => {
                let (status, body) =
                    (conn.response.parser.status(), conn.response.parser.body_len());
                let timing = self.request_ended(index, now);
                if status != 0 {
                    self.recorder.response(&timing, status, body);
                }
                self.recorder.failed(&timing, failure);
                self.drop_sample(index);
                self.close(index);
                self.reopen(index, now);
            }
            Link::Open => {
                if self.phase != Phase::Draining {
                    self.recorder.error(failure);
                }
                self.close(index);
                self.back_off(index, now);
            }
        }
    }

    /// The server closed a connection between two requests, which it may.
    pub(super) fn closed_idle(&mut self, index: usize) {
        let now = self.parts.clock.now();
        let unused = self.conns[index].requests == 0;
        if self.conns[index].link != Link::Open {
            self.connection_failed(index, &Failure::Reset);
            return;
        }
        self.close(index);
        if unused {
            // A server that accepts and closes is not to be stormed.
            self.back_off(index, now);
        } else {
            self.reopen(index, now);
        }
    }

    pub(super) fn close(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        match conn.link {
            Link::Open => {
                self.open -= 1;
                if self.open == 0 {
                    self.without_connection_since = self.parts.clock.now();
                }
            }
            Link::Connecting | Link::Handshaking => self.connecting -= 1,
            Link::Closed => {}
        }
        conn.close();
        self.deadlines[index] = NEVER;
    }

    /// Ends what took too long, and tells the coordinator how far the run is.
    pub(super) fn sweep(&mut self, now: Nanos) {
        self.next_sweep = now + self.sweep_every;
        for index in 0..self.deadlines.len() {
            if self.deadlines[index] <= now {
                self.timed_out(index, now);
            }
        }
        self.publish();
    }

    pub(super) fn timed_out(&mut self, index: usize, now: Nanos) {
        let spec = self.parts.spec;
        let address = || socket::address_text(&spec.target.addresses, self.conns[index].address);
        match self.conns[index].link {
            Link::Closed => self.deadlines[index] = NEVER,
            Link::Open => self.connection_failed(index, &Failure::Timeout(spec.timeout)),
            Link::Connecting
                if self.conns[index].tried < socket::address_count(&spec.target.addresses) =>
            {
                self.address_failed(index, Errno::TIMEDOUT);
            }
            Link::Connecting => {
                let failure =
                    Failure::connect_timeout(&address(), "connection", spec.connect_timeout);
                self.connect_failed(index, &failure, now);
            }
            Link::Handshaking => {
                let failure =
                    Failure::connect_timeout(&address(), "TLS handshake", spec.connect_timeout);
                self.connect_failed(index, &failure, now);
            }
        }
    }
}
