//! The native reference server of the upload scenario: `POST /` takes any body, answers 204 when
//! it has read all of it, and `GET /stats` tells how many requests and bytes that were.

mod counts;

use server_kit::{
    BodyError, Methods, NoArgs, Request, RequestBody, Response, Scenario, Setup, plain_error,
};

use crate::counts::Counts;

#[derive(Default)]
struct Upload {
    counts: Counts,
}

impl Scenario for Upload {
    const NAME: &str = "server-upload";
    const TRY: &str = "curl --data-binary @FILE {url}/";
    // Of 64, 128, 256 and 512 KiB this took the least CPU and gave the highest rate over all sizes of
    // files: less than 512 for those of 2 MB, and a tenth less than 64 for those of 100 MB.
    const BUFFER_BYTES: usize = 256 * 1024;
    // Deno's fetch writes head and body apart and waits for our acknowledgement in between.
    const QUICK_ACK: bool = true;
    type Args = NoArgs;

    fn new(_: NoArgs, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self::default())
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
