//! The native reference server of the png scenario: `GET /logo.png` answers the file of that name
//! in the data folder, read for each request.

mod buffer;
mod conditions;
mod file_response;
mod folder;
mod range;
mod target;

use std::future::ready;

use http::Method;
use server_kit::{Methods, NoArgs, Request, Response, Scenario, Setup};

use crate::folder::Folder;

struct Png {
    folder: Folder,
}

impl Scenario for Png {
    const NAME: &str = "server-png";
    const QUICK_ANSWERS: bool = true;
    const TRY: &str = "curl -O {url}/logo.png";
    const LARGE_ANSWERS: bool = true;
    type Args = NoArgs;

    fn new(_: NoArgs, setup: &Setup) -> anyhow::Result<Self> {
        Ok(Self { folder: Folder::open(&setup.data_dir)? })
    }

    fn methods(&self, _path: &str) -> Option<Methods> {
        Some(Methods::Get) // whether the file is there is found out by opening it
    }

    fn exists(&self, path: &str) -> bool {
        target::file_name(path).is_ok_and(|name| self.folder.file(&name).is_ok())
    }

    fn answer(&'static self, request: Request) -> impl Future<Output = Response> {
        ready(self.respond(request))
    }
}

impl Png {
    fn respond(&self, mut request: Request) -> Response {
        let fields = std::mem::take(request.headers_mut());
        let opened = target::file_name(request.uri().path())
            .and_then(|name| Ok((self.folder.file(&name)?, name)));
        match opened {
            Ok((file, name)) => {
                let get = *request.method() == Method::GET;
                file_response::respond(&file, &name, fields, get)
            }
            Err(error) => error.response(),
        }
    }
}

server_kit::main!(Png);
