//! From arguments to what the engine is asked for: every check that needs no connection.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use anyhow::{Context, bail};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

use super::args::{Args, TlsVersionArg};
use super::request::{expected_header, request};
use super::url::Url;
use crate::engine::{Addresses, Expectations, Pacing, RunSpec, Stop, Target, TlsSpec, TlsVersion};

/// Default of `-d`.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// How long responses still in flight at the end are waited for; a shorter `--timeout` wins.
const DRAIN: Duration = Duration::from_secs(1);

/// A run, checked.
pub(super) struct Plan {
    /// What the engine is asked for.
    pub(super) spec: RunSpec,
    /// Whether the request has placeholders, so that the seed matters.
    pub(super) seeded: bool,
}

/// Checks the arguments against each other and builds the run.
///
/// # Errors
/// One line that says what is wrong and what would be right.
pub(super) fn plan(args: &Args) -> anyhow::Result<Plan> {
    let url = Url::parse(&args.url)?;
    refuse_tls_options_without_tls(args, &url)?;
    let (request, seeded) = request(args, &url)?;
    if args.seed.is_some() && !seeded {
        bail!("--seed does nothing here: the request has no {{uuid}}, {{seq}} or {{rand:N}}");
    }
    let cpus = cpus(args)?;
    let threads = threads(args, cpus.len())?;
    let expect = Expectations {
        status: args.expect_status.as_ref().map(|codes| codes.0.clone()).unwrap_or_default(),
        length: args.expect_length,
        headers: args
            .expect_header
            .iter()
            .map(|text| expected_header(text))
            .collect::<anyhow::Result<_>>()?,
        body_sha256: args.expect_body_sha256.map(|digest| digest.0),
    };
    let spec = RunSpec {
        target: target(args, &url)?,
        request,
        connections: args.connections,
        threads,
        pacing: args.rate.map_or(Pacing::Closed, |per_second| Pacing::Rate { per_second }),
        stop: match args.requests {
            Some(requests) => Stop::Requests(requests),
            None => Stop::Duration(args.duration.unwrap_or(DEFAULT_DURATION)),
        },
        warmup: args.warmup,
        ramp: args.ramp,
        timeout: args.timeout,
        connect_timeout: args.connect_timeout,
        drain: DRAIN.min(args.timeout),
        keep_alive: !args.no_keepalive,
        expect,
        sampling: None,
        cpus,
        // 32 bits, so that every JSON reader keeps the number.
        seed: args.seed.unwrap_or_else(|| SmallRng::from_os_rng().next_u32().into()),
    };
    Ok(Plan { spec, seeded })
}

fn refuse_tls_options_without_tls(args: &Args, url: &Url) -> anyhow::Result<()> {
    if url.tls {
        return Ok(());
    }
    let given = [
        ("-k", args.insecure),
        ("--cacert", args.cacert.is_some()),
        ("--cert", args.cert.is_some()),
        ("--sni", args.sni.is_some()),
        ("--tls-version", args.tls_version.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!("{flag} does nothing with http://: use https://, or leave it out"),
        None => Ok(()),
    }
}

fn target(args: &Args, url: &Url) -> anyhow::Result<Target> {
    let addresses = match &args.unix {
        Some(path) => Addresses::Unix(path.clone()),
        None => Addresses::Tcp(resolve(url)?),
    };
    let tls = url.tls.then(|| tls(args, url)).transpose()?;
    Ok(Target { url: url.display(), authority: url.authority.clone(), addresses, tls })
}

/// All addresses of the host, in the resolver's order, each once.
fn resolve(url: &Url) -> anyhow::Result<Vec<SocketAddr>> {
    if let Some(ip) = url.ip() {
        return Ok(vec![SocketAddr::new(ip, url.port)]);
    }
    let mut addresses = Vec::new();
    let found = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .with_context(|| format!("cannot resolve host `{}`", url.host))?;
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() {
        bail!("host `{}` has no address", url.host);
    }
    Ok(addresses)
}

fn tls(args: &Args, url: &Url) -> anyhow::Result<TlsSpec> {
    if let Some(name) = &args.sni
        && name.parse::<IpAddr>().is_ok()
    {
        bail!("--sni {name}: an address is never sent as SNI, only a name is");
    }
    let files = [("--cacert", &args.cacert), ("--cert", &args.cert), ("--key", &args.key)];
    for (flag, path) in files {
        if let Some(path) = path {
            std::fs::File::open(path)
                .and_then(|mut file| std::io::Read::read(&mut file, &mut [0]))
                .with_context(|| format!("{flag}: cannot read {}", path.display()))?;
        }
    }
    Ok(TlsSpec {
        server_name: args.sni.clone().unwrap_or_else(|| url.host.clone()),
        insecure: args.insecure,
        ca_file: args.cacert.clone(),
        client_identity: args.cert.clone().zip(args.key.clone()),
        version: args.tls_version.map(|version| match version {
            TlsVersionArg::V1_2 => TlsVersion::V1_2,
            TlsVersionArg::V1_3 => TlsVersion::V1_3,
        }),
    })
}

fn cpus(args: &Args) -> anyhow::Result<Vec<usize>> {
    let Some(list) = &args.cpus else { return Ok(Vec::new()) };
    let allowed =
        rustix::thread::sched_getaffinity(None).context("cannot read the CPU affinity")?;
    let may_use = |cpu: usize| cpu < rustix::thread::CpuSet::MAX_CPU && allowed.is_set(cpu);
    if let Some(cpu) = list.0.iter().find(|cpu| !may_use(**cpu)) {
        let usable = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| may_use(*cpu));
        let usable = usable.map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",");
        bail!("--cpus: CPU {cpu} is not one that this process may use ({usable})");
    }
    Ok(list.0.clone())
}

/// `-t`, or one thread for each of `--cpus`, or half of the CPUs: a server on the same machine
/// needs the other half.
fn threads(args: &Args, cpus: usize) -> anyhow::Result<NonZeroUsize> {
    let connections = args.connections;
    match args.threads {
        Some(threads) if threads.get() > connections.get() as usize => {
            bail!("-t {threads} is more than the connections (-c {connections})")
        }
        Some(threads) if threads.get() < cpus => {
            bail!("-t {threads} leaves some of the {cpus} CPUs of --cpus unused")
        }
        Some(threads) => Ok(threads),
        None if cpus > connections.get() as usize => {
            bail!("--cpus names {cpus} CPUs for -c {connections}: some would be unused")
        }
        None => Ok(default_threads(connections, cpus)),
    }
}

fn default_threads(connections: NonZeroU32, cpus: usize) -> NonZeroUsize {
    let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if cpus > 0 { cpus } else { available / 2 };
    NonZeroUsize::new(threads.min(connections.get() as usize)).unwrap_or(NonZeroUsize::MIN)
}
