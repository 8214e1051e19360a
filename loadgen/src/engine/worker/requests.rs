//! The requests of a worker: which connection sends when, and what a complete response counts as.

use rustix::time::{Itimerspec, TimerfdTimerFlags, timerfd_settime};

use super::{Phase, Worker, timespec};
use crate::engine::clock::{NEVER, Nanos};
use crate::engine::conn::Received;
use crate::engine::failure::Failure;
use crate::engine::recorder::Timing;
use crate::engine::sampler::Sample;

impl Worker<'_> {
    /// Whether a request may be sent now, in a closed loop.
    #[inline]
    pub(super) fn may_send(&mut self, now: Nanos) -> bool {
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
    pub(super) fn next_request(&mut self, index: usize, now: Nanos) {
        if self.pacer.is_none() && self.may_send(now) {
            self.send_request(index, now, None);
        } else {
            self.list_idle(index);
            if self.pacer.is_some() {
                self.dispatch();
            }
        }
    }

    pub(super) fn list_idle(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if !conn.listed {
            conn.listed = true;
            self.idle.push_back(index as u32);
        }
    }

    /// The longest idle connection that is still usable.
    pub(super) fn take_idle(&mut self) -> Option<usize> {
        while let Some(index) = self.idle.pop_front() {
            let conn = &mut self.conns[index as usize];
            conn.listed = false;
            if conn.is_idle() && !conn.peer_closed {
                return Some(index as usize);
            }
        }
        None
    }

    /// Sends what the idle connections may send now.
    ///
    /// Called when all that has come was read. Reading is the shorter part, so the end of a response
    /// hardly waits for other connections; and the server, woken by the first request, finds the
    /// others before it sleeps again.
    #[inline]
    pub(super) fn send_next(&mut self) {
        if self.pacer.is_some() {
            self.dispatch();
        } else {
            self.start_idle();
        }
    }

    /// Gives every idle connection its request, in a closed loop.
    pub(super) fn start_idle(&mut self) {
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
    pub(super) fn dispatch(&mut self) {
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

    pub(super) fn arm_timer(&mut self, due: Nanos) {
        let Some(timer) = &self.timer else { return };
        if due == self.timer_at || due == NEVER {
            return;
        }
        let wait = due.saturating_sub(self.parts.clock.now()).max(1);
        let once = Itimerspec { it_interval: timespec(0), it_value: timespec(wait) };
        // Without the timer the loop still turns ten times a second; the lag would show it.
        if timerfd_settime(timer, TimerfdTimerFlags::empty(), &once).is_ok() {
            self.timer_at = due;
        }
    }

    #[inline]
    pub(super) fn send_request(&mut self, index: usize, now: Nanos, due: Option<Nanos>) {
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
    pub(super) fn write_failed(&mut self, index: usize, failure: &Failure) {
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
    pub(super) fn response_complete(&mut self, index: usize) {
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
            self.list_idle(index);
        } else {
            self.close(index);
            self.reopen(index, now);
        }
    }

    #[inline]
    pub(super) fn request_ended(&mut self, index: usize, ended: Nanos) -> Timing {
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
    pub(super) fn verify(&mut self, index: usize, status: u16, body: u64) -> Option<Failure> {
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

    pub(super) fn submit_sample(&mut self, index: usize, timing: &Timing) {
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
    pub(super) fn drop_sample(&mut self, index: usize) {
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
}
