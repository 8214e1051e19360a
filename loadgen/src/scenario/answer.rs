//! What a right answer is: status, media type and content of one exchange.

use std::sync::Arc;

use crate::engine::Exchange;

/// What every answer of a scenario must be.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Expected status code.
    pub status: u16,
    /// Expected media type, without parameters; `None`: not compared.
    pub media_type: Option<String>,
    /// What the body must be.
    pub content: Content,
}

/// What the body of an answer must be.
#[derive(Clone, Debug)]
pub enum Content {
    /// Not compared.
    Any,
    /// Exactly this text.
    Text(String),
    /// This JSON value, whatever its spacing and order.
    Json(serde_json::Value),
    /// Exactly these bytes, and a PNG picture if the media type says so.
    File(Arc<[u8]>),
    /// The JSON value of the request's body.
    Echo,
    /// A PNG picture of 512 × 512 with a QR code of the request's `urlToEmbed`.
    Qr,
    /// `{"n":N,"fibonacci":F}` for the N that the request's path ends in.
    Fibonacci,
    /// Empty; the server counts requests and bytes and tells them on `GET /stats`.
    Counted,
}

/// Width and height of a QR picture, in pixels.
const QR_PIXELS: u32 = 512;

impl Answer {
    /// Compares one exchange with this answer.
    ///
    /// # Errors
    /// One line that says what differed.
    pub fn check(&self, exchange: &Exchange) -> Result<(), String> {
        if exchange.status != self.status {
            let body = excerpt(&exchange.response_body);
            return Err(format!(
                "status is {}, not {} (body {body})",
                exchange.status, self.status
            ));
        }
        if let Some(expected) = &self.media_type {
            let fields = head_fields(&exchange.response_head)?;
            let found = field(&fields, "content-type").unwrap_or("missing");
            let media_type = found.split(';').next().unwrap_or("").trim();
            if !media_type.eq_ignore_ascii_case(expected) {
                return Err(format!("Content-Type is {found}, not {expected}"));
            }
        }
        self.content.check(exchange)
    }

    /// Whether all right answers have the same length, given that all requests have.
    pub fn has_fixed_length(&self) -> bool {
        !matches!(self.content, Content::Any | Content::Qr)
    }
}

impl Content {
    fn check(&self, exchange: &Exchange) -> Result<(), String> {
        let body = exchange.response_body.as_slice();
        match self {
            Self::Any => Ok(()),
            Self::Text(text) => same(body, text.as_bytes()),
            Self::Json(value) => same_json(body, value),
            Self::File(bytes) => same(body, bytes),
            Self::Echo => {
                let sent = serde_json::from_slice(request_body(&exchange.request))
                    .map_err(|error| format!("the request's body is not JSON: {error}"))?;
                same_json(body, &sent)
            }
            Self::Qr => check_qr(body, &exchange.request),
            Self::Fibonacci => {
                let n = requested_n(&exchange.request)
                    .ok_or("the request's path does not end in a number")?;
                same_json(body, &serde_json::json!({"n": n, "fibonacci": fibonacci(n)}))
            }
            Self::Counted if body.is_empty() => Ok(()),
            Self::Counted => Err(format!("the body should be empty, but is {}", excerpt(body))),
        }
    }
}

/// The n-th Fibonacci number, by iteration; wraps beyond n = 93.
pub fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0_u64, 1_u64), |(a, b), _| (b, a.wrapping_add(b))).0
}

/// Header fields of a response head, in order, names as received.
///
/// # Errors
/// One line if the head is not HTTP/1.x.
pub fn head_fields(head: &[u8]) -> Result<Vec<(String, String)>, String> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(head).map_err(|error| format!("the response head is not HTTP/1.1: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(response.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect())
}

fn field<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn request_body(request: &[u8]) -> &[u8] {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n");
    end.map_or(&[], |end| &request[end + 4..])
}

fn requested_n(request: &[u8]) -> Option<u64> {
    let line = request.split(|&byte| byte == b'\r').next()?;
    let path = std::str::from_utf8(line).ok()?.split(' ').nth(1)?;
    path.rsplit('/').next()?.parse().ok()
}

fn same(found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    if found.len() != expected.len() {
        let (found_bytes, expected_bytes) = (found.len(), expected.len());
        let found = excerpt(found);
        return Err(format!("body has {found_bytes} bytes, not {expected_bytes}: {found}"));
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0);
    Err(format!("body differs at byte {at}: {:#04x}, not {:#04x}", found[at], expected[at]))
}

fn same_json(found: &[u8], expected: &serde_json::Value) -> Result<(), String> {
    let value: serde_json::Value = serde_json::from_slice(found)
        .map_err(|error| format!("body is not JSON ({error}): {}", excerpt(found)))?;
    if value == *expected {
        return Ok(());
    }
    Err(format!("body is {}, not {}", excerpt(found), excerpt(expected.to_string().as_bytes())))
}

fn check_qr(body: &[u8], request: &[u8]) -> Result<(), String> {
    let sent: serde_json::Value = serde_json::from_slice(request_body(request))
        .map_err(|error| format!("the request's body is not JSON: {error}"))?;
    let expected = sent["urlToEmbed"].as_str().ok_or("the request has no urlToEmbed")?;
    let picture = image::load_from_memory_with_format(body, image::ImageFormat::Png)
        .map_err(|error| format!("body is not a PNG picture: {error}"))?
        .to_luma8();
    let (width, height) = picture.dimensions();
    if (width, height) != (QR_PIXELS, QR_PIXELS) {
        return Err(format!("picture is {width} × {height}, not {QR_PIXELS} × {QR_PIXELS}"));
    }
    let mut prepared = rqrr::PreparedImage::prepare_from_greyscale(
        QR_PIXELS as usize,
        QR_PIXELS as usize,
        |x, y| picture.as_raw()[y * QR_PIXELS as usize + x],
    );
    let grids = prepared.detect_grids();
    let grid = grids.first().ok_or("the picture has no QR code")?;
    let (_, text) =
        grid.decode().map_err(|error| format!("the QR code cannot be read: {error}"))?;
    if text == expected {
        return Ok(());
    }
    Err(format!("the QR code says {}, not {expected}", excerpt(text.as_bytes())))
}

/// The first bytes of a body, in quotes, safe to print.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if bytes.len() > SHOWN { "…" } else { "" };
    format!("\"{}\"{dots}", String::from_utf8_lossy(shown).escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(request: &str, head: &str, body: &[u8]) -> Exchange {
        Exchange {
            request: request.into(),
            status: 200,
            response_head: head.into(),
            response_body: body.into(),
        }
    }

    fn answer(media_type: &str, content: Content) -> Answer {
        Answer { status: 200, media_type: Some(media_type.into()), content }
    }

    const JSON_HEAD: &str =
        "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON;charset=utf-8\r\n\r\n";

    #[test]
    fn an_echo_is_compared_with_what_was_sent() {
        let echo = answer("application/json", Content::Echo);
        let request = "POST / HTTP/1.1\r\nHost: a\r\n\r\n{\"urlToEmbed\":\"x\"}";
        let right = exchange(request, JSON_HEAD, b"{ \"urlToEmbed\": \"x\" }");
        assert_eq!(echo.check(&right), Ok(()));
        let wrong = exchange(request, JSON_HEAD, b"{\"urlToEmbed\":\"y\"}");
        let message = echo.check(&wrong).unwrap_err();
        assert!(message.contains("body is") && message.contains("not"), "{message}");
    }

    #[test]
    fn media_type_is_compared_without_parameters() {
        let text = answer("text/plain", Content::Any);
        let message = text.check(&exchange("", JSON_HEAD, b"")).unwrap_err();
        assert_eq!(message, "Content-Type is Application/JSON;charset=utf-8, not text/plain");
        assert_eq!(
            answer("application/json", Content::Any).check(&exchange("", JSON_HEAD, b"")),
            Ok(())
        );
    }

    #[test]
    fn one_wrong_byte_of_a_file_is_found() {
        let file = answer("application/json", Content::File(Arc::from(&b"abcd"[..])));
        let message = file.check(&exchange("", JSON_HEAD, b"abXd")).unwrap_err();
        assert_eq!(message, "body differs at byte 2: 0x58, not 0x63");
        let message = file.check(&exchange("", JSON_HEAD, b"abc")).unwrap_err();
        assert!(message.starts_with("body has 3 bytes, not 4"), "{message}");
    }

    #[test]
    fn fibonacci_is_computed_for_the_n_of_the_path() {
        let fib = answer("application/json", Content::Fibonacci);
        let request = "GET /fibonacci/31 HTTP/1.1\r\n\r\n";
        let body = br#"{"n":31,"fibonacci":1346269}"#;
        assert_eq!(fib.check(&exchange(request, JSON_HEAD, body)), Ok(()));
        assert!(fib.check(&exchange(request, JSON_HEAD, br#"{"n":31,"fibonacci":1}"#)).is_err());
        assert_eq!(fibonacci(30), 832_040);
        assert_eq!(fibonacci(93), 12_200_160_415_121_876_738);
    }

    #[test]
    fn a_picture_that_is_no_qr_code_is_refused() {
        let mut png = Vec::new();
        let picture = image::GrayImage::from_pixel(512, 512, image::Luma([255]));
        picture.write_to(&mut std::io::Cursor::new(&mut png), image::ImageFormat::Png).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n";
        let request = "POST /qr HTTP/1.1\r\n\r\n{\"urlToEmbed\":\"x\"}";
        let qr = answer("image/png", Content::Qr);
        let message = qr.check(&exchange(request, head, &png)).unwrap_err();
        assert_eq!(message, "the picture has no QR code");
        assert!(qr.check(&exchange(request, head, b"no")).is_err());
    }
}
