//! The command line every server has.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::Parser;

use crate::timeouts::Timeouts;

/// The flags of the kit, and those of the scenario.
#[derive(Debug, Parser)]
pub(crate) struct Cli<A: clap::Args> {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) scenario: A,
}

/// The flags every server has.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Address or host name to listen on
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes a free one, which is printed
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Threads that serve [default: the CPUs this process may use]
    #[arg(long, env = "WORKERS")]
    pub(crate) workers: Option<NonZeroUsize>,
    /// Certificate chain, PEM [default: certs/cert.pem of the workspace, made when missing]
    #[arg(long, env = "TLS_CERT", value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, env = "TLS_KEY", value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Folder of the data files [default: data of the workspace]
    #[arg(long, env = "DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) timeouts: TimeoutArgs,
}

impl ServerArgs {
    /// The number of workers asked for, or the CPUs this process may use: its affinity and the
    /// CPU quota of its cgroup (v1 and v2) count.
    pub(crate) fn worker_count(&self) -> usize {
        self.workers
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get)
    }
}

/// How long a client may take, in seconds.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Timeouts")]
pub(crate) struct TimeoutArgs {
    /// Seconds a TLS handshake may take
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    handshake_timeout: Duration,
    /// Seconds from the first byte of a request to the end of its head
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    head_timeout: Duration,
    /// Seconds a connection may wait for its next request
    #[arg(long, default_value = "75", value_parser = seconds, value_name = "SECONDS")]
    idle_timeout: Duration,
    /// Seconds a request body may pause, and an answer may go untaken
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    stall_timeout: Duration,
    /// Seconds that requests in flight may still take after a stop signal
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    stop_timeout: Duration,
}

impl TimeoutArgs {
    pub(crate) fn timeouts(&self) -> Timeouts {
        let defaults = Timeouts::default();
        Timeouts {
            grace: defaults.grace.min(self.stall_timeout),
            handshake: self.handshake_timeout,
            head: self.head_timeout,
            idle: self.idle_timeout,
            stall: self.stall_timeout,
            stop: self.stop_timeout,
            ..defaults
        }
    }
}

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.1..=86_400.0).contains(&seconds) {
        return Err("must be from 0.1 to 86400 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::seconds;
    use std::time::Duration;

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "0", "-1", "NaN", "inf", "1s", "1e9"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
