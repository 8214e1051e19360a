//! A server that does nothing but answer: what the generator reaches on it is the generator's ceiling.
//!
//! One thread for each CPU, each with a listener of its own on the same port (`SO_REUSEPORT`); a
//! request costs one receive, one send and its share of one wait. It trusts its client, which is
//! this program, and reads no more of a request than where it ends.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use memchr::memmem::Finder;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Event token of the listener.
const LISTENER: u64 = u64::MAX;
/// Bytes read at once.
const BUFFER: usize = 128 * 1024;

/// What it answers, and how.
#[derive(Clone, Debug)]
pub struct NullServer {
    /// Where it listens.
    pub address: SocketAddr,
    /// TLS, for HTTPS.
    pub tls: Option<Arc<ServerConfig>>,
    /// Bytes of the body of each answer; 0 is answered with 204.
    pub response_bytes: usize,
    /// Threads.
    pub workers: usize,
}

/// TLS with the certificate and key every contender is given.
///
/// # Errors
/// They cannot be used.
pub fn tls_config(cert: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let bad = |path: &Path, error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(cert).map_err(|error| bad(cert, &error))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|error| bad(cert, &error))?;
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, &error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key_der)
        .map_err(|error| bad(cert, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

impl NullServer {
    /// Serves until the process ends.
    ///
    /// # Errors
    /// The address cannot be listened on, or the kernel refuses to tell of events.
    pub fn serve(&self) -> io::Result<()> {
        let listeners: Vec<TcpListener> =
            (0..self.workers.max(1)).map(|_| self.listen()).collect::<Result<_, _>>()?;
        std::thread::scope(|scope| {
            let start = |listener| scope.spawn(|| self.serve_on(listener));
            let threads: Vec<_> = listeners.into_iter().map(start).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn listen(&self) -> io::Result<TcpListener> {
        use socket2::{Domain, Socket, Type};
        let socket = Socket::new(Domain::for_address(self.address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&self.address.into())?;
        socket.listen(4096)?;
        Ok(socket.into())
    }

    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its listener")]
    fn serve_on(&self, listener: TcpListener) -> io::Result<()> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let answer = answer(self.response_bytes);
        let end_of_head = Finder::new(b"\r\n\r\n");
        let mut conns: Vec<Option<Conn>> = Vec::new();
        let mut buffer = vec![0; BUFFER];
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 256];
        loop {
            let count = match epoll::wait(&epoll, &mut events[..], None) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => 0,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..count] {
                if event.data.u64() == LISTENER {
                    self.accept(&listener, &epoll, &mut conns)?;
                    continue;
                }
                let index = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                let Some(slot) = conns.get_mut(index) else { continue };
                let served =
                    slot.as_mut().map(|conn| conn.serve(&mut buffer, &end_of_head, &answer));
                // Closing the socket takes it out of the set, too.
                if !matches!(served, Some(Ok(()))) {
                    *slot = None;
                }
            }
        }
    }

    fn accept(
        &self,
        listener: &TcpListener,
        epoll: &rustix::fd::OwnedFd,
        conns: &mut Vec<Option<Conn>>,
    ) -> io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The client went away in between, or there are too many: it will see that.
                Err(_) => return Ok(()),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let session = self.tls.as_ref().map(|tls| ServerConnection::new(Arc::clone(tls)));
            let session = session.transpose().map_err(io::Error::other)?;
            let index = conns.iter().position(Option::is_none).unwrap_or_else(|| {
                conns.push(None);
                conns.len() - 1
            });
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(epoll, &stream, EventData::new_u64(index as u64), flags)?;
            conns[index] =
                Some(Conn { stream, session, requests: Requests::default(), out: Vec::new() });
        }
    }
}

/// The bytes of every answer.
fn answer(body_bytes: usize) -> Vec<u8> {
    let date = "Date: Thu, 01 Jan 1970 00:00:00 GMT";
    if body_bytes == 0 {
        return format!("HTTP/1.1 204 No Content\r\n{date}\r\n\r\n").into_bytes();
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n{date}\r\n\r\n"
    );
    let mut answer = head.into_bytes();
    answer.resize(answer.len() + body_bytes, b'x');
    answer
}

/// One connection.
struct Conn {
    stream: TcpStream,
    session: Option<ServerConnection>,
    requests: Requests,
    /// What the socket has not taken yet.
    out: Vec<u8>,
}

impl Conn {
    /// Reads what is there, and answers each request in it.
    fn serve(
        &mut self,
        buffer: &mut [u8],
        end_of_head: &Finder<'_>,
        answer: &[u8],
    ) -> io::Result<()> {
        self.flush()?;
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            match &mut self.session {
                None => {
                    for _ in 0..self.requests.completed_by(&buffer[..count], end_of_head) {
                        self.out.extend_from_slice(answer);
                    }
                }
                Some(session) => {
                    let requests = &mut self.requests;
                    serve_tls(session, &buffer[..count], requests, end_of_head, answer)?;
                    while session.wants_write() {
                        session.write_tls(&mut self.out)?;
                    }
                }
            }
            self.flush()?;
            // Less than there was room for: the socket is empty, and tells when it no longer is.
            if count < buffer.len() {
                return Ok(());
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.out.len() {
            match self.stream.write(&self.out[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.out.drain(..written);
        Ok(())
    }
}

fn serve_tls(
    session: &mut ServerConnection,
    mut received: &[u8],
    requests: &mut Requests,
    end_of_head: &Finder<'_>,
    answer: &[u8],
) -> io::Result<()> {
    let mut plain = [0; 16 * 1024];
    while !received.is_empty() {
        session.read_tls(&mut received)?;
        session.process_new_packets().map_err(io::Error::other)?;
        loop {
            match session.reader().read(&mut plain) {
                Ok(0) => break,
                Ok(count) => {
                    for _ in 0..requests.completed_by(&plain[..count], end_of_head) {
                        session.writer().write_all(answer)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Where in its requests a connection is.
#[derive(Debug, Default)]
struct Requests {
    /// A head that is not complete yet.
    head: Vec<u8>,
    /// Bytes of the body still to come.
    body_left: usize,
}

impl Requests {
    /// How many requests end within `bytes`.
    fn completed_by(&mut self, mut bytes: &[u8], end_of_head: &Finder<'_>) -> usize {
        let mut completed = 0;
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let part = self.body_left.min(bytes.len());
                self.body_left -= part;
                bytes = &bytes[part..];
                completed += usize::from(self.body_left == 0);
                continue;
            }
            let length = if self.head.is_empty() {
                let Some(end) = end_of_head.find(bytes) else {
                    self.head.extend_from_slice(bytes);
                    break;
                };
                let (head, rest) = bytes.split_at(end + 4);
                bytes = rest;
                content_length(head)
            } else {
                let before = self.head.len();
                self.head.extend_from_slice(bytes);
                let Some(end) = end_of_head.find(&self.head) else { break };
                bytes = &bytes[end + 4 - before..];
                self.head.truncate(end + 4);
                let length = content_length(&self.head);
                self.head.clear();
                length
            };
            self.body_left = length;
            completed += usize::from(length == 0);
        }
        completed
    }
}

/// `Content-Length` of a request head; 0 where there is none.
fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length:";
    let fields = head.split(|&byte| byte == b'\n');
    let value = |line: &[u8]| {
        let (name, value) = line.split_at_checked(NAME.len())?;
        name.eq_ignore_ascii_case(NAME)
            .then(|| std::str::from_utf8(value).ok()?.trim().parse().ok())?
    };
    fields.into_iter().find_map(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const POST: &[u8] = b"POST / HTTP/1.1\r\ncontent-LENGTH: 5\r\n\r\nhello";

    #[test]
    fn every_request_is_counted_once_wherever_it_is_cut() {
        let end_of_head = Finder::new(b"\r\n\r\n");
        let stream = [GET, POST, GET, POST].concat();
        for cut in 0..=stream.len() {
            let mut requests = Requests::default();
            let (one, two) = stream.split_at(cut);
            let completed =
                requests.completed_by(one, &end_of_head) + requests.completed_by(two, &end_of_head);
            assert_eq!(completed, 4, "cut at {cut}");
        }
        let mut requests = Requests::default();
        let one_by_one = stream.chunks(1).map(|byte| requests.completed_by(byte, &end_of_head));
        assert_eq!(one_by_one.sum::<usize>(), 4);
    }

    #[test]
    fn an_answer_has_the_length_it_says() {
        let answer = answer(12);
        let body = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(answer.len() - body, 12);
        assert_eq!(content_length(&answer[..body]), 12);
    }
}
