//! Who is let in: only the agent's own page and commands that know the token.
//!
//! A page of another site can make a browser send requests here, and can let its own name point to this machine (DNS
//! rebinding). So a request must name this machine as its host, know the token, and come from no other origin. Pages of
//! other ports of this machine are other origins, too.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use super::refusal::Refusal;
use super::site::Site;

/// Nothing from elsewhere, nothing inline, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const CAREFUL: [(&str, &str); 9] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("cache-control", "no-store"),
];

pub(super) async fn guard(State((site, time)): State<(Arc<Site>, Duration)>, request: Request, next: Next) -> Response {
    let judged = match judge(&site, &request) {
        Ok(()) => tokio::time::timeout(time, next.run(request)).await.unwrap_or_else(|_| too_slow()),
        Err(response) => *response,
    };
    careful(judged)
}

fn too_slow() -> Response {
    Refusal::new(StatusCode::REQUEST_TIMEOUT, "it took too long").into_response()
}

fn judge(site: &Site, request: &Request) -> Result<(), Box<Response>> {
    let headers = request.headers();
    let stranger = |status: StatusCode| Err(Box::new(status.into_response()));
    let Some(host) = own_host(site, request) else { return stranger(StatusCode::MISDIRECTED_REQUEST) };
    let token = request.uri().path().split('/').nth(1).unwrap_or_default();
    if !bool::from(token.as_bytes().ct_eq(site.token.as_bytes())) {
        return stranger(StatusCode::NOT_FOUND);
    }
    if !is_of_own_page(headers, host) && !is_visit(site, request) {
        let refusal = Refusal::new(StatusCode::FORBIDDEN, "pages of other sites may not ask this agent");
        return Err(Box::new(refusal.into_response()));
    }
    Ok(())
}

/// The host that was asked for, if it is this one.
fn own_host<'a>(site: &Site, request: &'a Request) -> Option<&'a str> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let of_address = request.uri().authority().is_none_or(|it| it.as_str() == host);
    let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", site.port));
    (hosts.next().is_none() && of_address && own.iter().any(|it| it == host)).then_some(host)
}

fn is_of_own_page(headers: &HeaderMap, host: &str) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_near = matches!(site, None | Some(b"same-origin" | b"none"));
    let mut origins = headers.get_all(header::ORIGIN).iter();
    is_near && origins.all(|origin| is_own(origin, site, host))
}

/// Whether somebody goes to the first page, such as from a file that says where it is. That changes nothing, and whoever
/// sends them there knows the token.
fn is_visit(site: &Site, request: &Request) -> bool {
    let says = |name: &str, value: &str| request.headers().get(name).is_some_and(|it| it == value);
    let is_first_page = request.uri() == site.base().as_str() && request.method() == Method::GET;
    let goes_there = says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document");
    is_first_page && goes_there && !request.headers().contains_key(header::ORIGIN)
}

/// Browsers hide the origin of forms where pages ask for no referrer, and then say `null`.
fn is_own(origin: &HeaderValue, site: Option<&[u8]>, host: &str) -> bool {
    let origin = origin.as_bytes();
    origin.strip_prefix(b"http://") == Some(host.as_bytes()) || (origin == b"null" && site == Some(b"same-origin"))
}

/// Whether a browser says that the page itself sent this: for forms, whose type other sites may send as well.
pub(super) fn is_surely_own(headers: &HeaderMap) -> bool {
    let has_origin = headers.get(header::ORIGIN).is_some_and(|it| it != "null");
    has_origin || headers.get("sec-fetch-site").is_some_and(|it| it == "same-origin")
}

fn careful(mut response: Response) -> Response {
    for (name, value) in CAREFUL {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
