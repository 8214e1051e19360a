//! The bounds on what a client may ask for, and on what this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Bytes of a request's head, request line and fields together. More is answered 431.
pub(crate) const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Bytes of an unread request body that are read and thrown away to keep the connection. A
/// longer rest closes it after the answer.
pub(crate) const MAX_DRAINED_BYTES: u64 = 64 * 1024;

/// Connections the kernel completes for us while we are busy.
pub(crate) const LISTEN_BACKLOG: i32 = 4096;

/// Bytes of an answer the kernel takes from us before it has sent them. It keeps a slow reader's
/// memory small and shows its progress: without it the kernel would buffer megabytes, then wake
/// us only after a third of them had gone.
pub(crate) const MAX_UNSENT_BYTES: u32 = 128 * 1024;

/// Raises the number of files this process may open to the most it is allowed. Best effort: with
/// fewer, accepting waits for a connection to close.
pub(crate) fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
