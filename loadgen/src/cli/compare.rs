//! `loadgen compare`: every scenario on every contender.

mod progress;
mod resume;
mod selection;
mod windows;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::interrupt;
use super::output::Sink;
use super::say::say;
use super::units::{
    CpuList, WorkerCount, cpu_list, cpu_share, duration, positive_duration, scale, worker_count,
};
use super::{EXIT_FAILURES, EXIT_INTERRUPTED, EXIT_OK};
use crate::check::kept;
use crate::experiment::checked::Checked;
use crate::experiment::contender::Places;
use crate::experiment::guard::Guard;
use crate::experiment::pins::{self, Pins};
use crate::experiment::record::{Comparison, Manifest};
use crate::experiment::run::{Ended, Plan};
use crate::experiment::store::{PLAN_SCHEMA, Store, StoredPlan};
use crate::experiment::trial::Setting;
use crate::experiment::verdict::Verdict;
use crate::experiment::{host, plan, prepare, probe, run as experiment};
use crate::report::compare as report;
use crate::scenario::{Profile, Suite};
use crate::utc;

pub(super) use windows::outlook;

use progress::ShownProgress;
use selection::Selection;

/// Arguments of `loadgen compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all was measured; 1 a contender was invalid, or something could not \
                  be written; 2 nothing was measured; 130 ended by a signal, what was measured is kept.\n\n\
                  Examples:\n  loadgen compare --profile smoke\n  \
                  loadgen compare --scenario hello,json --contender rust,node\n  \
                  loadgen compare --profile article --scenario fib --scale 0.02\n  \
                  loadgen compare --resume results/2026-11-30T12-00-00"
)]
pub struct Args {
    /// How long and how often is measured: `smoke` touches everything once, `quick` runs five
    /// trials of each, `article` loads as the published comparisons did (hours; see --scale and
    /// `loadgen list`); more can be named in --config
    #[arg(long, default_value = "quick")]
    profile: String,
    /// Only these scenarios, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    scenario: Vec<String>,
    /// Only these contenders, separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    contender: Vec<String>,
    /// Connections kept open, one or several numbers, instead of the scenario's own
    #[arg(short = 'c', long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..))]
    connections: Vec<u32>,
    /// Trials of each cell, each on a fresh process; from 3 there are intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    trials: Option<u32>,
    /// Length of each measured window, instead of the profile's lengths and counts
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Shorten all windows, counts of requests and lengths: 0.01 measures a hundredth; the result
    /// is marked as scaled
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = scale,
          conflicts_with = "duration")]
    scale: f64,
    /// Load before each window, which counts nowhere [default: until the rate is steady]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    warmup: Option<Duration>,
    /// Measure every contender a second time under another name: no winner must be found
    #[arg(long)]
    aa: bool,
    /// Go on with the comparison in DIR that was ended early, as it was asked for then: takes no
    /// other option
    #[arg(long, value_name = "DIR", exclusive = true)]
    resume: Option<PathBuf>,
    /// Scenarios and contenders to use instead of the built-in ones
    #[arg(long, value_name = "FILE", help_heading = "Setup")]
    config: Option<PathBuf>,
    /// Folder of the result [default: results/DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = "Setup")]
    out: Option<PathBuf>,
    /// CPUs of the contenders [default: the first half]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Setup")]
    server_cpus: Option<CpuList>,
    /// CPUs of the load generator [default: the others]
    #[arg(long, value_name = "LIST", value_parser = cpu_list, help_heading = "Setup")]
    generator_cpus: Option<CpuList>,
    /// Worker threads or processes each contender is asked to use: a number, or `all` for one on
    /// each CPU of the server; from 2 the contenders' multi-core forms (`-all`) are measured
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Setup",
          value_parser = worker_count)]
    workers: WorkerCount,
    /// CPU time each contender may use, in CPUs: 0.5 is half a CPU (needs writable cgroups)
    #[arg(long, value_name = "CPUS", help_heading = "Setup", value_parser = cpu_share)]
    cpu_quota: Option<f64>,
    /// Port every contender is given [default: a free one each time]
    #[arg(long, value_name = "PORT", help_heading = "Setup",
          value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Seed of the order of trials and of all random values [default: random]
    #[arg(long, value_name = "N", help_heading = "Setup")]
    seed: Option<u64>,
}

/// Runs the comparison.
///
/// # Errors
/// What kept it from starting, in one line.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    // First of all: from here on Ctrl-C keeps what was measured, and ends what was started.
    let stop = interrupt::install().context("cannot watch for signals")?;
    let resumed = args.resume.as_deref().map(resume::open).transpose()?;
    let (args, begun) = resumed.map_or_else(|| (args.clone(), None), |(a, b)| (a, Some(b)));
    let args = &args;
    let allowed = pins::allowed_cpus().context("which CPUs may be used")?;
    let pins = split(args, &allowed)?;
    let mut places = prepare::places(match args.workers {
        WorkerCount::All => pins.server_cpus.len(),
        WorkerCount::Exactly(count) => count,
    })?;
    let suite = Suite::load(args.config.as_deref(), &places.data)?;
    let profile = profile(args, &suite)?;
    let mut selection = Selection::new(args, suite, places.workers)?;
    let mut skipped = windows::check_quotas(args, &mut selection)?;
    skipped.extend(prepare_programs(&mut places, &mut selection)?);
    if selection.cells.is_empty() {
        bail!("nothing to measure: {}", skipped.join("; "));
    }
    say_warnings(&pins, &selection);

    let asked = StoredPlan {
        schema: PLAN_SCHEMA.into(),
        manifest: manifest(args, &selection, &places, &pins, &profile),
        host: host::describe(&allowed),
        cells: selection.cells.clone(),
        skipped,
        directory: std::env::current_dir().context("the current directory")?,
    };
    let (mut store, stored, done) = match begun {
        Some(begun) => resume::go_on(begun, &asked)?,
        None => begin(args, asked)?,
    };
    announce(&stored.manifest, &selection, &profile, store.folder());

    // Before the pinning, which it would inherit.
    let _guard = Guard::start().context("cannot start the guard of what is started")?;
    pins::pin_this_thread(&pins.generator_cpus).context("cannot pin the generator")?;
    let logs = store.logs();
    let tls = probe::tls_config(&places.cert).context("the certificate cannot be used")?;
    let (port, cpu_quota) = (args.port, args.cpu_quota);
    let setting =
        Setting { places: &places, pins: &pins, profile, cpu_quota, port, tls, logs: &logs, stop };
    let mut progress = ShownProgress::new(stored.manifest.order.len());
    let plan = Plan { suite: &selection.suite, stored, done };
    let outcome = experiment::run(plan, &setting, &mut store, &mut progress);
    let (comparison, ended) = outcome.context("cannot store the plan")?;
    let written = report::write(&comparison, store.folder());
    progress.finish(Sink::Stdout.is_terminal());
    Ok(show(&comparison, &ended, &store, &written))
}

/// A new comparison in a folder of its own.
fn begin(args: &Args, mut asked: StoredPlan) -> anyhow::Result<resume::Begun> {
    asked.manifest.check = check_of_this_machine(&asked);
    let folder = args.out.clone().unwrap_or_else(|| {
        let time = asked.manifest.started_at.trim_end_matches('Z').replace(':', "-");
        PathBuf::from("results").join(time)
    });
    let store = Store::create(&folder).with_context(|| folder.display().to_string())?;
    Ok((store, asked, Vec::new()))
}

/// The check that verdicts rest on, if there is one of this machine as it is now.
fn check_of_this_machine(asked: &StoredPlan) -> Option<Checked> {
    let manifest = &asked.manifest;
    let now = kept::Now {
        host: &asked.host,
        pins: &manifest.pins,
        trials: manifest.trials_per_cell,
        started_at: &manifest.started_at,
    };
    match kept::find(&now) {
        Ok(check) => {
            say(format_args!("This machine was {}.", check.in_words()));
            Some(check)
        }
        Err(reason) => {
            say(format_args!("Note: {reason}."));
            None
        }
    }
}

fn say_warnings(pins: &Pins, selection: &Selection) {
    if cfg!(debug_assertions) {
        say("This is a debug build of the generator: figures do not count (use --release).");
    }
    for warning in pins.warning.iter().chain(&selection.warnings) {
        say(format_args!("Warning: {warning}."));
    }
}

fn split(args: &Args, allowed: &[usize]) -> anyhow::Result<Pins> {
    let list = |list: &Option<CpuList>| list.as_ref().map(|list| list.0.clone());
    let (server, generator) = (list(&args.server_cpus), list(&args.generator_cpus));
    pins::split(allowed, pins::siblings, server.as_deref(), generator.as_deref())
        .map_err(anyhow::Error::msg)
}

fn profile(args: &Args, suite: &Suite) -> anyhow::Result<Profile> {
    let Some(profile) = suite.profiles.get(&args.profile) else {
        let known: Vec<&str> = suite.profiles.keys().map(String::as_str).collect();
        bail!("no profile {:?}; there are: {}", args.profile, known.join(", "));
    };
    Ok(Profile {
        trials: args.trials.unwrap_or(profile.trials),
        duration: args.duration.unwrap_or_else(|| profile.duration.mul_f64(args.scale)),
        warmup: args.warmup.unwrap_or(profile.warmup),
        warmup_max: args.warmup.unwrap_or(profile.warmup_max),
        ..*profile
    })
}

/// Builds servers and fetches runtimes; what cannot be had is taken out, with a line each.
fn prepare_programs(places: &mut Places, selection: &mut Selection) -> anyhow::Result<Vec<String>> {
    let programs = prepare::programs_needed(&selection.suite, selection.played());
    if !programs.is_empty() {
        say(format_args!("Building {} (cargo build --release) …", programs.join(", ")));
        places.programs = prepare::build_programs(&places.workspace, &programs)?;
    }
    let played: Vec<_> = selection.played().map(|(contender, _)| contender).collect();
    let wanted = prepare::runtimes_needed(&played);
    if !wanted.is_empty() && !prepare::is_installed(&places.runtimes) {
        say(format_args!(
            "Fetching {} (npm ci --ignore-scripts in runtimes/) …",
            wanted.join(", ")
        ));
    }
    prepare::upload_files(places, selection.scenarios())?;
    let found = prepare::runtimes(&places.runtimes, &wanted, true);
    places.runtime_binaries = found.binaries;
    selection.keep_startable(places);
    let skipped: Vec<String> = found.missing.into_iter().collect();
    for line in &skipped {
        say(format_args!("Measuring {line}"));
    }
    Ok(skipped)
}

fn manifest(
    args: &Args,
    selection: &Selection,
    places: &Places,
    pins: &Pins,
    profile: &Profile,
) -> Manifest {
    // 32 bits: every reader of JSON keeps them exactly.
    let seed = args.seed.unwrap_or_else(|| SmallRng::from_os_rng().random::<u32>().into());
    Manifest {
        version: env!("CARGO_PKG_VERSION").into(),
        git_revision: host::git_revision(&places.workspace),
        command_line: std::env::args().collect(),
        started_at: utc::now(),
        profile: args.profile.clone(),
        trials_per_cell: profile.trials,
        warmup_s: profile.warmup.as_secs_f64(),
        warmup_max_s: profile.warmup_max.as_secs_f64(),
        duration_s: profile.duration.as_secs_f64(),
        windows: windows::windows(args, selection, profile),
        scale: args.scale,
        seed,
        order: plan::order(&selection.cells, profile.trials, seed),
        ceiling: selection.suite.ceiling.clone(),
        workers: places.workers,
        cpu_quota: args.cpu_quota,
        generator_ceilings: Vec::new(),
        check: None,
        generator_threads: pins.generator_cpus.len(),
        pins: pins.clone(),
        versions: selection.versions(places),
        requests: selection
            .suite
            .scenarios
            .iter()
            .map(|scenario| (scenario.name.clone(), scenario.request_line()))
            .collect(),
        uploads: selection
            .scenarios()
            .filter_map(|scenario| Some((scenario.name.clone(), scenario.uploaded_bytes()?)))
            .collect(),
        runtimes_lock_sha256: selection::sha256_of(&places.runtimes.join("package-lock.json")),
        suite_sha256: selection::sha256(selection.suite.text.as_bytes()),
        resumed_at: Vec::new(),
    }
}

fn announce(
    manifest: &Manifest,
    selection: &Selection,
    profile: &Profile,
    folder: &std::path::Path,
) {
    let time = report::minutes(experiment::estimate(manifest, profile));
    let scaled = if manifest.is_scaled() {
        format!(
            " Scaled: counts and lengths are {} of the profile's.",
            report::percent(manifest.scale * 100.0)
        )
    } else {
        String::new()
    };
    say(format_args!(
        "{} cells (scenario × contender × connections), {} of each: about {time}.{scaled} Server on CPU {:?}, \
         generator on CPU {:?}. Results go to {}",
        selection.cells.len(),
        if profile.trials == 1 {
            "one trial".to_owned()
        } else {
            format!("{} trials", profile.trials)
        },
        manifest.pins.server_cpus,
        manifest.pins.generator_cpus,
        folder.display()
    ));
}

fn show(
    comparison: &Comparison,
    ended: &Ended,
    store: &Store,
    written: &std::io::Result<Vec<PathBuf>>,
) -> ExitCode {
    // Before any complaint: where nothing can be written, this is all that there is.
    print_tables(comparison, written.is_ok().then_some(store));
    let folder = store.folder().display();
    if let Err(error) = written {
        say(format_args!("error: cannot write the report: {error}"));
    }
    let invalid = comparison.cells.iter().any(|cell| cell.verdict == Some(Verdict::Invalid));
    ExitCode::from(match ended {
        Ended::Interrupted => EXIT_INTERRUPTED,
        Ended::Broken(reason) => {
            say(format_args!(
                "error: {reason}; when that is mended, go on with \
                 `loadgen compare --resume {folder}`"
            ));
            EXIT_FAILURES
        }
        Ended::Complete if written.is_err() => {
            say(format_args!(
                "Nothing measured is lost: `loadgen report {folder}` writes it later"
            ));
            EXIT_FAILURES
        }
        Ended::Complete if invalid => EXIT_FAILURES,
        Ended::Complete => EXIT_OK,
    })
}

fn print_tables(comparison: &Comparison, written: Option<&Store>) {
    use std::io::Write as _;
    let mut text = report::text(comparison);
    if let Some(store) = written {
        let folder = store.folder().display();
        text +=
            &format!("\nResults: {folder}/result.json, {folder}/report.md, {folder}/report.html");
    }
    // A reader that went away (`| head`) has seen enough; the files are written.
    let _ = writeln!(std::io::stdout(), "{text}");
}
