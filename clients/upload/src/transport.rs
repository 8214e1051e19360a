//! The transport hyper writes to: a socket that sends the file where the body has stand-ins for it.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use hyper::rt::ReadBufCursor;
use rustix::net::{SendFlags, send};
use tokio::{
    io::{AsyncRead as _, AsyncWrite as _, Interest, ReadBuf},
    net::TcpStream,
};

use crate::file::{Source, stands_in};

/// Answers are heads of some hundred bytes.
const READ_BYTES: usize = 1024;

/// A connection, and the file that is sent on it.
pub(crate) struct Transport {
    stream: TcpStream,
    source: Rc<Source>,
}

impl Transport {
    pub(crate) fn new(stream: TcpStream, source: Rc<Source>) -> Self {
        Self { stream, source }
    }

    /// Calls `write` when the socket takes bytes, until it does.
    fn poll_send(
        &self,
        context: &mut Context<'_>,
        mut write: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_io(Interest::WRITABLE, &mut write) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl hyper::rt::Read for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let length = cursor.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut bytes[..length]);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let literal = slices.iter().take_while(|slice| !stands_in(slice)).count();
        if literal == slices.len() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        }
        if literal > 0 {
            // The head: the file follows in the same packet.
            let flags = SendFlags::MORE | SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            return self.poll_send(context, || Ok(send(&self.stream, &slices[0], flags)?));
        }
        let count = slices.iter().take_while(|slice| stands_in(slice)).map(|slice| slice.len());
        let count = count.sum();
        self.poll_send(context, || self.source.send(&self.stream, count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
