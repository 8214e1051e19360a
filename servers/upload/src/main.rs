//! The native reference server of the upload scenario: `POST /` takes any body, answers 204 when
//! it has read all of it, and `GET /stats` tells how many requests and bytes that were.

mod counts;

use server_kit::{
    BodyError, Methods, Request, RequestBody, Response, Scenario, Setup, plain_error,
};

use crate::counts::Counts;

#[derive(clap::Args)]
struct Args {
    /// Acknowledge what was received at once (TCP_QUICKACK); `false`: when the kernel sees fit
    #[arg(long, env = "QUICK_ACK", value_name = "BOOL", default_value = "true")]
    #[arg(action = clap::ArgAction::Set)]
    quick_ack: bool,
}

struct Upload {
    counts: Counts,
    quick_ack: bool,
}

impl Scenario for Upload {
    const NAME: &str = "server-upload";
    const TRY: &str = "curl --data-binary @FILE {url}/";
    // Of 64, 128, 256 and 512 KiB this took the least CPU and gave the highest rate over all sizes of
    // files: less than 512 for those of 2 MB, and a tenth less than 64 for those of 100 MB.
    const BUFFER_BYTES: usize = 256 * 1024;
    // Of 256, 384, 512 and 768 KiB, 1 MiB and the kernel's own choice this took the least CPU: two thirds
    // to half of the kernel's for files of 100 MB, 7 % less for those of 2 MB.
    const LOOPBACK_RECEIVE_BYTES: Option<usize> = Some(512 * 1024);
    type Args = Args;

    fn new(args: Args, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self { counts: Counts::default(), quick_ack: args.quick_ack })
    }

    // Deno's fetch writes head and body apart and waits for our acknowledgement in between.
    fn quick_ack(&self) -> bool {
        self.quick_ack
    }

    fn methods(&self, path: &str) -> Option<Methods> {
        match path {
            "/" => Some(Methods::Post),
            "/stats" => Some(Methods::Get),
            _ => None,
        }
    }

    async fn answer(&'static self, request: Request) -> Response {
        if request.uri().path() == "/stats" {
            let (requests, bytes) = self.counts.totals();
            return server_kit::json(format!(r#"{{"requests":{requests},"bytes":{bytes}}}"#));
        }
        match read_to_end(request.into_body()).await {
            Ok(bytes) => {
                self.counts.add(bytes);
                server_kit::no_content()
            }
            Err(error) => plain_error(error.status(), error.to_string()),
        }
    }
}

/// Reads a body, drops it as it comes, and returns its length in bytes.
async fn read_to_end(mut body: RequestBody) -> Result<u64, BodyError> {
    let mut bytes = 0;
    while let Some(data) = body.next().await? {
        bytes += data.len() as u64;
    }
    Ok(bytes)
}

server_kit::main!(Upload);
