//! What is at which address.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Html;
use axum::routing::{get, post};

use super::launch::Launcher;
use super::refusal::Refusal;
use super::{api, files, form, guard, search, view};
use crate::service::Service;

pub(super) struct Site {
    pub service: Arc<Service>,
    pub port: u16,
    pub token: String,
    pub launcher: Launcher,
    /// A folder to begin with.
    pub suggested: Option<PathBuf>,
}

impl Site {
    /// What all its addresses begin with.
    pub fn base(&self) -> String {
        format!("/{}/", self.token)
    }
}

pub(super) type PageResult = Result<Html<String>, Refusal>;

pub(super) fn router(site: Arc<Site>, request_time: Duration) -> Router {
    let calls = Router::new()
        .route("/{token}/api/search", post(api::search))
        .route("/{token}/api/seen", post(api::seen))
        .route("/{token}/api/opened", post(api::opened))
        .route("/{token}/api/left", post(api::left))
        .route("/{token}/api/why", get(api::why))
        .route("/{token}/api/status", get(api::status))
        .route("/{token}/api/export", get(api::export))
        .route("/{token}/api/folders", post(api::folders))
        .route("/{token}/api/pause", post(api::pause))
        .route("/{token}/api/resume", post(api::resume))
        .route("/{token}/api/forget", post(api::forget))
        .route("/{token}/api/join", post(api::join))
        .route("/{token}/api/stop", post(api::stop));
    let pages = Router::new()
        .route("/{token}", get(search::without_slash))
        .route("/{token}/", get(search::page))
        .route("/{token}/privacy", get(view::page))
        .route("/{token}/forget", get(view::forget_page))
        .route("/{token}/files/{name}", get(files::file))
        .route("/{token}/do/open", post(form::open))
        .route("/{token}/do/add", post(form::add))
        .route("/{token}/do/remove", post(form::remove))
        .route("/{token}/do/pause", post(form::pause))
        .route("/{token}/do/resume", post(form::resume))
        .route("/{token}/do/forget", post(form::forget))
        .route("/{token}/do/join", post(form::join));
    calls
        .merge(pages)
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "use GET or POST as described")
        })
        .layer(from_fn_with_state((Arc::clone(&site), request_time), guard::guard))
        .with_state(site)
}

/// Calls of the agent wait for the disk, so they have threads of their own.
pub(super) async fn with<T: Send + 'static>(
    site: Arc<Site>,
    call: impl FnOnce(&Site) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the agent failed; restart it");
    tokio::task::spawn_blocking(move || call(&site)).await.map_err(failed)?
}
