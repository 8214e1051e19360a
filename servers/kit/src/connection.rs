//! The life of a connection: handshake, then rest and HTTP in turn, then a close that loses
//! nothing.
//!
//! hyper holds a read and a write buffer of 8 KiB and more for a connection. It is therefore only
//! there while requests come: before the first byte, and after a second of idleness, the task
//! waits on the bare stream.

use std::{
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    task::{Poll, ready},
};

use bytes::{Bytes, BytesMut};
use hyper::service::service_fn;
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;

use crate::{
    Scenario,
    activity::Activity,
    io::{HttpIo, Transport},
    limits::MAX_HEAD_BYTES,
    service,
    socket::Socket,
    timeouts::{Phase, Verdict},
    workers::Registration,
};

/// Bytes thrown away at once while lingering.
const DISCARD_BYTES: usize = 16 * 1024;

/// hyper's own errors are answered without our help; this is the one it leaves to us.
const HEAD_TIMEOUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// What all connections of the process share.
pub(crate) struct Context<S: Scenario> {
    pub(crate) scenario: &'static S,
    pub(crate) http: &'static hyper::server::conn::http1::Builder,
    pub(crate) tls: Option<&'static TlsAcceptor>,
}

impl<S: Scenario> Clone for Context<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scenario> Copy for Context<S> {}

/// The HTTP settings of a scenario.
pub(crate) fn http<S: Scenario>() -> hyper::server::conn::http1::Builder {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .header_read_timeout(None) // ours costs a store instead of a timer
        .half_close(true) // a client may say it is done and still wait for its answer
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(S::BUFFER_BYTES)
        .writev(S::LARGE_ANSWERS);
    builder
}

/// Runs one connection to its end.
pub(crate) async fn run<S: Scenario>(
    socket: Socket,
    context: Context<S>,
    registration: Registration,
) {
    let activity = &registration.activity;
    poll_fn(|task| {
        activity.set_waker(task.waker());
        Poll::Ready(())
    })
    .await;
    match context.tls {
        None => serve(socket, context, activity).await,
        // Boxed, so that a plain connection does not have the size of a TLS one.
        Some(acceptor) => Box::pin(serve_tls(socket, acceptor, context, activity)).await,
    }
}

async fn serve_tls<S: Scenario>(
    socket: Socket,
    acceptor: &TlsAcceptor,
    context: Context<S>,
    activity: &Rc<Activity>,
) {
    let handshake = Box::pin(acceptor.accept(socket));
    // A failed handshake was already told to the client; nobody else needs to know.
    if let Some(Ok(stream)) = unless_aborted(activity, handshake).await {
        activity.enter(Phase::Resting);
        serve(stream, context, activity).await;
    }
}

/// `future`, unless the connection is to be dropped before it ends.
async fn unless_aborted<F: Future + Unpin>(
    activity: &Activity,
    mut future: F,
) -> Option<F::Output> {
    poll_fn(|task| match activity.take_verdict() {
        Some(Verdict::Abort) => Poll::Ready(None),
        _ => Pin::new(&mut future).poll(task).map(Some),
    })
    .await
}

/// How an HTTP connection ended.
enum End {
    /// It is idle: go on without hyper.
    Idle,
    /// The last answer is written.
    Answered,
    /// The head of a request did not come in time.
    HeadTimeout,
    /// The stream is broken, or its end came too early. Answers may still be on their way.
    Lost,
    /// Nothing more can be done for the client.
    Aborted,
}

async fn serve<S: Scenario, T: Transport>(
    mut stream: T,
    context: Context<S>,
    activity: &Rc<Activity>,
) {
    if S::QUICK_ANSWERS {
        stream.socket().send_in_turns();
    }
    let mut ahead = Bytes::new();
    let end = loop {
        if ahead.is_empty() && !stream.holds_input() && !has_request(&stream, activity).await {
            // Owed nothing: say goodbye, do not wait for it to be heard.
            let goodbye = Box::pin(stream.shutdown());
            let _ = unless_aborted(activity, goodbye).await;
            return;
        }
        activity.wait_as(Phase::Idle);
        let end;
        (stream, ahead, end) = Box::pin(speak_http(stream, ahead, context, activity)).await;
        match end {
            End::Idle if ahead.is_empty() => activity.wait_as(Phase::Resting),
            End::Idle => {}
            End::Aborted => return,
            End::Answered | End::HeadTimeout | End::Lost => break end,
        }
    };
    if !all_sent(&stream, activity).await {
        return;
    }
    match end {
        End::Answered => Box::pin(close(stream, &ahead, activity)).await,
        End::HeadTimeout => {
            activity.enter(Phase::Lingering);
            let answer = Box::pin(stream.write_all(HEAD_TIMEOUT));
            let _ = unless_aborted(activity, answer).await;
            Box::pin(linger(stream, activity)).await;
        }
        _ => {}
    }
}

/// Waits for a request, without buffers. False when it is time to close.
async fn has_request<T: Transport>(stream: &T, activity: &Activity) -> bool {
    let socket = stream.socket().shared();
    socket.rest();
    poll_fn(|task| match activity.take_verdict() {
        Some(Verdict::Close) => Poll::Ready(socket.pending_input() == Some(true)),
        Some(Verdict::Abort) => Poll::Ready(false),
        _ => match socket.poll_unsent(task) {
            Poll::Ready(Err(_)) => Poll::Ready(false),
            _ => socket.poll_read_ready(task).map(|ready| ready.is_ok()),
        },
    })
    .await
}

/// Lets hyper serve the stream until it ends, or is idle for a while.
async fn speak_http<S: Scenario, T: Transport>(
    stream: T,
    ahead: Bytes,
    context: Context<S>,
    activity: &Rc<Activity>,
) -> (T, Bytes, End) {
    let socket = Rc::clone(stream.socket().shared());
    let io = HttpIo::new(stream, ahead, Rc::clone(activity), context.scenario.quick_ack());
    let service =
        service_fn(|request| service::answer(context.scenario, Rc::clone(activity), request));
    let mut connection = context.http.serve_connection(io, service);
    let end = poll_fn(|task| {
        if let Some(end) = activity.take_verdict().and_then(|verdict| end_by(verdict, activity)) {
            return Poll::Ready(end);
        }
        if S::QUICK_ANSWERS && activity.phase() == Phase::Idle && socket.receive(task) {
            task.waker().wake_by_ref(); // behind those that have not received yet
            return Poll::Pending;
        }
        let Poll::Ready(result) = Pin::new(&mut connection).poll(task) else {
            // In a crowd, few connections are busy at a time: only those have buffers.
            let rest = activity.is_crowded() && activity.phase() == Phase::Idle;
            return if rest { Poll::Ready(End::Idle) } else { Poll::Pending };
        };
        Poll::Ready(match result {
            Ok(()) => End::Answered,
            // hyper has answered 400, 414 or 431; what follows in the stream stays unread.
            Err(error) if error.is_parse() => {
                activity.set_unread();
                End::Answered
            }
            Err(_) => End::Lost,
        })
    })
    .await;
    let parts = connection.into_parts();
    let (stream, ahead) = parts.io.into_parts();
    (stream, join(parts.read_buf, &ahead), end)
}

/// What a verdict means for an HTTP connection, if it is still true.
fn end_by(verdict: Verdict, activity: &Activity) -> Option<End> {
    match (verdict, activity.phase()) {
        (Verdict::Abort, _) => Some(End::Aborted),
        // The wait goes on without hyper, which closes if it must.
        (Verdict::Rest | Verdict::Close, Phase::Idle) => Some(End::Idle),
        (Verdict::HeadTimeout, Phase::Head) => Some(End::HeadTimeout),
        _ => None,
    }
}

fn join(first: Bytes, second: &[u8]) -> Bytes {
    if second.is_empty() {
        // Empty bytes of hyper's buffer would keep all of it.
        return if first.is_empty() { Bytes::new() } else { first };
    }
    let mut both = BytesMut::from(&first[..]);
    both.extend_from_slice(second);
    both.freeze()
}

/// Waits until the kernel has all that was answered. False when the client does not take it.
async fn all_sent<T: Transport>(stream: &T, activity: &Activity) -> bool {
    let sent = poll_fn(|task| stream.socket().poll_sent(task));
    matches!(unless_aborted(activity, sent).await, Some(Ok(())))
}

/// Closes after the last answer. Bytes the client sent and nobody read would turn the close into
/// a reset, which can overtake the answer (RFC 9112, 9.6): where there are or may be some, linger.
async fn close<T: Transport>(mut stream: T, ahead: &Bytes, activity: &Activity) {
    let quiet = !activity.has_unread() && ahead.is_empty() && !activity.is_stopping();
    activity.enter(Phase::Lingering);
    if activity.has_ended() || (quiet && stream.socket().shared().pending_input().is_none()) {
        let goodbye = Box::pin(stream.shutdown());
        let _ = unless_aborted(activity, goodbye).await;
    } else {
        linger(stream, activity).await;
    }
}

/// Closes our side, then throws away what comes until the client closes its own.
async fn linger<T: Transport>(mut stream: T, activity: &Activity) {
    let goodbye = Box::pin(stream.shutdown());
    if !matches!(unless_aborted(activity, goodbye).await, Some(Ok(()))) {
        return;
    }
    let socket = stream.socket().shared();
    poll_fn(|task| {
        loop {
            if activity.take_verdict().is_some() {
                return Poll::Ready(());
            }
            if ready!(socket.poll_read_ready(task)).is_err() {
                return Poll::Ready(());
            }
            match socket.try_read(&mut [0; DISCARD_BYTES]) {
                Ok(0) => return Poll::Ready(()),
                Ok(bytes) => activity.received(bytes),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_left_over_keeps_no_buffer() {
        let buffer = Bytes::from(vec![0; 8192]);
        let rest = join(buffer.slice(8192..), b"");
        assert!(rest.is_empty() && buffer.is_unique(), "the buffer is still held");
        assert_eq!(join(Bytes::from_static(b"a"), b"b"), "ab");
        assert_eq!(join(Bytes::new(), b"b"), "b");
    }
}
