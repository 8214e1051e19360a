//! The native reference server of the qr scenario: `POST /qr` answers the QR code of a text.

use std::cell::RefCell;

use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use server_kit::{
    Body, Errors, Methods, NoArgs, Request, Response, Scenario, Setup, embed_url, json_error,
};
use server_qr::Encoder;

struct Qr;

thread_local! {
    /// The buffers of this worker.
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new());
}

impl Scenario for Qr {
    const NAME: &str = "server-qr";
    const TLS: bool = true;
    const TRY: &str = r#"curl -k {url}/qr -d '{"urlToEmbed":"https://example.com/"}' -o qr.png"#;
    const ERRORS: Errors = Errors::Json;

    type Args = NoArgs;

    fn new(_: NoArgs, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self)
    }

    fn methods(&self, path: &str) -> Option<Methods> {
        (path == "/qr").then_some(Methods::Post)
    }

    async fn answer(&'static self, request: Request) -> Response {
        match embed_url::read(request.into_body()).await {
            Ok(text) => picture(&text),
            Err(error) => error.response(),
        }
    }
}

fn picture(text: &str) -> Response {
    match ENCODER.with_borrow_mut(|encoder| encoder.png(text)) {
        Ok(png) => {
            let mut response = Response::new(Body::Full(png.into()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
            response
        }
        Err(too_long) => json_error(StatusCode::PAYLOAD_TOO_LARGE, &too_long.to_string()),
    }
}

server_kit::main!(Qr);
