//! Files of the page that are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str, &str); 8] = [
    ("page.css", "text/css; charset=utf-8", include_str!("../../templates/page.css")),
    ("mark.svg", "image/svg+xml", include_str!("../../templates/mark.svg")),
    ("search.js", SCRIPT, include_str!("../../templates/search.js")),
    ("lists.js", SCRIPT, include_str!("../../templates/lists.js")),
    ("rows.js", SCRIPT, include_str!("../../templates/rows.js")),
    ("why.js", SCRIPT, include_str!("../../templates/why.js")),
    ("progress.js", SCRIPT, include_str!("../../templates/progress.js")),
    ("call.js", SCRIPT, include_str!("../../templates/call.js")),
];

pub(super) async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, text)) => ([(CONTENT_TYPE, *kind)], *text).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
