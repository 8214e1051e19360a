//! The null server of the benchmarks: an epoll loop that answers every request head with the same
//! 76 bytes, so that the client is the only thing measured.
//!
//! `canned PORT`: listens on 127.0.0.1 until it is killed. Requests must have no body.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nHello world!";

fn main() -> std::io::Result<()> {
    let Some(port) = std::env::args().skip(1).find_map(|argument| argument.parse::<u16>().ok())
    else {
        return Ok(()); // `cargo bench` without a filter: there is nothing to measure here
    };
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener.as_fd(), EventData::new_u64(0), EventFlags::IN)?;
    let mut connections: Vec<Option<std::net::TcpStream>> = vec![None];
    let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 512];
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = epoll::wait(&epoll, &mut events[..], None)?;
        for event in &events[..count] {
            match event.data.u64() as usize {
                0 => accept(&listener, &epoll, &mut connections)?,
                index => {
                    if !answer(connections[index].as_mut(), &mut buffer) {
                        connections[index] = None;
                    }
                }
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    epoll: &OwnedFd,
    connections: &mut Vec<Option<std::net::TcpStream>>,
) -> std::io::Result<()> {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let token = EventData::new_u64(connections.len() as u64);
        epoll::add(epoll, stream.as_fd(), token, EventFlags::IN | EventFlags::ET)?;
        connections.push(Some(stream));
    }
    Ok(())
}

/// Answers the request that has come; false when the connection has ended.
fn answer(stream: Option<&mut std::net::TcpStream>, buffer: &mut [u8]) -> bool {
    let Some(stream) = stream else { return true };
    loop {
        match stream.read(buffer) {
            Ok(0) => return false,
            Ok(bytes) => {
                let heads = buffer[..bytes].windows(4).filter(|end| end == b"\r\n\r\n").count();
                for _ in 0..heads {
                    if stream.write_all(ANSWER).is_err() {
                        return false;
                    }
                }
                if bytes < buffer.len() {
                    return true;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return true,
            Err(_) => return false,
        }
    }
}
