//! What a scenario tells the kit: its name, what it serves where, and how it answers.

use std::{future::Future, path::PathBuf};

use crate::{Request, Response};

/// The scenario of one server.
///
/// One value is made at start and shared by all workers; a request only reads it. State a worker
/// changes on the path of a request belongs in a thread local.
pub trait Scenario: Sized + Send + Sync + 'static {
    /// The name of the program, as users start it: `server-hello`.
    const NAME: &'static str;
    /// Whether connections are TLS.
    const TLS: bool = false;
    /// A command that shows the server at work; `{url}` stands for `http://127.0.0.1:3000`.
    const TRY: &'static str;
    /// How errors are told to the client.
    const ERRORS: Errors = Errors::Text;
    /// Whether a usual answer is 12 KB or more over TLS: such bodies are queued and written as
    /// they are, smaller ones are copied behind their head and leave in one plain `send`.
    const LARGE_ANSWERS: bool = false;
    /// Bytes that may be buffered of a connection, each way. A buffer grows to that only as far as
    /// the client fills it.
    const BUFFER_BYTES: usize = 64 * 1024;
    /// Whether an answer takes so few microseconds that it may wait for those of the other
    /// connections at hand: requests are then received, served and sent in turns of all of them.
    const QUICK_ANSWERS: bool = false;
    /// The receive buffer (`SO_RCVBUF`) of connections to a loopback address. Without it, and on
    /// every other address, the kernel grows the buffer with what comes, as a long way needs. From
    /// this machine nothing is on its way for long, and what waits outside the CPU's cache costs more.
    const LOOPBACK_RECEIVE_BYTES: Option<usize> = None;

    /// The flags only this server has.
    type Args: clap::Args;

    /// Makes the scenario from its flags, once, before the first connection.
    ///
    /// # Errors
    ///
    /// Whatever keeps the server from starting; it is printed as one line.
    fn new(args: Self::Args, setup: &Setup) -> anyhow::Result<Self>;

    /// The methods served at `path` (as sent, still percent-encoded, without the query), or
    /// `None` where there is nothing: the kit answers 404, and 405 for other methods.
    fn methods(&self, path: &str) -> Option<Methods>;

    /// Whether there is something at a path [`methods`](Self::methods) knows. Asked only before
    /// a 405, by which time the answer may cost something.
    fn exists(&self, _path: &str) -> bool {
        true
    }

    /// Whether to acknowledge what is received at once (`TCP_QUICKACK`), for clients which wait for
    /// an acknowledgement between two small writes (Nagle). One system call per read.
    fn quick_ack(&self) -> bool {
        false
    }

    /// Answers a request whose path and method are served. HEAD is answered as GET: the body of
    /// the answer is not sent.
    fn answer(&'static self, request: Request) -> impl Future<Output = Response>;
}

/// What the kit knows when a scenario starts.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The folder of the data files: `--data-dir`, or `data` of the workspace.
    pub data_dir: PathBuf,
    /// How many workers (threads) will serve.
    pub workers: usize,
}

/// The methods of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Methods {
    /// GET, and HEAD with it.
    Get,
    /// POST alone.
    Post,
}

impl Methods {
    /// The value of an `Allow` header.
    #[must_use]
    pub const fn allow(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
        }
    }

    /// Whether `method` is one of them.
    #[must_use]
    pub fn allows(self, method: &http::Method) -> bool {
        match self {
            Self::Get => *method == http::Method::GET || *method == http::Method::HEAD,
            Self::Post => *method == http::Method::POST,
        }
    }
}

/// The form of error bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// One line of `text/plain`.
    Text,
    /// `application/json`: `{"message":"…"}`.
    Json,
}

/// The flags of a scenario that has none of its own.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct NoArgs {}
