//! A raw HTTP/1.1 client: sends the bytes it is given, and reads one response at a time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::tls;

/// How long one read or write may take, so that nothing hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// HTTP over TCP, or over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`
    Http,
    /// `https`, any certificate accepted
    Https,
}

/// How the end of a body was told (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none: HEAD, 204, 304.
    NoBody,
    /// `Content-Length`
    Length(u64),
    /// `Transfer-Encoding: chunked`
    Chunked,
    /// The connection was closed.
    Close,
}

/// One final response.
#[derive(Debug, Clone)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/1.0`
    pub version: String,
    /// Names as they were written, in order.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
    /// How its end was told.
    pub framing: Framing,
    /// Status codes of the 1xx responses before it.
    pub informational: Vec<u16>,
}

impl Response {
    /// The value of the first header of that name, whatever its case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The values of all headers of that name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter_map(move |(n, v)| n.eq_ignore_ascii_case(name).then_some(&**v))
    }

    /// The media type of `Content-Type` in lower case, without its parameters.
    #[must_use]
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    /// Received, and not yet part of a response.
    received: Vec<u8>,
    closed: bool,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    /// Connects, and does the handshake where there is one.
    ///
    /// # Errors
    /// When either fails, or the server chose another protocol than HTTP/1.1.
    pub fn connect(address: SocketAddr, scheme: Scheme) -> Result<Self> {
        let tcp = TcpStream::connect_timeout(&address, PATIENCE).context("connect")?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.set_write_timeout(Some(PATIENCE))?;
        let stream = match scheme {
            Scheme::Http => Stream::Plain(tcp),
            Scheme::Https => Stream::Tls(Box::new(handshake(tcp, address.ip())?)),
        };
        Ok(Self { stream, received: Vec::new(), closed: false })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the connection is gone or the server does not read for 30 s.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let writer: &mut dyn Write = match &mut self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => tls,
        };
        writer.write_all(bytes.as_ref()).and_then(|()| writer.flush()).context("send")
    }

    /// Sends one request and reads its response, also when the server answered and closed before
    /// it had read everything.
    ///
    /// # Errors
    /// When there is no complete, well-formed response.
    pub fn request(&mut self, bytes: impl AsRef<[u8]>) -> Result<Response> {
        let bytes = bytes.as_ref();
        let sent = self.send(bytes);
        let response = self.read_response(bytes.starts_with(b"HEAD "));
        match sent {
            Err(error) if response.is_err() => Err(error),
            _ => response,
        }
    }

    /// Reads one response; `to_head` says that it answers HEAD and so has no body.
    ///
    /// # Errors
    /// When the connection ends, is silent for 30 s, or sends what is not HTTP/1.x.
    pub fn read_response(&mut self, to_head: bool) -> Result<Response> {
        let mut informational = Vec::new();
        loop {
            let mut response = self.read_head()?;
            if response.status < 200 {
                informational.push(response.status);
                continue;
            }
            response.informational = informational;
            response.framing = framing(&response, to_head)?;
            response.body = match response.framing {
                Framing::NoBody => Vec::new(),
                Framing::Length(length) => self.take(usize::try_from(length)?)?,
                Framing::Chunked => self.read_chunks()?,
                Framing::Close => self.read_to_end()?,
            };
            return Ok(response);
        }
    }

    /// Whether the server has not closed the connection yet, looked at without waiting.
    ///
    /// # Errors
    /// When the connection is broken in another way than by a close or reset.
    pub fn is_open(&mut self) -> Result<bool> {
        self.look()?;
        Ok(!self.closed)
    }

    /// Whether bytes arrived that no response was read from, looked at without waiting.
    ///
    /// # Errors
    /// As [`Client::is_open`].
    pub fn has_received(&mut self) -> Result<bool> {
        self.look()?;
        Ok(!self.received.is_empty())
    }

    /// Waits for the next bytes of a response.
    ///
    /// # Errors
    /// When none come within 30 s, or the connection ends.
    pub fn wait_for_bytes(&mut self) -> Result<()> {
        while self.received.is_empty() {
            ensure!(self.fill()?, "the connection ended");
        }
        Ok(())
    }

    /// Waits until the server closes the connection; what it still sent is returned.
    ///
    /// # Errors
    /// When it stays open and silent for 30 s.
    pub fn read_to_end(&mut self) -> Result<Vec<u8>> {
        while self.fill()? {}
        Ok(std::mem::take(&mut self.received))
    }

    /// Ends the sending direction: `close_notify` where there is TLS, then FIN.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn finish_sending(&mut self) -> Result<()> {
        if let Stream::Tls(tls) = &mut self.stream {
            tls.conn.send_close_notify();
            tls.flush()?;
        }
        Ok(self.tcp().shutdown(Shutdown::Write)?)
    }

    /// The socket below, to set options on it.
    #[must_use]
    pub fn tcp(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(tcp) => tcp,
            Stream::Tls(tls) => tls.get_ref(),
        }
    }

    /// What the TLS handshake agreed on, where there is TLS.
    #[must_use]
    pub fn tls(&self) -> Option<&ClientConnection> {
        match &self.stream {
            Stream::Plain(_) => None,
            Stream::Tls(tls) => Some(&tls.conn),
        }
    }

    fn look(&mut self) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        self.tcp().set_nonblocking(true)?;
        let filled = self.read_some();
        self.tcp().set_nonblocking(false)?;
        match filled {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Reads more; false at the end of the connection.
    fn fill(&mut self) -> Result<bool> {
        if !self.closed {
            self.read_some().context("read")?;
        }
        Ok(!self.closed)
    }

    fn read_some(&mut self) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        let read = match &mut self.stream {
            Stream::Plain(tcp) => tcp.read(&mut buffer),
            Stream::Tls(tls) => tls.read(&mut buffer),
        };
        match read {
            Ok(0) => self.closed = true,
            Ok(n) => self.received.extend_from_slice(&buffer[..n]),
            // A reset, or TLS without close_notify: closed, if not politely.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionReset
                        | io::ErrorKind::BrokenPipe
                        | io::ErrorKind::UnexpectedEof
                ) =>
            {
                self.closed = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read_head(&mut self) -> Result<Response> {
        let head = self.take_until(b"\r\n\r\n", "the end of the head")?;
        let head = String::from_utf8(head).context("a head that is not UTF-8")?;
        let mut lines = head.split("\r\n");
        let status_line = lines.next().unwrap_or_default();
        let mut words = status_line.splitn(3, ' ');
        let version = words.next().unwrap_or_default().to_owned();
        ensure!(version.starts_with("HTTP/1."), "not a status line: {status_line:?}");
        let status = words.next().and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no status code: {status_line:?}"))?;
        let headers = lines
            .map(|line| {
                let (name, value) = line.split_once(':').context("a header without a colon")?;
                ensure!(!name.is_empty() && !name.contains([' ', '\t']), "header name {name:?}");
                Ok((name.to_owned(), value.trim().to_owned()))
            })
            .collect::<Result<_>>()?;
        let (body, framing) = (Vec::new(), Framing::NoBody);
        Ok(Response { status, version, headers, body, framing, informational: Vec::new() })
    }

    fn read_chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_until(b"\r\n", "the end of a chunk size")?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16)
                .with_context(|| format!("not a chunk size: {line:?}"))?;
            if size == 0 {
                while !self.take_until(b"\r\n", "the end of the trailers")?.is_empty() {}
                return Ok(body);
            }
            body.extend(self.take(size)?);
            ensure!(self.take(2)? == b"\r\n", "a chunk that does not end in CR LF");
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.received.len() < length {
            if !self.fill()? {
                bail!("truncated: {} of {length} bytes", self.received.len());
            }
        }
        let rest = self.received.split_off(length);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Takes everything before `mark`, and drops the mark.
    fn take_until(&mut self, mark: &[u8], what: &str) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = self.received.windows(mark.len()).position(|bytes| bytes == mark) {
                let taken = self.take(at)?;
                self.take(mark.len())?;
                return Ok(taken);
            }
            if !self.fill()? {
                let got = String::from_utf8_lossy(&self.received).into_owned();
                bail!("the connection ended before {what}, after {got:?}");
            }
        }
    }
}

fn handshake(tcp: TcpStream, ip: IpAddr) -> Result<StreamOwned<ClientConnection, TcpStream>> {
    let connection = ClientConnection::new(tls::client_config()?, ServerName::from(ip))?;
    let mut stream = StreamOwned::new(connection, tcp);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).context("TLS handshake")?;
    }
    match stream.conn.alpn_protocol() {
        // Bun selects nothing, and speaks HTTP/1.1.
        None | Some(b"http/1.1") => Ok(stream),
        Some(other) => bail!("ALPN selected {:?}", String::from_utf8_lossy(other)),
    }
}

fn framing(response: &Response, to_head: bool) -> Result<Framing> {
    let lengths: Vec<_> = response.all("content-length").collect();
    let encodings: Vec<_> = response.all("transfer-encoding").collect();
    ensure!(lengths.len() + encodings.len() <= 1, "more than one framing: {:?}", response.headers);
    if to_head || response.status == 204 || response.status == 304 {
        return Ok(Framing::NoBody);
    }
    if let Some(length) = lengths.first() {
        return Ok(Framing::Length(
            length.parse().with_context(|| format!("Content-Length {length:?}"))?,
        ));
    }
    match encodings.first() {
        None => Ok(Framing::Close),
        Some(encoding) if encoding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
        Some(encoding) => bail!("Transfer-Encoding {encoding:?}"),
    }
}
