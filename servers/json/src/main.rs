//! The native reference server of the json scenario: `POST /` with `{"urlToEmbed": "…"}` answers
//! the same member alone.

use server_kit::{Errors, Methods, NoArgs, Request, Response, Scenario, Setup, embed_url};

struct Json;

impl Scenario for Json {
    const NAME: &str = "server-json";
    const TLS: bool = true;
    const QUICK_ANSWERS: bool = true;
    const TRY: &str = r#"curl -k {url}/ -d '{"urlToEmbed":"https://example.com/"}'"#;
    const ERRORS: Errors = Errors::Json;
    type Args = NoArgs;

    fn new(_: NoArgs, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self)
    }

    fn methods(&self, path: &str) -> Option<Methods> {
        (path == "/").then_some(Methods::Post)
    }

    async fn answer(&'static self, request: Request) -> Response {
        match embed_url::read(request.into_body()).await {
            Ok(url) => server_kit::json(embed_url::write(&url)),
            Err(error) => error.response(),
        }
    }
}

server_kit::main!(Json);
