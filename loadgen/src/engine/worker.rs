//! One worker thread: an edge-triggered epoll loop over its own connections.
//!
//! A socket is registered once, for reading and writing. A response is answered with the next
//! request at once, in the same turn; a read that returns less than asked for is not repeated. So
//! a request costs one send, one receive and its share of one wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::EngineError;
use super::clock::{Clock, NEVER, Nanos, nanos};
use super::conn::{Conn, Link, Received};
use super::control::{Control, Message, Slot};
use super::failure::Failure;
use super::limits::CpuTime;
use super::pacer::Pacer;
use super::recorder::{Recorder, Timing};
use super::request::RequestPlan;
use super::result::{ByteCounts, TlsInfo};
use super::sampler::{Sample, Sampler};
use super::socket;
use super::spec::{Pacing, RunSpec, Stop};
use super::tap::Tap;
use super::template::Values;
use super::tls::TlsSetup;

/// Bytes read at once; shared by all connections of the worker.
const BUFFER: usize = 128 * 1024;
/// Events taken from the kernel at once.
const EVENTS: usize = 512;
/// Event token of the timer that says that a request is due.
const TIMER: u64 = u64::MAX;
/// Connects begun in one turn, so that those already open are served in between.
const OPENS_PER_TURN: usize = 64;
const MILLISECOND: Nanos = 1_000_000;
/// First and longest wait after a failed connect.
const BACKOFF: (Nanos, Nanos) = (10 * MILLISECOND, 1000 * MILLISECOND);
/// A worker with a number of requests to send that has had no connection for so long gives up.
const GIVE_UP: Nanos = 2000 * MILLISECOND;
/// Longest wait for responses in flight after the run was interrupted.
const INTERRUPTED_DRAIN: Nanos = 200 * MILLISECOND;

/// Where a worker is in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Connections are being opened; nothing is sent.
    Setup,
    /// Load that does not count.
    Warmup,
    /// Load that counts.
    Measured,
    /// Nothing more is sent; responses in flight are waited for.
    Draining,
    Done,
}

/// What a worker leaves behind.
pub(crate) struct WorkerResult {
    pub(crate) recorder: Recorder,
    pub(crate) bytes: ByteCounts,
    pub(crate) cpu: CpuTime,
    pub(crate) due: u64,
    pub(crate) tls: Option<TlsInfo>,
    pub(crate) address: Option<usize>,
    pub(crate) window: Option<(Nanos, Nanos)>,
}

/// What a worker is made of.
pub(crate) struct WorkerParts<'a> {
    pub(crate) spec: &'a RunSpec,
    pub(crate) plan: RequestPlan,
    pub(crate) tls: Option<TlsSetup>,
    pub(crate) sampler: Option<Sampler>,
    pub(crate) clock: Clock,
    pub(crate) index: u64,
    pub(crate) workers: u64,
    /// Connections over all workers.
    pub(crate) connections: u64,
    pub(crate) control: &'a Control<'a>,
    pub(crate) slot: &'a Slot,
    pub(crate) messages: Sender<Message>,
}

pub(crate) struct Worker<'a> {
    parts: WorkerParts<'a>,
    epoll: OwnedFd,
    timer: Option<OwnedFd>,
    timer_at: Nanos,
    conns: Vec<Conn>,
    /// When each connection's request, connect or handshake is given up.
    deadlines: Vec<Nanos>,
    /// Connections to open, by time.
    openings: BinaryHeap<Reverse<(Nanos, u32)>>,
    idle: VecDeque<u32>,
    /// Connections that may have more to read without a new event.
    again: Vec<u32>,
    buffer: Box<[u8]>,
    expanded: Vec<u8>,
    values: Values,
    recorder: Recorder,
    pacer: Option<Pacer>,
    phase: Phase,
    phase_ends: Nanos,
    /// Requests of the window still to send.
    remaining: u64,
    /// Measured requests in flight, and all requests in flight.
    measured_busy: u64,
    busy: u64,
    open: u64,
    /// Connections that are connecting, or idle and listed.
    connecting: u64,
    first_attempts: u64,
    ready_sent: bool,
    only_tls_failures: bool,
    without_connection_since: Nanos,
    bytes: ByteCounts,
    window_bytes: ByteCounts,
    cpu: CpuTime,
    window_cpu: CpuTime,
    window: Option<(Nanos, Nanos)>,
    due: u64,
    next_sweep: Nanos,
    sweep_every: Nanos,
    preferred: usize,
    address: Option<usize>,
    tls_info: Option<TlsInfo>,
    timeout: Nanos,
}

impl<'a> Worker<'a> {
    /// Everything the loop needs; nothing is opened yet.
    pub(crate) fn new(parts: WorkerParts<'a>) -> Result<Self, EngineError> {
        let os = |context: &str| {
            let context = context.to_string();
            move |error: Errno| EngineError::Os { context, source: error.into() }
        };
        let spec = parts.spec;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(os("epoll_create"))?;
        let pacer = match spec.pacing {
            Pacing::Closed => None,
            Pacing::Rate { per_second } => Some(Pacer::new(per_second, parts.index, parts.workers)),
        };
        let timer = match pacer {
            None => None,
            Some(_) => Some(due_timer(&epoll).map_err(os("timerfd"))?),
        };
        let own = share(parts.connections, parts.index, parts.workers);
        let count = usize::try_from(own).unwrap_or(usize::MAX);
        let answers_head = parts.plan.is_head();
        let gap = nanos(spec.ramp);
        let openings = (0..count)
            .map(|slot| {
                let global = slot as u64 * parts.workers + parts.index;
                Reverse((global.saturating_mul(gap), slot as u32))
            })
            .collect();
        let timeout = nanos(spec.timeout).max(1);
        let shortest = timeout.min(nanos(spec.connect_timeout).max(1));
        Ok(Self {
            epoll,
            timer,
            timer_at: NEVER,
            conns: (0..count)
                .map(|_| Conn::new(answers_head, Tap::for_expectations(&spec.expect)))
                .collect(),
            deadlines: vec![NEVER; count],
            openings,
            idle: VecDeque::with_capacity(count),
            again: Vec::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            expanded: Vec::new(),
            values: Values::new(spec.seed, parts.index, parts.workers),
            recorder: Recorder::new(pacer.is_some()),
            pacer,
            phase: Phase::Setup,
            phase_ends: NEVER,
            remaining: match spec.stop {
                Stop::Requests(requests) => share(requests.get(), parts.index, parts.workers),
                Stop::Duration(_) => u64::MAX,
            },
            measured_busy: 0,
            busy: 0,
            open: 0,
            connecting: 0,
            first_attempts: 0,
            ready_sent: false,
            only_tls_failures: true,
            without_connection_since: 0,
            bytes: ByteCounts::default(),
            window_bytes: ByteCounts::default(),
            cpu: CpuTime::default(),
            window_cpu: CpuTime::default(),
            window: None,
            due: 0,
            next_sweep: 0,
            sweep_every: (shortest / 20).clamp(MILLISECOND, 100 * MILLISECOND),
            preferred: 0,
            address: None,
            tls_info: None,
            timeout,
            parts,
        })
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Result<WorkerResult, EngineError> {
        let mut events =
            [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS];
        while self.phase != Phase::Done {
            let wait = self.turn();
            if self.phase == Phase::Done {
                break;
            }
            let timeout = Timespec {
                tv_sec: (wait / 1_000_000_000) as i64,
                tv_nsec: (wait % 1_000_000_000) as i64,
            };
            let count = match epoll::wait(&self.epoll, &mut events[..], Some(&timeout)) {
                Ok(count) => count,
                Err(Errno::INTR) => 0,
                Err(error) => {
                    let context = "waiting for events".into();
                    return Err(EngineError::Os { context, source: error.into() });
                }
            };
            for event in &events[..count] {
                self.event(event.data.u64(), event.flags);
            }
        }
        Ok(self.finish())
    }

    /// Everything that is not an event; returns how long to wait for one.
    fn turn(&mut self) -> Nanos {
        let now = self.parts.clock.now();
        self.control(now);
        if now >= self.phase_ends {
            self.advance_phase(now);
        }
        self.open_due(now);
        if now >= self.next_sweep {
            self.sweep(now);
        }
        for index in std::mem::take(&mut self.again) {
            self.readable(index as usize, false);
        }
        if self.pacer.is_some() {
            self.dispatch();
        }
        self.check_finished(now);
        if !self.again.is_empty() {
            return 0;
        }
        let mut until = self.next_sweep.min(self.phase_ends);
        if let Some(&Reverse((at, _))) = self.openings.peek().filter(|_| self.wanted()) {
            until = until.min(at);
        }
        if self.phase == Phase::Setup {
            until = until.min(now + MILLISECOND);
        }
        until.saturating_sub(now).min(100 * MILLISECOND)
    }

    /// What the coordinator wants.
    fn control(&mut self, now: Nanos) {
        if self.parts.control.aborted() {
            self.close_window(now);
            self.phase = Phase::Done;
            return;
        }
        if self.phase == Phase::Setup
            && let Some(go) = self.parts.control.started()
        {
            self.start_load(go);
        }
        if self.parts.control.interrupted() {
            match self.phase {
                Phase::Warmup | Phase::Measured => {
                    self.stop_sending(now);
                    self.phase_ends = self.phase_ends.min(now + INTERRUPTED_DRAIN);
                }
                Phase::Draining => self.phase_ends = self.phase_ends.min(now + INTERRUPTED_DRAIN),
                Phase::Setup | Phase::Done => {}
            }
        }
    }

    fn start_load(&mut self, go: Nanos) {
        if self.parts.spec.warmup.is_zero() {
            self.open_window(go);
        } else {
            self.phase = Phase::Warmup;
            self.phase_ends = go.saturating_add(nanos(self.parts.spec.warmup));
            if let Some(pacer) = &mut self.pacer {
                pacer.start(go, u64::MAX);
            }
        }
        self.start_idle();
    }

    /// The measured window opens at `start`, just now.
    fn open_window(&mut self, start: Nanos) {
        let (end, limit) = match self.parts.spec.stop {
            Stop::Duration(duration) => (start.saturating_add(nanos(duration)), u64::MAX),
            Stop::Requests(requests) => (NEVER, requests.get()),
        };
        self.phase = Phase::Measured;
        self.phase_ends = end;
        self.window = Some((start, end));
        self.window_bytes = self.bytes;
        self.window_cpu = CpuTime::of_this_thread();
        self.recorder.open_window(start, end);
        match &mut self.pacer {
            Some(pacer) => pacer.start(start, limit),
            // A closed loop is in its steady state: what is in flight now belongs to the window,
            // as what is in flight at its end does not.
            None if limit == u64::MAX => self.carry_in_flight(),
            None => {}
        }
    }

    fn carry_in_flight(&mut self) {
        for conn in &mut self.conns {
            if conn.response.busy && !conn.measured {
                conn.measured = true;
                self.recorder.carry_into_window();
                self.measured_busy += 1;
            }
        }
    }

    #[cold]
    fn advance_phase(&mut self, now: Nanos) {
        match self.phase {
            Phase::Warmup => {
                let start = self.phase_ends;
                self.open_window(start);
                self.start_idle();
                if now >= self.phase_ends {
                    self.advance_phase(now);
                }
            }
            Phase::Measured => self.stop_sending(self.phase_ends),
            Phase::Draining => self.phase = Phase::Done,
            Phase::Setup | Phase::Done => {}
        }
    }

    /// Nothing is sent from `end` on.
    fn stop_sending(&mut self, end: Nanos) {
        self.close_window(end);
        self.phase = Phase::Draining;
        self.phase_ends = end.saturating_add(nanos(self.parts.spec.drain));
        self.openings.clear();
    }

    fn close_window(&mut self, end: Nanos) {
        let Some((start, _)) = self.window.filter(|_| self.phase == Phase::Measured) else {
            if self.phase != Phase::Draining {
                self.tell(Message::SendingDone);
            }
            return;
        };
        self.window = Some((start, end));
        self.cpu = CpuTime::of_this_thread().since(self.window_cpu);
        self.window_bytes = ByteCounts {
            sent: self.bytes.sent - self.window_bytes.sent,
            received: self.bytes.received - self.window_bytes.received,
            received_body: self.recorder.received_body,
        };
        if let Some(pacer) = &self.pacer {
            self.due = pacer.due_before(end, self.parts.index);
        }
        self.recorder.close_window(end);
        self.publish();
        self.tell(Message::SendingDone);
    }

    fn tell(&self, message: Message) {
        // The coordinator may be gone after an error of another worker; then nobody is to be told.
        let _ = self.parts.messages.send(message);
    }

    /// Ends what is complete: the whole number of requests, or the drain.
    fn check_finished(&mut self, now: Nanos) {
        match self.phase {
            Phase::Measured if self.all_sent() && self.measured_busy == 0 => {
                let end = if self.recorder.window.sent == 0 { now } else { self.recorder.last_end };
                self.stop_sending(end);
                self.phase = Phase::Done;
            }
            Phase::Measured if self.hopeless(now) => {
                self.stop_sending(now);
                self.phase = Phase::Done;
            }
            Phase::Draining if self.busy == 0 => self.phase = Phase::Done,
            _ => {}
        }
    }

    fn all_sent(&self) -> bool {
        match &self.pacer {
            Some(pacer) if self.phase_ends == NEVER => pacer.next_due() == NEVER,
            Some(_) => false,
            None => self.remaining == 0,
        }
    }

    /// A run of a number of requests whose server is gone would never end by itself.
    fn hopeless(&self, now: Nanos) -> bool {
        self.phase_ends == NEVER
            && self.open == 0
            && now.saturating_sub(self.without_connection_since) > GIVE_UP
            && self.conns.iter().all(|conn| conn.backoff > 0)
    }

    // ---- requests ----

    /// Whether a request may be sent now, in a closed loop.
    #[inline]
    fn may_send(&mut self, now: Nanos) -> bool {
        if now >= self.phase_ends {
            self.advance_phase(now);
        }
        match self.phase {
            Phase::Measured => self.remaining > 0,
            Phase::Warmup => true,
            Phase::Setup | Phase::Draining | Phase::Done => false,
        }
    }

    /// Connection `index` is free: its next request, or its place among the idle.
    #[inline]
    fn next_request(&mut self, index: usize, now: Nanos) {
        if self.pacer.is_none() && self.may_send(now) {
            self.send_request(index, now, None);
        } else {
            self.list_idle(index);
            if self.pacer.is_some() {
                self.dispatch();
            }
        }
    }

    fn list_idle(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if !conn.listed {
            conn.listed = true;
            self.idle.push_back(index as u32);
        }
    }

    /// The longest idle connection that is still usable.
    fn take_idle(&mut self) -> Option<usize> {
        while let Some(index) = self.idle.pop_front() {
            let conn = &mut self.conns[index as usize];
            conn.listed = false;
            if conn.is_idle() && !conn.peer_closed {
                return Some(index as usize);
            }
        }
        None
    }

    /// Gives every idle connection its request, in a closed loop.
    fn start_idle(&mut self) {
        if self.pacer.is_some() {
            return;
        }
        for _ in 0..self.idle.len() {
            let now = self.parts.clock.now();
            if !self.may_send(now) {
                return;
            }
            let Some(index) = self.take_idle() else { return };
            self.send_request(index, now, None);
        }
    }

    /// Sends what is due on the connections that are free.
    fn dispatch(&mut self) {
        loop {
            let Some(pacer) = &self.pacer else { return };
            let now = self.parts.clock.now();
            if now >= self.phase_ends {
                self.advance_phase(now);
                if !matches!(self.phase, Phase::Warmup | Phase::Measured) {
                    return;
                }
                continue;
            }
            let due = pacer.next_due();
            if due > now {
                self.arm_timer(due);
                return;
            }
            if !matches!(self.phase, Phase::Warmup | Phase::Measured) {
                return;
            }
            let Some(index) = self.take_idle() else { return };
            if let Some(pacer) = &mut self.pacer {
                pacer.sent();
            }
            self.send_request(index, now, Some(due));
        }
    }

    fn arm_timer(&mut self, due: Nanos) {
        let Some(timer) = &self.timer else { return };
        if due == self.timer_at || due == NEVER {
            return;
        }
        let wait = due.saturating_sub(self.parts.clock.now()).max(1);
        let at = Timespec {
            tv_sec: (wait / 1_000_000_000) as i64,
            tv_nsec: (wait % 1_000_000_000) as i64,
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        // Without the timer the loop still turns ten times a second; the lag would show it.
        if timerfd_settime(timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            self.timer_at = due;
        }
    }

    #[inline]
    fn send_request(&mut self, index: usize, now: Nanos, due: Option<Nanos>) {
        let measured = self.phase == Phase::Measured;
        if measured {
            self.remaining -= 1;
            self.measured_busy += 1;
        }
        self.busy += 1;
        self.deadlines[index] = now.saturating_add(self.timeout);
        self.recorder.sent(measured, due, now);
        if self.parts.plan.is_expanded() {
            self.parts.plan.expand(&mut self.values, &mut self.expanded);
        }
        let conn = &mut self.conns[index];
        if let Some(sampler) = &mut self.parts.sampler
            && let Some(mut exchange) = sampler.take_due(now)
        {
            exchange.request.extend_from_slice(self.parts.plan.prefix(&self.expanded));
            conn.response.tap.get_or_insert_default().capture = Some(exchange);
        }
        conn.begin(now, due, measured);
        if let Err(failure) = conn.write(&self.parts.plan, &self.expanded, &mut self.bytes.sent) {
            self.write_failed(index, &failure);
        }
    }

    /// The server may have answered before it stopped reading; its answer says more than the
    /// failed write.
    #[cold]
    fn write_failed(&mut self, index: usize, failure: &Failure) {
        let conn = &mut self.conns[index];
        conn.peer_closed = true;
        match conn.receive(&mut self.buffer, true, &mut self.bytes.received) {
            Received::Complete => self.response_complete(index),
            Received::Failed(Failure::Closed | Failure::Reset)
            | Received::Waiting
            | Received::Again
            | Received::ClosedIdle
            | Received::Established => {
                self.connection_failed(index, failure);
            }
            Received::Failed(said) => self.connection_failed(index, &said),
        }
    }

    #[inline]
    fn response_complete(&mut self, index: usize) {
        let now = self.parts.clock.now();
        let timing = self.request_ended(index, now);
        let conn = &mut self.conns[index];
        let (status, body) = (conn.response.parser.status(), conn.response.parser.body_len());
        self.recorder.response(&timing, status, body);
        match self.verify(index, status, body) {
            None => {
                self.recorder.completed(&timing);
                if self.parts.sampler.is_some() {
                    self.submit_sample(index, &timing);
                }
            }
            Some(failure) => {
                self.recorder.failed(&timing, &failure);
                self.drop_sample(index);
            }
        }
        if self.conns[index].reusable() && !self.parts.plan.asks_close() {
            self.next_request(index, now);
        } else {
            self.close(index);
            self.reopen(index, now);
        }
    }

    #[inline]
    fn request_ended(&mut self, index: usize, ended: Nanos) -> Timing {
        let conn = &mut self.conns[index];
        conn.response.busy = false;
        self.deadlines[index] = NEVER;
        self.busy -= 1;
        if conn.measured {
            self.measured_busy -= 1;
        }
        Timing { measured: conn.measured, due: conn.due, started: conn.started, ended }
    }

    /// What is wrong with a complete response.
    #[inline]
    fn verify(&mut self, index: usize, status: u16, body: u64) -> Option<Failure> {
        let expect = &self.parts.spec.expect;
        let right = if expect.status.is_empty() {
            (200..400).contains(&status)
        } else {
            expect.status.contains(&status)
        };
        if !right {
            return Some(Failure::Status(status));
        }
        if let Some(want) = expect.length.filter(|&want| want != body) {
            return Some(Failure::Length { got: body, want });
        }
        self.conns[index].response.tap.as_mut().and_then(|tap| tap.verdict())
    }

    fn submit_sample(&mut self, index: usize, timing: &Timing) {
        let conn = &mut self.conns[index];
        let Some(tap) = &mut conn.response.tap else { return };
        let captured = tap.capture.take();
        if tap.is_idle() {
            conn.response.tap = None;
        }
        let Some(sampler) = &mut self.parts.sampler else { return };
        match captured {
            Some(mut exchange) => {
                exchange.status = conn.response.parser.status();
                let ends_in_window =
                    self.window.is_some_and(|(_, end)| timing.measured && timing.ended <= end);
                sampler.submit(Sample {
                    exchange,
                    service_time: timing.ended.saturating_sub(timing.started),
                    response_time: timing.due.map(|due| timing.ended.saturating_sub(due)),
                    measured: ends_in_window,
                });
            }
            None => sampler.lost(),
        }
    }

    /// The request whose exchange was being captured failed.
    fn drop_sample(&mut self, index: usize) {
        let tap = &mut self.conns[index].response.tap;
        let Some(inner) = tap else { return };
        if inner.capture.take().is_some()
            && let Some(sampler) = &mut self.parts.sampler
        {
            sampler.lost();
        }
        if inner.is_idle() {
            *tap = None;
        }
    }

    // ---- events ----

    #[inline]
    fn event(&mut self, token: u64, flags: EventFlags) {
        if token == TIMER {
            self.timer_at = NEVER;
            self.dispatch();
            return;
        }
        let index = (token & 0xffff_ffff) as usize;
        let conn = &self.conns[index];
        if u64::from(conn.generation) != token >> 32 || conn.link == Link::Closed {
            return; // of a socket that is gone
        }
        if conn.link == Link::Connecting {
            self.connect_ended(index);
            return;
        }
        let ending = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if flags.intersects(EventFlags::IN | ending) {
            self.readable(index, flags.intersects(ending));
            if u64::from(self.conns[index].generation) != token >> 32 {
                return;
            }
        }
        if flags.contains(EventFlags::OUT) && self.conns[index].wants_write() {
            self.writable(index);
        }
    }

    #[inline]
    fn readable(&mut self, index: usize, ending: bool) {
        let conn = &mut self.conns[index];
        match conn.receive(&mut self.buffer, ending, &mut self.bytes.received) {
            Received::Complete => self.response_complete(index),
            Received::Waiting => {}
            Received::Again => self.again.push(index as u32),
            Received::Established => self.established(index),
            Received::ClosedIdle => self.closed_idle(index),
            Received::Failed(failure) => self.connection_failed(index, &failure),
        }
    }

    fn writable(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if conn.link == Link::Closed {
            return;
        }
        // A request that was cut short keeps its own copy; nothing newly expanded belongs to it.
        if let Err(failure) = conn.write(&self.parts.plan, &[], &mut self.bytes.sent) {
            if self.conns[index].response.busy {
                self.write_failed(index, &failure);
            } else {
                self.connection_failed(index, &failure);
            }
        }
    }

    /// The connection cannot go on; its request, if one is in progress, failed.
    #[cold]
    fn connection_failed(&mut self, index: usize, failure: &Failure) {
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
                self.recorder.error(failure);
                self.close(index);
                self.back_off(index, now);
            }
        }
    }

    /// The server closed a connection between two requests, which it may.
    fn closed_idle(&mut self, index: usize) {
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

    fn close(&mut self, index: usize) {
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

    // ---- connections ----

    /// Whether one more connection would get a request.
    fn wanted(&self) -> bool {
        match self.phase {
            Phase::Setup | Phase::Warmup => true,
            Phase::Measured if self.pacer.is_some() => !self.all_sent(),
            Phase::Measured => self.remaining > self.connecting,
            Phase::Draining | Phase::Done => false,
        }
    }

    fn reopen(&mut self, index: usize, now: Nanos) {
        if now >= self.phase_ends {
            self.advance_phase(now);
        }
        if matches!(self.phase, Phase::Draining | Phase::Done) {
            return;
        }
        self.openings.push(Reverse((now, index as u32)));
    }

    fn back_off(&mut self, index: usize, now: Nanos) {
        let conn = &mut self.conns[index];
        conn.backoff = (conn.backoff * 2).clamp(BACKOFF.0, BACKOFF.1);
        let at = now + conn.backoff;
        if !matches!(self.phase, Phase::Draining | Phase::Done) {
            self.openings.push(Reverse((at, index as u32)));
        }
    }

    fn open_due(&mut self, now: Nanos) {
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
    fn connect(&mut self, index: usize, now: Nanos) {
        let conn = &mut self.conns[index];
        conn.tried = 0;
        conn.address = self.preferred;
        self.recorder.connections.attempted += 1;
        self.connect_to_next(index, now);
    }

    fn connect_to_next(&mut self, index: usize, now: Nanos) {
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

    fn connect_ended(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        let Some(socket) = conn.socket() else { return };
        match socket::connect_result(socket) {
            Ok(()) => self.connected(index),
            Err(error) => self.address_failed(index, error),
        }
    }

    /// This address does not work: the next one, if there is one left.
    fn address_failed(&mut self, index: usize, error: Errno) {
        let now = self.parts.clock.now();
        let addresses = &self.parts.spec.target.addresses;
        let count = socket::address_count(addresses);
        let (address, tried) = (self.conns[index].address, self.conns[index].tried);
        if tried < count {
            self.close(index);
            self.conns[index].address = (address + 1) % count;
            self.connect_to_next(index, now);
        } else {
            let text = socket::address_text(addresses, address);
            self.connect_failed(index, &Failure::connect(error, &text), now);
        }
    }

    fn connected(&mut self, index: usize) {
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
    fn established(&mut self, index: usize) {
        let now = self.parts.clock.now();
        let conn = &mut self.conns[index];
        if let Some(tls) = conn.tls() {
            let took = now.saturating_sub(conn.connect_began);
            self.recorder.handshake_time.saturating_record(took);
            if self.tls_info.is_none() {
                self.tls_info = Some(tls.info());
            }
        }
        conn.link = Link::Open;
        conn.backoff = 0;
        self.deadlines[index] = NEVER;
        self.connecting -= 1;
        self.open += 1;
        let counts = &mut self.recorder.connections;
        counts.established += 1;
        counts.peak_open = counts.peak_open.max(self.open);
        self.first_attempt_ended(index);
        self.next_request(index, now);
    }

    fn connect_failed(&mut self, index: usize, failure: &Failure, now: Nanos) {
        self.only_tls_failures &= matches!(failure, Failure::Tls(_));
        self.recorder.connections.failed += 1;
        self.recorder.error(failure);
        self.close(index);
        self.back_off(index, now);
        self.first_attempt_ended(index);
    }

    fn first_attempt_ended(&mut self, index: usize) {
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

    // ---- now and then ----

    /// Ends what took too long, and tells the coordinator how far the run is.
    fn sweep(&mut self, now: Nanos) {
        self.next_sweep = now + self.sweep_every;
        for index in 0..self.deadlines.len() {
            if self.deadlines[index] <= now {
                self.timed_out(index, now);
            }
        }
        self.publish();
    }

    fn timed_out(&mut self, index: usize, now: Nanos) {
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

    fn publish(&self) {
        let counts = match self.phase {
            Phase::Setup | Phase::Warmup => self.recorder.warmup,
            Phase::Measured | Phase::Draining | Phase::Done => self.recorder.window,
        };
        let established = self.recorder.connections.established;
        self.parts.slot.publish(&counts, self.open, established);
    }

    fn finish(mut self) -> WorkerResult {
        self.publish();
        WorkerResult {
            recorder: self.recorder,
            bytes: self.window_bytes,
            cpu: self.cpu,
            due: self.due,
            tls: self.tls_info.take(),
            address: self.address,
            window: self.window,
        }
    }
}

/// Part `index` of `parts` of `whole`; the parts add up exactly.
pub(crate) fn share(whole: u64, index: u64, parts: u64) -> u64 {
    whole / parts + u64::from(index < whole % parts)
}

fn conn_token(index: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | index as u64
}

fn due_timer(epoll: &OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    epoll::add(epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
    Ok(timer)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_add_up() {
        for (whole, parts) in [(1, 200), (401, 400), (49, 50), (50_000, 120), (5, 2), (0, 3)] {
            let all: u64 = (0..parts).map(|index| share(whole, index, parts)).sum();
            assert_eq!(all, whole);
        }
    }
}
