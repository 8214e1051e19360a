//! Times the server's function against the same in C, compiled by clang and by gcc with `-O2`.
//!
//! `cargo bench -p server-fib` runs them in turn, so that all meet the same noise, and compares the
//! medians of the CPU time of one call. It exits with 1 when Rust takes more than 1.10 times what
//! clang's takes, over all N. gcc's stands beside it: it unrolls the recursion several levels deep.
//!
//! Rust's figure is that of the server itself, request and all (microseconds of milliseconds): where
//! the linker happens to put the function moves its time by a fifth, so a copy would prove nothing.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

const LIMIT: f64 = 1.10;
const ROUNDS: usize = 11;

/// One way to compute: a running server, or a compiled C program.
enum Way {
    Server(Server),
    C { compiler: &'static str, program: PathBuf },
}

impl Way {
    /// Compiles the C program, where there is such a compiler.
    fn compiled(compiler: &'static str, folder: &Path) -> Option<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fibonacci.c");
        let program = folder.join(compiler);
        let mut command = Command::new(compiler);
        command.arg("-O2").arg("-o").arg(&program).arg(source);
        let compiled = command.status().is_ok_and(|status| status.success());
        compiled.then_some(Self::C { compiler, program })
    }

    fn name(&self) -> String {
        match self {
            Self::Server(_) => "rust".to_owned(),
            Self::C { compiler, .. } => format!("{compiler} -O2"),
        }
    }

    /// The CPU time of one call.
    fn time(&self, n: u64) -> anyhow::Result<Duration> {
        match self {
            Self::Server(server) => server.time(n),
            Self::C { program, .. } => {
                let output = Command::new(program).arg(n.to_string()).output()?;
                let text = String::from_utf8(output.stdout)?;
                let nanoseconds = text.split_whitespace().next().unwrap_or_default();
                Ok(Duration::from_nanos(nanoseconds.parse()?))
            }
        }
    }
}

/// The release server, killed when dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> anyhow::Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_server-fib"))
            .args(["--host", "127.0.0.1", "--port", "0", "--workers", "1"])
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take();
        let mut server = Self { process, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout.ok_or_else(|| anyhow::anyhow!("no output"))?).read_line(&mut line)?;
        let (_, after) =
            line.split_once("http://").ok_or_else(|| anyhow::anyhow!("it said {line:?}"))?;
        let address = after.chars().take_while(|&c| c.is_ascii_digit() || ".:".contains(c));
        server.address = address.collect();
        Ok(server)
    }

    fn time(&self, n: u64) -> anyhow::Result<Duration> {
        let start = self.cpu()?;
        let mut stream = TcpStream::connect(&self.address)?;
        write!(stream, "GET /fibonacci/{n} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        anyhow::ensure!(answer.starts_with("HTTP/1.0 200 "), "the server answered {answer}");
        Ok(self.cpu()?.saturating_sub(start))
    }

    /// CPU time so far of all threads: the first field of `schedstat`, in nanoseconds.
    fn cpu(&self) -> anyhow::Result<Duration> {
        let mut total = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            total += text.split(' ').next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(total))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut ways = vec![Way::Server(Server::start()?)];
    ways.extend(["clang", "gcc"].into_iter().filter_map(|c| Way::compiled(c, folder.path())));
    let names: Vec<String> = ways.iter().map(|way| format!("{:>12}", way.name())).collect();
    println!(" n {} ms", names.concat());
    let mut totals = vec![0.0; ways.len()];
    for n in 31..=38 {
        let medians = medians(&ways, n)?;
        let cells = medians.iter().map(|ms| format!("{ms:>12.3}"));
        println!("{n:>2} {}", cells.collect::<String>());
        for (total, ms) in totals.iter_mut().zip(medians) {
            *total += ms / f64::from(1 << (n - 31)); // so that no N decides alone
        }
    }
    Ok(verdict(&ways, &totals))
}

/// The median of each way in milliseconds, run in turn.
fn medians(ways: &[Way], n: u64) -> anyhow::Result<Vec<f64>> {
    let mut times = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(way.time(n)?);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[ROUNDS / 2].as_secs_f64() * 1e3
    };
    Ok(times.iter_mut().map(median).collect())
}

/// Prints what Rust takes of the time of the others. A failure when it is more than it may.
fn verdict(ways: &[Way], totals: &[f64]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (way, total) in ways.iter().zip(totals).skip(1) {
        let ratio = totals[0] / total;
        println!("rust takes {ratio:.2} x {}", way.name());
        if way.name().starts_with("clang") && ratio > LIMIT {
            println!("which is more than {LIMIT:.2}");
            code = ExitCode::FAILURE;
        }
    }
    if ways.len() == 1 {
        println!("no C compiler to compare with (Debian: apt-get install clang gcc)");
    }
    code
}
