//! server-https survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{Program, Scheme};

server_contract::robustness_tests! {
    Program::new(env!("CARGO_BIN_EXE_server-https")),
    scheme: Scheme::Https,
    right: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    path: "/",
    large_post: Some(405),
}
