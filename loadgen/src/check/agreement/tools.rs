//! Other load generators: how each is asked for a load, and what it prints.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::Value;

use super::Sample;
use crate::experiment::exit::wait_for_exit;
use crate::experiment::procfs;

/// How much longer than its load a program may take to start and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Wrk,
    Oha,
    Bombardier,
    H2load,
    Autocannon,
}

impl Tool {
    pub(super) const ALL: [Self; 5] =
        [Self::Wrk, Self::Oha, Self::Bombardier, Self::H2load, Self::Autocannon];

    /// The name of the program.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::Oha => "oha",
            Self::Bombardier => "bombardier",
            Self::H2load => "h2load",
            Self::Autocannon => "autocannon",
        }
    }

    /// Arguments for a closed loop over `connections` for whole `seconds`, on one thread where there
    /// is a choice. `log` is a file it may write.
    fn arguments(self, url: &str, connections: u32, seconds: u64, log: &Path) -> Vec<String> {
        let log = log.display();
        let line = match self {
            Self::Wrk => format!("-t 1 -c {connections} -d {seconds}s --latency {url}"),
            Self::Oha => format!("--no-tui -c {connections} -z {seconds}s {url}"),
            Self::Bombardier => {
                format!("-c {connections} -d {seconds}s -l -p r -o json {url}")
            }
            Self::H2load => {
                format!("--h1 -t 1 -c {connections} -D {seconds} --log-file={log} {url}")
            }
            Self::Autocannon => format!("-c {connections} -d {seconds} -j -n {url}"),
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// Requests per second and p50 in µs, from what it printed and logged.
    fn parse(self, output: &str, log: &str) -> Option<(f64, f64)> {
        match self {
            Self::Wrk => wrk(output),
            Self::Oha => oha(output),
            Self::Bombardier => bombardier(output),
            Self::H2load => h2load(output, log),
            Self::Autocannon => autocannon(output),
        }
    }
}

/// The tools that are on PATH, with their files.
pub(super) fn on_path() -> Vec<(Tool, PathBuf)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |tool: Tool| {
        let files = folders.iter().map(|folder| folder.join(tool.name()));
        Some((tool, files.into_iter().find(|file| is_executable(file))?))
    };
    Tool::ALL.into_iter().filter_map(find).collect()
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// One load. The program runs on the CPUs of the calling thread, which it inherits.
///
/// # Errors
/// Why there are no figures, in one line.
pub(super) fn run(
    tool: Tool,
    program: &Path,
    address: SocketAddr,
    connections: u32,
    time: Duration,
) -> Result<Sample, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let (output, log) = (folder.path().join("output"), folder.path().join("log"));
    let url = format!("http://{address}/");
    let arguments = tool.arguments(&url, connections, time.as_secs().max(1), &log);
    let ended = to_its_end(program, &arguments, &output, time)
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let text = read(&output);
    if !ended.status.success() {
        let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        return Err(format!("{} ended with {}: {}", tool.name(), ended.status, line.trim()));
    }
    let (rate_per_s, p50_us) = tool
        .parse(&text, &read(&log))
        .ok_or_else(|| format!("the output of this {} is not understood", tool.name()))?;
    let cpu_s = ended.cpu.as_secs_f64();
    Ok(Sample {
        rate_per_s,
        p50_us,
        cpu_us_per_request: cpu_s * 1e6 / (rate_per_s * time.as_secs_f64()).max(1.0),
        busy_fraction: cpu_s / ended.took.as_secs_f64().max(1e-9),
    })
}

/// A program that ended.
struct EndedTool {
    status: ExitStatus,
    took: Duration,
    cpu: Duration,
}

fn to_its_end(
    program: &Path,
    arguments: &[String],
    output: &Path,
    time: Duration,
) -> io::Result<EndedTool> {
    let file = File::create(output)?;
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stderr(file.try_clone()?)
        .stdout(file)
        .spawn()?;
    if !wait_for_exit(Pid::from_child(&child), time + PATIENCE)? {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::other("does not end"));
    }
    let took = began.elapsed();
    // It has ended and was not waited for yet: the kernel still has its times.
    let stat = i32::try_from(child.id()).ok().and_then(procfs::process_stat);
    let ticks = stat.map_or(0, |stat| stat.user_ticks + stat.system_ticks);
    Ok(EndedTool { status: child.wait()?, took, cpu: procfs::ticks(ticks) })
}

/// `Requests/sec: 1234.5`, and `50%  2.07ms` under `Latency Distribution`.
fn wrk(output: &str) -> Option<(f64, f64)> {
    let rate = field(output, "Requests/sec:")?.parse().ok()?;
    let line = output.lines().find_map(|line| line.trim().strip_prefix("50%"))?;
    Some((rate, time_us(line.trim())?))
}

/// `Requests/sec: 1234.5`, and `50.00% in 0.0021 sec` (or `2.1 ms`).
fn oha(output: &str) -> Option<(f64, f64)> {
    let rate = field(output, "Requests/sec:")?.parse().ok()?;
    let line = output
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("50% in ") || line.starts_with("50.00% in "))?;
    let (_, time) = line.split_once(" in ")?;
    let words: Vec<&str> = time.split_ascii_whitespace().collect();
    Some((rate, time_us(&words.concat())?))
}

/// JSON with counts by class of status, the time taken, and latencies in µs.
fn bombardier(output: &str) -> Option<(f64, f64)> {
    let json: Value = serde_json::from_str(output.get(output.find('{')?..)?).ok()?;
    let result = &json["result"];
    let rate = result["req2xx"].as_f64()? / result["timeTakenSeconds"].as_f64()?;
    Some((rate, result["latency"]["percentiles"]["50"].as_f64()?))
}

/// `finished in 1.00s, 4832.00 req/s, …`; the log has start, status and µs of each request.
fn h2load(output: &str, log: &str) -> Option<(f64, f64)> {
    let line = output.lines().find(|line| line.starts_with("finished in "))?;
    let rate = line.split(", ").find_map(|part| part.strip_suffix(" req/s"))?.parse().ok()?;
    let mut times: Vec<u64> =
        log.lines().filter_map(|line| line.split('\t').nth(2)?.parse().ok()).collect();
    times.sort_unstable();
    Some((rate, *times.get(times.len().div_ceil(2).checked_sub(1)?)? as f64))
}

/// JSON with the requests answered, the duration, and latencies in whole ms.
fn autocannon(output: &str) -> Option<(f64, f64)> {
    let line = output.lines().find(|line| line.trim_start().starts_with('{'))?;
    let json: Value = serde_json::from_str(line).ok()?;
    let rate = json["2xx"].as_f64()? / json["duration"].as_f64()?;
    Some((rate, json["latency"]["p50"].as_f64()? * 1e3))
}

/// What follows a label in its line.
fn field<'a>(output: &'a str, label: &str) -> Option<&'a str> {
    output.lines().find_map(|line| line.trim().strip_prefix(label)).map(str::trim)
}

/// `12us`, `1.5ms`, `0.002secs` as µs.
fn time_us(text: &str) -> Option<f64> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit.trim() {
        "ns" => 1e-3,
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" | "sec" | "secs" => 1e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<(f64, f64)>, rate: f64, p50_us: f64) -> bool {
        found.is_some_and(|(r, p)| (r - rate).abs() < 1e-6 && (p - p50_us).abs() < 1e-6)
    }

    #[test]
    fn wrk_is_read() {
        let output = "Running 1s test @ http://127.0.0.1:1/\n  Latency Distribution\n     50%    \
            2.07ms\n     75%    2.10ms\n  4813 requests in 1.00s, 400KB read\n\
            Requests/sec:   4810.55\nTransfer/sec:    399.9KB\n";
        assert!(close(wrk(output), 4810.55, 2070.0));
        assert!(close(wrk(&output.replace("2.07ms", "354.00us")), 4810.55, 354.0));
        assert_eq!(wrk("Requests/sec: nan"), None);
    }

    #[test]
    fn oha_is_read_in_its_old_and_new_units() {
        let output = "Summary:\n  Requests/sec:\t4810.5512\n\nResponse time distribution:\n  \
            10.00% in 2.0100 ms\n  50.00% in 2.0700 ms\n";
        assert!(close(oha(output), 4810.5512, 2070.0));
        let old = "  Requests/sec:\t10.0\n  50% in 0.0021 secs\n";
        assert!(close(oha(old), 10.0, 2100.0));
    }

    #[test]
    fn bombardier_is_read() {
        let output = r#"{"spec":{"numberOfConnections":10},"result":{"bytesRead":9,
            "timeTakenSeconds":2.0,"req1xx":0,"req2xx":9600,"latency":{"mean":2080.1,
            "percentiles":{"50":2070,"75":2100}},"rps":{"mean":4800.0}}}"#;
        assert!(close(bombardier(output), 4800.0, 2070.0));
    }

    #[test]
    fn h2load_is_read_with_its_log() {
        let output = "progress: 100% done\n\nfinished in 1.00s, 4832.00 req/s, 405.63KB/s\n";
        let log = "100\t200\t2100\n101\t200\t2050\n102\t200\t2070\n";
        assert!(close(h2load(output, log), 4832.0, 2070.0));
        assert_eq!(h2load(output, ""), None);
    }

    #[test]
    fn autocannon_is_read() {
        let output = r#"{"duration":1.01,"2xx":4848,"latency":{"p50":2},"requests":{"total":9}}"#;
        assert!(close(autocannon(output), 4800.0, 2000.0));
    }

    #[test]
    fn a_program_that_fails_says_so_in_one_line() {
        let address = "127.0.0.1:9".parse().unwrap();
        let failure = |program: &str| {
            run(Tool::Wrk, Path::new(program), address, 1, Duration::ZERO).unwrap_err()
        };
        assert!(failure("/bin/false").contains("wrk ended with exit status: 1: no output"));
        assert!(failure("/bin/true").contains("output of this wrk is not understood"));
        assert!(failure("/nowhere/wrk").starts_with("/nowhere/wrk: "));
    }
}
