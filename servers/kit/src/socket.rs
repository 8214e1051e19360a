//! A connection's socket, which takes part in the turns of its worker: it may receive before all
//! are served, and sends after.

use std::{
    cell::{Cell, RefCell},
    io::{self, IoSlice},
    mem::{self, MaybeUninit},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use rustix::net::{RecvFlags, SendFlags};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::{
    activity::Activity,
    outbox::{MAX_SHORT_BYTES, Outbox},
};

/// Bytes of a request that are received ahead of its turn; what is longer is read when it is served.
const MAX_RECEIVED_BYTES: usize = 2 * 1024;

/// The stream under HTTP or TLS. Dropping it closes it, after what waits was sent.
pub(crate) struct Socket {
    shared: Rc<Shared>,
    outbox: Rc<Outbox>,
    /// Whether short answers wait for the end of the turn.
    in_turns: Cell<bool>,
}

/// What a socket shares with the outbox of its worker and with the task of its connection.
pub(crate) struct Shared {
    stream: RefCell<TcpStream>,
    activity: Rc<Activity>,
    /// What was received and is to be read in this turn.
    received: RefCell<Vec<u8>>,
    /// Whether there is something in the outbox.
    waiting: Cell<bool>,
    /// What left the outbox and the kernel has not taken.
    unsent: RefCell<Vec<u8>>,
    /// An error that nobody has been told yet.
    failure: Cell<Option<io::Error>>,
    /// Whether there is a failure or something unsent. On the path of a request only this is looked at.
    is_held_up: Cell<bool>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, activity: Rc<Activity>, outbox: Rc<Outbox>) -> Self {
        let shared = Shared {
            stream: RefCell::new(stream),
            activity,
            received: RefCell::default(),
            waiting: Cell::new(false),
            unsent: RefCell::default(),
            failure: Cell::new(None),
            is_held_up: Cell::new(false),
        };
        Self { shared: Rc::new(shared), outbox, in_turns: Cell::new(false) }
    }

    /// From now on short answers are sent at the end of the worker's turn. Somebody has to poll
    /// the socket when its task is woken: what the kernel then does not take is left.
    pub(crate) fn send_in_turns(&self) {
        self.in_turns.set(true);
    }

    pub(crate) fn shared(&self) -> &Rc<Shared> {
        &self.shared
    }

    /// Sends what waits in the outbox, if there is something of this connection.
    fn send_waiting(&self) {
        if self.shared.waiting.get() {
            self.outbox.send();
        }
    }

    /// Sends what came before, and waits until the kernel has all of it.
    pub(crate) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.send_waiting();
        self.shared.poll_unsent(context)
    }

    /// Puts short bytes into the outbox, behind what came before. False when they are not short:
    /// then what came before is sent, and they may be written to the stream itself.
    #[inline]
    fn poll_defer<'a>(
        &self,
        context: &mut Context<'_>,
        length: usize,
        slices: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<bool>> {
        let is_short = self.in_turns.get() && length <= MAX_SHORT_BYTES;
        if is_short {
            ready!(self.shared.poll_unsent(context))?;
            self.shared.waiting.set(true);
            self.outbox.put(&self.shared, slices);
        } else {
            ready!(self.poll_sent(context))?;
        }
        Poll::Ready(Ok(is_short))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.send_waiting();
    }
}

impl Shared {
    /// Receives a request that has come, to be read later in this turn. False when nothing came
    /// that could be read later.
    pub(crate) fn receive(&self, context: &mut Context<'_>) -> bool {
        if self.has_received() {
            return false;
        }
        let mut space = [MaybeUninit::uninit(); MAX_RECEIVED_BYTES];
        let mut buffer = ReadBuf::uninit(&mut space);
        match Pin::new(&mut *self.stream.borrow_mut()).poll_read(context, &mut buffer) {
            Poll::Ready(Ok(())) => {
                self.received.borrow_mut().extend_from_slice(buffer.filled());
                !buffer.filled().is_empty()
            }
            Poll::Ready(Err(error)) => {
                self.fail(error);
                false
            }
            Poll::Pending => false,
        }
    }

    /// Whether there is something that was received and not read.
    pub(crate) fn has_received(&self) -> bool {
        !self.received.borrow().is_empty()
    }

    /// Gives the memory of what was received back.
    pub(crate) fn rest(&self) {
        if !self.has_received() {
            drop(self.received.take());
        }
    }

    /// Waits until there is something to read.
    pub(crate) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.borrow().poll_read_ready(context)
    }

    /// Reads without waiting, as [`TcpStream::try_read`].
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.borrow().try_read(buffer)
    }

    /// Whether there are bytes to read now (`Some(false)`: the client has closed), without taking
    /// them.
    pub(crate) fn pending_input(&self) -> Option<bool> {
        if self.has_received() {
            return Some(true);
        }
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(&*self.stream.borrow(), &mut [0; 1], flags) {
            Ok((_, length)) => Some(length > 0),
            Err(rustix::io::Errno::AGAIN) => None,
            Err(_) => Some(false),
        }
    }

    /// Acknowledges what was received, at once.
    pub(crate) fn acknowledge(&self) {
        // Best effort: without it the client only waits longer.
        let _ = rustix::net::sockopt::set_tcp_quickack(&*self.stream.borrow(), true);
    }

    /// Sends at the end of a turn. What the kernel does not take is left to the task.
    #[inline]
    pub(crate) fn send(&self, bytes: &[u8]) {
        self.waiting.set(false);
        if self.is_held_up.get() {
            return self.hold_up(bytes, Ok(0));
        }
        match rustix::net::send(&*self.stream.borrow(), bytes, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == bytes.len() => {}
            result => self.hold_up(bytes, result.map_err(Into::into)),
        }
    }

    /// Leaves what the kernel did not take to the task.
    #[cold]
    fn hold_up(&self, bytes: &[u8], result: io::Result<usize>) {
        let sent = match result {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.fail(error);
                return self.activity.wake();
            }
        };
        self.unsent.borrow_mut().extend_from_slice(&bytes[sent..]);
        self.is_held_up.set(true);
        self.activity.write_blocked();
        self.activity.wake();
    }

    fn fail(&self, error: io::Error) {
        self.failure.set(Some(error));
        self.is_held_up.set(true);
    }

    /// Tells an error that happened out of sight.
    #[inline]
    fn told(&self) -> io::Result<()> {
        if self.is_held_up.get() { self.failure.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Waits until the kernel has all that left the outbox, and tells what went wrong meanwhile.
    #[inline]
    pub(crate) fn poll_unsent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_held_up.get() { self.poll_held_up(context) } else { Poll::Ready(Ok(())) }
    }

    #[cold]
    fn poll_held_up(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.failure.take() {
            return Poll::Ready(Err(error));
        }
        let mut unsent = self.unsent.borrow_mut();
        let mut stream = self.stream.borrow_mut();
        while !unsent.is_empty() {
            let sent = ready!(Pin::new(&mut *stream).poll_write(context, &unsent))?;
            self.activity.wrote(sent);
            unsent.drain(..sent);
        }
        drop(mem::take(&mut *unsent));
        self.is_held_up.set(false);
        self.activity.unblocked();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut received = self.shared.received.borrow_mut();
        if received.is_empty() {
            self.shared.told()?;
            return Pin::new(&mut *self.shared.stream.borrow_mut()).poll_read(context, buffer);
        }
        let taken = received.len().min(buffer.remaining());
        buffer.put_slice(&received[..taken]);
        received.drain(..taken);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_defer(context, bytes.len(), [bytes].into_iter()))? {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_write(context, bytes)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = slices.iter().map(|slice| slice.len()).sum();
        if ready!(self.poll_defer(context, length, slices.iter().map(|slice| &**slice)))? {
            return Poll::Ready(Ok(length));
        }
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does not wait for the end of the turn: nobody has to.
    #[inline]
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_unsent(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_sent(context))?;
        Pin::new(&mut *self.shared.stream.borrow_mut()).poll_shutdown(context)
    }
}
