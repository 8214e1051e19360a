//! The loads of a check: a plain `GET` from the generator's CPUs.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use crate::engine::{
    Addresses, Body, Expectations, Pacing, RequestSpec, RunSpec, Stop, Target, Template, TlsSpec,
};

/// Bound on one request, and on connecting.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One load.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    /// The server.
    pub(super) address: SocketAddr,
    /// The certificate to trust, for HTTPS.
    pub(super) trust: Option<&'a Path>,
    /// Connections kept open; at least one.
    pub(super) connections: u32,
    /// Closed loop, or a fixed rate.
    pub(super) pacing: Pacing,
    /// What ends the window.
    pub(super) stop: Stop,
    /// Load before it.
    pub(super) warmup: Duration,
    /// CPUs of the generator: a thread on each.
    pub(super) cpus: &'a [usize],
}

impl Load<'_> {
    /// What the engine is asked for.
    pub(super) fn spec(&self) -> RunSpec {
        let connections = NonZeroU32::new(self.connections).unwrap_or(NonZeroU32::MIN);
        let threads = self.cpus.len().min(connections.get() as usize);
        let scheme = if self.trust.is_some() { "https" } else { "http" };
        let authority = self.address.to_string();
        RunSpec {
            target: Target {
                url: format!("{scheme}://{authority}/"),
                authority,
                addresses: Addresses::Tcp(vec![self.address]),
                tls: self.trust.map(|certificate| TlsSpec {
                    server_name: self.address.ip().to_string(),
                    ca_file: Some(certificate.to_owned()),
                    ..TlsSpec::default()
                }),
            },
            request: RequestSpec {
                method: "GET".into(),
                path: Template::literal("/"),
                headers: Vec::new(),
                body: Body::None,
            },
            connections,
            threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
            pacing: self.pacing,
            stop: self.stop,
            warmup: self.warmup,
            ramp: Duration::ZERO,
            timeout: TIMEOUT,
            connect_timeout: TIMEOUT,
            drain: Duration::from_secs(2),
            keep_alive: true,
            expect: Expectations { status: vec![200], ..Expectations::default() },
            sampling: None,
            cpus: self.cpus.to_vec(),
            seed: 1,
        }
    }
}
