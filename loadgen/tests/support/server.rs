//! A TCP server whose answers are a function of the test, and which knows what it really saw.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::tls::Identity;

/// A request as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Its number on the server, from 0.
    pub(crate) number: u64,
    /// Head, with its blank line.
    pub(crate) head: String,
    /// Body, chunking removed.
    pub(crate) body: Vec<u8>,
    /// When its last byte was read.
    pub(crate) read_at: Instant,
}

impl Request {
    /// The request target.
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }

    /// All values of a header.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        lines
            .filter(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }
}

/// What happens to the connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for the next request.
    Keep,
    /// It is closed.
    Close,
    /// It is reset (RST).
    Reset,
}

/// A byte stream to the client.
pub(crate) trait Conn: Read + Write + Send {}
impl<T: Read + Write + Send> Conn for T {}

type Answer<'a> = dyn Fn(&Request, &mut dyn Conn) -> Next + Send + Sync + 'a;

/// What the server saw: the truth that totals are compared with.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    requests: AtomicU64,
    heads: AtomicU64,
    log: Mutex<Vec<Request>>,
    delays: Mutex<Vec<Duration>>,
    server_names: Mutex<Vec<Option<String>>>,
    stopped: AtomicBool,
}

/// A running server; it stops listening when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Seen>,
}

impl Server {
    /// Answers every request by `answer`.
    pub(crate) fn start(
        answer: impl Fn(&Request, &mut dyn Conn) -> Next + Send + Sync + 'static,
    ) -> Self {
        Self::bind("127.0.0.1:0", None, answer).unwrap()
    }

    /// The same over TLS.
    pub(crate) fn start_tls(
        identity: &Identity,
        answer: impl Fn(&Request, &mut dyn Conn) -> Next + Send + Sync + 'static,
    ) -> Self {
        Self::bind("127.0.0.1:0", Some(identity), answer).unwrap()
    }

    /// Answers every request with `bytes`, then does `next`.
    pub(crate) fn canned(bytes: impl Into<Vec<u8>>, next: Next) -> Self {
        let bytes = bytes.into();
        Self::start(move |_, conn| write(conn, &bytes, next))
    }

    /// Listens on `address`.
    pub(crate) fn bind(
        address: &str,
        identity: Option<&Identity>,
        answer: impl Fn(&Request, &mut dyn Conn) -> Next + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let tls = identity.map(Identity::server_config);
        let (for_accept, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if for_accept.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                for_accept.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, answer, tls) =
                    (Arc::clone(&for_accept), Arc::clone(&answer), tls.clone());
                spawn_small(move || serve_tcp(stream, tls, &seen, &*answer));
            }
        });
        let scheme = if identity.is_some() { "https" } else { "http" };
        Ok(Self { address, scheme, seen })
    }

    /// Listens on a unix socket, and answers with `bytes`.
    pub(crate) fn unix(path: &Path, bytes: Vec<u8>) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let seen = Arc::new(Seen::default());
        let for_accept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                for_accept.connections.fetch_add(1, Ordering::SeqCst);
                let (seen, bytes) = (Arc::clone(&for_accept), bytes.clone());
                spawn_small(move || {
                    serve(&mut stream, &seen, &|_, conn| write(conn, &bytes, Next::Keep));
                });
            }
        });
        Self { address: SocketAddr::from(([127, 0, 0, 1], 1)), scheme: "http", seen }
    }

    /// A URL of this server.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("{}://{}{target}", self.scheme, self.address)
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Connections accepted.
    pub(crate) fn connections(&self) -> u64 {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Requests read to their end.
    pub(crate) fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// Request heads read.
    pub(crate) fn heads(&self) -> u64 {
        self.seen.heads.load(Ordering::SeqCst)
    }

    /// The first thousand requests.
    pub(crate) fn log(&self) -> Vec<Request> {
        self.seen.log.lock().unwrap().clone()
    }

    /// For each request, how long this server really took from its last byte to the first of the
    /// response: no measurement of a client can be shorter.
    pub(crate) fn delays(&self) -> Vec<Duration> {
        self.seen.delays.lock().unwrap().clone()
    }

    /// The SNI of each handshake.
    pub(crate) fn server_names(&self) -> Vec<Option<String>> {
        self.seen.server_names.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.seen.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Writes a response and says what comes next.
pub(crate) fn write(conn: &mut dyn Conn, bytes: &[u8], next: Next) -> Next {
    match conn.write_all(bytes).and_then(|()| conn.flush()) {
        Ok(()) => next,
        Err(_) => Next::Close,
    }
}

fn spawn_small(work: impl FnOnce() + Send + 'static) {
    // Hundreds of connections need hundreds of threads, none of which needs much of a stack.
    let _ = std::thread::Builder::new().stack_size(128 * 1024).spawn(work);
}

fn serve_tcp(
    mut stream: TcpStream,
    tls: Option<Arc<rustls::ServerConfig>>,
    seen: &Seen,
    answer: &Answer<'_>,
) {
    let _ = stream.set_nodelay(true);
    let next = match tls {
        None => serve(&mut stream, seen, answer),
        Some(config) => {
            let mut connection = rustls::ServerConnection::new(config).unwrap();
            while connection.is_handshaking() {
                if connection.complete_io(&mut stream).is_err() {
                    return;
                }
            }
            let name = connection.server_name().map(str::to_owned);
            seen.server_names.lock().unwrap().push(name);
            let mut tls = rustls::StreamOwned::new(connection, stream);
            let next = serve(&mut tls, seen, answer);
            if next == Next::Close {
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
            stream = tls.sock;
            next
        }
    };
    if next == Next::Reset {
        let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    }
}

/// Notes when a response was begun.
struct Timed<'a> {
    conn: &'a mut dyn Conn,
    first_write: Option<Instant>,
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.conn.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.first_write.get_or_insert_with(Instant::now);
        self.conn.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.conn.flush()
    }
}

/// Answers requests until the connection ends.
fn serve(conn: &mut dyn Conn, seen: &Seen, answer: &Answer<'_>) -> Next {
    let mut buffer = Vec::new();
    loop {
        let Ok(Some((head, body))) = read_request(conn, &mut buffer, seen) else {
            return Next::Close;
        };
        let number = seen.requests.fetch_add(1, Ordering::SeqCst);
        let request = Request { number, head, body, read_at: Instant::now() };
        if number < 1000 {
            seen.log.lock().unwrap().push(request.clone());
        }
        let mut timed = Timed { conn: &mut *conn, first_write: None };
        let next = answer(&request, &mut timed);
        if let Some(at) = timed.first_write {
            seen.delays.lock().unwrap().push(at.duration_since(request.read_at));
        }
        if next != Next::Keep {
            return next;
        }
    }
}

/// Reads one request; `None` when the connection ends before its last byte.
fn read_request(
    conn: &mut dyn Conn,
    buffer: &mut Vec<u8>,
    seen: &Seen,
) -> io::Result<Option<(String, Vec<u8>)>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if !fill(conn, buffer)? {
            return Ok(None);
        }
    };
    seen.heads.fetch_add(1, Ordering::SeqCst);
    let head: Vec<u8> = buffer.drain(..head_end).collect();
    let head = String::from_utf8(head).map_err(|error| io::Error::other(error.to_string()))?;
    let lower = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if lower.contains("\r\ntransfer-encoding: chunked\r\n") {
        loop {
            let line = take_line(conn, buffer)?;
            let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
            body.extend(take(conn, buffer, size)?);
            take_line(conn, buffer)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some((_, rest)) = lower.split_once("\r\ncontent-length: ") {
        let length = rest.split("\r\n").next().unwrap_or("");
        body = take(conn, buffer, length.parse().map_err(io::Error::other)?)?;
    }
    Ok(Some((head, body)))
}

fn fill(conn: &mut dyn Conn, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 16 * 1024];
    let count = conn.read(&mut bytes)?;
    buffer.extend_from_slice(&bytes[..count]);
    Ok(count > 0)
}

fn take(conn: &mut dyn Conn, buffer: &mut Vec<u8>, count: usize) -> io::Result<Vec<u8>> {
    while buffer.len() < count {
        if !fill(conn, buffer)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..count).collect())
}

fn take_line(conn: &mut dyn Conn, buffer: &mut Vec<u8>) -> io::Result<String> {
    loop {
        if let Some(at) = buffer.windows(2).position(|window| window == b"\r\n") {
            let line = buffer.drain(..at + 2).collect();
            return String::from_utf8(line).map_err(io::Error::other);
        }
        if !fill(conn, buffer)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}
