//! Why something was not done: a status and a sentence.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foltr_client::DeviceError;
use serde_json::json;

use crate::agent::AgentError;

#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub sentence: String,
}

impl Refusal {
    pub fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into() }
    }

    pub fn bad(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.sentence }))).into_response()
    }
}

impl From<AgentError> for Refusal {
    fn from(error: AgentError) -> Self {
        let status = match &error {
            AgentError::NoList(_) => StatusCode::GONE,
            AgentError::NotInList(_) => StatusCode::NOT_FOUND,
            AgentError::Folder { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            AgentError::Device(error) => of_device(error),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

fn of_device(error: &DeviceError) -> StatusCode {
    match error {
        DeviceError::Refused(_) => StatusCode::CONFLICT,
        DeviceError::Invitation(_) => StatusCode::UNPROCESSABLE_ENTITY,
        DeviceError::NotReached(..) => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
