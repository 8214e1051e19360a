//! A worker: one thread, one runtime, its connections, its clock.

use std::{
    cell::RefCell,
    os::fd::OwnedFd,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    net::TcpStream,
    runtime::LocalRuntime,
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
};

use crate::{
    Scenario,
    activity::Activity,
    connection::{self, Context},
    outbox::Outbox,
    socket::Socket,
    timeouts::{Clock, Phase, TICK, Timeouts, over},
};

/// Threads of a worker's pool for work that blocks or computes for long: one, since a worker is to use
/// one CPU.
const BLOCKING_THREADS: usize = 1;

/// From so many connections on, those of a worker give their buffers back after each answer and
/// not only after a while: what few requests need in memory must not depend on who is connected.
const CROWD: usize = 1000;

/// Runs `work` on the small pool of the current worker, so that other connections stay served.
///
/// # Panics
///
/// When `work` does, and outside a worker.
pub async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("the worker has stopped: {error}"),
        },
    }
}

/// What a worker is told.
pub(crate) enum Message {
    /// Serve this accepted socket.
    Serve(OwnedFd),
    /// Finish what is in flight, then end.
    Stop,
}

/// The way to a worker, for the one that accepts.
pub(crate) struct Handle {
    messages: UnboundedSender<Message>,
    open: Arc<AtomicUsize>,
}

impl Handle {
    /// A way to a worker, and what the worker needs of it.
    pub(crate) fn new() -> (Self, Inbox) {
        let (messages, receiver) = unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let inbox = Inbox { messages: receiver, open: Arc::clone(&open) };
        (Self { messages, open }, inbox)
    }

    /// Connections handed over and not yet closed.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(crate) fn serve(&self, socket: OwnedFd) {
        self.open.fetch_add(1, Ordering::Relaxed);
        // A worker that has ended closes the socket: the process is about to end too.
        let _ = self.messages.send(Message::Serve(socket));
    }

    pub(crate) fn stop(&self) {
        let _ = self.messages.send(Message::Stop);
    }
}

/// The worker's end of its [`Handle`].
pub(crate) struct Inbox {
    messages: UnboundedReceiver<Message>,
    open: Arc<AtomicUsize>,
}

#[cfg(test)]
impl Inbox {
    /// Counts connections as closed.
    pub(crate) fn closed(&self, count: usize) {
        self.open.fetch_sub(count, Ordering::Relaxed);
    }
}

/// What the tasks of one worker share.
pub(crate) struct Worker {
    clock: Rc<Clock>,
    timeouts: Timeouts,
    connections: RefCell<Slots>,
    outbox: Rc<Outbox>,
    open: Arc<AtomicUsize>,
    drained: Notify,
}

/// The connections of a worker, each in a slot of its own.
#[derive(Default)]
struct Slots {
    used: Vec<Option<Rc<Activity>>>,
    free: Vec<usize>,
}

impl Slots {
    fn count(&self) -> usize {
        self.used.len() - self.free.len()
    }
}

/// A connection's place in its worker's list, given back when dropped.
pub(crate) struct Registration {
    worker: Rc<Worker>,
    slot: usize,
    pub(crate) activity: Rc<Activity>,
}

impl Worker {
    fn new(timeouts: Timeouts, open: Arc<AtomicUsize>) -> Rc<Self> {
        Rc::new(Self {
            clock: Rc::new(Clock::new()),
            timeouts,
            connections: RefCell::default(),
            outbox: Rc::default(),
            open,
            drained: Notify::new(),
        })
    }

    fn is_stopping(&self) -> bool {
        self.clock.stopping().is_some()
    }

    /// Puts a connection on the list of those being swept.
    pub(crate) fn register(self: &Rc<Self>, phase: Phase) -> Registration {
        let activity = Rc::new(Activity::new(Rc::clone(&self.clock), phase));
        let mut slots = self.connections.borrow_mut();
        let entry = Some(Rc::clone(&activity));
        let slot = if let Some(slot) = slots.free.pop() {
            slots.used[slot] = entry;
            slot
        } else {
            slots.used.push(entry);
            slots.used.len() - 1
        };
        self.clock.set_crowded(slots.count() >= CROWD);
        Registration { worker: Rc::clone(self), slot, activity }
    }

    fn is_empty(&self) -> bool {
        self.connections.borrow().count() == 0
    }

    /// Moves the clock on and wakes the connections that are over a limit.
    fn sweep(&self) {
        self.clock.advance();
        let now = self.clock.now();
        let slots = self.connections.borrow();
        for activity in slots.used.iter().flatten() {
            activity.sweep(now, self.clock.stopping(), &self.timeouts);
        }
    }

    /// Whether everything that was in flight at the stop has ended, or has had its time.
    fn has_stopped(&self) -> bool {
        let limit = self.timeouts.stop;
        self.is_empty() || self.clock.stopping().is_some_and(|at| over(at, self.clock.now(), limit))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut slots = self.worker.connections.borrow_mut();
        slots.used[self.slot] = None;
        slots.free.push(self.slot);
        self.worker.clock.set_crowded(slots.count() >= CROWD);
        drop(slots);
        self.worker.open.fetch_sub(1, Ordering::Relaxed);
        if self.worker.is_stopping() {
            self.worker.drained.notify_one();
        }
    }
}

/// Makes the runtime of a worker.
pub(crate) fn runtime() -> std::io::Result<LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build_local(tokio::runtime::LocalOptions::default())
}

/// Serves what the inbox brings until told to stop and everything is answered.
pub(crate) async fn work<S: Scenario>(mut inbox: Inbox, context: Context<S>, timeouts: Timeouts) {
    let worker = Worker::new(timeouts, Arc::clone(&inbox.open));
    tokio::task::spawn_local(Rc::clone(&worker.outbox).keep_sending());
    let sweeper = Rc::clone(&worker);
    tokio::task::spawn_local(async move {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            sweeper.sweep();
            if sweeper.is_stopping() {
                sweeper.drained.notify_one();
            }
        }
    });
    while let Some(message) = inbox.messages.recv().await {
        match message {
            Message::Serve(socket) => serve(&worker, context, socket),
            Message::Stop => break,
        }
    }
    worker.clock.stop();
    while !worker.has_stopped() {
        worker.drained.notified().await;
    }
}

fn serve<S: Scenario>(worker: &Rc<Worker>, context: Context<S>, socket: OwnedFd) {
    let registration = worker.register(if S::TLS { Phase::Handshake } else { Phase::Resting });
    match TcpStream::from_std(socket.into()) {
        Ok(stream) => {
            let (activity, outbox) = (&registration.activity, &worker.outbox);
            let socket = Socket::new(stream, Rc::clone(activity), Rc::clone(outbox));
            tokio::task::spawn_local(connection::run(socket, context, registration));
        }
        Err(error) => eprintln!("cannot watch a connection: {error}"),
    }
}
