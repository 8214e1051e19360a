//! Why a request or a connection failed, in words a person can act on.

use std::time::Duration;

use rustix::io::Errno;

use super::response::ParseError;
use super::result::ErrorKind;

/// One failure; formatted only when it is the first of its kind.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Parse(#[from] ParseError),
    #[error("status {0}")]
    Status(u16),
    #[error("body of {got} bytes instead of {want}")]
    Length { got: u64, want: u64 },
    #[error("{0}")]
    Header(String),
    #[error("body with SHA-256 {0}")]
    Body(String),
    #[error("connection closed by the server before any byte of a response")]
    Closed,
    #[error("connection closed in the middle of the response head")]
    TruncatedHead,
    #[error("truncated: {received} of {expected} bytes")]
    TruncatedLength { received: u64, expected: u64 },
    #[error("truncated: {received} bytes, and no last chunk")]
    TruncatedChunks { received: u64 },
    #[error("truncated: {received} bytes, and the close was not announced by TLS (close_notify)")]
    TruncatedTls { received: u64 },
    #[error("connection reset by the server")]
    Reset,
    #[error("no complete response within {0:?}")]
    Timeout(Duration),
    #[error("{0}")]
    Io(Errno),
    #[error("{0}")]
    Tls(String),
    #[error("{text}")]
    Connect { kind: ErrorKind, text: String },
}

impl Failure {
    /// The kind it is counted as.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Self::Parse(_) => ErrorKind::BadResponse,
            Self::Status(_) => ErrorKind::Status,
            Self::Length { .. } => ErrorKind::Length,
            Self::Header(_) => ErrorKind::Header,
            Self::Body(_) => ErrorKind::Body,
            Self::Closed => ErrorKind::ClosedBeforeResponse,
            Self::TruncatedHead
            | Self::TruncatedLength { .. }
            | Self::TruncatedChunks { .. }
            | Self::TruncatedTls { .. } => ErrorKind::Truncated,
            Self::Reset => ErrorKind::Reset,
            Self::Timeout(_) => ErrorKind::Timeout,
            Self::Io(_) => ErrorKind::Io,
            Self::Tls(_) => ErrorKind::Tls,
            Self::Connect { kind, .. } => *kind,
        }
    }

    /// A failure of a read or a write on an open connection.
    pub(crate) fn from_io(error: Errno) -> Self {
        match error {
            Errno::CONNRESET | Errno::PIPE => Self::Reset,
            other => Self::Io(other),
        }
    }

    /// A failure to connect to `address`.
    pub(crate) fn connect(error: Errno, address: &str) -> Self {
        let (kind, text) = match error {
            Errno::CONNREFUSED => {
                (ErrorKind::ConnectRefused, format!("{address}: connection refused"))
            }
            Errno::ADDRNOTAVAIL => (
                ErrorKind::NoFreePort,
                format!("{address}: no free local port left for another connection"),
            ),
            Errno::MFILE | Errno::NFILE => (
                ErrorKind::NoFileDescriptor,
                format!("the generator ran out of file descriptors: {error} (see ulimit -n)"),
            ),
            Errno::TIMEDOUT => (ErrorKind::ConnectTimeout, format!("{address}: {error}")),
            other => (ErrorKind::Connect, format!("{address}: {other}")),
        };
        Self::Connect { kind, text }
    }

    /// Connect or handshake took longer than `bound`.
    pub(crate) fn connect_timeout(address: &str, stage: &str, bound: Duration) -> Self {
        let text = format!("{address}: no {stage} within {bound:?}");
        Self::Connect { kind: ErrorKind::ConnectTimeout, text }
    }
}
