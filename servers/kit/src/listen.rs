//! The listening socket, and who gets what it accepts.

#![expect(
    unsafe_code,
    reason = "tokio's own listener registers what it accepts with the accepting worker; AsyncFd does not"
)]

use std::{
    io,
    net::{SocketAddr, TcpListener, ToSocketAddrs as _},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::{
    io::Errno,
    net::{SocketFlags, accept_with},
};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::unix::AsyncFd;

use crate::{
    limits::{LISTEN_BACKLOG, MAX_UNSENT_BYTES},
    workers::Handle,
};

/// How long accepting waits when no file descriptor is left.
const FULL_PAUSE: Duration = Duration::from_millis(100);

/// How often being full is worth a line.
const FULL_NOTICE: Duration = Duration::from_secs(10);

/// Binds `host:port` and listens. The options of the socket are those its connections inherit.
///
/// On a loopback address, connections get a receive buffer of `loopback_receive_bytes`.
///
/// # Errors
///
/// With the address and what to do, when it does not exist or is taken.
pub(crate) fn bind(
    host: &str,
    port: u16,
    loopback_receive_bytes: Option<usize>,
) -> anyhow::Result<TcpListener> {
    let host_only = host.trim_start_matches('[').trim_end_matches(']');
    let address = (host_only, port)
        .to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .with_context(|| format!("--host {host} is no address of this machine"))?;
    let receive_bytes = loopback_receive_bytes.filter(|_| address.ip().is_loopback());
    listen(address, receive_bytes).map_err(|error| {
        if error.kind() == io::ErrorKind::AddrInUse {
            anyhow::anyhow!(
                "{address} is in use by another program; stop it, or choose another --port (0 takes a free one)"
            )
        } else {
            anyhow::anyhow!("cannot listen on {address}: {error}")
        }
    })
}

fn listen(address: SocketAddr, receive_bytes: Option<usize>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(MAX_UNSENT_BYTES)?;
    socket.set_nonblocking(true)?;
    if let Some(bytes) = receive_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    Ok(socket.into())
}

/// Lets the current runtime watch the listener.
pub(crate) fn watch(listener: TcpListener) -> io::Result<AsyncFd<TcpListener>> {
    // SAFETY: a `TcpListener` owns its descriptor and always returns the same one.
    unsafe { AsyncFd::register(listener) }.map_err(io::Error::from)
}

/// Hands connections to the worker that has the fewest, in turn where several have.
///
/// `SO_REUSEPORT` would let the kernel choose by a hash: with eight workers and 64 connections
/// the busiest then has half as many again as the average.
pub(crate) struct Dispatch {
    workers: Vec<Handle>,
    next: usize,
}

impl Dispatch {
    pub(crate) fn new(workers: Vec<Handle>) -> Self {
        Self { workers, next: 0 }
    }

    fn give(&mut self, socket: OwnedFd) {
        let count = self.workers.len();
        let chosen = (self.next..self.next + count)
            .map(|index| index % count)
            .min_by_key(|&index| self.workers[index].open())
            .unwrap_or(0);
        self.next = (chosen + 1) % count;
        self.workers[chosen].serve(socket);
    }

    /// Tells all workers to stop.
    pub(crate) fn stop(&self) {
        for worker in &self.workers {
            worker.stop();
        }
    }
}

/// Accepts and dispatches connections until dropped. Only an error of the reactor ends it.
pub(crate) async fn accept(listener: &AsyncFd<TcpListener>, dispatch: &mut Dispatch) -> io::Error {
    let mut noticed: Option<Instant> = None;
    loop {
        let mut guard = match listener.readable().await {
            Ok(guard) => guard,
            Err(error) => return error,
        };
        match accept_waiting(listener.get_ref(), dispatch) {
            Ok(()) => guard.clear_ready(),
            Err(error) => {
                if noticed.is_none_or(|at| at.elapsed() > FULL_NOTICE) {
                    noticed = Some(Instant::now());
                    eprintln!("cannot accept connections for now: {error}");
                }
                drop(guard);
                tokio::time::sleep(FULL_PAUSE).await;
            }
        }
    }
}

/// Accepts all connections that wait.
///
/// # Errors
///
/// When this process or the system has no descriptor or memory left for more.
pub(crate) fn accept_waiting(listener: &TcpListener, dispatch: &mut Dispatch) -> io::Result<()> {
    loop {
        match accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => dispatch.give(socket),
            Err(Errno::AGAIN) => return Ok(()),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                return Err(error.into());
            }
            // An error of that connection alone (accept(2), "Error handling"): the next one.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workers::Inbox;

    fn workers(count: usize) -> (Dispatch, Vec<Inbox>) {
        let (handles, inboxes) = (0..count).map(|_| Handle::new()).unzip();
        (Dispatch::new(handles), inboxes)
    }

    fn give(dispatch: &mut Dispatch, count: usize) {
        for _ in 0..count {
            dispatch.give(std::fs::File::open("/dev/null").unwrap().into());
        }
    }

    fn open(dispatch: &Dispatch) -> Vec<usize> {
        dispatch.workers.iter().map(Handle::open).collect()
    }

    #[test]
    fn connections_are_spread_evenly() {
        let (mut dispatch, _inboxes) = workers(4);
        give(&mut dispatch, 3);
        assert_eq!(open(&dispatch), [1, 1, 1, 0]);
        give(&mut dispatch, 15);
        assert_eq!(open(&dispatch), [5, 5, 4, 4]);
    }

    #[test]
    fn the_receive_buffer_is_bounded_on_loopback_alone() {
        let bytes = |host, asked| {
            let listener = bind(host, 0, asked).unwrap();
            socket2::SockRef::from(&listener).recv_buffer_size().unwrap()
        };
        let usual = bytes("127.0.0.1", None);
        // Linux doubles what it is asked for, to have room for its own bookkeeping (socket(7)).
        assert_eq!(bytes("127.0.0.1", Some(64 * 1024)), 128 * 1024);
        assert_eq!(bytes("0.0.0.0", Some(64 * 1024)), usual);
    }

    #[test]
    fn the_one_with_the_fewest_is_next() {
        let (mut dispatch, inboxes) = workers(2);
        give(&mut dispatch, 6);
        inboxes[1].closed(2);
        give(&mut dispatch, 2);
        assert_eq!(open(&dispatch), [3, 3]);
    }
}
