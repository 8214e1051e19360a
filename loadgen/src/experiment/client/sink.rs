//! The server that clients upload to, on the generator's CPUs, and what it counted.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use super::super::contender::{self, HOST};
use super::super::preflight::{self, Reach};
use super::super::prepare::SINK;
use super::super::process_group::ProcessGroup;
use super::super::trial::Setting;
use crate::scenario::Contender;

/// A running sink.
pub(super) struct Sink {
    pub(super) group: ProcessGroup,
    pub(super) command: Vec<String>,
    reach: Reach,
}

impl Sink {
    /// Starts a sink with the options that `contender` wants of it.
    ///
    /// # Errors
    /// It cannot be started, or does not answer.
    pub(super) fn start(setting: &Setting<'_>, contender: &Contender) -> Result<Self, String> {
        let port = contender::choose_port(None)?;
        let cpus = &setting.pins.generator_cpus;
        let program = setting.places.programs.get(SINK).ok_or("server-upload is not built")?;
        let mut line = vec![program.display().to_string()];
        for (option, value) in [
            ("--host", HOST.to_string()),
            ("--port", port.to_string()),
            ("--workers", cpus.len().to_string()),
        ] {
            line.extend([option.to_owned(), value]);
        }
        line.extend(contender.sink.iter().cloned());
        let mut command = Command::new(&line[0]);
        command
            .args(&line[1..])
            .env_remove("QUICK_ACK")
            .current_dir(&setting.places.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut group = ProcessGroup::spawn(command, cpus, None, None)
            .map_err(|error| format!("the sink cannot be started: {}: {error}", line[0]))?;
        let reach = Reach { address: SocketAddr::new(HOST, port), tls: None };
        group
            .wait_until_ready(|| preflight::counts(&reach))
            .map_err(|error| format!("the sink does not start: {}: {error}", line.join(" ")))?;
        Ok(Self { group, command: line, reach })
    }

    /// Its port.
    pub(super) fn port(&self) -> u16 {
        self.reach.address.port()
    }

    /// Complete uploads, and their bytes, so far.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn counts(&self) -> Result<(u64, u64), String> {
        preflight::counts(&self.reach)
    }
}
