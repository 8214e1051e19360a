//! The body of an answer, as a concrete type: no box, no dynamic call on the usual path.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::task::JoinHandle;

use crate::activity::Activity;

/// Bytes a streamed file is read by, at first: what a client that takes nothing costs in memory.
const FIRST_CHUNK_BYTES: u64 = 64 * 1024;

/// The same for a client that has shown that it takes them: fewer ways to the pool and back.
const CHUNK_BYTES: u64 = 256 * 1024;

/// Bytes after which a client has shown it: more than the kernel takes for one that does not read.
const PROVEN_BYTES: u64 = 1024 * 1024;

/// The body of an answer.
pub enum Body {
    /// None at all.
    Empty,
    /// These bytes.
    Full(Bytes),
    /// A part of a file, read as the client takes it.
    File(Box<FileBody>),
}

impl Body {
    /// A body of bytes that are part of the program.
    #[must_use]
    pub const fn from_static(bytes: &'static [u8]) -> Self {
        Self::Full(Bytes::from_static(bytes))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    #[inline]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Self::File(file) => {
                file.poll_chunk(context).map(|chunk| chunk.map(|read| read.map(Frame::data)))
            }
        }
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::File(file) => file.remaining() == 0,
        }
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Empty => 0,
            Self::Full(bytes) => bytes.len() as u64,
            Self::File(file) => file.remaining(),
        })
    }
}

/// A part of a file, read in chunks on the blocking pool, one chunk ahead of nothing: a slow
/// client holds one chunk in memory.
pub struct FileBody {
    file: Arc<File>,
    start: u64,
    position: u64,
    end: u64,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
    activity: Option<Rc<Activity>>,
}

impl FileBody {
    /// The `length` bytes of `file` from `start`. If the file turns out shorter, the connection
    /// is cut: the length was announced.
    #[must_use]
    pub fn new(file: File, start: u64, length: u64) -> Self {
        Self {
            file: Arc::new(file),
            start,
            position: start,
            end: start + length,
            reading: None,
            activity: None,
        }
    }

    /// Lets the connection know as long as there is more to come.
    pub(crate) fn watch(&mut self, activity: Rc<Activity>) {
        activity.set_streaming(true);
        self.activity = Some(activity);
    }

    fn remaining(&self) -> u64 {
        self.end - self.position
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.remaining() == 0 {
            return Poll::Ready(None);
        }
        let proven = self.position - self.start >= PROVEN_BYTES;
        let most = if proven { CHUNK_BYTES } else { FIRST_CHUNK_BYTES };
        let length = self.remaining().min(most);
        let reading = self.reading.get_or_insert_with(|| {
            let (file, position) = (Arc::clone(&self.file), self.position);
            tokio::task::spawn_blocking(move || read_chunk(&file, position, length))
        });
        let chunk = ready!(Pin::new(reading).poll(context))
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        self.reading = None;
        self.position += length;
        Poll::Ready(Some(chunk))
    }
}

impl Drop for FileBody {
    fn drop(&mut self) {
        if let Some(activity) = &self.activity {
            activity.set_streaming(false);
        }
    }
}

fn read_chunk(file: &File, position: u64, length: u64) -> io::Result<Bytes> {
    let mut chunk = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut chunk, position)?;
    Ok(chunk.into())
}
