//! Forms of the pages, for browsers with and without scripts.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::body::OwnForm;
use super::refusal::Refusal;
use super::site::{Site, with};
use super::view::Notice;
use super::{api, search, view};
use crate::answer::{DocumentId, ListId};

#[derive(Deserialize)]
pub(super) struct OpenForm {
    list: ListId,
    document: DocumentId,
}

#[derive(Deserialize)]
pub(super) struct FolderForm {
    folder: PathBuf,
    /// The page of the form.
    #[serde(default)]
    page: String,
}

#[derive(Deserialize)]
pub(super) struct JoinForm {
    invitation: String,
    consent: String,
}

#[derive(Deserialize)]
pub(super) struct NoForm {}

type Shared = State<Arc<Site>>;

/// What was done, as the page says it.
type Done = Result<&'static str, Refusal>;

pub(super) async fn open(State(site): Shared, OwnForm(form): OwnForm<OpenForm>) -> Response {
    let opened = with(Arc::clone(&site), move |site| api::open(site, form.list, form.document, true)).await;
    let notice = match opened {
        Ok((path, Ok(()))) => (StatusCode::OK, Notice::done(format!("Opened {}.", path.display()))),
        Ok((path, Err(problem))) => {
            (StatusCode::OK, Notice::refused(format!("{} was not opened: {problem}.", path.display())))
        }
        Err(refusal) => (refusal.status, Notice::refused(refusal.sentence)),
    };
    show(site, notice, "").await
}

pub(super) async fn add(State(site): Shared, OwnForm(form): OwnForm<FolderForm>) -> Response {
    let FolderForm { folder, page } = form;
    act(site, page, move |site| api::add(site, &folder).map(|_| "added")).await
}

pub(super) async fn remove(State(site): Shared, OwnForm(form): OwnForm<FolderForm>) -> Response {
    act(site, "privacy".into(), move |site| api::remove(site, &form.folder).map(|()| "removed")).await
}

pub(super) async fn pause(State(site): Shared, _: OwnForm<NoForm>) -> Response {
    act(site, "privacy".into(), |site| Ok(site.service.agent.pause().map(|()| "paused")?)).await
}

pub(super) async fn resume(State(site): Shared, _: OwnForm<NoForm>) -> Response {
    act(site, "privacy".into(), |site| Ok(site.service.agent.resume().map(|()| "resumed")?)).await
}

pub(super) async fn forget(State(site): Shared, _: OwnForm<NoForm>) -> Response {
    act(site, "privacy".into(), |site| Ok(site.service.agent.forget().map(|_| "forgotten")?)).await
}

pub(super) async fn join(State(site): Shared, OwnForm(form): OwnForm<JoinForm>) -> Response {
    let JoinForm { invitation, consent } = form;
    act(site, "privacy".into(), move |site| api::join_federation(site, &invitation, &consent).map(|()| "joined")).await
}

/// After a form comes its page again, by an address that sends nothing twice; a refusal is said there.
async fn act(site: Arc<Site>, page: String, act: impl FnOnce(&Site) -> Done + Send + 'static) -> Response {
    let page = if page == "privacy" { "privacy" } else { "" };
    match with(Arc::clone(&site), act).await {
        Ok(done) => Redirect::to(&format!("{}{page}?done={done}", site.base())).into_response(),
        Err(refusal) => show(site, (refusal.status, Notice::refused(refusal.sentence)), page).await,
    }
}

async fn show(site: Arc<Site>, (status, notice): (StatusCode, Notice), page: &'static str) -> Response {
    let shown = with(site, move |site| match page {
        "privacy" => view::with_notice(site, notice),
        _ => search::with_notice(site, notice),
    });
    shown.await.map(|page| (status, Html(page))).into_response()
}
