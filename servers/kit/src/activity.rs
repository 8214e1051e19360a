//! What one connection is doing: the stamps its parts set and the sweep reads.

use std::{
    cell::{Cell, OnceCell},
    rc::Rc,
    task::Waker,
};

use hyper::body::Incoming;

use crate::timeouts::{Clock, Flow, Phase, Stamps, Tick, Timeouts, Verdict, due};

/// The state of a connection that its task, its transport, its request and the worker's sweep
/// share. All of it lives on one thread.
pub(crate) struct Activity {
    clock: Rc<Clock>,
    phase: Cell<Phase>,
    reading: Cell<Flow>,
    blocked_write: Cell<Option<Flow>>,
    /// Whether the body of the answer has more to come after what is written now.
    streaming: Cell<bool>,
    verdict: Cell<Option<Verdict>>,
    body_expired: Cell<bool>,
    /// Whether the client has closed its side.
    ended: Cell<bool>,
    /// Whether the client may still be sending what nobody will read.
    unread: Cell<bool>,
    /// Body left over by a handler, on its way to be drained.
    leftover: Cell<Option<Incoming>>,
    waker: OnceCell<Waker>,
}

impl Activity {
    pub(crate) fn new(clock: Rc<Clock>, phase: Phase) -> Self {
        let now = clock.now();
        Self {
            clock,
            phase: Cell::new(phase),
            reading: Cell::new(Flow::starting(now)),
            blocked_write: Cell::new(None),
            streaming: Cell::new(false),
            verdict: Cell::new(None),
            body_expired: Cell::new(false),
            ended: Cell::new(false),
            unread: Cell::new(false),
            leftover: Cell::new(None),
            waker: OnceCell::new(),
        }
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Begins a phase.
    #[inline]
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.reading.set(Flow::starting(self.clock.now()));
    }

    /// Changes the phase and goes on timing: waiting with buffers or without is one wait.
    pub(crate) fn wait_as(&self, phase: Phase) {
        self.phase.set(phase);
    }

    /// A request is at the handler.
    #[inline]
    pub(crate) fn answering(&self) {
        self.phase.set(Phase::Answering); // not timed
    }

    /// The answer is at hyper.
    #[inline]
    pub(crate) fn responding(&self) {
        self.phase.set(Phase::Responding); // timed by its blocked write
    }

    /// Whether the worker has so many connections that idle ones must not keep buffers.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.clock.is_crowded()
    }

    /// Whether the answers from now on are the last of their connections.
    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.clock.stopping().is_some()
    }

    /// `bytes` came from the client; none is its end.
    #[inline]
    pub(crate) fn received(&self, bytes: usize) {
        if bytes == 0 {
            self.ended.set(true);
            return;
        }
        match self.phase.get() {
            Phase::Idle => self.enter(Phase::Head),
            Phase::Body | Phase::Lingering => {
                let now = self.clock.now();
                self.reading.set(self.reading.get().moved(now, bytes as u64));
            }
            _ => {}
        }
    }

    /// `bytes` were taken by the kernel.
    #[inline]
    pub(crate) fn wrote(&self, bytes: usize) {
        if let Some(write) = self.blocked_write.get() {
            self.blocked_write.set(Some(write.moved(self.clock.now(), bytes as u64)));
        }
    }

    /// The kernel takes no more for now.
    pub(crate) fn write_blocked(&self) {
        if self.blocked_write.get().is_none() {
            self.blocked_write.set(Some(Flow::starting(self.clock.now())));
        }
    }

    /// What the kernel did not take before, it has taken.
    #[inline]
    pub(crate) fn unblocked(&self) {
        self.blocked_write.set(None);
    }

    /// Nothing is left to write of what there was.
    #[inline]
    pub(crate) fn flushed(&self) {
        self.unblocked();
        if self.phase.get() == Phase::Responding && !self.streaming.get() {
            self.enter(Phase::Idle);
        }
    }

    /// The handler waits for bytes of the request's body.
    pub(crate) fn wants_body(&self) {
        if self.phase.get() == Phase::Answering {
            self.enter(Phase::Body);
        }
    }

    /// The handler has the whole body.
    pub(crate) fn has_body(&self) {
        if self.phase.get() == Phase::Body {
            self.enter(Phase::Answering);
        }
    }

    pub(crate) fn set_streaming(&self, streaming: bool) {
        self.streaming.set(streaming);
    }

    pub(crate) fn body_expired(&self) -> bool {
        self.body_expired.get()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    pub(crate) fn has_unread(&self) -> bool {
        self.unread.get()
    }

    /// The client may still be sending what nobody will read.
    pub(crate) fn set_unread(&self) {
        self.unread.set(true);
    }

    pub(crate) fn leave(&self, body: Incoming) {
        self.leftover.set(Some(body));
    }

    #[inline]
    pub(crate) fn take_leftover(&self) -> Option<Incoming> {
        self.leftover.take()
    }

    #[inline]
    pub(crate) fn take_verdict(&self) -> Option<Verdict> {
        self.verdict.take()
    }

    /// Remembers the task to wake. A connection stays in one task for life.
    pub(crate) fn set_waker(&self, waker: &Waker) {
        let _ = self.waker.set(waker.clone());
    }

    /// Looks at the stamps, and wakes the task if something is due.
    pub(crate) fn sweep(&self, now: Tick, stopping: Option<Tick>, limits: &Timeouts) {
        let stamps = Stamps {
            phase: self.phase.get(),
            reading: self.reading.get(),
            blocked_write: self.blocked_write.get(),
        };
        if let Some(verdict) = due(&stamps, now, stopping, limits) {
            self.judge(verdict);
        }
    }

    /// Tells the task what is due, and wakes it.
    pub(crate) fn judge(&self, verdict: Verdict) {
        match verdict {
            Verdict::BodyTimeout if self.body_expired.get() => return,
            Verdict::BodyTimeout => self.body_expired.set(true),
            _ => self.verdict.set(Some(verdict)),
        }
        self.wake();
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(phase: Phase) -> (Rc<Clock>, Activity) {
        let clock = Rc::new(Clock::new());
        (Rc::clone(&clock), Activity::new(clock, phase))
    }

    #[test]
    fn a_head_is_timed_from_its_first_byte() {
        let (clock, activity) = activity(Phase::Idle);
        clock.set(100);
        activity.received(1);
        clock.set(130);
        activity.received(1);
        assert_eq!(activity.phase(), Phase::Head);
        let limits = Timeouts::default();
        activity.sweep(140, None, &limits);
        assert_eq!(activity.take_verdict(), None, "ten seconds, not more");
        activity.sweep(141, None, &limits);
        assert_eq!(activity.take_verdict(), Some(Verdict::HeadTimeout));
    }

    #[test]
    fn a_connection_is_idle_when_the_whole_answer_is_written() {
        let (_, activity) = activity(Phase::Answering);
        activity.flushed();
        assert_eq!(activity.phase(), Phase::Answering, "hyper flushes before there is an answer");
        activity.set_streaming(true);
        activity.enter(Phase::Responding);
        activity.flushed();
        assert_eq!(activity.phase(), Phase::Responding, "there is more to come");
        activity.set_streaming(false);
        activity.flushed();
        assert_eq!(activity.phase(), Phase::Idle);
    }

    #[test]
    fn an_answer_is_not_over_when_what_held_it_up_is_through() {
        let (_, activity) = activity(Phase::Responding);
        activity.write_blocked();
        activity.unblocked();
        assert_eq!(activity.phase(), Phase::Responding, "the answer itself is still to be written");
        activity.flushed();
        assert_eq!(activity.phase(), Phase::Idle);
    }

    #[test]
    fn a_blocked_write_is_timed_until_it_is_through() {
        let (clock, activity) = activity(Phase::Responding);
        activity.write_blocked();
        clock.set(40);
        activity.sweep(40, None, &Timeouts::default());
        assert_eq!(activity.take_verdict(), Some(Verdict::Abort));
        activity.flushed();
        activity.sweep(
            400,
            None,
            &Timeouts {
                idle: crate::timeouts::TICK * 1000,
                rest: crate::timeouts::TICK * 1000,
                ..Timeouts::default()
            },
        );
        assert_eq!(activity.take_verdict(), None);
    }
}
