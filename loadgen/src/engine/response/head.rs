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
/// Lines end with CRLF or a single LF (RFC 9112 section 2.2). Every byte is looked at once.
pub(crate) fn parse(input: &[u8], answers_head: bool) -> Result<Option<(Head, usize)>, ParseError> {
    let Some((status, http_1_0)) = status_line(input)? else { return Ok(None) };
    let Some(mut at) = line_end(input, STATUS_END)? else { return Ok(None) };
    let mut fields = Fields::default();
    let mut count = 0;
    let mut after_framing = false;
    loop {
        let start = at;
        while at < input.len() && TOKEN[input[at] as usize] {
            at += 1;
        }
        let Some(&byte) = input.get(at) else { return Ok(None) };
        let is_field = byte == b':' && at > start;
        if !is_field {
            match byte {
                b'\r' | b'\n' if at == start => {
                    let Some(end) = line_end(input, at)? else { return Ok(None) };
                    return Ok(Some((decide(status, http_1_0, &fields, answers_head)?, end)));
                }
                // A folded value (RFC 9112 section 5.2) is harmless unless it changes the framing.
                b' ' | b'\t' if at == start && count > 0 && !after_framing => {}
                b' ' | b'\t' if at == start && count > 0 => {
                    return Err(ParseError::Folded(line_snippet(&input[start..])));
                }
                _ => return Err(ParseError::HeaderLine(line_snippet(&input[start..]))),
            }
        }
        count += 1;
        if count > MAX_HEADERS {
            return Err(ParseError::TooManyHeaders);
        }
        let value = at + 1;
        let Some(end) = line_end(input, value)? else { return Ok(None) };
        after_framing = is_field && field(&input[start..at], &input[value..end], &mut fields)?;
        at = end;
    }
}

/// Where the reason phrase may begin.
const STATUS_END: usize = 12;

/// `HTTP/1.x SP 3DIGIT [SP reason]`; the reason phrase and its space may be missing.
fn status_line(input: &[u8]) -> Result<Option<(u16, bool)>, ParseError> {
    let bad = || ParseError::StatusLine(line_snippet(input));
    let Some((start, rest)) = input.split_first_chunk::<STATUS_END>() else {
        return if memchr(b'\n', input).is_some() { Err(bad()) } else { Ok(None) };
    };
    let [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b' ', a, b, c] = *start else {
        return Err(bad());
    };
    let digits = [minor, a, b, c].iter().all(u8::is_ascii_digit);
    let ends = matches!(rest.first(), None | Some(b' ' | b'\r' | b'\n'));
    if !digits || a == b'0' || !ends {
        return Err(bad());
    }
    let digit = |byte: u8| u16::from(byte - b'0');
    Ok(Some((digit(a) * 100 + digit(b) * 10 + digit(c), minor == b'0')))
}

/// Where the line that goes on at `at` ends, its line end included; `None` while that is missing.
///
/// Control characters but tab, and a CR that is not before its LF, are errors (RFC 9110
/// section 5.5).
#[inline]
fn line_end(input: &[u8], at: usize) -> Result<Option<usize>, ParseError> {
    let at = control_from(input, at);
    match (input.get(at), input.get(at + 1)) {
        (Some(b'\n'), _) => Ok(Some(at + 1)),
        (Some(b'\r'), Some(b'\n')) => Ok(Some(at + 2)),
        (None, _) | (Some(b'\r'), None) => Ok(None),
        _ => Err(ParseError::ControlCharacter),
    }
}

/// The first control character but tab from `at` on, or the end: eight bytes at a time.
#[inline]
fn control_from(input: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    while let Some(word) = input.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        // The classic test for a byte below n, exact up to the first one that is.
        let below_space = word.wrapping_sub(ONES * 0x20) & !word;
        let other = word ^ (ONES * 0x7f);
        let delete = other.wrapping_sub(ONES) & !other;
        let found = (below_space | delete) & HIGH;
        if found == 0 {
            at += 8;
            continue;
        }
        at += found.trailing_zeros() as usize / 8;
        if input[at] != b'\t' {
            return at;
        }
        at += 1;
    }
    while input.get(at).is_some_and(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f)) {
        at += 1;
    }
    at
}

/// Takes in one header field; returns whether it frames the body, and so must not be folded.
#[inline]
fn field(name: &[u8], value: &[u8], fields: &mut Fields) -> Result<bool, ParseError> {
    match name.len() {
        10 if is_name(name, b"connection") => connection(value, fields),
        14 if is_name(name, b"content-length") => content_length(value, fields)?,
        17 if is_name(name, b"transfer-encoding") => transfer_encoding(value, fields),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Whether `name`, which is made of token characters, is `lower` in any case.
///
/// Setting one bit lowers a letter, and turns no other token character into a letter or a hyphen.
#[inline]
fn is_name<const N: usize>(name: &[u8], lower: &[u8; N]) -> bool {
    let Ok(name) = <&[u8; N]>::try_from(name) else { return false };
    let differences = name.iter().zip(lower).fold(0, |all, (a, b)| all | ((a | 0x20) ^ b));
    differences == 0
}

fn connection(value: &[u8], fields: &mut Fields) {
    for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
        fields.close |= token.eq_ignore_ascii_case(b"close");
        fields.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
    }
}

/// Equal repetitions are accepted, as RFC 9112 section 6.3 allows; different ones never.
fn content_length(value: &[u8], fields: &mut Fields) -> Result<(), ParseError> {
    if let (Some(length), None) = (decimal(value.trim_ascii()), fields.length) {
        fields.length = Some(length);
        return Ok(());
    }
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

/// The first bytes of something unexpected, printable.
pub(crate) fn snippet(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(64)];
    let dots = if bytes.len() > shown.len() { "…" } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

/// The first line of `bytes`, printable.
fn line_snippet(bytes: &[u8]) -> String {
    let line = &bytes[..memchr(b'\n', bytes).unwrap_or(bytes.len())];
    snippet(line.strip_suffix(b"\r").unwrap_or(line))
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
