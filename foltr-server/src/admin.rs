//! What the operator asks for over HTTP: who may ask, and the API below `/v1/admin`.

mod authority;
pub(crate) mod form;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::call::{Answer, Call, Method};
use crate::operator::{Action, Operator, OperatorError};
use crate::problem::{Name, Problem};

pub use authority::{Authority, TokenFileError, TokenRefused};
pub use session::{SESSION_SECONDS, Session};

const PATH: &str = "/v1/admin";

/// Refused for a moment: so many seconds later it may work.
const RETRY_AFTER: u32 = 5;

/// The API below `/v1/admin`, for whoever has the operator's token.
pub struct Admin {
    operator: Arc<dyn Operator>,
    authority: Arc<Authority>,
}

impl Admin {
    pub fn new(operator: Arc<dyn Operator>, authority: Arc<Authority>) -> Self {
        Self { operator, authority }
    }

    /// Nothing for a path that is not below `/v1/admin`.
    pub fn handle(&self, call: &Call) -> Option<Answer> {
        self.handle_at(call, now())
    }

    fn handle_at(&self, call: &Call, now: u64) -> Option<Answer> {
        let (path, query) = form::split_path(&call.path);
        let rest = path.strip_prefix(PATH)?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let answer = self.authorise(call, now).and_then(|()| self.answer(call, rest, query));
        let mut answer = answer.unwrap_or_else(Answer::from);
        answer.headers.push(("cache-control", "no-store".into()));
        if answer.status == Name::NotAuthorised.status() {
            answer.headers.push(("www-authenticate", "Bearer".into()));
        }
        Some(answer)
    }

    fn authorise(&self, call: &Call, now: u64) -> Result<(), Problem> {
        let (scheme, token) = call.authorization.split_once(' ').unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("bearer") {
            let detail = "send the operator's token as `authorization: Bearer TOKEN`";
            return Err(Problem::new(Name::NotAuthorised, detail));
        }
        self.authority.check(token, now).map_err(Problem::from)
    }

    fn answer(&self, call: &Call, rest: &str, query: &str) -> Result<Answer, Problem> {
        let segments: Vec<&str> = rest.split('/').skip(1).collect();
        match (call.method, segments.as_slice()) {
            (Method::Get, ["overview"]) => Ok(json(&self.operator.overview()?)),
            (Method::Post, ["federations", name, "actions"]) => {
                let action: Action = serde_json::from_slice(&call.body)
                    .map_err(|error| Problem::new(Name::Malformed, format!("the body is no action: {error}")))?;
                Ok(json(&self.operator.act(&segment(name)?, &action)?))
            }
            (Method::Get, ["federations", name, "model"]) => model(self.operator.as_ref(), &segment(name)?, query),
            (_, ["overview"] | ["federations", _, "actions" | "model"]) => Err(not_allowed(call)),
            _ => Err(Problem::new(Name::NotFound, format!("there is nothing at {:?}", form::split_path(&call.path).0))),
        }
    }
}

fn json(value: &impl serde::Serialize) -> Answer {
    Answer::json(200, serde_json::to_vec(value).expect("texts, numbers and lists of them"))
}

pub(crate) fn not_allowed(call: &Call) -> Problem {
    let path = form::split_path(&call.path).0;
    Problem::new(Name::MethodNotAllowed, format!("{path:?} has no method {}", call.method.name()))
}

/// A part of a path between slashes.
pub(crate) fn segment(text: &str) -> Result<String, Problem> {
    let wrong = || Problem::new(Name::BadRequest, format!("{text:?} in the path is not percent-encoded UTF-8"));
    form::percent_decode(text).ok_or_else(wrong)
}

/// The ranker as a file to save; the query may name a version.
pub(crate) fn model(operator: &dyn Operator, federation: &str, query: &str) -> Result<Answer, Problem> {
    let wrong = |detail: String| Problem::new(Name::BadRequest, detail);
    let query = form::Form::parse(query.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let version = query.get("version").map(|text| {
        text.parse().map_err(|_| wrong(format!("version is {text:?}; expected a number from 0 to {}", u32::MAX)))
    });
    let model = operator.export(federation, version.transpose()?)?;
    let mut answer = Answer::bytes(200, model.bytes);
    let is_harmless = |letter: &char| letter.is_ascii_alphanumeric() || "-._".contains(*letter);
    let file: String = model.file_name.chars().filter(is_harmless).collect();
    answer.headers.push(("content-disposition", format!("attachment; filename=\"{file}\"")));
    Ok(answer)
}

impl From<OperatorError> for Problem {
    fn from(error: OperatorError) -> Self {
        let detail = error.to_string();
        match error {
            OperatorError::UnknownFederation(_) => Self::new(Name::UnknownFederation, detail),
            OperatorError::Refused(_) => Self::new(Name::Refused, detail),
            OperatorError::Unavailable(_) => Self::later(Name::Unavailable, detail, RETRY_AFTER),
        }
    }
}

impl From<TokenRefused> for Problem {
    fn from(refused: TokenRefused) -> Self {
        let detail = refused.to_string();
        match refused {
            TokenRefused::Wrong => Self::new(Name::NotAuthorised, detail),
            TokenRefused::TooMany { retry_after } => Self::later(Name::TooManyRequests, detail, retry_after),
            TokenRefused::NoRandomness => Self::later(Name::Unavailable, detail, RETRY_AFTER),
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs())
}
