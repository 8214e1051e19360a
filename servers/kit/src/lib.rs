//! What every reference server shares: arguments, listening, workers, TLS, limits, shutdown.
//!
//! A server implements [`Scenario`] and says [`main!`]; everything else happens here, one concern
//! a file. See `docs/servers.md` for what a client can rely on.

mod activity;
mod args;
mod body;
pub mod certificate;
mod connection;
pub mod data;
pub mod embed_url;
mod io;
mod limits;
mod listen;
mod outbox;
mod request;
mod response;
mod run;
mod scenario;
mod semantics;
mod service;
mod shutdown;
mod socket;
mod timeouts;
mod tls;
mod workers;
mod workspace;

pub use body::{Body, FileBody};
#[doc(hidden)]
pub use mimalloc;
pub use request::{BodyError, Request, RequestBody};
pub use response::{Response, json, json_error, no_content, plain_error, reusing, text};
pub use run::run;
pub use scenario::{Errors, Methods, NoArgs, Scenario, Setup};
pub use workers::blocking;
pub use workspace::root as workspace_root;

/// Makes the `main` function of a server, with mimalloc as its allocator.
///
/// `server_kit::main!(Hello);`
#[macro_export]
macro_rules! main {
    ($scenario:ty) => {
        #[global_allocator]
        static ALLOCATOR: $crate::mimalloc::MiMalloc = $crate::mimalloc::MiMalloc;

        fn main() -> std::process::ExitCode {
            $crate::run::<$scenario>()
        }
    };
}
