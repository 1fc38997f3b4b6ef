//! One request and its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method as HttpMethod, Request, Response, Version};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::activity::{Activity, AnswerBody};
use super::body::Upload;
use super::limits::Limits;
use super::metrics::{self, Metrics};
use super::queue::{Kind, Queue, overloaded};
use super::shutdown::Shutdown;
use super::{respond, route};
use crate::call::{Answer, Call, Handler, Method};
use crate::problem::{Name, Problem};
use crate::rate_limit::RateLimit;

/// What all connections share.
pub(super) struct Shared {
    pub handler: Arc<dyn Handler>,
    pub limits: Limits,
    pub queue: Queue,
    /// In [`super::body::UNIT`]s.
    pub body_memory: Arc<Semaphore>,
    /// Calls for monitoring, which has a thread even if all others are taken.
    pub monitoring: Arc<Semaphore>,
    pub metrics: Metrics,
    pub serves_metrics: bool,
    pub is_tls: bool,
    pub log_addresses: bool,
    /// Refusals of a name that are logged.
    pub logged: RateLimit<&'static str>,
    pub began: Instant,
    /// As served.
    pub description: String,
    pub shutdown: Shutdown,
}

pub(super) async fn exchange(
    shared: Arc<Shared>,
    activity: Arc<Activity>,
    remote: SocketAddr,
    request: Request<Incoming>,
) -> Response<AnswerBody> {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    let route = route::pattern(path);
    let mut upload = Upload::new(body, &shared);
    let answer = answer(&shared, &head, path, route, &mut upload).await;
    let answer = with_allowed(answer.unwrap_or_else(Answer::from), route);
    let closes = !upload.is_read() || shared.shutdown.has_begun();
    let response = respond::response(answer, shared.is_tls, closes);
    let time = began.elapsed();
    let line = Line {
        method: method_name(&head.method),
        route,
        status: response.status,
        problem: response.problem,
        milliseconds: time.as_secs_f64() * 1e3,
        received: upload.n_bytes(),
        sent: response.body.len(),
        remote: shared.log_addresses.then_some(remote),
    };
    line.log(&shared);
    shared.metrics.answered(route, response.status, time);
    response.start(&activity)
}

/// Whoever asks by another method than a path has gets to know those that it has.
fn with_allowed(mut answer: Answer, route: &'static str) -> Answer {
    if answer.status == Name::MethodNotAllowed.status() {
        answer.headers.push(("allow", route::allowed(route).into()));
    }
    answer
}

async fn answer(
    shared: &Arc<Shared>,
    head: &Parts,
    path: &str,
    route: &'static str,
    upload: &mut Upload,
) -> Result<Answer, Problem> {
    let method = match head.method {
        HttpMethod::GET | HttpMethod::HEAD => Method::Get,
        HttpMethod::POST => Method::Post,
        HttpMethod::PUT => Method::Put,
        _ => return Err(Problem::new(Name::MethodNotAllowed, "no path takes this method")),
    };
    check_path(path, shared.limits.path_bytes)?;
    check_head(head)?;
    if matches!(route, route::HEALTH | route::READINESS | route::METRICS | route::DESCRIPTION) {
        return if method == Method::Get { monitoring(shared, route).await } else { Err(other_method()) };
    }
    let kind = match method {
        _ if !path.starts_with("/v1/federations/") => Kind::Operator,
        Method::Get => Kind::DeviceReads,
        Method::Post | Method::Put => Kind::DeviceWrites,
    };
    if shared.queue.is_full(kind) {
        return Err(overloaded("too many requests wait for their turn"));
    }
    let mut call = read_headers(method, path, &head.headers)?;
    let (body, memory) = upload.read().await?;
    call.body = body;
    let turn = shared.queue.turn(kind).await?;
    let handler = Arc::clone(&shared.handler);
    let handle = move || {
        let _held_while_it_runs = (turn, memory);
        handler.handle(&call)
    };
    blocking(route, handle).await
}

fn check_path(path: &str, max_bytes: usize) -> Result<(), Problem> {
    if path.len() > max_bytes {
        let detail = format!("the path has {} bytes; at most {max_bytes} are read", path.len());
        return Err(Problem::new(Name::BadRequest, detail));
    }
    if !path.starts_with('/') {
        return Err(Problem::new(Name::BadRequest, "the request names no path"));
    }
    Ok(())
}

/// What HTTP asks of every server, and bodies as they were signed.
fn check_head(head: &Parts) -> Result<(), Problem> {
    let n_hosts = head.headers.get_all(header::HOST).iter().count();
    if n_hosts > 1 || (n_hosts == 0 && head.version == Version::HTTP_11) {
        return Err(Problem::new(Name::BadRequest, "the request must have one header host"));
    }
    match head.headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            Err(Problem::new(Name::BadRequest, "a body must not be compressed: its bytes are signed"))
        }
        _ => Ok(()),
    }
}

fn other_method() -> Problem {
    Problem::new(Name::MethodNotAllowed, "the path can only be read")
}

fn read_headers(method: Method, path: &str, headers: &HeaderMap) -> Result<Call, Problem> {
    let one = |name: &'static str| one_header(headers, HeaderName::from_static(name));
    Ok(Call {
        method,
        path: path.to_owned(),
        device: one("foltr-device")?,
        signature: one("foltr-signature")?,
        if_none_match: one("if-none-match")?,
        authorization: one("authorization")?,
        cookie: one("cookie")?,
        body: Vec::new(),
    })
}

/// A header that may be given once, in ASCII.
fn one_header(headers: &HeaderMap, name: HeaderName) -> Result<String, Problem> {
    let mut values = headers.get_all(&name).iter();
    let Some(value) = values.next() else { return Ok(String::new()) };
    if values.next().is_some() {
        return Err(Problem::new(Name::BadRequest, format!("the header {name} is given twice")));
    }
    let text = value.to_str().map_err(|_| Problem::new(Name::BadRequest, format!("the header {name} is not ASCII")))?;
    Ok(text.to_owned())
}

/// What monitoring asks for, without a token: it says nothing about any device.
async fn monitoring(shared: &Arc<Shared>, route: &'static str) -> Result<Answer, Problem> {
    let text = |kind, text: String| Answer { status: 200, kind, body: text.into_bytes(), ..Answer::default() };
    match route {
        route::HEALTH => return Ok(text("text/plain", "alive\n".into())),
        route::DESCRIPTION => return Ok(text("application/json", shared.description.clone())),
        route::METRICS if !shared.serves_metrics => {
            return Err(Problem::new(Name::NotFound, "metrics are switched off"));
        }
        _ => {}
    }
    let waited = timeout(shared.limits.waiting_time, Arc::clone(&shared.monitoring).acquire_owned()).await;
    let turn = waited.map_err(|_| overloaded("the handler does not answer"))?;
    let handler = Arc::clone(&shared.handler);
    if route == route::METRICS {
        let metrics = blocking(route, move || (handler.metrics(), turn).0).await?;
        return Ok(text(metrics::KIND, shared.metrics.text(&metrics)));
    }
    match blocking(route, move || (handler.readiness(), turn).0).await? {
        Ok(()) => Ok(text("text/plain", "ready\n".into())),
        Err(reason) => {
            // Where the database is concerns the operator only.
            tracing::warn!(reason, "not ready");
            Err(overloaded("not ready; the log says why"))
        }
    }
}

/// Runs the handler on a thread that may block. A panic is the failure of one request.
async fn blocking<T: Send + 'static>(
    route: &'static str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    spawn_blocking(run).await.map_err(|error| {
        tracing::error!(route, panicked = error.is_panic(), "a request failed");
        Problem::new(Name::Internal, "the request failed; it may or may not have taken effect")
    })
}

fn method_name(method: &HttpMethod) -> &'static str {
    match *method {
        HttpMethod::GET => "GET",
        HttpMethod::HEAD => "HEAD",
        HttpMethod::POST => "POST",
        HttpMethod::PUT => "PUT",
        _ => "other",
    }
}

/// What the log says of a request: nothing that its sender chose.
pub(super) struct Line {
    pub method: &'static str,
    pub route: &'static str,
    pub status: u16,
    pub problem: Option<&'static str>,
    pub milliseconds: f64,
    pub received: usize,
    pub sent: usize,
    pub remote: Option<SocketAddr>,
}

impl Line {
    /// Refusals that come too often are seen in the metrics only: nobody fills a disk with them.
    pub fn log(&self, shared: &Shared) {
        let Self { method, route, status, problem, milliseconds, received, sent, remote } = *self;
        let remote = remote.map(tracing::field::display);
        let milliseconds = (milliseconds * 1e3).round() / 1e3;
        let now = shared.began.elapsed().as_millis() as u64;
        if status >= 400 && shared.logged.take(problem.unwrap_or_default(), now).is_ok() {
            tracing::info!(method, route, status, problem, milliseconds, received, sent, remote, "refused");
        } else {
            tracing::debug!(method, route, status, problem, milliseconds, received, sent, remote, "answered");
        }
    }
}
