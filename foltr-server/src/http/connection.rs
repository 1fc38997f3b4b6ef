//! A connection from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};
use tokio_rustls::TlsAcceptor;

use super::activity::{Activity, AnswerBody, Phase, Watched};
use super::connections::Place;
use super::exchange::{Line, Shared, exchange};
use super::respond::refuse;
use super::route;
use crate::problem::{Name, Problem};

/// For a last answer, and for what the client still sends: a connection that is closed with bytes unread is reset, and
/// the client may lose the answer.
const LAST_WORDS: Duration = Duration::from_secs(2);

type Exchange = Pin<Box<dyn Future<Output = Result<Response<AnswerBody>, Infallible>> + Send>>;

/// Why a connection ends.
enum End {
    /// hyper has no more to do with it.
    Done(Result<(), hyper::Error>),
    TooSlow(Phase),
    /// It waits for a request that the server does not want any more.
    NotNeeded,
}

pub(super) async fn serve(
    stream: TcpStream,
    remote: SocketAddr,
    tls: Option<TlsAcceptor>,
    place: Place,
    shared: Arc<Shared>,
) {
    // Answers are written at once: waiting for more to send only delays them. Without it nothing breaks.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = tls else {
        return serve_stream(stream, remote, &place.activity, shared).await;
    };
    let mut shutdown = shared.shutdown.clone();
    let handshake = timeout(shared.limits.handshake_time, acceptor.accept(stream));
    let accepted = tokio::select! {
        accepted = handshake => accepted,
        () = place.activity.evicted() => return shared.metrics.refused_connection("handshake, and its place was needed"),
        () = shutdown.begun() => return,
    };
    match accepted {
        Ok(Ok(stream)) => serve_stream(stream, remote, &place.activity, shared).await,
        Ok(Err(_)) => shared.metrics.refused_connection("handshake failed"),
        Err(_) => shared.metrics.refused_connection("handshake too slow"),
    }
}

async fn serve_stream<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    remote: SocketAddr,
    activity: &Arc<Activity>,
    shared: Arc<Shared>,
) {
    let service = service_fn(|request: Request<Incoming>| -> Exchange {
        activity.begin_call();
        let answer = exchange(Arc::clone(&shared), Arc::clone(activity), remote, request);
        Box::pin(async { Ok(answer.await) })
    });
    let mut builder = http1::Builder::new();
    builder.max_header_size(shared.limits.header_bytes).max_headers(shared.limits.headers);
    // Headers and idle connections have times of their own.
    builder.header_read_timeout(None);
    let watched = Watched::new(stream, Arc::clone(activity));
    let mut connection = builder.serve_connection(TokioIo::new(watched), service);
    let end = run(&mut connection, activity, &shared).await;
    let stream = connection.into_parts().io.into_inner().into_inner();
    let _ = timeout(LAST_WORDS, finish(stream, end, remote, activity, &shared)).await;
}

/// Serves requests until there is a reason to end.
async fn run<S, F>(
    connection: &mut http1::Connection<TokioIo<Watched<S>>, F>,
    activity: &Activity,
    shared: &Shared,
) -> End
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible, Future = Exchange> + Unpin,
{
    let mut limit = pin!(sleep_until(activity.deadline(&shared.limits)));
    let (mut shutdown, mut is_draining) = (shared.shutdown.clone(), false);
    loop {
        let progress = poll_fn(|cx| {
            if let Poll::Ready(result) = connection.poll_without_shutdown(cx) {
                return Poll::Ready(End::Done(result));
            }
            let deadline = activity.deadline(&shared.limits);
            if limit.deadline() != deadline {
                limit.as_mut().reset(deadline);
            }
            limit.as_mut().poll(cx).map(|()| End::TooSlow(activity.phase()))
        });
        tokio::select! {
            end = progress => return end,
            () = activity.evicted() => {
                shared.metrics.refused_connection("no request, and its place was needed");
                return End::NotNeeded;
            }
            () = shutdown.begun(), if !is_draining => {
                if matches!(activity.phase(), Phase::Idle | Phase::Silent) {
                    return End::NotNeeded;
                }
                is_draining = true;
                Pin::new(&mut *connection).graceful_shutdown();
            }
        }
    }
}

/// Says why, where the client does not know, and closes.
async fn finish<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    end: End,
    remote: SocketAddr,
    activity: &Activity,
    shared: &Shared,
) {
    let had_request = !matches!(activity.phase(), Phase::Idle | Phase::Silent | Phase::Headers);
    let problem = match end {
        End::Done(Err(error)) if error.is_parse() && !had_request => Some(unreadable(&error, shared)),
        End::TooSlow(Phase::Headers) => Some(Problem::new(Name::TooSlow, "the headers did not come in time")),
        End::TooSlow(Phase::Idle) | End::NotNeeded | End::Done(_) => None,
        End::TooSlow(Phase::Silent) => return shared.metrics.refused_connection("no request"),
        End::TooSlow(_) => return shared.metrics.refused_connection("answer not read"),
    };
    if let Some(problem) = problem {
        let name = problem.name;
        let Ok(sent) = refuse(&mut stream, problem, shared.is_tls).await else { return };
        shared.metrics.answered(route::OTHER, name.status(), Duration::ZERO);
        let remote = shared.log_addresses.then_some(remote);
        let (status, problem) = (name.status(), Some(name.name()));
        let line = Line {
            method: "other",
            route: route::OTHER,
            status,
            problem,
            milliseconds: 0.0,
            received: 0,
            sent,
            remote,
        };
        line.log(shared);
    }
    if stream.shutdown().await.is_err() || activity.is_at_end() {
        return;
    }
    let mut rest = [0; 4096];
    while stream.read(&mut rest).await.is_ok_and(|n| n > 0) {}
}

fn unreadable(error: &hyper::Error, shared: &Shared) -> Problem {
    if error.is_parse_too_large() {
        let (bytes, n) = (shared.limits.header_bytes, shared.limits.headers);
        return Problem::new(Name::HeadersTooLarge, format!("at most {n} headers of {bytes} bytes in all are read"));
    }
    // hyper names the part that it could not read, and no byte of it.
    Problem::new(Name::BadRequest, error.to_string())
}
