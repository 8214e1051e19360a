//! The client reads every framing, and refuses what is not a response.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use server_contract::{Client, Framing, Response, Result, Scheme};

/// Answers one request with `answer`, in pieces of `piece` bytes, and closes.
fn ask(request: &str, answer: &'static [u8], piece: usize) -> Result<Response> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let server = thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            request.extend(byte);
        }
        // The client may have seen enough and be gone.
        let _ = answer.chunks(piece).try_for_each(|bytes| stream.write_all(bytes));
        Ok(())
    });
    let response = Client::connect(address, Scheme::Http)?.request(request);
    server.join().expect("the server panicked")?;
    response
}

fn get(answer: &'static [u8]) -> Result<Response> {
    let whole = ask("GET / HTTP/1.1\r\n\r\n", answer, usize::MAX);
    let split = ask("GET / HTTP/1.1\r\n\r\n", answer, 1);
    assert_eq!(whole.is_ok(), split.is_ok(), "{whole:?} whole, {split:?} byte by byte");
    whole
}

#[test]
fn content_length() -> Result<()> {
    let response = get(b"HTTP/1.1 200 OK\r\nContent-LENGTH: 5\r\nX: a:b \r\n\r\nhello more")?;
    assert_eq!((response.status, response.framing), (200, Framing::Length(5)));
    assert_eq!(response.body, b"hello");
    assert_eq!(response.headers[1], ("X".to_owned(), "a:b".to_owned()));
    assert_eq!(response.header("content-length"), Some("5"));
    Ok(())
}

#[test]
fn chunks_extensions_and_trailers() -> Result<()> {
    let response = get(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nETag: \"x\"\r\n\r\n")?;
    assert_eq!(response.framing, Framing::Chunked);
    assert_eq!(response.body, b"hello0123456789");
    Ok(())
}

#[test]
fn body_until_close() -> Result<()> {
    let response = get(b"HTTP/1.0 200\r\nContent-Type: Text/Plain; charset=x\r\n\r\nhello")?;
    assert_eq!((response.framing, &response.body[..]), (Framing::Close, &b"hello"[..]));
    assert_eq!(response.media_type().as_deref(), Some("text/plain"));
    Ok(())
}

#[test]
fn no_body_after_head_and_204() -> Result<()> {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
    assert_eq!(ask("HEAD / HTTP/1.1\r\n\r\n", answer, 7)?.framing, Framing::NoBody);
    assert_eq!(get(b"HTTP/1.1 204 No Content\r\n\r\n")?.framing, Framing::NoBody);
    Ok(())
}

#[test]
fn informational_responses_are_told_apart() -> Result<()> {
    let response =
        get(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    assert_eq!((&response.informational[..], &response.body[..]), (&[100, 103][..], &b"ok"[..]));
    Ok(())
}

#[test]
fn refuses_what_is_not_a_whole_response() {
    for answer in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
    ] {
        assert!(get(answer).is_err(), "accepted {}", answer.escape_ascii());
    }
}
