//! The native reference server of the hello scenario: `GET /` answers `Hello world!`.

use std::future::ready;

use server_kit::{Methods, NoArgs, Request, Response, Scenario, Setup};

struct Hello;

impl Scenario for Hello {
    const NAME: &str = "server-hello";

    const QUICK_ANSWERS: bool = true;
    const TRY: &str = "curl {url}/";
    type Args = NoArgs;

    fn new(_: NoArgs, _: &Setup) -> anyhow::Result<Self> {
        Ok(Self)
    }

    fn methods(&self, path: &str) -> Option<Methods> {
        (path == "/").then_some(Methods::Get)
    }

    fn answer(&'static self, request: Request) -> impl Future<Output = Response> {
        ready(server_kit::text(request, "Hello world!"))
    }
}

server_kit::main!(Hello);
