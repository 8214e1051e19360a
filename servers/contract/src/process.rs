//! Starts the program under test in its own process group, on a free port, and stops it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

use crate::client::{Client, Scheme};
use crate::tls;

/// How long a program may take to give its first answer, and to end once it was told to.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks at something that cannot be waited for.
const POLL: Duration = Duration::from_millis(5);
/// Below the kernel's usual ephemeral range, so that no outgoing connection takes the port.
const PORTS: std::ops::Range<u16> = 10_000..32_768;

/// A command to start: the binary itself, its arguments, and what to add to its environment.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
}

impl Program {
    /// A program by the path of its binary.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), args: Vec::new(), env: Vec::new() }
    }

    /// The path of its binary.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The command that starts it, without what [`start`](Self::start) adds.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Sets one variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Starts it with `HOST`, `PORT`, `TLS_CERT`, `TLS_KEY` and `DATA_DIR`, and waits until it
    /// answers a request.
    ///
    /// The certificate is a fresh one, the data folder is empty; both live as long as [`Running`].
    ///
    /// # Errors
    /// When it cannot be started, dies, or does not answer within 30 s; the error has its output.
    pub fn start(&self, scheme: Scheme) -> Result<Running> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.start_once(scheme) {
                Err(error) if attempts < 4 && port_was_taken(&error) => {}
                outcome => return outcome,
            }
        }
    }

    fn start_once(&self, scheme: Scheme) -> Result<Running> {
        let folder = tempfile::tempdir().context("make a temporary folder")?;
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).context("make the data folder")?;
        tls::write_certificate(&at("cert.pem"), &at("key.pem"))?;
        let (port, lock) = free_port()?;
        let child = Command::new(&self.path)
            .args(&self.args)
            .env("HOST", "127.0.0.1")
            .env("PORT", port.to_string())
            .env("TLS_CERT", at("cert.pem"))
            .env("TLS_KEY", at("key.pem"))
            .env("DATA_DIR", at("data"))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(File::create(at("stdout")).context("make a file for stdout")?)
            .stderr(File::create(at("stderr")).context("make a file for stderr")?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {}", self.path.display()))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut running = Running { child, address, scheme, folder, _lock: lock };
        running.wait_until_ready()?;
        Ok(running)
    }
}

/// A started program. Dropping it kills its process group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    address: SocketAddr,
    scheme: Scheme,
    folder: TempDir,
    /// Keeps other tests from choosing the same port while this program has it.
    _lock: File,
}

impl Running {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder it serves files from (`DATA_DIR`).
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What it wrote to stdout until now.
    #[must_use]
    pub fn stdout(&self) -> String {
        read_lossy(&self.folder.path().join("stdout"))
    }

    /// What it wrote to stderr until now.
    #[must_use]
    pub fn stderr(&self) -> String {
        read_lossy(&self.folder.path().join("stderr"))
    }

    /// A new connection to it, TLS where the scenario has it.
    ///
    /// # Errors
    /// When it cannot be reached or the handshake fails.
    pub fn connect(&self) -> Result<Client> {
        Client::connect(self.address, self.scheme)
    }

    /// Sends a signal to the process (not to its group), as a terminal or an init would.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.process()?, signal)?)
    }

    /// Its resident memory.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn resident_bytes(&self) -> Result<usize> {
        let status = fs::read_to_string(self.proc("status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        Ok(kib.context("no VmRSS")? * 1024)
    }

    /// How many file descriptors it has open.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn descriptors(&self) -> Result<usize> {
        Ok(fs::read_dir(self.proc("fd"))?.count())
    }

    /// The CPU time its threads have had so far.
    ///
    /// # Errors
    /// When the process is gone, or one of its threads ends while they are counted.
    pub fn cpu_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for thread in fs::read_dir(self.proc("task"))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            let first = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
            nanoseconds += first.context("no CPU time in schedstat")?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.pid()))
    }

    /// Waits at most 30 s for its end.
    ///
    /// # Errors
    /// When it does not end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
        bail!("it did not end within {PATIENCE:?}")
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn is_running(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    fn process(&self) -> Result<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("an impossible pid")
    }

    /// Any complete answer will do: what is right is for the contract to say.
    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                let how = status.signal().map_or(String::new(), |n| format!(" by signal {n}"));
                bail!("it ended{how} before it answered ({status}); {}", self.output());
            }
            match self.probe() {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(
                        error.context(format!("no answer within {PATIENCE:?}; {}", self.output()))
                    );
                }
                Err(_) => thread::sleep(POLL),
            }
        }
    }

    fn probe(&self) -> Result<()> {
        let mut client = self.connect()?;
        client.request("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        Ok(())
    }

    fn output(&self) -> String {
        format!("stdout: {:?}, stderr: {:?}", self.stdout(), self.stderr())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(process) = self.process() {
            // Its group may be gone already; then there is nothing to stop.
            let _ = kill_process_group(process, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Chooses a port nobody listens on, and locks it against other tests of this machine.
fn free_port() -> Result<(u16, File)> {
    let mut random = SmallRng::from_os_rng();
    for _ in 0..1_000 {
        let port = random.random_range(PORTS);
        let name = std::env::temp_dir().join(format!("server-contract-port-{port}"));
        let Ok(lock) = File::create(name) else { continue };
        if lock.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok((port, lock));
        }
    }
    bail!("no free port between {} and {}", PORTS.start, PORTS.end)
}

/// Whether a start failed because somebody took the port since it was found free.
fn port_was_taken(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}").to_lowercase();
    ["in use", "addrinuse"].iter().any(|words| text.contains(words))
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
