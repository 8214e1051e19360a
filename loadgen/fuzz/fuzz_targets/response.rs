//! Any bytes, in one piece and split anywhere, are a response or an error, and the same either way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::engine::hot::Parser;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let (first, second) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let mut parser = Parser::default();
    let whole = parser.response(&[bytes]);
    assert_eq!(parser.response(&[first, second]), whole);
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    chunked.extend_from_slice(bytes);
    let whole = parser.response(&[&chunked]);
    let each: Vec<&[u8]> = chunked.chunks(1).collect();
    assert_eq!(parser.response(&each), whole);
});
