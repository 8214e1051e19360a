//! Where a worker is in its run: set-up, warm-up, measured window, drain.

use super::{GIVE_UP, INTERRUPTED_DRAIN, Phase, Worker};
use crate::engine::clock::{NEVER, Nanos, nanos};
use crate::engine::control::{Message, Reading};
use crate::engine::limits::CpuTime;
use crate::engine::result::ByteCounts;
use crate::engine::spec::Stop;

impl Worker<'_> {
    /// What the coordinator wants.
    pub(super) fn control(&mut self, now: Nanos) {
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

    pub(super) fn start_load(&mut self, go: Nanos) {
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
    pub(super) fn open_window(&mut self, start: Nanos) {
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

    pub(super) fn carry_in_flight(&mut self) {
        for conn in &mut self.conns {
            if conn.response.busy && !conn.measured {
                conn.measured = true;
                self.recorder.carry_into_window();
                self.measured_busy += 1;
            }
        }
    }

    #[cold]
    pub(super) fn advance_phase(&mut self, now: Nanos) {
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
    pub(super) fn stop_sending(&mut self, end: Nanos) {
        self.close_window(end);
        self.phase = Phase::Draining;
        self.phase_ends = end.saturating_add(nanos(self.parts.spec.drain));
        self.openings.clear();
    }

    pub(super) fn close_window(&mut self, end: Nanos) {
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

    pub(super) fn tell(&self, message: Message) {
        // The coordinator may be gone after an error of another worker; then nobody is to be told.
        let _ = self.parts.messages.send(message);
    }

    /// Ends what is complete: the whole number of requests, or the drain.
    pub(super) fn check_finished(&mut self, now: Nanos) {
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

    pub(super) fn all_sent(&self) -> bool {
        match &self.pacer {
            Some(pacer) if self.phase_ends == NEVER => pacer.next_due() == NEVER,
            Some(_) => false,
            None => self.remaining == 0,
        }
    }

    /// A run of a number of requests whose server is gone would never end by itself.
    pub(super) fn hopeless(&self, now: Nanos) -> bool {
        self.phase_ends == NEVER
            && self.open == 0
            && now.saturating_sub(self.without_connection_since) > GIVE_UP
            && self.conns.iter().all(|conn| conn.backoff > 0)
    }

    pub(super) fn publish(&self) {
        let counts = match self.phase {
            Phase::Setup | Phase::Warmup => self.recorder.warmup,
            Phase::Measured | Phase::Draining | Phase::Done => self.recorder.window,
        };
        let reading = Reading {
            completed: counts.completed,
            failed: counts.failed + counts.timed_out,
            open: self.open,
            established: self.recorder.connections.established,
        };
        self.parts.slot.publish(&reading, &self.recorder.service_time);
    }
}
