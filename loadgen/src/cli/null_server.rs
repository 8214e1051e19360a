//! `loadgen null-server`: the server whose rate is the generator's ceiling; started by `compare`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::EXIT_OK;
use crate::experiment::contender::HOST;
use crate::experiment::null_server::{NullServer, tls_config};

/// Arguments of `loadgen null-server`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Port on 127.0.0.1
    #[arg(long, value_name = "PORT")]
    port: u16,
    /// Bytes in the body of each answer; 0: 204 without one
    #[arg(long, value_name = "N", default_value_t = 0)]
    response_bytes: usize,
    /// Threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// PEM certificate; HTTPS if given
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// PEM key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// Serves until it is killed.
///
/// # Errors
/// The port or the certificate cannot be used.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let files = args.cert.as_ref().zip(args.key.as_ref());
    let tls = files.map(|(cert, key)| tls_config(cert, key)).transpose()?;
    let address = SocketAddr::new(HOST, args.port);
    let server =
        NullServer { address, tls, response_bytes: args.response_bytes, workers: args.workers };
    server.serve().with_context(|| address.to_string())?;
    Ok(ExitCode::from(EXIT_OK))
}
