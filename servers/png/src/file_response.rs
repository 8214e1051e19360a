//! The answer to a request for a file that is open: whole, in part, or not at all.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use server_kit::{Body, FileBody, Response};

use crate::{
    buffer,
    conditions::{Outcome, Validators},
    folder::OpenFile,
    range::{self, Ranged},
    target::NoFile,
};

/// Up to so many bytes are read at once in the worker: from the page cache, a copy of that size
/// is shorter than the way to another thread. More is streamed.
const INLINE_BYTES: u64 = 256 * 1024;

/// Answers a GET or, with `get` false, a HEAD, with these fields.
pub(crate) fn respond(open: &OpenFile, name: &[u8], fields: HeaderMap, get: bool) -> Response {
    let length = u64::try_from(open.stat.st_size).unwrap_or(0);
    let validators = Validators::of(&open.stat);
    let asked = Asked::new(&fields);
    let outcome = if asked.conditions { validators.evaluate(&fields) } else { Outcome::Proceed };
    let mut response = match outcome {
        Outcome::Failed => return status(StatusCode::PRECONDITION_FAILED),
        Outcome::NotModified => status(StatusCode::NOT_MODIFIED),
        Outcome::Proceed => {
            // Range is defined for GET alone (RFC 9110, 14.2).
            let ranged = match asked.range {
                Some(value) if get && validators.allows_range(&fields) => {
                    range::parse(value.as_bytes(), length)
                }
                _ => Ranged::Whole,
            };
            match content(open, ranged, length, fields) {
                Ok(response) => response,
                Err(error) => return error.response(),
            }
        }
    };
    if response.status() != StatusCode::RANGE_NOT_SATISFIABLE {
        describe(response.headers_mut(), name, validators);
    }
    response
}

/// The fields of a request that matter here, found in one pass.
#[derive(Default)]
struct Asked<'a> {
    conditions: bool,
    /// The `Range` field, if there is exactly one.
    range: Option<&'a HeaderValue>,
}

impl<'a> Asked<'a> {
    fn new(headers: &'a HeaderMap) -> Self {
        let mut asked = Self::default();
        let mut ranges = 0;
        for (name, value) in headers {
            match *name {
                header::IF_MATCH
                | header::IF_NONE_MATCH
                | header::IF_MODIFIED_SINCE
                | header::IF_UNMODIFIED_SINCE => asked.conditions = true,
                header::RANGE => {
                    ranges += 1;
                    asked.range = (ranges == 1).then_some(value);
                }
                _ => {}
            }
        }
        asked
    }
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    response
}

/// The status, body and `Content-Range` of what is asked for, in the memory of `fields`.
fn content(
    open: &OpenFile,
    ranged: Ranged,
    length: u64,
    fields: HeaderMap,
) -> Result<Response, NoFile> {
    let (first, last) = match ranged {
        Ranged::Whole => return Ok(server_kit::reusing(fields, read(open, 0, length)?)),
        Ranged::Part { first, last } => (first, last),
        Ranged::Unsatisfiable => {
            let mut response = status(StatusCode::RANGE_NOT_SATISFIABLE);
            set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{length}"));
            return Ok(response);
        }
    };
    let mut response = server_kit::reusing(fields, read(open, first, last - first + 1)?);
    *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    set(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes {first}-{last}/{length}"));
    Ok(response)
}

fn read(open: &OpenFile, first: u64, length: u64) -> Result<Body, NoFile> {
    if length > INLINE_BYTES {
        let file = open.file.try_clone().map_err(|_| NoFile::Busy)?;
        return Ok(Body::File(Box::new(FileBody::new(file, first, length))));
    }
    let length = usize::try_from(length).map_err(|_| NoFile::Unreadable)?;
    // A file that was cut short since we asked for its size ends early.
    let bytes = buffer::read(&open.file, first, length).map_err(|_| NoFile::Unreadable)?;
    Ok(Body::Full(bytes))
}

/// Sets the fields that describe a file.
fn describe(headers: &mut HeaderMap, name: &[u8], validators: Validators) {
    let content_type = content_type(name);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if content_type != PNG {
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, validators.etag);
    set(headers, header::LAST_MODIFIED, &httpdate::fmt_http_date(validators.modified));
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    // Digits, quotes and dates are always valid values.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

const PNG: &str = "image/png";

fn content_type(name: &[u8]) -> &'static str {
    let extension = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    match extension {
        b"png" => PNG,
        b"jpg" | b"jpeg" => "image/jpeg",
        b"svg" => "image/svg+xml",
        b"txt" => "text/plain; charset=utf-8",
        b"json" => "application/json",
        _ => "application/octet-stream",
    }
}
