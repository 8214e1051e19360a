//! A plain blocking HTTP/1.1 client for readiness and preflight: independent of the engine, so that
//! the two check each other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::engine::Exchange;
use crate::scenario::head_fields;

/// Largest answer that is read.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// One connection.
pub struct Probe {
    stream: Stream,
    unread: Vec<u8>,
    timeout: Duration,
}

enum Stream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// How an answer's body was delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// `Content-Length`.
    ContentLength(usize),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// No body is allowed (1xx, 204, 304).
    None,
    /// Up to the end of the connection.
    Close,
    /// Both `Content-Length` and `Transfer-Encoding`.
    Both,
}

/// TLS that accepts the certificate in `cert` alone, and offers HTTP/1.1.
///
/// # Errors
/// The certificate cannot be used.
pub fn tls_config(cert: &Path) -> io::Result<Arc<ClientConfig>> {
    let bad = |error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", cert.display()))
    };
    let mut roots = RootCertStore::empty();
    for cert in CertificateDer::pem_file_iter(cert).map_err(|error| bad(&error))? {
        let cert = cert.map_err(|error| bad(&error))?;
        roots.add(cert).map_err(|error| bad(&error))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl Probe {
    /// Connects, and shakes hands where `tls` is given.
    ///
    /// # Errors
    /// No connection within `timeout`.
    pub fn connect(
        address: SocketAddr,
        tls: Option<&Arc<ClientConfig>>,
        timeout: Duration,
    ) -> io::Result<Self> {
        let tcp = TcpStream::connect_timeout(&address, timeout)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(timeout))?;
        tcp.set_write_timeout(Some(timeout))?;
        let stream = match tls {
            None => Stream::Tcp(tcp),
            Some(config) => {
                let name = ServerName::from(address.ip());
                let tls =
                    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
                let mut stream = StreamOwned::new(tls, tcp);
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                Stream::Tls(Box::new(stream))
            }
        };
        Ok(Self { stream, unread: Vec::new(), timeout })
    }

    /// Sends a request and reads its whole answer.
    ///
    /// # Errors
    /// The connection failed, or the answer is not HTTP/1.x.
    pub fn exchange(&mut self, request: &[u8]) -> io::Result<(Exchange, BodyFraming)> {
        let end = Instant::now() + self.timeout;
        let written = self.stream.write_all(request).and_then(|()| self.stream.flush());
        let answer = self.read_answer(end);
        // A server may answer and close before it has read a body; then the answer says more.
        if answer.is_err() {
            written?;
        }
        let (status, head, body, framing) = answer?;
        let exchange = Exchange {
            request: request.to_vec(),
            status,
            response_head: head,
            response_body: body,
        };
        Ok((exchange, framing))
    }

    fn read_answer(&mut self, end: Instant) -> io::Result<(u16, Vec<u8>, Vec<u8>, BodyFraming)> {
        loop {
            let head_end = loop {
                if let Some(at) = find(&self.unread, b"\r\n\r\n") {
                    break at + 4;
                }
                self.fill(end)?;
            };
            let head: Vec<u8> = self.unread.drain(..head_end).collect();
            let (status, framing) = framing(&head).map_err(invalid)?;
            if (100..200).contains(&status) {
                continue;
            }
            let body = match framing {
                BodyFraming::None => Vec::new(),
                BodyFraming::ContentLength(length) => self.take(length, end)?,
                BodyFraming::Chunked | BodyFraming::Both => self.chunked(end)?,
                BodyFraming::Close => self.until_close(end)?,
            };
            return Ok((status, head, body, framing));
        }
    }

    fn take(&mut self, length: usize, end: Instant) -> io::Result<Vec<u8>> {
        if length > MAX_ANSWER {
            return Err(invalid(format!("an answer of {length} bytes is too long for a check")));
        }
        while self.unread.len() < length {
            self.fill(end)?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn line(&mut self, end: Instant) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.unread, b"\r\n") {
                let line = self.take(at, end)?;
                self.take(2, end)?;
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.fill(end)?;
        }
    }

    fn chunked(&mut self, end: Instant) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line(end)?;
            let digits = line.split(';').next().unwrap_or("").trim();
            let size = usize::from_str_radix(digits, 16)
                .map_err(|_| invalid(format!("chunk size {digits:?}")))?;
            if size == 0 {
                while !self.line(end)?.is_empty() {}
                return Ok(body);
            }
            if body.len().saturating_add(size) > MAX_ANSWER {
                return Err(invalid("the answer is too long for a check".into()));
            }
            body.extend(self.take(size, end)?);
            if !self.line(end)?.is_empty() {
                return Err(invalid("a chunk is longer than its size".into()));
            }
        }
    }

    fn until_close(&mut self, end: Instant) -> io::Result<Vec<u8>> {
        loop {
            match self.fill(end) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(std::mem::take(&mut self.unread));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, end: Instant) -> io::Result<()> {
        if Instant::now() >= end || self.unread.len() > MAX_ANSWER {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")),
            count => {
                self.unread.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }
}

impl Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// Status and framing of a response head (RFC 9112 section 6.3).
fn framing(head: &[u8]) -> Result<(u16, BodyFraming), String> {
    let fields = head_fields(head)?;
    let status = std::str::from_utf8(head.get(9..12).unwrap_or(b""))
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or("the status line has no status")?;
    let value = |name: &str| {
        let field = fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.trim())
    };
    let length = match value("content-length") {
        Some(text) => Some(text.parse().map_err(|_| format!("Content-Length is {text:?}"))?),
        None => None,
    };
    let chunked = value("transfer-encoding").is_some();
    let framing = match (length, chunked) {
        _ if (100..200).contains(&status) || status == 204 || status == 304 => BodyFraming::None,
        (Some(_), true) => BodyFraming::Both,
        (None, true) => BodyFraming::Chunked,
        (Some(length), false) => BodyFraming::ContentLength(length),
        (None, false) => BodyFraming::Close,
    };
    Ok((status, framing))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Answers each connection with `answers`, one per request.
    fn serve(answers: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            for answer in answers {
                let mut seen = Vec::new();
                let mut byte = [0];
                while !seen.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                    seen.push(byte[0]);
                }
                socket.write_all(answer.as_bytes()).unwrap();
            }
        });
        address
    }

    fn probe(address: SocketAddr) -> Probe {
        Probe::connect(address, None, Duration::from_secs(5)).unwrap()
    }

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn answers_of_every_framing_are_read_on_one_connection() {
        let address = serve(&[
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
             1;x=y\r\nh\r\n1\r\ni\r\n0\r\nT: 1\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\nhi",
        ]);
        let mut probe = probe(address);
        let framings: Vec<_> = (0..4).map(|_| probe.exchange(GET).unwrap().1).collect();
        assert_eq!(
            framings,
            [
                BodyFraming::ContentLength(2),
                BodyFraming::Chunked,
                BodyFraming::None,
                BodyFraming::Close
            ]
        );
    }

    #[test]
    fn a_truncated_answer_is_an_error() {
        let mut probe = probe(serve(&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi"]));
        let error = probe.exchange(GET).unwrap_err();
        assert_eq!(error.to_string(), "the connection was closed");
    }

    #[test]
    fn junk_is_an_error_in_words() {
        let mut probe = probe(serve(&["SSH-2.0-x\r\n\r\n"]));
        let error = probe.exchange(GET).unwrap_err().to_string();
        assert!(error.contains("not HTTP/1.1"), "{error}");
    }
}
