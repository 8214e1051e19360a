//! A resumable parser of responses (RFC 9112): fed with whatever the socket gave, it says when one
//! response is complete.

mod chunked;
mod head;
#[cfg(test)]
mod tests;

use chunked::Chunked;
pub(crate) use head::snippet;
use head::{Framing, MAX_HEAD};

/// Most informational responses accepted before the final one.
const MAX_INFORMATIONAL: u8 = 100;

/// Bytes that are not a response that can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    #[error("not an HTTP/1.x status line: {0}")]
    StatusLine(String),
    #[error("not a header line: {0}")]
    HeaderLine(String),
    #[error("folded framing header: {0}")]
    Folded(String),
    #[error("control character in the response head")]
    ControlCharacter,
    #[error("response head over {MAX_HEAD} bytes")]
    HeadTooLong,
    #[error("more than {} response headers", head::MAX_HEADERS)]
    TooManyHeaders,
    #[error("Content-Length is not a number this side can hold: {0}")]
    ContentLength(String),
    #[error("two different Content-Length headers: {0} and {1}")]
    ContentLengths(u64, u64),
    #[error("101 Switching Protocols that was not asked for")]
    SwitchingProtocols,
    #[error("more than {MAX_INFORMATIONAL} informational responses")]
    Informational,
    #[error("bad chunked body: {0}, at byte 0x{1:02x}")]
    Chunk(&'static str, u8),
    #[error("bad chunked body: extension over 4096 bytes")]
    ChunkExtension,
    #[error("bad chunked body: trailer over {MAX_HEAD} bytes")]
    Trailer,
    #[error("unexpected bytes after the response: {0}")]
    Excess(String),
}

/// What the end of the connection means for the response in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// The body was delimited by the close: complete.
    Complete,
    /// Not one byte had come.
    Nothing,
    /// In the middle of the head.
    InHead,
    /// In the middle of the body; the length that was promised, if one was.
    InBody {
        /// Body bytes received.
        received: u64,
        /// Body bytes promised.
        expected: Option<u64>,
    },
}

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All input was taken and more is needed.
    Partial,
    /// Complete after this many bytes of the input.
    Complete(usize),
}

/// Receives the parts of the final response as they are recognised.
pub(crate) trait Sink {
    /// The whole head, blank line included.
    fn head(&mut self, _head: &[u8]) {}
    /// A piece of the body, framing removed.
    fn body(&mut self, _piece: &[u8]) {}
}

impl Sink for () {}

#[derive(Clone, Copy, Debug)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Parses one response after the other; [`ResponseParser::start`] between them.
#[derive(Debug)]
pub(crate) struct ResponseParser {
    state: State,
    /// Start of a head whose end has not come yet.
    partial: Vec<u8>,
    answers_head: bool,
    keep_alive: bool,
    informational: u8,
    status: u16,
    expected: Option<u64>,
    body: u64,
}

impl ResponseParser {
    /// A parser for the responses to one method; a response to HEAD has no body.
    pub(crate) fn new(answers_head: bool) -> Self {
        Self {
            state: State::Head,
            partial: Vec::new(),
            answers_head,
            keep_alive: false,
            informational: 0,
            status: 0,
            expected: None,
            body: 0,
        }
    }

    /// Forgets the last response and expects a new one.
    #[inline]
    pub(crate) fn start(&mut self) {
        self.state = State::Head;
        self.partial.clear();
        self.informational = 0;
        self.status = 0;
        self.expected = None;
        self.body = 0;
    }

    /// Status of the final response; 0 before its head was complete.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Body bytes so far, framing removed.
    pub(crate) fn body_len(&self) -> u64 {
        self.body
    }

    /// Whether the response allows another request on this connection.
    pub(crate) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Takes in what was received.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<Progress, ParseError> {
        let mut at = 0;
        while matches!(self.state, State::Head) {
            match self.head(&input[at..], sink)? {
                Some(used) => at += used,
                None => return Ok(Progress::Partial),
            }
        }
        self.body_piece(input, at, sink)
    }

    /// One head, final or informational; how much of the input it took, `None` for all of it and
    /// more needed.
    #[inline]
    fn head(&mut self, input: &[u8], sink: &mut impl Sink) -> Result<Option<usize>, ParseError> {
        if !self.partial.is_empty() {
            return self.resumed_head(input, sink);
        }
        if let Some((head, length)) = head::parse(input, self.answers_head)? {
            if length > MAX_HEAD {
                return Err(ParseError::HeadTooLong);
            }
            if self.head_parsed(head)? {
                sink.head(&input[..length]);
            }
            return Ok(Some(length));
        }
        self.keep_partial(input)?;
        Ok(None)
    }

    /// The head continues in `input`: looks for its end only where it can newly be.
    fn resumed_head(
        &mut self,
        input: &[u8],
        sink: &mut impl Sink,
    ) -> Result<Option<usize>, ParseError> {
        let before = self.partial.len();
        let Some(end) = end_of_head(&self.partial, input) else {
            self.keep_partial(input)?;
            return Ok(None);
        };
        self.keep_partial(&input[..end])?;
        let partial = std::mem::take(&mut self.partial);
        let parsed = head::parse(&partial, self.answers_head)?;
        let Some((head, length)) = parsed else {
            debug_assert!(false, "the end of the head was just found");
            return Err(ParseError::StatusLine(snippet(&partial)));
        };
        debug_assert_eq!(length, before + end);
        if self.head_parsed(head)? {
            sink.head(&partial);
        }
        self.partial = partial;
        self.partial.clear();
        Ok(Some(end))
    }

    fn keep_partial(&mut self, input: &[u8]) -> Result<(), ParseError> {
        if self.partial.len() + input.len() > MAX_HEAD {
            return Err(ParseError::HeadTooLong);
        }
        self.partial.extend_from_slice(input);
        // Something that is not HTTP may never send a blank line: say so now.
        let start = self.partial.len().min(7);
        if self.partial[..start] != b"HTTP/1."[..start] {
            return Err(ParseError::StatusLine(snippet(&self.partial)));
        }
        Ok(())
    }

    /// True for the head of the final response.
    #[inline]
    fn head_parsed(&mut self, head: head::Head) -> Result<bool, ParseError> {
        if head.status < 200 {
            self.informational += 1;
            if self.informational > MAX_INFORMATIONAL {
                return Err(ParseError::Informational);
            }
            return Ok(false);
        }
        self.status = head.status;
        self.keep_alive = head.keep_alive;
        self.state = match head.framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) => {
                self.expected = Some(length);
                State::Length(length)
            }
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
        };
        Ok(true)
    }

    #[inline]
    fn body_piece(
        &mut self,
        input: &[u8],
        at: usize,
        sink: &mut impl Sink,
    ) -> Result<Progress, ParseError> {
        let rest = &input[at..];
        match &mut self.state {
            State::Done => Ok(Progress::Complete(at)),
            State::Length(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                sink.body(&rest[..take]);
                self.body += take as u64;
                *left -= take as u64;
                if *left > 0 {
                    return Ok(Progress::Partial);
                }
                self.state = State::Done;
                Ok(Progress::Complete(at + take))
            }
            State::Chunked(chunked) => {
                let body = &mut self.body;
                let (used, done) = chunked.advance(rest, |piece| {
                    *body += piece.len() as u64;
                    sink.body(piece);
                })?;
                if !done {
                    return Ok(Progress::Partial);
                }
                self.state = State::Done;
                Ok(Progress::Complete(at + used))
            }
            State::UntilClose => {
                sink.body(rest);
                self.body += rest.len() as u64;
                Ok(Progress::Partial)
            }
            State::Head => Ok(Progress::Partial),
        }
    }

    /// The peer closed its side.
    pub(crate) fn end_of_input(&self) -> AtEnd {
        match self.state {
            State::Done | State::UntilClose => AtEnd::Complete,
            State::Head if self.partial.is_empty() && self.informational == 0 => AtEnd::Nothing,
            State::Head => AtEnd::InHead,
            State::Length(_) | State::Chunked(_) => {
                AtEnd::InBody { received: self.body, expected: self.expected }
            }
        }
    }
}

/// Where in `input` the blank line ends that began in `before`, or begins and ends in `input`.
fn end_of_head(before: &[u8], input: &[u8]) -> Option<usize> {
    let byte = |index: usize| -> Option<u8> {
        let back = index.checked_sub(before.len());
        back.map_or_else(|| before.get(index).copied(), |at| input.get(at).copied())
    };
    let mut from = 0;
    while let Some(lf) = memchr::memchr(b'\n', &input[from..]).map(|found| found + from) {
        let index = before.len() + lf;
        let previous = index.checked_sub(1).and_then(byte);
        let blank = match previous {
            Some(b'\n') => true,
            Some(b'\r') => index.checked_sub(2).and_then(byte) == Some(b'\n'),
            _ => false,
        };
        if blank {
            return Some(lf + 1);
        }
        from = lf + 1;
    }
    None
}
