//! Non-blocking stream sockets: opening one, and what a read or a write came to.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};

use super::spec::Addresses;

/// The congestion control of our side where both ends are this machine. A system's default may pace
/// what it sends (BBR does), and then a timer in the kernel sets the rate of large requests instead of
/// the server. Reno does not pace, every Linux has it, and every user may choose it.
const LOOPBACK_CONGESTION: &str = "reno";

/// A socket whose connect has at least begun.
pub(crate) struct Opened {
    pub(crate) socket: OwnedFd,
    /// Already connected; otherwise it becomes writable when it is, or has failed.
    pub(crate) connected: bool,
}

/// How many addresses there are to try.
pub(crate) fn address_count(addresses: &Addresses) -> usize {
    match addresses {
        Addresses::Tcp(list) => list.len(),
        Addresses::Unix(_) => 1,
    }
}

/// Address `index` in words.
pub(crate) fn address_text(addresses: &Addresses, index: usize) -> String {
    match addresses {
        Addresses::Tcp(list) => list.get(index).map(ToString::to_string).unwrap_or_default(),
        Addresses::Unix(path) => format!("unix:{}", path.display()),
    }
}

/// Begins to connect to address `index`.
pub(crate) fn open(addresses: &Addresses, index: usize) -> Result<Opened, Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let begin = |family| socket_with(family, SocketType::STREAM, flags, None);
    let (socket, result) = match addresses {
        Addresses::Tcp(list) => {
            let address = list.get(index).ok_or(Errno::ADDRNOTAVAIL)?;
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = begin(family)?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            if address.ip().is_loopback() {
                // Best effort: without it, see `LOOPBACK_CONGESTION`, large requests may be paced.
                let _ = sockopt::set_tcp_congestion(&socket, LOOPBACK_CONGESTION);
            }
            let result = connect(&socket, address);
            (socket, result)
        }
        Addresses::Unix(path) => {
            let socket = begin(AddressFamily::UNIX)?;
            let result = connect(&socket, &SocketAddrUnix::new(path)?);
            (socket, result)
        }
    };
    match result {
        Ok(()) => Ok(Opened { socket, connected: true }),
        Err(Errno::INPROGRESS) => Ok(Opened { socket, connected: false }),
        Err(error) => Err(error),
    }
}

/// What became of a connect in progress.
pub(crate) fn connect_result(socket: &OwnedFd) -> Result<(), Errno> {
    sockopt::socket_error(socket)?
}

/// Reads once; `None` when nothing is there.
#[inline]
pub(crate) fn read(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((bytes, _)) => return Ok(Some(bytes)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes once; `None` when the kernel takes nothing now. `more` follows at once.
#[inline]
pub(crate) fn write(socket: &OwnedFd, bytes: &[u8], more: bool) -> Result<Option<usize>, Errno> {
    let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
    loop {
        match send(socket, bytes, flags) {
            Ok(written) => return Ok(Some(written)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}
