//! The program around a scenario: from the command line to the exit status.

use std::{
    convert::Infallible,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    process::ExitCode,
    thread,
};

use anyhow::Context as _;
use clap::{CommandFactory as _, FromArgMatches as _};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::{
    Scenario, Setup,
    args::{Cli, ServerArgs},
    certificate,
    connection::{self, Context},
    data, limits,
    listen::{self, Dispatch},
    shutdown::StopSignals,
    timeouts::Timeouts,
    tls,
    workers::{self, Handle, Inbox},
};

/// Runs a server until it is told to stop.
#[must_use]
pub fn run<S: Scenario>() -> ExitCode {
    let scenario = S::NAME.trim_start_matches("server-");
    let command = Cli::<S::Args>::command()
        .name(S::NAME)
        .bin_name(S::NAME)
        .about(format!("The native reference server of the {scenario} scenario"));
    let matches = command.version(env!("CARGO_PKG_VERSION")).get_matches();
    let cli = Cli::<S::Args>::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match start::<S>(&cli.server, cli.scenario) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error:#}", S::NAME);
            ExitCode::FAILURE
        }
    }
}

fn start<S: Scenario>(args: &ServerArgs, scenario_args: S::Args) -> anyhow::Result<()> {
    limits::raise_open_files();
    let setup = Setup {
        data_dir: args.data_dir.clone().unwrap_or_else(data::default_dir),
        workers: args.worker_count(),
    };
    let tls = if S::TLS { Some(acceptor(args)?) } else { None };
    let context = Context::<S> {
        scenario: Box::leak(Box::new(S::new(scenario_args, &setup)?)),
        http: Box::leak(Box::new(connection::http::<S>())),
        tls,
    };
    let listener = listen::bind(&args.host, args.port, S::LOOPBACK_RECEIVE_BYTES)?;
    let address = listener.local_addr().context("the listener has no address")?;
    let (handles, mut inboxes): (Vec<_>, Vec<_>) =
        (0..setup.workers).map(|_| Handle::new()).unzip();
    let own = inboxes.remove(0);
    let timeouts = args.timeouts.timeouts();
    let (working, ended) = mpsc::channel(1);
    let threads = inboxes
        .into_iter()
        .enumerate()
        .map(|(index, inbox)| {
            let (timeouts, working) = (timeouts.clone(), working.clone());
            thread::Builder::new()
                .name(format!("worker-{}", index + 1))
                .spawn(move || follow(inbox, context, timeouts, working))
                .context("cannot start a worker thread")
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    drop(working);
    let others = Others { dispatch: Dispatch::new(handles), ended };
    lead(listener, others, own, context, timeouts, || {
        announce::<S>(address, setup.workers);
    })?;
    for thread in threads {
        thread.join().map_err(|_| anyhow::anyhow!("a worker thread panicked"))??;
    }
    Ok(())
}

fn acceptor(args: &ServerArgs) -> anyhow::Result<&'static TlsAcceptor> {
    let files = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => certificate::Files { cert: cert.clone(), key: key.clone() },
        (None, None) => certificate::ensure(&certificate::default_dir())?,
        _ => anyhow::bail!("--cert and --key belong together: give both, or none"),
    };
    Ok(Box::leak(Box::new(TlsAcceptor::from(tls::config(&files)?))))
}

/// What a worker thread does. It holds `_working` as long as it does.
fn follow<S: Scenario>(
    inbox: Inbox,
    context: Context<S>,
    timeouts: Timeouts,
    _working: mpsc::Sender<Infallible>,
) -> anyhow::Result<()> {
    let runtime = workers::runtime().context("cannot start a worker")?;
    runtime.block_on(workers::work(inbox, context, timeouts));
    runtime.shutdown_background();
    Ok(())
}

/// The workers, as the main thread deals with them.
struct Others {
    dispatch: Dispatch,
    /// Closed when all worker threads have ended.
    ended: mpsc::Receiver<Infallible>,
}

/// What the main thread does: a worker's work, accepting, and stopping all.
fn lead<S: Scenario>(
    listener: TcpListener,
    Others { mut dispatch, mut ended }: Others,
    inbox: Inbox,
    context: Context<S>,
    timeouts: Timeouts,
    ready: impl FnOnce(),
) -> anyhow::Result<()> {
    let runtime = workers::runtime().context("cannot start a worker")?;
    let result = runtime.block_on(async {
        let mut signals = StopSignals::new().context("cannot watch signals")?;
        let work = tokio::task::spawn_local(workers::work(inbox, context, timeouts));
        let listener = listen::watch(listener).context("cannot watch the listener")?;
        ready();
        tokio::select! {
            _ = signals.next() => {}
            error = listen::accept(&listener, &mut dispatch) => {
                return Err(error).context("cannot watch the listener");
            }
        }
        // What the kernel has already accepted for us gets its answers. Out of descriptors, what
        // is left waiting is refused with the listener.
        let _ = listen::accept_waiting(listener.get_ref(), &mut dispatch);
        drop(listener);
        dispatch.stop();
        tokio::task::spawn_local(signals.exit_on_next());
        work.await.context("the first worker panicked")?;
        // Still here for a second signal while other workers have something in flight.
        ended.recv().await;
        Ok(())
    });
    runtime.shutdown_background();
    result
}

/// Says where the server is and how to try it: one line, which scripts may wait for.
fn announce<S: Scenario>(address: SocketAddr, workers: usize) {
    let scheme = if S::TLS { "https" } else { "http" };
    let own = SocketAddr::new(reachable(address.ip()), address.port());
    let command = S::TRY.replace("{url}", &format!("{scheme}://{own}"));
    let plural = if workers == 1 { "" } else { "s" };
    if cfg!(debug_assertions) {
        eprintln!("{}: debug build, its figures do not count (use --release)", S::NAME);
    }
    let mut stdout = io::stdout().lock();
    // Nobody may be listening, which is no reason not to serve.
    let _ = writeln!(
        stdout,
        "{} listening on {scheme}://{address}, {workers} worker{plural}; try: {command}",
        S::NAME
    );
    let _ = stdout.flush();
}

/// An address one can connect to, for one to listen on.
fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}
