//! The contract of every scenario as tests on raw sockets, for any program that claims to keep it.
//!
//! A contract is a function such as [`hello::check`]: it starts the program, asks it everything the
//! contract says, and returns one error that names every difference. The same function judges the
//! Rust servers and the JavaScript contenders; [`Traits`] says where a program is known to differ.

pub mod case;
pub mod client;
mod embed;
pub mod expect;
pub mod fib;
pub mod hello;
pub mod json;
pub mod png;
pub mod process;
pub mod qr;
pub mod robustness;
mod tls;
pub mod traits;
pub mod upload;

pub use anyhow::{Error, Result};
pub use client::{Client, Framing, Response, Scheme};
pub use process::{Program, Running};
pub use traits::Traits;
