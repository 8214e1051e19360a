//! The chunked transfer coding (RFC 9112 section 7.1), decoded from pieces of any size.

use super::ParseError;
use super::head::MAX_HEAD;

/// Longest chunk extension accepted, in bytes, for one chunk.
const MAX_EXTENSION: u32 = 4096;

/// Where in the coding the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    SizeStart,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
}

/// A resumable decoder; constant memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    at: At,
    /// Size being read, then bytes left of the chunk.
    size: u64,
    digits: u8,
    /// Bytes of the extension or of the whole trailer so far.
    overhead: u32,
}

impl Chunked {
    pub(crate) fn new() -> Self {
        Self { at: At::SizeStart, size: 0, digits: 0, overhead: 0 }
    }

    /// Consumes `input` up to the end of the body and hands the data to `sink`; returns how much
    /// was consumed and whether the body is complete.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), ParseError> {
        let mut at = 0;
        while at < input.len() {
            if self.at == At::Data {
                let take = usize::try_from(self.size).unwrap_or(usize::MAX).min(input.len() - at);
                sink(&input[at..at + take]);
                at += take;
                self.size -= take as u64;
                if self.size == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            let byte = input[at];
            at += 1;
            if self.framing_byte(byte)? {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    /// One byte outside the data; true at the very end of the body.
    fn framing_byte(&mut self, byte: u8) -> Result<bool, ParseError> {
        self.at = match (self.at, byte) {
            (At::SizeStart | At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.size_digit(byte)?
            }
            (At::Size | At::SizeSpace, b' ' | b'\t') => self.skip(At::SizeSpace)?,
            (At::Size | At::SizeSpace, b';') => At::Extension,
            (At::Size | At::SizeSpace | At::Extension, b'\r') => At::SizeLf,
            (At::Extension, b'\n') => {
                return Err(ParseError::Chunk("bare LF in an extension", byte));
            }
            (At::Extension, _) => self.skip(At::Extension)?,
            (At::SizeLf, b'\n') => self.size_line_ended(),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => {
                *self = Self::new();
                At::SizeStart
            }
            (At::TrailerStart, b'\r') => At::EndLf,
            (At::TrailerStart | At::Trailer, b'\n') => {
                return Err(ParseError::Chunk("bare LF in the trailer", byte));
            }
            (At::Trailer, b'\r') => At::TrailerLf,
            (At::TrailerStart | At::Trailer, _) => self.trailer_byte()?,
            (At::TrailerLf, b'\n') => At::TrailerStart,
            (At::EndLf, b'\n') => return Ok(true),
            (At::SizeStart | At::Size | At::SizeSpace, _) => {
                return Err(ParseError::Chunk("no chunk size where one belongs", byte));
            }
            (At::DataCr | At::DataLf, _) => {
                return Err(ParseError::Chunk("chunk data longer than its size", byte));
            }
            _ => return Err(ParseError::Chunk("no LF after CR", byte)),
        };
        Ok(false)
    }

    fn size_digit(&mut self, byte: u8) -> Result<At, ParseError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.digits += 1;
        // Sixteen digits fill a u64; more, even zeros, are hostile.
        if self.digits > 16 {
            return Err(ParseError::Chunk("chunk size over 16 digits", byte));
        }
        self.size = self.size << 4 | u64::from(digit);
        Ok(At::Size)
    }

    fn skip(&mut self, next: At) -> Result<At, ParseError> {
        self.overhead += 1;
        if self.overhead > MAX_EXTENSION {
            return Err(ParseError::ChunkExtension);
        }
        Ok(next)
    }

    fn size_line_ended(&mut self) -> At {
        self.overhead = 0;
        if self.size == 0 { At::TrailerStart } else { At::Data }
    }

    fn trailer_byte(&mut self) -> Result<At, ParseError> {
        self.overhead += 1;
        if self.overhead as usize > MAX_HEAD {
            return Err(ParseError::Trailer);
        }
        Ok(At::Trailer)
    }
}
