//! A request as a scenario sees it: the head, and a body that knows its time limit.

use std::{
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::activity::Activity;

/// A request whose path and method the scenario serves.
pub type Request = http::Request<RequestBody>;

/// Why a request body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It paused for too long, or came too slowly.
    #[error("the request body came too slowly")]
    Timeout,
    /// It is longer than the limit, in bytes.
    #[error("the request body is longer than {0} bytes")]
    TooLarge(u64),
    /// It ended early, or its framing is broken.
    #[error("the request body is truncated or malformed")]
    Broken,
}

impl BodyError {
    /// The status that tells it to the client.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

/// The body of a request. What a handler leaves of it, the kit drains or cuts off.
pub struct RequestBody {
    /// Taken when dropped.
    incoming: Option<Incoming>,
    activity: Rc<Activity>,
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, activity: Rc<Activity>) -> Self {
        Self { incoming: Some(incoming), activity }
    }

    /// The next bytes of the body, or `None` after the last.
    ///
    /// # Errors
    ///
    /// [`BodyError::Timeout`] and [`BodyError::Broken`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        while let Some(frame) = self.frame().await {
            // What is not data is a trailer, which no scenario reads.
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// The whole body, if it is at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// All of [`BodyError`]; too large a `Content-Length` without reading anything.
    pub async fn collect(mut self, limit: u64) -> Result<Bytes, BodyError> {
        if self.size_hint().lower() > limit {
            return Err(BodyError::TooLarge(limit));
        }
        let Some(first) = self.next().await? else {
            return Ok(Bytes::new());
        };
        if self.is_end_stream() {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        loop {
            if whole.len() as u64 > limit {
                return Err(BodyError::TooLarge(limit));
            }
            match self.next().await? {
                Some(more) => whole.extend_from_slice(&more),
                None => return Ok(whole.freeze()),
            }
        }
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Some(incoming) = &mut this.incoming else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(&mut *incoming).poll_frame(context);
        if polled.is_pending() {
            if this.activity.body_expired() {
                this.activity.set_unread();
                return Poll::Ready(Some(Err(BodyError::Timeout)));
            }
            this.activity.wants_body();
        }
        let frame = match ready!(polled) {
            Some(Ok(frame)) => {
                if !incoming.is_end_stream() {
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Ok(frame))
            }
            Some(Err(_)) => {
                this.activity.set_unread();
                Some(Err(BodyError::Broken))
            }
            None => None,
        };
        // The end, one way or the other: nothing is left to drain.
        this.activity.has_body();
        this.incoming = None;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.incoming
            .as_ref()
            .map_or_else(|| http_body::SizeHint::with_exact(0), http_body::Body::size_hint)
    }
}

impl Drop for RequestBody {
    #[inline]
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take()
            && !incoming.is_end_stream()
        {
            self.activity.leave(incoming);
        }
    }
}
