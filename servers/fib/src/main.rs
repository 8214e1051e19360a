//! The native reference server of the fib scenario: `GET /fibonacci/31` answers
//! `{"n":31,"fibonacci":1346269}`, computed by double recursion.

mod fibonacci;
mod logging;

use std::io;

use http::StatusCode;
use server_kit::{Methods, Request, Response, Scenario, Setup, plain_error};

use crate::fibonacci::{LARGEST_N, fibonacci};

/// Up to here a number takes microseconds and is computed at once; above, on the worker's pool.
const INLINE_N: u64 = 20;

const PREFIX: &str = "/fibonacci/";

struct Fib {
    max_n: u64,
    log: bool,
}

#[derive(clap::Args)]
struct Args {
    /// Largest N that is computed
    #[arg(long, default_value_t = 45, value_parser = clap::value_parser!(u64).range(..=LARGEST_N))]
    max_n: u64,
    /// Print a line for every base case, as the code of the published comparison likely did
    #[arg(long)]
    log_base_cases: bool,
}

impl Scenario for Fib {
    const NAME: &str = "server-fib";
    const TRY: &str = "curl {url}/fibonacci/31";
    type Args = Args;

    fn new(args: Args, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self { max_n: args.max_n, log: args.log_base_cases })
    }

    fn methods(&self, path: &str) -> Option<Methods> {
        path.starts_with(PREFIX).then_some(Methods::Get)
    }

    async fn answer(&'static self, request: Request) -> Response {
        let path = request.uri().path();
        let n = match fibonacci::parse(&path[PREFIX.len()..], self.max_n) {
            Ok(n) => n,
            Err(error) => return plain_error(StatusCode::BAD_REQUEST, error.to_string()),
        };
        let value = if self.log {
            // Whoever reads the output may be slow: that holds up the pool, not the connections.
            match server_kit::blocking(move || logging::fibonacci(n, io::stdout().lock())).await {
                Ok(value) => value,
                Err(error) => {
                    let reason = format!("standard output: {error}");
                    return plain_error(StatusCode::INTERNAL_SERVER_ERROR, reason);
                }
            }
        } else if n <= INLINE_N {
            fibonacci(n)
        } else {
            server_kit::blocking(move || fibonacci(n)).await
        };
        server_kit::json(format!(r#"{{"n":{n},"fibonacci":{value}}}"#))
    }
}

server_kit::main!(Fib);
