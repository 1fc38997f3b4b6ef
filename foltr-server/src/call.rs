//! A request and its answer, as the rest of the server sees them: without sockets, so that tests can make them.

use crate::problem::Problem;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

/// What a request says. Its body is within the limit.
#[derive(Clone, Default)]
pub struct Call {
    pub method: Method,
    /// As on the request line, with its query: devices sign it.
    pub path: String,
    /// The headers `foltr-device`, `foltr-signature`, `if-none-match`, `authorization` and `cookie`; empty where absent.
    pub device: String,
    pub signature: String,
    pub if_none_match: String,
    pub authorization: String,
    pub cookie: String,
    pub body: Vec<u8>,
}

impl Default for Method {
    fn default() -> Self {
        Self::Get
    }
}

impl std::fmt::Debug for Call {
    /// Headers are secrets, and bodies are updates.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({} bytes)", self.method.name(), self.path, self.body.len())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The media type of the body.
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// In seconds.
    pub retry_after: Option<u32>,
    pub etag: Option<String>,
    /// Whether caches may store it for ever.
    pub is_immutable: bool,
    /// `set-cookie`, `location` and the like.
    pub headers: Vec<(&'static str, String)>,
}

impl Answer {
    pub fn bytes(status: u16, body: Vec<u8>) -> Self {
        Self { status, kind: "application/octet-stream", body, ..Self::default() }
    }

    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, kind: "application/json", body, ..Self::default() }
    }

    pub fn html(body: String) -> Self {
        Self { status: 200, kind: "text/html; charset=utf-8", body: body.into_bytes(), ..Self::default() }
    }

    /// Without a body: 204, 304.
    pub fn empty(status: u16) -> Self {
        Self { status, ..Self::default() }
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.name.status(),
            kind: "application/problem+json",
            body: problem.to_json(),
            retry_after: problem.retry_after,
            ..Self::default()
        }
    }
}

/// Answers calls, on as many threads as there are calls at a time.
pub trait Handler: Send + Sync + 'static {
    fn handle(&self, call: &Call) -> Answer;

    /// Bytes of the longest body that any request may have: who sends more is refused before it has come.
    fn longest_body(&self) -> usize {
        usize::MAX
    }

    /// Why it cannot work, such as a database that is not reachable.
    fn readiness(&self) -> Result<(), String>;

    /// In the text format of Prometheus.
    fn metrics(&self) -> String;
}
