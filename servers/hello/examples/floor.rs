//! The floor under every HTTP server on this machine: an epoll loop that only counts blank lines and
//! answers each with the same bytes.
//!
//! Like the servers it receives from all connections at hand before it sends, which costs less. It
//! parses nothing, checks nothing and never times out, so it is no server; what a request costs
//! here is what the kernel takes, and the distance of `server-hello` to it is what HTTP costs.
//! `HOST` and `PORT` (127.0.0.1:3000) say where it listens. It ends when it is killed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};

/// The bytes `server-hello` answers, with a date that stands still.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 12\r\n\
    date: Mon, 30 Nov 2026 12:00:00 GMT\r\n\r\nHello world!";

/// Epoll key of the listener; connections have their descriptor's number.
const LISTENER: u64 = u64::MAX;

struct Floor {
    epoll: std::os::fd::OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, Connection>,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Connections and how many answers each is to get.
    owed: Vec<(u64, usize)>,
}

struct Connection {
    stream: TcpStream,
    /// How many bytes of `\r\n\r\n` the input so far ends with.
    matched: usize,
}

fn main() -> std::io::Result<()> {
    let host = std::env::var("HOST").unwrap_or_else(|_| "127.0.0.1".into());
    let port = std::env::var("PORT").unwrap_or_else(|_| "3000".into());
    let listener = TcpListener::bind(format!("{host}:{port}"))?;
    println!("floor listening on http://{}", listener.local_addr()?);
    let mut floor = Floor {
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        listener,
        connections: HashMap::new(),
        input: vec![0; 64 * 1024],
        output: Vec::new(),
        owed: Vec::new(),
    };
    floor.serve()
}

impl Floor {
    fn serve(&mut self) -> std::io::Result<()> {
        self.listener.set_nonblocking(true)?;
        epoll::add(&self.epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut events), None)?;
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    key => self.receive(key),
                }
            }
            self.answer();
        }
    }

    fn accept(&mut self) -> std::io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let key = u64::from(stream.as_raw_fd().unsigned_abs());
            let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(&self.epoll, &stream, EventData::new_u64(key), flags)?;
            self.connections.insert(key, Connection { stream, matched: 0 });
        }
        Ok(())
    }

    fn receive(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        while let Ok(read) = connection.stream.read(&mut self.input) {
            if read == 0 {
                self.connections.remove(&key);
                return;
            }
            let heads = connection.count_heads(&self.input[..read]);
            if heads > 0 {
                self.owed.push((key, heads));
            }
            if read < self.input.len() {
                return; // a short read emptied the socket: epoll(7), edge-triggered
            }
        }
    }

    fn answer(&mut self) {
        for (key, heads) in self.owed.drain(..) {
            let Some(connection) = self.connections.get_mut(&key) else { continue };
            self.output.clear();
            for _ in 0..heads {
                self.output.extend_from_slice(ANSWER);
            }
            if connection.stream.write_all(&self.output).is_err() {
                self.connections.remove(&key);
            }
        }
    }
}

impl Connection {
    /// Blank lines that end in `bytes`, counting those begun before.
    fn count_heads(&mut self, bytes: &[u8]) -> usize {
        let mut heads = 0;
        for &byte in bytes {
            self.matched = match (byte, self.matched) {
                (b'\r', 2) => 3,
                (b'\r', _) => 1,
                (b'\n', 1) => 2,
                (b'\n', 3) => {
                    heads += 1;
                    0
                }
                _ => 0,
            };
        }
        heads
    }
}
