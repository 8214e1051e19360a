//! The head of a response: status line, header fields, and how the body is delimited.

use memchr::memchr;

use super::ParseError;

/// Longest head accepted, status line to blank line, in bytes.
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// Most header lines accepted.
pub(crate) const MAX_HEADERS: usize = 256;

/// How the body of a response ends (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// At the blank line: no body.
    None,
    /// After this many bytes.
    Length(u64),
    /// With the last chunk and its trailer.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// What the head of a response says about the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Status code, 100 to 999.
    pub(crate) status: u16,
    /// How the body ends.
    pub(crate) framing: Framing,
    /// Whether the connection may carry another request afterwards.
    pub(crate) keep_alive: bool,
}

/// The header fields that decide the framing, as they are met.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    close: bool,
    keep_alive: bool,
}

/// Parses one head at the start of `input`; `None` while its blank line is missing.
///
/// Lines end with CRLF or a single LF (RFC 9112 section 2.2).
pub(crate) fn parse(input: &[u8], answers_head: bool) -> Result<Option<(Head, usize)>, ParseError> {
    let Some(first_end) = memchr(b'\n', input) else { return Ok(None) };
    let status_line = trim_cr(&input[..first_end]);
    let (status, http_1_0) = status_line_parts(status_line)?;
    let mut crs = first_end - status_line.len();
    let mut fields = Fields::default();
    let mut at = first_end + 1;
    let mut count = 0;
    let mut after_framing = false;
    loop {
        let Some(length) = memchr(b'\n', &input[at..]) else { return Ok(None) };
        let line = trim_cr(&input[at..at + length]);
        crs += length - line.len();
        at += length + 1;
        if line.is_empty() {
            break;
        }
        count += 1;
        if count > MAX_HEADERS {
            return Err(ParseError::TooManyHeaders);
        }
        after_framing = header_line(line, after_framing, &mut fields)?;
    }
    check_bytes(&input[..at], crs)?;
    Ok(Some((decide(status, http_1_0, &fields, answers_head)?, at)))
}

fn trim_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// `HTTP/1.x SP 3DIGIT [SP reason]`; the reason phrase and its space may be missing.
fn status_line_parts(line: &[u8]) -> Result<(u16, bool), ParseError> {
    let bad = || ParseError::StatusLine(snippet(line));
    let rest = line.strip_prefix(b"HTTP/1.").ok_or_else(bad)?;
    let (&[minor, b' ', a, b, c], reason) = rest.split_first_chunk::<5>().ok_or_else(bad)? else {
        return Err(bad());
    };
    let digits = [minor, a, b, c].iter().all(u8::is_ascii_digit);
    if !digits || a == b'0' || reason.first().is_some_and(|&byte| byte != b' ') {
        return Err(bad());
    }
    let digit = |byte: u8| u16::from(byte - b'0');
    Ok((digit(a) * 100 + digit(b) * 10 + digit(c), minor == b'0'))
}

/// Takes in one header line; returns whether it was a framing header, which must not be folded.
fn header_line(line: &[u8], after_framing: bool, fields: &mut Fields) -> Result<bool, ParseError> {
    if line[0] == b' ' || line[0] == b'\t' {
        // A folded value (RFC 9112 section 5.2) is harmless unless it changes the framing.
        return if after_framing { Err(ParseError::Folded(snippet(line))) } else { Ok(false) };
    }
    let colon = memchr(b':', line).ok_or_else(|| ParseError::HeaderLine(snippet(line)))?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    if name.is_empty() || !name.iter().all(|&byte| TOKEN[byte as usize]) {
        return Err(ParseError::HeaderLine(snippet(line)));
    }
    match name.len() {
        10 if name.eq_ignore_ascii_case(b"connection") => connection(value, fields),
        14 if name.eq_ignore_ascii_case(b"content-length") => content_length(value, fields)?,
        17 if name.eq_ignore_ascii_case(b"transfer-encoding") => transfer_encoding(value, fields),
        _ => return Ok(false),
    }
    Ok(true)
}

fn connection(value: &[u8], fields: &mut Fields) {
    for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        fields.close |= token.eq_ignore_ascii_case(b"close");
        fields.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
    }
}

/// Equal repetitions are accepted, as RFC 9112 section 6.3 allows; different ones never.
fn content_length(value: &[u8], fields: &mut Fields) -> Result<(), ParseError> {
    for number in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        let parsed = decimal(number).ok_or_else(|| ParseError::ContentLength(snippet(number)))?;
        match fields.length {
            Some(before) if before != parsed => {
                return Err(ParseError::ContentLengths(before, parsed));
            }
            _ => fields.length = Some(parsed),
        }
    }
    Ok(())
}

fn transfer_encoding(value: &[u8], fields: &mut Fields) {
    for coding in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        // Only the last coding delimits the body; "chunked" said twice is said once.
        fields.chunked = coding.eq_ignore_ascii_case(b"chunked");
        fields.other_coding |= !fields.chunked;
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// RFC 9112 section 6.3, in its order.
fn decide(
    status: u16,
    http_1_0: bool,
    fields: &Fields,
    answers_head: bool,
) -> Result<Head, ParseError> {
    if status == 101 {
        return Err(ParseError::SwitchingProtocols);
    }
    let mut keep_alive = !fields.close && (!http_1_0 || fields.keep_alive);
    let coded = fields.chunked || fields.other_coding;
    let framing = if answers_head || status < 200 || status == 204 || status == 304 {
        Framing::None
    } else if coded {
        // Both headers at once, or a coding in HTTP/1.0, smell of request smuggling: the
        // connection is not used again.
        keep_alive &= fields.length.is_none() && !http_1_0;
        if fields.chunked { Framing::Chunked } else { Framing::UntilClose }
    } else if let Some(length) = fields.length {
        Framing::Length(length)
    } else {
        Framing::UntilClose
    };
    keep_alive &= framing != Framing::UntilClose;
    Ok(Head { status, framing, keep_alive })
}

/// No control characters but tab, and no CR that is not before its LF (RFC 9110 section 5.5).
fn check_bytes(head: &[u8], crs: usize) -> Result<(), ParseError> {
    let mut control = false;
    let mut seen = 0_usize;
    for part in head.chunks(128) {
        let mut part_crs = 0_u8;
        for &byte in part {
            part_crs += u8::from(byte == b'\r');
            control |= (byte < b' ') & (byte != b'\t') & (byte != b'\r') & (byte != b'\n');
            control |= byte == 0x7f;
        }
        seen += usize::from(part_crs);
    }
    if control || seen != crs { Err(ParseError::ControlCharacter) } else { Ok(()) }
}

/// The first bytes of something unexpected, printable.
pub(crate) fn snippet(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(64)];
    let dots = if bytes.len() > shown.len() { "…" } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

/// `tchar` of RFC 9110 section 5.6.2.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\''
            | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};
