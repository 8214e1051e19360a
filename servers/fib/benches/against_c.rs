//! Times the scenario's function against the same in C, compiled by clang and by gcc with `-O2`.
//!
//! `cargo bench -p server-fib` runs them in turn, so that all meet the same noise, and compares the
//! medians of the CPU time of one call. It exits with 1 when Rust takes more than 1.10 times what
//! clang's takes, over all N. gcc's stands beside it: it unrolls the recursion several levels deep.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

#[path = "../src/fibonacci.rs"]
#[allow(dead_code, unused_imports, reason = "the bench uses one function of it, and runs no tests")]
mod fibonacci;

const LIMIT: f64 = 1.10;
const ROUNDS: usize = 11;

/// One way to compute: the function here, or a compiled C program.
enum Way {
    Rust,
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
            Self::Rust => "rust".to_owned(),
            Self::C { compiler, .. } => format!("{compiler} -O2"),
        }
    }

    /// The CPU time of one call.
    fn time(&self, n: u64) -> anyhow::Result<Duration> {
        match self {
            Self::Rust => {
                let start = thread_cpu();
                std::hint::black_box(fibonacci::fibonacci(n));
                Ok(thread_cpu() - start)
            }
            Self::C { program, .. } => {
                let output = Command::new(program).arg(n.to_string()).output()?;
                let text = String::from_utf8(output.stdout)?;
                let (nanoseconds, value) =
                    text.trim().split_once(' ').ok_or_else(|| anyhow::anyhow!("said {text:?}"))?;
                anyhow::ensure!(value.parse::<u64>()? == fibonacci::fibonacci(n), "wrong: {value}");
                Ok(Duration::from_nanos(nanoseconds.parse()?))
            }
        }
    }
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

fn main() -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut ways = vec![Way::Rust];
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
