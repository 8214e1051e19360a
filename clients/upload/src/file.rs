//! The body of an upload: stand-ins, which the transport replaces by the file.

use std::{
    cell::{Cell, RefCell},
    fs::File,
    io,
    path::Path,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// What hyper is given in place of a file's bytes. It frames and queues it like any other body, and
/// never reads it; the transport knows it by its address and lets the kernel send the file instead
/// (sendfile(2)): at all sizes that takes less time than reading it into a buffer first.
static STAND_IN: [u8; 256 * 1024] = [0; 256 * 1024];

/// Whether these bytes stand for bytes of the file.
pub(crate) fn stands_in(bytes: &[u8]) -> bool {
    STAND_IN.as_ptr_range().contains(&bytes.as_ptr())
}

/// The file that is being sent, as body and transport share it.
#[derive(Default)]
pub(crate) struct Source {
    file: RefCell<Option<File>>,
    /// Where the next byte to send is.
    position: Cell<u64>,
}

impl Source {
    /// Opens the file for one upload; returns its body.
    ///
    /// # Errors
    ///
    /// It cannot be opened or read.
    pub(crate) fn open(self: &Rc<Self>, path: &Path) -> io::Result<FileBody> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        self.file.replace(Some(file));
        self.position.set(0);
        Ok(FileBody { left: length })
    }

    /// Sends up to `count` bytes of the file to `socket`; returns how many were taken.
    ///
    /// # Errors
    ///
    /// The socket's, and the end of a file that has become shorter.
    pub(crate) fn send(&self, socket: impl rustix::fd::AsFd, count: usize) -> io::Result<usize> {
        let file = self.file.borrow();
        let file = file.as_ref().ok_or_else(|| io::Error::other("no file is being sent"))?;
        let mut position = self.position.get();
        let sent = rustix::fs::sendfile(socket, file, Some(&mut position), count)?;
        self.position.set(position);
        if sent == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        Ok(sent)
    }
}

/// The body of one upload, with a known length.
pub(crate) struct FileBody {
    /// Bytes not yet given to hyper.
    left: u64,
}

impl FileBody {
    /// Bytes of it.
    pub(crate) fn length(&self) -> u64 {
        self.left
    }
}

impl http_body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let length = usize::try_from(self.left).unwrap_or(usize::MAX).min(STAND_IN.len());
        self.left -= length as u64;
        let data = Frame::data(Bytes::from_static(&STAND_IN[..length]));
        Poll::Ready((length > 0).then_some(Ok(data)))
    }

    fn is_end_stream(&self) -> bool {
        self.length() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length())
    }
}
