//! server-qr survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{Program, Scheme};

server_contract::robustness_tests! {
    Program::new(env!("CARGO_BIN_EXE_server-qr")),
    scheme: Scheme::Https,
    right: b"POST /qr HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18\r\n\r\n{\"urlToEmbed\":\"x\"}",
    path: "/qr",
    large_post: Some(413),
}
