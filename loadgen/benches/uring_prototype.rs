//! A design that was measured: io_uring with a multishot receive for each connection into buffers of
//! one ring, and all sends of a turn in one system call. Closed loop; parser, recorder and deadlines
//! are the engine's, so that only the transport differs.
//!
//! `uring_prototype ADDRESS CONNECTIONS SECONDS` prints requests, and CPU µs for each of them.

#![expect(
    unsafe_code,
    reason = "io_uring reads and writes memory that only the program knows is alive"
)]

use std::alloc::{Layout, alloc_zeroed};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};
use loadgen::engine::hot::{Parser, Recording};

const BUFFERS: u16 = 1024;
const BUFFER: usize = 4096;
const GROUP: u16 = 0;
/// In the user data of a send, which completes only when it fails.
const SEND: u64 = 1 << 32;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [address, connections, seconds] = words.as_slice() else { return Ok(()) };
    let (connections, seconds): (usize, u64) = (connections.parse()?, seconds.parse()?);
    let streams = (0..connections)
        .map(|_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    let requests = Load::new(&streams, address)?.run(Duration::from_secs(seconds))?;
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu_us = cpu.tv_sec as f64 * 1e6 + cpu.tv_nsec as f64 / 1e3;
    println!("{requests} requests, {:.2} CPU µs per request", cpu_us / requests.max(1) as f64);
    Ok(())
}

struct Load {
    ring: IoUring,
    buffers: Buffers,
    request: Vec<u8>,
    began: Instant,
    started: Vec<u64>,
    deadlines: Vec<u64>,
    partial: Vec<Vec<u8>>,
    parser: Parser,
    recording: Recording,
    requests: u64,
}

impl Load {
    fn new(streams: &[TcpStream], address: &str) -> std::io::Result<Self> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(4096)
            .build(1024)?;
        let descriptors: Vec<i32> = streams.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        let buffers = Buffers::new(&ring)?;
        Ok(Self {
            ring,
            buffers,
            request: format!(
                "GET / HTTP/1.1\r\nHost: {address}\r\nUser-Agent: loadgen/0.1.0\r\n\r\n"
            )
            .into_bytes(),
            began: Instant::now(),
            started: vec![0; streams.len()],
            deadlines: vec![0; streams.len()],
            partial: vec![Vec::new(); streams.len()],
            parser: Parser::default(),
            recording: Recording::default(),
            requests: 0,
        })
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    fn run(mut self, length: Duration) -> anyhow::Result<u64> {
        let until = length.as_nanos() as u64;
        let mut ready: Vec<u32> = (0..self.started.len() as u32).collect();
        let mut unarmed = ready.clone();
        while self.now() < until {
            for index in unarmed.drain(..) {
                let receive = opcode::RecvMulti::new(Fixed(index), GROUP).build();
                self.push(&receive.user_data(u64::from(index)))?;
            }
            for index in ready.drain(..) {
                let now = self.now();
                self.started[index as usize] = now;
                self.deadlines[index as usize] = now + 30_000_000_000;
                let length = self.request.len() as u32;
                let send = opcode::Send::new(Fixed(index), self.request.as_ptr(), length).build();
                let send = send.flags(squeue::Flags::SKIP_SUCCESS);
                self.push(&send.user_data(SEND | u64::from(index)))?;
            }
            self.ring.submit_and_wait(1)?;
            self.complete(&mut ready, &mut unarmed)?;
        }
        Ok(self.requests)
    }

    fn push(&mut self, entry: &squeue::Entry) -> anyhow::Result<()> {
        // SAFETY: the request and the buffers live as long as the ring, whose descriptors are open.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Takes what has come.
    fn complete(&mut self, ready: &mut Vec<u32>, unarmed: &mut Vec<u32>) -> anyhow::Result<()> {
        let completions = self.ring.completion();
        let now = |began: Instant| began.elapsed().as_nanos() as u64;
        for completion in completions {
            anyhow::ensure!(completion.user_data() & SEND == 0, "a send: {}", completion.result());
            let index = completion.user_data() as u32;
            if !cqueue::more(completion.flags()) {
                unarmed.push(index);
            }
            let Some(buffer) = cqueue::buffer_select(completion.flags()) else { continue };
            anyhow::ensure!(completion.result() > 0, "a receive: {}", completion.result());
            let index = index as usize;
            let bytes = self.buffers.bytes(buffer, completion.result() as usize);
            let partial = &mut self.partial[index];
            let response = if partial.is_empty() {
                self.parser.response(&[bytes])
            } else {
                self.parser.response(&[partial.as_slice(), bytes])
            };
            match response {
                Some((200, 12)) => {
                    self.recording.completed(self.started[index], now(self.began));
                    self.deadlines[index] = u64::MAX;
                    self.requests += 1;
                    partial.clear();
                    ready.push(index as u32);
                }
                Some(other) => anyhow::bail!("a wrong response: {other:?}"),
                None => partial.extend_from_slice(bytes),
            }
            self.buffers.give_back(buffer);
        }
        self.buffers.publish();
        Ok(())
    }
}

/// The ring of receive buffers.
struct Buffers {
    entries: *mut BufRingEntry,
    memory: Vec<u8>,
    tail: u16,
}

impl Buffers {
    fn new(ring: &IoUring) -> std::io::Result<Self> {
        let layout = Layout::array::<BufRingEntry>(usize::from(BUFFERS))
            .and_then(|layout| layout.align_to(4096))
            .map_err(std::io::Error::other)?;
        // SAFETY: the layout is not empty; the memory is never freed.
        let entries = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        // SAFETY: page-aligned, as long as said, and alive to the end.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(entries as u64, BUFFERS, GROUP, 0)
        }?;
        let mut buffers = Self { entries, memory: vec![0; usize::from(BUFFERS) * BUFFER], tail: 0 };
        (0..BUFFERS).for_each(|buffer| buffers.give_back(buffer));
        buffers.publish();
        Ok(buffers)
    }

    fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        &self.memory[usize::from(buffer) * BUFFER..][..length]
    }

    fn give_back(&mut self, buffer: u16) {
        // SAFETY: inside the ring; the kernel reads no entry that is not published.
        let entry = unsafe { &mut *self.entries.add(usize::from(self.tail % BUFFERS)) };
        entry.set_addr(self.memory[usize::from(buffer) * BUFFER..].as_mut_ptr() as u64);
        entry.set_len(BUFFER as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the tail is a u16 in the first entry, read by the kernel.
        unsafe { &*BufRingEntry::tail(self.entries).cast::<AtomicU16>() }
            .store(self.tail, Ordering::Release);
    }
}
