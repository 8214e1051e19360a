//! One worker thread: an edge-triggered epoll loop over its own connections.
//!
//! A socket is registered once, for reading and writing. A turn reads all that has come, then sends
//! the next requests; a read that returns less than asked for is not repeated. So a request costs
//! one send, one receive and its share of one wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{TimerfdClockId, TimerfdFlags, Timespec, timerfd_create};

mod connections;
mod phases;
mod requests;

use crate::engine::EngineError;
use crate::engine::clock::{Clock, NEVER, Nanos, nanos};
use crate::engine::conn::{Conn, Link, Received};
use crate::engine::control::{Control, Message, Slot};
use crate::engine::limits::CpuTime;
use crate::engine::pacer::Pacer;
use crate::engine::recorder::Recorder;
use crate::engine::request::RequestPlan;
use crate::engine::result::{ByteCounts, TlsInfo};
use crate::engine::sampler::Sampler;
use crate::engine::spec::{Pacing, RunSpec, Stop};
use crate::engine::tap::Tap;
use crate::engine::template::Values;
use crate::engine::tls::TlsSetup;

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
/// Wait before a unix listener with a full queue is tried again.
const QUEUED: Nanos = MILLISECOND;
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
    /// Connections that may have more to read without a new event, and whether their peer closed.
    again: Vec<(u32, bool)>,
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
    /// Connections that are connecting or in their handshake.
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
    /// Everything the loop needs; called on the worker's own thread, which has descriptors of its own.
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
            let timeout = timespec(wait);
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
        for (index, ending) in std::mem::take(&mut self.again) {
            self.readable(index as usize, ending);
        }
        self.send_next();
        let now = self.parts.clock.now();
        self.open_due(now);
        if now >= self.next_sweep {
            self.sweep(now);
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

    #[inline]
    fn event(&mut self, token: u64, flags: EventFlags) {
        if token == TIMER {
            self.timer_at = NEVER; // what is due is sent when all events were seen
            return;
        }
        let index = (token & 0xffff_ffff) as usize;
        let conn = &self.conns[index];
        if u64::from(conn.generation) != token >> 32 || conn.link == Link::Closed {
            return; // of a socket that is gone
        }
        if conn.link == Link::Connecting {
            self.connect_ended(index);
            if matches!(self.conns[index].link, Link::Closed | Link::Connecting) {
                return;
            }
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
            Received::Again => self.again.push((index as u32, ending)),
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

fn timespec(nanos: Nanos) -> Timespec {
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

/// Event token of a connection's present socket.
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
