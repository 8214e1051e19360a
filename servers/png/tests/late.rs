//! Pictures and large files that a client takes late and in pieces are whole and in order.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use server_contract::{Program, Result, Scheme};

/// Bytes of the files that are asked for in turn: answers that are sent together, that are written
/// at once, and that are streamed, each followed by each.
const SIZES: [usize; 7] = [12_000, 300_001, 12_000, 12_000, 700_000, 40_000, 12_000];

/// How often all of them are asked for, before an answer is read: more than sockets hold.
const TIMES: usize = 8;

/// Longer than an idle connection keeps its buffers. A server that took this one for idle would
/// show nothing of it outside, so there is nothing to wait for but the time.
const PAUSE: Duration = Duration::from_millis(1600);

#[test]
fn answers_taken_late_and_in_pieces_are_whole_and_in_order() -> Result<()> {
    let data = tempfile::tempdir()?;
    for size in SIZES {
        fs::write(data.path().join(format!("{size}.bin")), content(size))?;
    }
    let program = Program::new(env!("CARGO_BIN_EXE_server-png")).env("DATA_DIR", data.path());
    let running = program.start(Scheme::Http)?;
    let address = running.address();
    thread::scope(|scope| {
        let clients: Vec<_> =
            [1_000, 30_000, 100_000, 250_000, 400_000, 650_000, 800_000, 1_000_000]
                .map(|piece| scope.spawn(move || take_late(address, piece)))
                .into();
        clients.into_iter().try_for_each(|client| client.join().expect("a client panicked"))
    })
}

/// Asks for everything, then takes a piece, and after a pause the rest. (Five seconds without
/// progress are too many: the server gives up.)
fn take_late(address: SocketAddr, piece: usize) -> Result<()> {
    let mut client = TcpStream::connect(address)?;
    for _ in 0..TIMES {
        for size in SIZES {
            write!(client, "GET /{size}.bin HTTP/1.1\r\nHost: x\r\n\r\n")?;
        }
    }
    client.write_all(b"GET /12000.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    thread::sleep(PAUSE);
    let mut all = vec![0; piece];
    client.read_exact(&mut all)?;
    thread::sleep(PAUSE);
    client.read_to_end(&mut all)?;
    let mut rest = &all[..];
    for (nth, size) in SIZES.repeat(TIMES).into_iter().chain([12_000]).enumerate() {
        let head = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let body = head.map(|end| end + 4).filter(|_| rest.starts_with(b"HTTP/1.1 200 OK\r\n"));
        let Some(body) = body else { panic!("pieces of {piece}: no head of answer {nth}") };
        let end = body + size;
        assert!(rest.len() >= end, "pieces of {piece}: answer {nth} is cut");
        assert!(rest[body..end] == content(size), "pieces of {piece}: answer {nth} is another");
        rest = &rest[end..];
    }
    assert!(rest.is_empty(), "pieces of {piece}: {} bytes too many", rest.len());
    Ok(())
}

/// Bytes that are nowhere the same for long.
fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect()
}
