//! One upload after another on a connection that is kept open.

use std::{
    future::{Future as _, poll_fn},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    rc::Rc,
    task::Poll,
};

use anyhow::Context as _;
use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use rustix::net::sockopt::set_tcp_congestion;
use tokio::net::TcpStream;

use crate::{
    file::{FileBody, Source},
    transport::Transport,
};

/// The congestion control on loopback, as the load generator's: it does not pace, every kernel has it,
/// and every user may choose it (tcp(7)).
const LOOPBACK_CONGESTION: &str = "reno";

/// Why an upload failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    File(io::Error),
    /// There is no connection.
    #[error("cannot connect to {0}: {1}")]
    Connect(SocketAddr, io::Error),
    /// The exchange broke off.
    #[error("the connection failed: {0}")]
    Exchange(#[from] hyper::Error),
    /// The server closed the connection before it answered.
    #[error("the server closed the connection before it answered")]
    Closed,
    /// The server did not say that it has all.
    #[error("answered {0}, not 204 No Content")]
    Status(StatusCode),
}

/// Uploads a file to a server.
pub(crate) struct Uploader {
    address: SocketAddr,
    host: HeaderValue,
    path: PathBuf,
    source: Rc<Source>,
    open: Option<Open>,
}

/// A connection, driven by whoever waits for its answer.
struct Open {
    sender: SendRequest<FileBody>,
    connection: Pin<Box<Connection<Transport, FileBody>>>,
}

impl Uploader {
    /// An uploader of the file at `path`; nothing is opened yet.
    ///
    /// # Errors
    ///
    /// None that can occur: every address is a header's value.
    pub(crate) fn new(address: SocketAddr, path: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            address,
            host: HeaderValue::try_from(address.to_string()).context("the Host header")?,
            path: path.to_owned(),
            source: Rc::default(),
            open: None,
        })
    }

    /// Uploads the file once, from opening it to the end of the answer; returns its bytes. After a
    /// failure the next upload has a new connection.
    ///
    /// # Errors
    ///
    /// What failed.
    pub(crate) async fn upload(&mut self) -> Result<u64, UploadError> {
        let body = self.source.open(&self.path).map_err(UploadError::File)?;
        let bytes = body.length();
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.connect().await?,
        };
        let status = open.exchange(self.request(body)).await?;
        if status != StatusCode::NO_CONTENT {
            return Err(UploadError::Status(status));
        }
        self.open = Some(open);
        Ok(bytes)
    }

    fn request(&self, body: FileBody) -> Request<FileBody> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        request
    }

    async fn connect(&self) -> Result<Open, UploadError> {
        let failed = |error| UploadError::Connect(self.address, error);
        let stream = TcpStream::connect(self.address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        if self.address.ip().is_loopback() {
            // Best effort: what the system uses instead may pace (BBR does).
            let _ = set_tcp_congestion(&stream, LOOPBACK_CONGESTION);
        }
        let transport = Transport::new(stream, Rc::clone(&self.source));
        let (sender, connection) = http1::handshake(transport).await?;
        Ok(Open { sender, connection: Box::pin(connection) })
    }
}

impl Open {
    /// Sends a request and waits for its answer.
    async fn exchange(&mut self, request: Request<FileBody>) -> Result<StatusCode, UploadError> {
        let Self { sender, connection } = self;
        poll_fn(|task| match sender.poll_ready(task)? {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => match connection.as_mut().poll(task)? {
                Poll::Ready(()) => Poll::Ready(Err(UploadError::Closed)),
                Poll::Pending => sender.poll_ready(task).map_err(UploadError::from),
            },
        })
        .await?;
        let mut answer = pin!(sender.send_request(request));
        let response = poll_fn(|task| {
            let ended = connection.as_mut().poll(task)?.is_ready();
            match answer.as_mut().poll(task)? {
                Poll::Ready(response) => Poll::Ready(Ok(response)),
                Poll::Pending if ended => Poll::Ready(Err(UploadError::Closed)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await?;
        Ok(response.status())
    }
}
