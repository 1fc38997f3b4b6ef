//! An answer as HTTP, with the headers that every answer has.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::activity::{Activity, AnswerBody};
use crate::call::Answer;
use crate::problem::{Name, Problem, TYPE};

/// For answers that are no page. The dashboard has a policy of its own.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// Two years, as the preload lists of browsers ask for.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=63072000");

const PROBLEM: &str = "application/problem+json";

pub(super) struct Reply {
    pub status: u16,
    code: StatusCode,
    headers: HeaderMap,
    pub body: Vec<u8>,
    /// Its name, if it is a refusal.
    pub problem: Option<&'static str>,
}

impl Reply {
    pub fn start(self, activity: &Arc<Activity>) -> Response<AnswerBody> {
        let mut response = Response::new(activity.begin_answer(Bytes::from(self.body)));
        *response.status_mut() = self.code;
        *response.headers_mut() = self.headers;
        response
    }
}

pub(super) fn response(answer: Answer, is_tls: bool, closes: bool) -> Reply {
    let problem = problem_name(&answer);
    let Some((code, headers)) = head(&answer, is_tls, closes) else {
        tracing::error!("an answer has a status or a header that is not of HTTP");
        return response(Problem::new(Name::Internal, "the answer cannot be sent").into(), is_tls, closes);
    };
    Reply { status: code.as_u16(), code, headers, body: answer.body, problem }
}

fn head(answer: &Answer, is_tls: bool, closes: bool) -> Option<(StatusCode, HeaderMap)> {
    let code = StatusCode::from_u16(answer.status).ok().filter(|code| code.as_u16() >= 200)?;
    let mut headers = HeaderMap::with_capacity(10);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching(answer)));
    if is_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, TLS_ONLY);
    }
    if !answer.kind.is_empty() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(answer.kind).ok()?);
    }
    if let Some(seconds) = answer.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if let Some(etag) = &answer.etag {
        headers.insert(header::ETAG, HeaderValue::from_str(etag).ok()?);
    }
    if closes {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    add_own(answer, &mut headers)?;
    Some((code, headers))
}

/// The answer's own headers replace those that every answer has. Only cookies come several at a time.
fn add_own(answer: &Answer, headers: &mut HeaderMap) -> Option<()> {
    for (name, value) in &answer.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let value = HeaderValue::from_str(value).ok()?;
        if name == header::SET_COOKIE {
            headers.append(name, value);
        } else {
            headers.insert(name, value);
        }
    }
    Some(())
}

fn caching(answer: &Answer) -> &'static str {
    if answer.is_immutable {
        "private, max-age=31536000, immutable"
    } else if answer.etag.is_some() {
        "private, no-cache"
    } else {
        "no-store"
    }
}

/// Only a name that is documented: the rest of a body concerns the client alone.
fn problem_name(answer: &Answer) -> Option<&'static str> {
    if answer.kind != PROBLEM {
        return None;
    }
    let problem: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    let name = problem["type"].as_str()?.strip_prefix(TYPE)?;
    Name::ALL.iter().map(|known| known.name()).find(|known| *known == name)
}

/// Refuses what never became a request, and ends the connection.
pub(super) async fn refuse(
    stream: &mut (impl AsyncWrite + Unpin),
    problem: Problem,
    is_tls: bool,
) -> std::io::Result<usize> {
    let reply = response(problem.into(), is_tls, true);
    let mut bytes = format!("HTTP/1.1 {}\r\n", reply.code).into_bytes();
    for (name, value) in &reply.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", reply.body.len()).as_bytes());
    bytes.extend_from_slice(&reply.body);
    stream.write_all(&bytes).await?;
    stream.flush().await?;
    Ok(reply.body.len())
}
