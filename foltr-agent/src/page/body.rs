//! What requests carry: JSON for calls, forms of the own page, and queries. A wrong one is refused with a sentence.

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use super::guard::is_surely_own;
use super::refusal::Refusal;

/// The longest is an invitation, of less than 4 KiB.
const MOST_BYTES: usize = 64 << 10;

const FORM: &str = "application/x-www-form-urlencoded";

/// The body of a call. Pages of other sites cannot send this type without asking first.
pub(super) struct JsonBody<T>(pub T);

/// The body of a form, which only the own page may send.
pub(super) struct OwnForm<T>(pub T);

/// What stands behind the path.
pub(super) struct Asked<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        let body = read(request, "application/json").await?;
        serde_json::from_slice(&body).map(Self).map_err(|error| Refusal::bad(format!("the body is wrong: {error}")))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OwnForm<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refusal> {
        if !is_surely_own(request.headers()) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "the form is not of this page"));
        }
        let body = read(request, FORM).await?;
        let bare = Request::post("/").header(CONTENT_TYPE, FORM).body(Body::from(body));
        let bare = bare.map_err(|error| Refusal::bad(error.to_string()))?;
        let form = axum::Form::<T>::from_request(bare, &()).await;
        form.map(|form| Self(form.0)).map_err(|error| Refusal::bad(format!("the form is wrong: {error}")))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|query| Self(query.0)).map_err(|error| Refusal::bad(format!("the address is wrong: {error}")))
    }
}

async fn read(request: Request, expected: &str) -> Result<axum::body::Bytes, Refusal> {
    if !is_of_type(request.headers(), expected) {
        let sentence = format!("the body must be of type {expected}");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, sentence));
    }
    let too_large = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {MOST_BYTES} bytes"));
    if request.body().size_hint().lower() > MOST_BYTES as u64 {
        return Err(too_large());
    }
    to_bytes(request.into_body(), MOST_BYTES).await.map_err(|_| too_large())
}

fn is_of_type(headers: &HeaderMap, expected: &str) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let first = types.next().and_then(|it| it.to_str().ok()).unwrap_or_default();
    let name = first.split(';').next().unwrap_or_default().trim();
    types.next().is_none() && name.eq_ignore_ascii_case(expected)
}
