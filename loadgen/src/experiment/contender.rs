//! One contender as a process: its command, its environment, and when it is ready.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cgroup::Cgroup;
use super::cpu_quota::CpuQuota;
use super::executable;
use super::process_group::ProcessGroup;
use super::procfs;
use crate::scenario::{Contender, Scenario};

/// The address every contender is given; never a name, because names mean different sockets.
pub const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The reference client.
const CLIENT: &str = "client-upload";
/// What stands for it in commands.
const CLIENT_PLACEHOLDER: &str = "{client-bin}";

/// What the placeholders of commands stand for, apart from the scenario and the port.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Root of the workspace: contenders run in it.
    pub workspace: PathBuf,
    /// The JavaScript contenders.
    pub runtimes: PathBuf,
    /// PEM certificate and key.
    pub cert: PathBuf,
    /// PEM key.
    pub key: PathBuf,
    /// Pictures and upload files.
    pub data: PathBuf,
    /// A private folder for caches.
    pub cache: PathBuf,
    /// Server workers.
    pub workers: usize,
    /// Binaries by placeholder: `node`, `deno`, `bun`.
    pub runtime_binaries: BTreeMap<String, PathBuf>,
    /// Binaries of the reference servers and clients, by package: `server-hello`.
    pub programs: BTreeMap<String, PathBuf>,
}

/// A command line with nothing left to fill in.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Environment on top of this process' own.
    pub env: BTreeMap<String, String>,
    /// Its standard output is a pipe, for a [`Drain`](super::drain::Drain).
    pub piped: bool,
}

impl Places {
    /// Fills in the command and environment of a contender.
    ///
    /// # Errors
    /// What is missing for it, in one line.
    pub fn command_line(
        &self,
        contender: &Contender,
        scenario: &Scenario,
        port: u16,
    ) -> Result<CommandLine, String> {
        let fill = |text: &String| self.fill(text, &scenario.name, port);
        let argv = contender.command.iter().map(fill).collect::<Result<_, _>>()?;
        let mut env = self.common_env(port);
        for (name, value) in &contender.env {
            env.insert(name.clone(), fill(value)?);
        }
        Ok(CommandLine { argv, env, piped: scenario.output_lines > 0 })
    }

    /// The command that tells a contender's version: the one given, or `--version` of a program of
    /// ours.
    pub fn version_command(&self, contender: &Contender, scenario: &str) -> Option<Vec<String>> {
        let command = match &contender.version {
            Some(command) => command.clone(),
            None if contender.command[0].starts_with('{') => {
                vec![contender.command[0].clone(), "--version".into()]
            }
            None => return None,
        };
        command.iter().map(|text| self.fill(text, scenario, 1).ok()).collect()
    }

    /// Fills placeholders into `text`.
    ///
    /// # Errors
    /// What is missing.
    pub fn fill(&self, text: &str, scenario: &str, port: u16) -> Result<String, String> {
        let mut filled = text.to_owned();
        for runtime in ["node", "deno", "bun"] {
            if filled.contains(&format!("{{{runtime}}}")) {
                let binary =
                    self.runtime_binaries.get(runtime).ok_or_else(|| runtime.to_owned())?;
                filled = filled.replace(&format!("{{{runtime}}}"), &binary.display().to_string());
            }
        }
        if let Some((placeholder, package)) = program_named_in(text, scenario) {
            let binary = self.programs.get(&package).ok_or(package)?;
            filled = filled.replace(placeholder, &binary.display().to_string());
        }
        let path = |path: &Path| path.display().to_string();
        for (name, value) in [
            ("{scenario}", scenario.to_owned()),
            ("{host}", HOST.to_string()),
            ("{port}", port.to_string()),
            ("{workers}", self.workers.to_string()),
            ("{workspace}", path(&self.workspace)),
            ("{runtimes}", path(&self.runtimes)),
            ("{cert}", path(&self.cert)),
            ("{key}", path(&self.key)),
            ("{data}", path(&self.data)),
        ] {
            filled = filled.replace(name, &value);
        }
        Ok(filled)
    }

    fn common_env(&self, port: u16) -> BTreeMap<String, String> {
        let path = |path: &Path| path.display().to_string();
        let entries = [
            ("HOST", HOST.to_string()),
            ("PORT", port.to_string()),
            ("WORKERS", self.workers.to_string()),
            ("TLS_CERT", path(&self.cert)),
            ("TLS_KEY", path(&self.key)),
            ("DATA_DIR", path(&self.data)),
            ("NODE_ENV", "production".into()),
            // Deno would otherwise ask its update server half a second after start.
            ("DENO_NO_UPDATE_CHECK", "1".into()),
            ("DENO_DIR", path(&self.cache.join("deno"))),
            ("NO_COLOR", "1".into()),
        ];
        entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The placeholder for a reference program in `text`, and its package: the client, the server of
/// `scenario`, or the one named in `{server-bin:NAME}`.
pub fn program_named_in<'a>(text: &'a str, scenario: &str) -> Option<(&'a str, String)> {
    if text.contains(CLIENT_PLACEHOLDER) {
        return Some((CLIENT_PLACEHOLDER, CLIENT.to_owned()));
    }
    let open = text.find("{server-bin")?;
    let placeholder = &text[open..=open + text[open..].find('}')?];
    match placeholder.strip_prefix("{server-bin")? {
        "}" => Some((placeholder, format!("server-{scenario}"))),
        named => {
            let scenario = named.strip_prefix(':')?.strip_suffix('}')?;
            Some((placeholder, format!("server-{scenario}")))
        }
    }
}

/// Files that a contender's output goes to.
#[derive(Clone, Debug)]
pub struct Logs {
    /// Standard output.
    pub stdout: PathBuf,
    /// Standard error.
    pub stderr: PathBuf,
}

/// The open files of [`Logs`].
#[derive(Debug)]
pub struct LogFiles {
    stdout: File,
    stderr: File,
}

impl Logs {
    /// Opens both, empty.
    ///
    /// # Errors
    /// One that names the file: the disk is full, or gone.
    pub fn create(&self) -> Result<LogFiles, String> {
        let create = |path: &Path| {
            File::create(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(LogFiles { stdout: create(&self.stdout)?, stderr: create(&self.stderr)? })
    }

    /// The last lines of standard error, or of standard output where that is empty.
    pub fn tail(&self) -> String {
        const LINES: usize = 12;
        const BYTES: usize = 4096;
        let tail = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(BYTES)..]);
            let lines: Vec<&str> = text.trim().lines().collect();
            lines[lines.len().saturating_sub(LINES)..].join("\n")
        };
        let stderr = tail(&self.stderr);
        if stderr.is_empty() { tail(&self.stdout) } else { stderr }
    }
}

/// What a contender may use.
#[derive(Clone, Copy, Debug)]
pub struct Allowance<'a> {
    /// The CPUs it is pinned to.
    pub cpus: &'a [usize],
    /// CPU time per time, if bounded.
    pub cpu_quota: Option<f64>,
}

/// The command of a contender: the path of its program, never a shell or a wrapper; its output goes
/// to `output`, or its standard output into a pipe.
pub fn command(line: &CommandLine, places: &Places, output: LogFiles) -> Command {
    let stdout = if line.piped { Stdio::piped() } else { Stdio::from(output.stdout) };
    let mut command = Command::new(&line.argv[0]);
    command
        .args(&line.argv[1..])
        .envs(&line.env)
        .current_dir(&places.workspace)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(output.stderr);
    command
}

/// Starts a contender.
///
/// # Errors
/// The program cannot be started, or the quota cannot be put in force.
pub fn start(command: Command, allowance: Allowance<'_>, label: &str) -> io::Result<ProcessGroup> {
    if let Some(reason) = executable::foreign(Path::new(command.get_program())) {
        return Err(io::Error::other(format!("cannot start it: {reason}")));
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let cgroup = Cgroup::create(label);
    let quota = allowance
        .cpu_quota
        .map(|cpus| CpuQuota::create(label, cpus, cgroup.as_ref()))
        .transpose()
        .map_err(io::Error::other)?;
    ProcessGroup::spawn(command, allowance.cpus, cgroup, quota).map_err(|error| {
        let message = format!("cannot start {program}: {error}");
        io::Error::new(error.kind(), message)
    })
}

/// A port nobody listens on: `asked`, or any.
///
/// # Errors
/// Somebody listens on the port that was asked for: who.
pub fn choose_port(asked: Option<u16>) -> Result<u16, String> {
    if let Some(port) = asked {
        return match strangers_on(port).as_slice() {
            [] => Ok(port),
            strangers => Err(format!(
                "port {port} is taken by {}; stop it, or choose another with --port",
                strangers.join(", ")
            )),
        };
    }
    let socket = TcpListener::bind(SocketAddr::new(HOST, 0)).map_err(|e| format!("{HOST}: {e}"))?;
    Ok(socket.local_addr().map_err(|error| error.to_string())?.port())
}

/// Who listens on `port`, in words.
fn strangers_on(port: u16) -> Vec<String> {
    let sockets = procfs::listeners().into_iter().filter(|l| l.address.port() == port);
    let name = |listener: procfs::Listener| match procfs::owners_of(listener.inode).as_slice() {
        [] => format!("a process of another user on {}", listener.address),
        pids => {
            let names =
                pids.iter().map(|&pid| format!("pid {pid} ({})", procfs::process_name(pid)));
            names.collect::<Vec<_>>().join(", ")
        }
    };
    sockets.map(name).collect()
}

/// Whether what listens on `port` belongs to `group`; an error names the stranger.
///
/// # Errors
/// Somebody else answers on the contender's port.
pub fn check_owner(port: u16, group: &ProcessGroup) -> Result<(), String> {
    let members = group.members();
    for listener in procfs::listeners().into_iter().filter(|l| l.address.port() == port) {
        let owners = procfs::owners_of(listener.inode);
        if !owners.is_empty() && !owners.iter().any(|pid| members.contains(pid)) {
            let strangers = strangers_on(port).join(", ");
            return Err(format!("{strangers} answers on port {port}, not the contender"));
        }
    }
    Ok(())
}

/// Where the processes of `group` listen, for a message.
pub fn listening_addresses(group: &ProcessGroup) -> Vec<SocketAddr> {
    let members = group.members();
    let own = |listener: &procfs::Listener| {
        procfs::owners_of(listener.inode).iter().any(|pid| members.contains(pid))
    };
    procfs::listeners().into_iter().filter(own).map(|listener| listener.address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_names_its_owner() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let message = choose_port(Some(port)).unwrap_err();
        assert!(message.contains(&format!("port {port}")), "{message}");
        assert!(message.contains(&format!("pid {}", std::process::id())), "{message}");
        assert!(choose_port(None).unwrap() > 0);
    }

    #[test]
    fn placeholders_of_commands_are_filled() {
        let mut places = Places { workers: 2, data: "/d".into(), ..Places::default() };
        assert_eq!(places.fill("{port}:{workers}{data}", "hello", 80), Ok("80:2/d".into()));
        assert_eq!(places.fill("{node}", "hello", 80), Err("node".into()));
        places.programs.insert("server-hello".into(), "/bin/x".into());
        assert_eq!(places.fill("{server-bin}", "hello", 80), Ok("/bin/x".into()));
        assert_eq!(places.fill("{server-bin:hello}", "other", 80), Ok("/bin/x".into()));
        assert_eq!(places.fill("{server-bin}", "other", 80), Err("server-other".into()));
        assert_eq!(places.fill("{client-bin}", "other", 80), Err("client-upload".into()));
    }
}
