//! One request: checked, answered by the scenario, its unread body drained or the connection
//! told to close.

use std::{
    convert::Infallible,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use http::{
    HeaderValue, Method,
    header::{CONNECTION, EXPECT},
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use pin_project_lite::pin_project;

use crate::{
    Body, Request, RequestBody, Response, Scenario, activity::Activity, limits::MAX_DRAINED_BYTES,
    semantics,
};

/// Starts to answer one request on a connection. A handler that answers at once costs no more
/// than its call: nothing of the request is kept.
#[inline]
pub(crate) fn answer<S: Scenario>(
    scenario: &'static S,
    activity: Rc<Activity>,
    request: http::Request<Incoming>,
) -> Answer<impl Future<Output = Response>> {
    activity.answering();
    if *request.method() == Method::CONNECT {
        activity.set_unread();
    }
    // Reading the rest of a body to which the client wants to be invited would invite it.
    let drain = request.body().is_end_stream() || !request.headers().contains_key(EXPECT);
    let state = match semantics::check(&request, scenario) {
        Ok(()) => {
            let body_activity = Rc::clone(&activity);
            let request: Request =
                request.map(|incoming| RequestBody::new(incoming, body_activity));
            State::Handler { answer: scenario.answer(request) }
        }
        Err(refusal) => {
            if !request.body().is_end_stream() {
                activity.leave(request.into_body());
            }
            State::Answered { response: Some(refusal.response(S::ERRORS)) }
        }
    };
    Answer { state, drain, activity }
}

pin_project! {
    /// A request being answered.
    pub(crate) struct Answer<F> {
        #[pin]
        state: State<F>,
        drain: bool,
        activity: Rc<Activity>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F> {
        /// The scenario is at work.
        Handler { #[pin] answer: F },
        /// What the handler left of the body is being read. Rare, so it is boxed.
        Draining { rest: Pin<Box<dyn Future<Output = bool>>>, response: Option<Response> },
        /// There is an answer, and nothing of the body is left to read.
        Answered { response: Option<Response> },
    }
}

impl<F: Future<Output = Response>> Future for Answer<F> {
    type Output = Result<Response, Infallible>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let response = match this.state.as_mut().project() {
                StateProjection::Handler { answer } => ready!(answer.poll(context)),
                StateProjection::Draining { rest, response } => {
                    if !ready!(rest.as_mut().poll(context)) {
                        this.activity.set_unread();
                    }
                    drop(this.activity.take_leftover());
                    take(response)
                }
                StateProjection::Answered { response } => take(response),
            };
            let Some(leftover) = this.activity.take_leftover() else {
                return Poll::Ready(Ok(finish(response, this.activity)));
            };
            this.state.set(if *this.drain {
                let rest = Box::pin(drain(leftover, Rc::clone(this.activity)));
                State::Draining { rest, response: Some(response) }
            } else {
                this.activity.set_unread();
                State::Answered { response: Some(response) }
            });
        }
    }
}

fn take(response: &mut Option<Response>) -> Response {
    // A future is not polled again after it was ready.
    response.take().unwrap_or_else(crate::no_content)
}

/// The last touches on an answer, as hyper gets it.
#[inline]
fn finish(mut response: Response, activity: &Rc<Activity>) -> Response {
    if activity.has_unread() || activity.is_stopping() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Body::File(file) = response.body_mut() {
        file.watch(Rc::clone(activity));
    }
    activity.responding();
    response
}

/// Reads what the handler left, if it is short. Says whether it got to the end.
async fn drain(rest: Incoming, activity: Rc<Activity>) -> bool {
    if rest.size_hint().lower() > MAX_DRAINED_BYTES {
        return false;
    }
    let mut rest = RequestBody::new(rest, activity);
    let mut drained = 0;
    while let Some(frame) = rest.frame().await {
        let Ok(frame) = frame else { return false };
        drained += frame.data_ref().map_or(0, |data| data.len() as u64);
        if drained > MAX_DRAINED_BYTES {
            return false;
        }
    }
    true
}
