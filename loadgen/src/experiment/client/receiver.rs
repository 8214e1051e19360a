//! A server that compares what is uploaded with what should be: for checking a client, not for
//! measuring one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::contender::HOST;
use super::super::preflight::AnswerShape;

/// Bound on one pause of a client.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Bound on the head of a request.
const MAX_HEAD: u64 = 64 * 1024;
/// Bound on a line that gives the size of a chunk, extensions included.
const MAX_CHUNK_LINE: u64 = 4 * 1024;

/// What uploads must be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Request method.
    pub method: String,
    /// Request target.
    pub path: String,
    /// `Content-Type`, parameters ignored; `None`: not compared.
    pub media_type: Option<String>,
    /// The body.
    pub body: Arc<[u8]>,
}

/// What came.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Whole uploads, right or wrong.
    pub uploads: u64,
    /// When the first of them was whole.
    pub first_at: Option<Instant>,
    /// What was wrong with the first one that was.
    pub wrong: Option<String>,
    /// What its requests look like.
    pub shape: AnswerShape,
}

/// The server, on threads of its own.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Receiver {
    /// Listens on a free port.
    ///
    /// # Errors
    /// No socket or no thread.
    pub fn start(expected: Expected) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::new(HOST, 0))?;
        let address = listener.local_addr()?;
        let (received, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let shared = (Arc::clone(&received), Arc::clone(&ended));
        let thread = std::thread::Builder::new()
            .name("receiver".into())
            .spawn(move || accept(&listener, &expected, &shared.0, &shared.1))?;
        Ok(Self { address, received, ended, thread })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Ends it, when the client has gone.
    pub fn finish(self) -> Received {
        self.ended.store(true, Ordering::Release);
        // Wakes the thread that accepts; if that is gone, there is nobody to wake.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.join();
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn accept(
    listener: &TcpListener,
    expected: &Expected,
    received: &Mutex<Received>,
    ended: &AtomicBool,
) {
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            if ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = stream else { continue };
            scope.spawn(move || {
                if let Err(error) = serve(&stream, expected, received) {
                    let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
                    received.wrong.get_or_insert_with(|| error.to_string());
                }
            });
        }
    });
}

/// Takes uploads until the client closes the connection.
fn serve(stream: &TcpStream, expected: &Expected, received: &Mutex<Received>) -> io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    while let Some(head) = read_head(&mut reader)? {
        let request = Head::parse(&head)?;
        let body = request.read_body(&mut reader)?;
        let mut answer = stream;
        let wrong = request.compare(expected).or_else(|| compare(&body, &expected.body));
        let mut all = received.lock().unwrap_or_else(PoisonError::into_inner);
        all.uploads += 1;
        all.first_at.get_or_insert_with(Instant::now);
        all.shape = request.shape(head.len(), body.len());
        if all.wrong.is_none() {
            all.wrong = wrong;
        }
        drop(all);
        answer.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    }
    Ok(())
}

/// The head of the next request with its empty line; `None` where the client has closed.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut limited = reader.take(MAX_HEAD);
    while !head.ends_with(b"\r\n\r\n") {
        if limited.read_until(b'\n', &mut head)? == 0 {
            if head.is_empty() {
                return Ok(None);
            }
            return Err(bad("the request's head is cut off or over 64 KiB"));
        }
    }
    Ok(Some(head))
}

fn bad(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// The head of a request, as far as it matters.
struct Head {
    method: String,
    path: String,
    fields: Vec<(String, String)>,
}

impl Head {
    fn parse(head: &[u8]) -> io::Result<Self> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        request
            .parse(head)
            .map_err(|error| bad(format!("the request is not HTTP/1.1: {error}")))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            method: request.method.unwrap_or_default().to_owned(),
            path: request.path.unwrap_or_default().to_owned(),
            fields: request
                .headers
                .iter()
                .map(|header| (header.name.to_lowercase(), text(header.value)))
                .collect(),
        })
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    fn is_chunked(&self) -> bool {
        let encoding = self.field("transfer-encoding");
        encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked"))
    }

    /// Content-Length or chunks (RFC 9112, section 6.3).
    fn read_body(&self, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if !self.is_chunked() {
            let length = self.field("content-length").unwrap_or("0");
            let length = length.parse().map_err(|_| bad(format!("Content-Length {length:?}")))?;
            read_exactly(reader, length, &mut body)?;
            return Ok(body);
        }
        loop {
            let line = read_line(reader)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| bad(format!("chunk {line:?}")))?;
            if size == 0 {
                while !read_line(reader)?.is_empty() {}
                return Ok(body);
            }
            read_exactly(reader, size, &mut body)?;
            if !read_line(reader)?.is_empty() {
                return Err(bad("a chunk is longer than it says"));
            }
        }
    }

    fn compare(&self, expected: &Expected) -> Option<String> {
        if (&self.method, &self.path) != (&expected.method, &expected.path) {
            let (method, path) = (&expected.method, &expected.path);
            return Some(format!("asks {} {}, not {method} {path}", self.method, self.path));
        }
        let wanted = expected.media_type.as_ref()?;
        let found = self.field("content-type").unwrap_or("missing");
        let media_type = found.split(';').next().unwrap_or_default().trim();
        (!media_type.eq_ignore_ascii_case(wanted))
            .then(|| format!("Content-Type is {found}, not {wanted}"))
    }

    fn shape(&self, head_bytes: usize, body_bytes: usize) -> AnswerShape {
        let mut headers: Vec<String> = self.fields.iter().map(|(name, _)| name.clone()).collect();
        headers.sort();
        AnswerShape {
            headers,
            content_type: self.field("content-type").map(str::to_owned),
            head_bytes,
            body_bytes,
            framing: if self.is_chunked() { "chunked" } else { "content-length" }.into(),
            warnings: Vec::new(),
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(MAX_CHUNK_LINE).read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\r\n") {
        return Err(bad("a chunk is cut off"));
    }
    line.truncate(line.len() - 2);
    String::from_utf8(line).map_err(|_| bad("a chunk's size is no text"))
}

fn read_exactly(reader: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if reader.take(length).read_to_end(body)? as u64 == length {
        return Ok(());
    }
    Err(bad("the body is cut off"))
}

fn compare(found: &[u8], expected: &[u8]) -> Option<String> {
    if found.len() != expected.len() {
        let (found, expected) = (found.len(), expected.len());
        return Some(format!("uploads {found} bytes of a file of {expected}"));
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b)?;
    Some(format!("the upload differs from the file at byte {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(body: &[u8], requests: &str) -> Received {
        let receiver = Receiver::start(Expected {
            method: "POST".into(),
            path: "/".into(),
            media_type: Some("text/plain".into()),
            body: body.into(),
        })
        .unwrap();
        let mut stream = TcpStream::connect(receiver.address).unwrap();
        stream.write_all(requests.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        let received = receiver.finish();
        assert_eq!(answers.matches("HTTP/1.1 204").count() as u64, received.uploads);
        received
    }

    #[test]
    fn both_framings_are_read_and_compared() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain; x=y\r\n";
        let sized = format!("{head}Content-Length: 5\r\n\r\nhello");
        let chunked = format!(
            "{head}Transfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\nT: 1\r\n\r\n"
        );
        let received = receive(b"hello", &format!("{sized}{chunked}"));
        assert_eq!((received.uploads, received.wrong.as_deref()), (2, None));
        assert_eq!(received.shape.framing, "chunked");
        assert_eq!(received.shape.body_bytes, 5);
        let wrong = receive(b"hellO", &sized).wrong;
        assert_eq!(wrong.as_deref(), Some("the upload differs from the file at byte 4"));
        let short = receive(b"hello!", &sized).wrong;
        assert_eq!(short.as_deref(), Some("uploads 5 bytes of a file of 6"));
    }

    #[test]
    fn what_is_no_such_upload_is_told() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\n";
        let wrong = |requests: &str| receive(b"hello", requests).wrong.unwrap_or_default();
        assert_eq!(
            wrong("PUT /x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
            "asks PUT /x, not POST /"
        );
        let untyped = wrong(&format!("{head}Content-Length: 5\r\n\r\nhello"));
        assert_eq!(untyped, "Content-Type is missing, not text/plain");
        assert_eq!(wrong(&format!("{head}Content-Length: 5\r\n\r\nhe")), "the body is cut off");
        let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
        assert_eq!(wrong(&format!("{chunked}zz\r\n")), "chunk \"zz\"");
        assert_eq!(wrong(&format!("{chunked}1\r\nhe\r\n")), "a chunk is longer than it says");
        assert!(wrong("nonsense\r\n\r\n").starts_with("the request is not HTTP/1.1"));
    }
}
