//! The transport hyper sees: a stream that stamps what moves, and is given back afterwards.

#![expect(
    unsafe_code,
    reason = "hyper's read cursor and tokio's read buffer only meet in unsafe code"
)]

use std::{
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::{activity::Activity, socket::Socket};

/// A stream of a connection: plain or TLS.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin + 'static {
    /// The socket under it.
    fn socket(&self) -> &Socket;

    /// Whether it holds bytes it has taken from the kernel already, which will not make the socket
    /// readable again: a request that came together with the end of the TLS handshake, or one that
    /// was received and not served when the connection went to rest.
    fn holds_input(&mut self) -> bool;
}

impl Transport for Socket {
    fn socket(&self) -> &Socket {
        self
    }

    fn holds_input(&mut self) -> bool {
        self.shared().has_received()
    }
}

impl Transport for TlsStream<Socket> {
    fn socket(&self) -> &Socket {
        self.get_ref().0
    }

    fn holds_input(&mut self) -> bool {
        // An error is input too: reading it tells the client.
        let (socket, tls) = self.get_mut();
        let state = tls.process_new_packets();
        let held = state
            .map_or(true, |state| state.plaintext_bytes_to_read() > 0 || state.peer_has_closed());
        held || socket.shared().has_received()
    }
}

/// The transport of one HTTP connection.
pub(crate) struct HttpIo<T> {
    stream: T,
    /// Bytes an earlier HTTP connection on this stream had read too many.
    ahead: Bytes,
    activity: Rc<Activity>,
    quick_ack: bool,
}

impl<T: Transport> HttpIo<T> {
    pub(crate) fn new(stream: T, ahead: Bytes, activity: Rc<Activity>, quick_ack: bool) -> Self {
        Self { stream, ahead, activity, quick_ack }
    }

    /// The stream, and the bytes not yet read from what was ahead.
    pub(crate) fn into_parts(self) -> (T, Bytes) {
        (self.stream, self.ahead)
    }

    fn read_ahead(&mut self, buffer: &mut ReadBufCursor<'_>) {
        let taken = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..taken]);
        self.ahead.advance(taken);
        self.activity.received(taken);
    }
}

impl<T: Transport> hyper::rt::Read for HttpIo<T> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            self.read_ahead(&mut buffer);
            return Poll::Ready(Ok(()));
        }
        let filled = {
            // SAFETY: `ReadBuf` never writes uninitialised bytes into what it is given.
            let mut tokio_buffer = ReadBuf::uninit(unsafe { buffer.as_mut() });
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut tokio_buffer))?;
            tokio_buffer.filled().len()
        };
        // SAFETY: the first `filled` bytes of the cursor were just initialised through `ReadBuf`.
        unsafe { buffer.advance(filled) };
        self.activity.received(filled);
        if self.quick_ack {
            // After a head too: a client may wait for its acknowledgement before it sends the body.
            self.stream.socket().shared().acknowledge();
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Transport> hyper::rt::Write for HttpIo<T> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.stamp_write(written)
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.stamp_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        match &flushed {
            Poll::Ready(_) => self.activity.flushed(),
            Poll::Pending => self.activity.write_blocked(),
        }
        flushed
    }

    /// Does nothing: hyper calls it when all is written, and the connection task, which gets the
    /// stream back, decides how to close it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl<T> HttpIo<T> {
    #[inline]
    fn stamp_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.activity.wrote(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.write_blocked(),
        }
        written
    }
}
