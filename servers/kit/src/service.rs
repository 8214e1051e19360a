//! One request: checked, answered by the scenario, its unread body drained or the connection
//! told to close.

use std::{convert::Infallible, rc::Rc};

use http::{
    HeaderValue, Method,
    header::{CONNECTION, EXPECT},
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::{
    Body, Request, RequestBody, Response, Scenario, activity::Activity, limits::MAX_DRAINED_BYTES,
    semantics, timeouts::Phase, workers::Worker,
};

/// Answers one request on a connection.
#[inline]
pub(crate) async fn answer<S: Scenario>(
    scenario: &'static S,
    worker: Rc<Worker>,
    activity: Rc<Activity>,
    request: http::Request<Incoming>,
) -> Result<Response, Infallible> {
    activity.enter(Phase::Answering);
    let mut close = *request.method() == Method::CONNECT;
    let (head, incoming) = request.into_parts();
    let expects = !incoming.is_end_stream() && head.headers.contains_key(EXPECT);
    let request = Request::from_parts(head, RequestBody::new(incoming, Rc::clone(&activity)));
    let mut response = match semantics::check(&request, scenario) {
        Ok(()) => scenario.answer(request).await,
        Err(refusal) => {
            drop(request);
            refusal.response(S::ERRORS)
        }
    };
    if let Some(rest) = activity.take_leftover()
        && (expects || !drain(rest, &activity).await)
    {
        activity.set_unread();
        drop(activity.take_leftover());
    }
    close |= activity.has_unread() || worker.is_stopping();
    if close {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Body::File(file) = response.body_mut() {
        file.watch(Rc::clone(&activity));
    }
    activity.enter(Phase::Responding);
    Ok(response)
}

/// Reads what the handler left, if it is short. Says whether it got to the end.
#[cold]
async fn drain(rest: Incoming, activity: &Rc<Activity>) -> bool {
    if rest.size_hint().lower() > MAX_DRAINED_BYTES {
        return false;
    }
    let mut rest = RequestBody::new(rest, Rc::clone(activity));
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
