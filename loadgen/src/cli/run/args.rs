//! The arguments of `loadgen run`, and its help.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;

use crate::cli::output::Output;
use crate::cli::units::{self, CpuList};

const AFTER_HELP: &str = "\
Without --rate the loop is closed: each connection sends its next request when the response to the
last one is complete. With --rate it is open: requests are due at fixed times, whether the server
keeps up or not, and response time counts from the moment a request was due.

Times are written 500ms, 2s, 1.5s, 1m or 1h; a bare number is seconds.

Placeholders make every request different; they work in path and query, header values and -b (a file
is sent as it is):
  {uuid}    a random UUID
  {seq}     0, 1, 2, ... over the whole run
  {rand:N}  N random characters of A-Z a-z 0-9 - _

There is no --pipeline: HTTP clients do not pipeline, and the time that a request waits behind
others on its connection is not the server's. Use more connections instead.

A name is resolved once, before the run; its addresses are tried in order. The URL is sent as
written: only spaces and non-ASCII are percent-encoded and the fragment is left out. user:password@
in it is sent as Authorization: Basic. Host and User-Agent are sent unless given with -H, and
nothing else. A request is never repeated silently: what failed is counted.

Exit status:
  0    all requests completed and were right
  1    some requests or connects failed, or the result could not be written
  2    nothing was sent: bad arguments, unreadable file, unknown host, limit of this machine
  3    no request completed
  130  ended at once by a second Ctrl-C; the first ends the run and reports what was measured

Examples:
  loadgen run http://127.0.0.1:3000/
  loadgen run -c 300 -n 1000000 --warmup 2s http://127.0.0.1:3000/
  loadgen run -k -H 'Content-Type: application/json' \\
      -b '{\"urlToEmbed\":\"https://example.com/{rand:45}\"}' https://127.0.0.1:3000/qr
  loadgen run --rate 5000 -d 1m --format json -o result.json http://127.0.0.1:3000/";

/// Arguments of `loadgen run`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = AFTER_HELP, disable_help_flag = true)]
pub struct Args {
    /// Address to load: http://HOST[:PORT][/PATH][?QUERY] or https://…
    #[arg(value_name = "URL")]
    pub url: String,

    /// Connections, kept open over the whole run
    #[arg(short = 'c', long, value_name = "N", value_parser = units::count::<NonZeroU32>, default_value = "50", help_heading = "Load")]
    pub connections: NonZeroU32,
    /// Send exactly N requests
    #[arg(short = 'n', long, value_name = "N", value_parser = units::count::<NonZeroU64>, conflicts_with = "duration", help_heading = "Load")]
    pub requests: Option<NonZeroU64>,
    /// Send requests for this long [default: 10s]
    #[arg(short = 'd', long, value_name = "TIME", value_parser = units::positive_duration, help_heading = "Load")]
    pub duration: Option<Duration>,
    /// Requests per second over all connections, at fixed times (open loop)
    #[arg(short = 'r', long, value_name = "R", value_parser = units::rate, help_heading = "Load")]
    pub rate: Option<f64>,
    /// Load for this long before measuring; counted nowhere else
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0s", help_heading = "Load")]
    pub warmup: Duration,
    /// Wait this long between opening one connection and the next
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "0s", help_heading = "Load")]
    pub ramp: Duration,
    /// Open a new connection for every request
    #[arg(long, help_heading = "Load")]
    pub no_keepalive: bool,
    /// Longest time of a request, from its first byte to the last of the response
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration, default_value = "30s", help_heading = "Load")]
    pub timeout: Duration,
    /// Longest time to connect, TLS handshake included
    #[arg(long, value_name = "TIME", value_parser = units::positive_duration, default_value = "5s", help_heading = "Load")]
    pub connect_timeout: Duration,

    /// Request method [default: GET, or POST with a body]
    #[arg(short = 'm', long, value_name = "METHOD", value_parser = units::method, help_heading = "Request")]
    pub method: Option<String>,
    /// Header to send; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", help_heading = "Request")]
    pub headers: Vec<String>,
    /// Body text to send
    #[arg(
        short = 'b',
        long,
        value_name = "TEXT",
        conflicts_with = "body_file",
        help_heading = "Request"
    )]
    pub body: Option<String>,
    /// File whose bytes are the body, sent as they are; - is standard input
    #[arg(short = 'f', long, value_name = "FILE", help_heading = "Request")]
    pub body_file: Option<PathBuf>,
    /// Send the body chunked instead of with Content-Length
    #[arg(long, help_heading = "Request")]
    pub chunked: bool,
    /// Seed of the random placeholders [default: random, shown in the result]
    #[arg(long, value_name = "N", help_heading = "Request")]
    pub seed: Option<u64>,

    /// Right status codes: 200, 200,404, 2xx [default: any 2xx or 3xx]
    #[arg(long, value_name = "CODES", value_parser = units::status_codes, help_heading = "Right response")]
    pub expect_status: Option<units::StatusCodes>,
    /// Right body length in bytes
    #[arg(long, value_name = "BYTES", help_heading = "Right response")]
    pub expect_length: Option<u64>,
    /// Header that must be there, with this value if one is given; may be repeated
    #[arg(long, value_name = "NAME[: VALUE]", help_heading = "Right response")]
    pub expect_header: Vec<String>,
    /// SHA-256 of the right body, in hexadecimal
    #[arg(long, value_name = "HEX", value_parser = units::sha256, help_heading = "Right response")]
    pub expect_body_sha256: Option<units::Sha256>,

    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert", help_heading = "TLS and address")]
    pub insecure: bool,
    /// Trust the certificates in this PEM file and no others
    #[arg(long, value_name = "FILE", help_heading = "TLS and address")]
    pub cacert: Option<PathBuf>,
    /// Client certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS and address")]
    pub cert: Option<PathBuf>,
    /// Key of the client certificate, PEM
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS and address")]
    pub key: Option<PathBuf>,
    /// Server name for SNI and the certificate [default: host of the URL]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "TLS and address")]
    pub sni: Option<String>,
    /// Only this TLS version
    #[arg(long, value_name = "VERSION", value_enum, help_heading = "TLS and address")]
    pub tls_version: Option<TlsVersionArg>,
    /// Connect to this unix socket; the URL only names the request
    #[arg(long, value_name = "PATH", help_heading = "TLS and address")]
    pub unix: Option<PathBuf>,

    /// Threads that send [default: half of the CPUs, or one for each of --cpus]
    #[arg(short = 't', long, value_name = "N", value_parser = units::count::<NonZeroUsize>, help_heading = "Generator")]
    pub threads: Option<NonZeroUsize>,
    /// CPUs the threads are pinned to: 0, 0,2 or 0-3
    #[arg(long, value_name = "LIST", value_parser = units::cpu_list, help_heading = "Generator")]
    pub cpus: Option<CpuList>,

    /// Where the result goes.
    #[command(flatten)]
    pub output: Output,

    /// Print this help
    #[arg(short = 'h', long, action = clap::ArgAction::HelpShort, help_heading = "Output")]
    help: Option<bool>,
}

/// Values of `--tls-version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TlsVersionArg {
    /// TLS 1.2
    #[value(name = "1.2")]
    V1_2,
    /// TLS 1.3
    #[value(name = "1.3")]
    V1_3,
}
