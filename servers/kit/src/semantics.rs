//! What RFC 9110 and 9112 ask of every server and hyper leaves to the application.

use http::{HeaderMap, Method, StatusCode, Version, header};

use crate::{
    Errors, Methods, Response, Scenario,
    response::{json_error, plain_error},
};

/// Why a request is refused before its scenario sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An HTTP/1.1 request has exactly one Host field (RFC 9112, 3.2).
    Host,
    /// CONNECT and TRACE are served nowhere (RFC 9110, 9.3.6 and 9.3.8).
    Method,
    /// An expectation other than `100-continue` (RFC 9110, 10.1.1).
    Expectation,
    /// Nothing at this path.
    NotFound,
    /// The resource has other methods (RFC 9110, 15.5.6).
    NotAllowed(Methods),
    /// `OPTIONS *` (RFC 9110, 9.3.7): not refused, but answered here.
    ServerOptions,
}

/// Checks the head of a request for `scenario`.
#[inline]
pub(crate) fn check<B>(
    request: &http::Request<B>,
    scenario: &impl Scenario,
) -> Result<(), Refusal> {
    check_fields(request.version(), request.headers())?;
    let uri = request.uri();
    let method = request.method();
    let methods = scenario.methods(uri.path());
    if methods.is_some_and(|methods| methods.allows(method)) {
        return Ok(());
    }
    Err(match (method, methods) {
        (&Method::CONNECT | &Method::TRACE, _) => Refusal::Method,
        (&Method::OPTIONS, _) if uri.path() == "*" => Refusal::ServerOptions,
        (_, Some(methods)) if scenario.exists(uri.path()) => Refusal::NotAllowed(methods),
        _ => Refusal::NotFound,
    })
}

/// Checks the fields in one pass: cheaper than a look-up of each, and it sees doubles.
#[inline]
fn check_fields(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut hosts = 0;
    for (name, value) in headers {
        if *name == header::HOST {
            hosts += 1;
            if !is_host(value.as_bytes()) {
                return Err(Refusal::Host);
            }
        } else if *name == header::EXPECT && !value.as_bytes().eq_ignore_ascii_case(b"100-continue")
        {
            return Err(Refusal::Expectation);
        }
    }
    if hosts == 1 || (hosts == 0 && version < Version::HTTP_11) {
        Ok(())
    } else {
        Err(Refusal::Host)
    }
}

/// The bytes a host and port can have (RFC 3986, 3.2.2 and 3.2.3).
const HOST_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~[]:%!$&'()*+;=";
    let mut index = 0;
    while index < others.len() {
        table[others[index] as usize] = true;
        index += 1;
    }
    table
};

/// Whether this can be a host and port. Empty is allowed (RFC 9112, 3.2); a space, a comma, a
/// slash or a user is not.
#[inline]
fn is_host(value: &[u8]) -> bool {
    value.iter().all(|&byte| HOST_BYTES[usize::from(byte)])
}

impl Refusal {
    pub(crate) fn response(self, form: Errors) -> Response {
        let (status, message) = match self {
            Self::Host => (StatusCode::BAD_REQUEST, "the request needs one valid Host field"),
            Self::Method | Self::NotAllowed(_) => {
                (StatusCode::METHOD_NOT_ALLOWED, "method not allowed")
            }
            Self::Expectation => (StatusCode::EXPECTATION_FAILED, "unknown expectation"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not found"),
            Self::ServerOptions => {
                let mut response = crate::no_content();
                let allow = http::HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
                response.headers_mut().insert(header::ALLOW, allow);
                return response;
            }
        };
        let mut response = match form {
            Errors::Text => plain_error(status, message),
            Errors::Json => json_error(status, message),
        };
        let allow = match self {
            Self::NotAllowed(methods) => methods.allow(),
            Self::Method => "",
            _ => return response,
        };
        response.headers_mut().insert(header::ALLOW, http::HeaderValue::from_static(allow));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn fields(fields: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn http_1_1_needs_exactly_one_host() {
        let one = fields(&[(header::HOST, "x")]);
        let two = fields(&[(header::HOST, "x"), (header::HOST, "x")]);
        let none = HeaderMap::new();
        assert_eq!(check_fields(Version::HTTP_11, &one), Ok(()));
        assert_eq!(check_fields(Version::HTTP_11, &two), Err(Refusal::Host));
        assert_eq!(check_fields(Version::HTTP_11, &none), Err(Refusal::Host));
        assert_eq!(check_fields(Version::HTTP_10, &none), Ok(()));
        assert_eq!(check_fields(Version::HTTP_10, &two), Err(Refusal::Host));
    }

    #[test]
    fn hosts() {
        for good in ["", "x", "[::1]:8080", "a.b-c:80", "127.0.0.1"] {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in ["a b", "a,b", "a/b", "u@h", "a\\b", "a?b", "\u{e4}"] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn only_100_continue_is_expected() {
        let host = (header::HOST, "x");
        let good = fields(&[host.clone(), (header::EXPECT, "100-Continue")]);
        let bad = fields(&[host, (header::EXPECT, "the unexpected")]);
        assert_eq!(check_fields(Version::HTTP_11, &good), Ok(()));
        assert_eq!(check_fields(Version::HTTP_11, &bad), Err(Refusal::Expectation));
    }
}
