//! The null server as a process of its own, pinned like a contender.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustls::ClientConfig;

use super::contender::{self, HOST};
use super::preflight::Reach;
use super::probe::Probe;
use super::process_group::{ProcessGroup, READY_TIMEOUT};

/// What it needs for HTTPS.
#[derive(Clone, Copy)]
pub struct TlsFiles<'a> {
    /// PEM certificate.
    pub cert: &'a Path,
    /// PEM key.
    pub key: &'a Path,
    /// TLS of a client that trusts the certificate.
    pub client: &'a Arc<ClientConfig>,
}

/// A null server that answers; it ends with this value.
pub struct NullServerProcess {
    /// How it is reached.
    pub reach: Reach,
    _group: ProcessGroup,
}

impl NullServerProcess {
    /// Starts one with a thread on each of `cpus`, whose answers have `response_bytes` bytes of body,
    /// and waits until it can be connected to.
    ///
    /// # Errors
    /// Why it does not run, in one line.
    pub fn start(
        response_bytes: usize,
        cpus: &[usize],
        tls: Option<TlsFiles<'_>>,
    ) -> Result<Self, String> {
        let port = contender::choose_port(None)?;
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let mut command = Command::new(program);
        command
            .args(["null-server", "--port", &port.to_string()])
            .args(["--response-bytes", &response_bytes.to_string()])
            .args(["--workers", &cpus.len().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(tls) = tls {
            command.args([OsStr::new("--cert"), tls.cert.as_os_str()]);
            command.args([OsStr::new("--key"), tls.key.as_os_str()]);
        }
        let mut group = ProcessGroup::spawn(command, cpus, None, None)
            .map_err(|error| format!("the built-in null server: {error}"))?;
        let reach = Reach {
            address: SocketAddr::new(HOST, port),
            tls: tls.map(|tls| Arc::clone(tls.client)),
        };
        group
            .wait_until_ready(|| Probe::connect(reach.address, reach.tls.as_ref(), READY_TIMEOUT))
            .map_err(|error| format!("the built-in null server does not start: {error}"))?;
        Ok(Self { reach, _group: group })
    }
}
