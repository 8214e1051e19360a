//! The Rust contender of the upload scenarios: uploads one file again and again for the time given,
//! one upload after another, and prints what it measured.

mod file;
mod measurement;
mod transport;
mod uploader;

use std::{
    io::{self, IsTerminal as _, Read as _, Write as _},
    net::{SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Parser as _;

use crate::{
    measurement::{Measurement, Result},
    uploader::Uploader,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Uploads a file again and again, and prints what it measured as one line of JSON.
///
/// The first upload opens the connection and belongs to the warm-up. `window opened` is printed when
/// the warm-up is over. The window ends with the last upload that was begun in its time.
#[derive(Debug, clap::Parser)]
#[command(version)]
struct Args {
    /// Address or host name of the server
    #[arg(long, env = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Port of the server
    #[arg(long, env = "PORT", default_value_t = 3000)]
    port: u16,
    /// The file to upload
    #[arg(long, env = "UPLOAD_FILE", value_name = "FILE")]
    file: PathBuf,
    /// Length of the measured window; 0 is one upload
    #[arg(long, env = "UPLOAD_SECONDS", value_parser = seconds, default_value = "10")]
    seconds: Duration,
    /// Uploads before it that count nowhere
    #[arg(long, env = "UPLOAD_WARMUP_SECONDS", value_parser = seconds, default_value = "1")]
    #[arg(value_name = "SECONDS")]
    warmup_seconds: Duration,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("client-upload: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        eprintln!("client-upload: debug build, its figures do not count (use --release)");
    }
    let address = resolve(&args.host, args.port)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(measure(args, address))?;
    say(&serde_json::to_string(&result)?);
    wait_for_end_of_input();
    Ok(())
}

fn resolve(host: &str, port: u16) -> anyhow::Result<SocketAddr> {
    let addresses = (host, port).to_socket_addrs();
    let first = addresses.ok().and_then(|mut addresses| addresses.next());
    first.with_context(|| format!("--host {host} is neither an address nor a known name"))
}

/// Warms up, opens the window, and measures.
async fn measure(args: &Args, address: SocketAddr) -> anyhow::Result<Result> {
    let mut uploader = Uploader::new(address, &args.file)?;
    let mut measurement = Measurement::new()?;
    let began = Instant::now();
    // Whatever keeps the first upload from succeeding will keep the others from it too.
    uploader.upload().await.with_context(|| args.file.display().to_string())?;
    measurement.warmed_up();
    while began.elapsed() < args.warmup_seconds {
        match uploader.upload().await {
            Ok(_) => measurement.warmed_up(),
            Err(error) => measurement.failed(&error),
        }
    }
    say("window opened");
    let opened = Instant::now();
    let mut before = opened;
    loop {
        let outcome = uploader.upload().await;
        let now = Instant::now();
        match outcome {
            Ok(bytes) => measurement.completed(bytes, now - before, before - opened),
            Err(error) => measurement.failed(&error),
        }
        before = now;
        if now - opened >= args.seconds {
            return Ok(measurement.result(now - opened));
        }
    }
}

/// Prints one line at once. Nobody may be reading, which is no reason not to go on.
fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Who measures this process reads its counters while it still exists, then closes its input.
fn wait_for_end_of_input() {
    let mut stdin = io::stdin().lock();
    if !stdin.is_terminal() {
        let _ = stdin.read(&mut [0]);
    }
}

/// Parses a number of seconds.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err("must be from 0 to 86400 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_be_none_but_not_less() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1_500)));
        for bad in ["", "-1", "NaN", "inf", "1s", "1e9"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
