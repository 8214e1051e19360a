//! server-upload survives hostile, slow and unlucky clients, and stops without losing an answer.

use server_contract::{Program, Scheme};

server_contract::robustness_tests! {
    Program::new(env!("CARGO_BIN_EXE_server-upload")),
    scheme: Scheme::Http,
    right: b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    path: "/",
    large_post: None, // it is read: the scenario has no limit
}
