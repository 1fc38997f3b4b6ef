//! The calls: JSON in, JSON out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use foltr_client::Consent;
use serde::Deserialize;
use serde_json::{Value, json};

use super::body::{Asked, JsonBody};
use super::refusal::Refusal;
use super::site::{Site, with};
use super::words;
use crate::agent::{Export, consent_name};
use crate::answer::{Answer, DocumentId, Filter, ListId, Request, Why};
use crate::document::Kind;

type Shared = State<Arc<Site>>;
type Answered<T> = Result<Json<T>, Refusal>;

/// More are no words.
const MOST_CHARACTERS: usize = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchCall {
    words: String,
    #[serde(default)]
    kinds: Vec<Kind>,
    folder: Option<PathBuf>,
    changed_since: Option<i64>,
    changed_before: Option<i64>,
    instead_of: Option<ListId>,
    most: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListCall {
    list: ListId,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenedCall {
    list: ListId,
    document: DocumentId,
    #[serde(default)]
    launch: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhyCall {
    list: ListId,
    document: DocumentId,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FoldersCall {
    add: Option<PathBuf>,
    remove: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JoinCall {
    invitation: String,
    consent: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NothingCall {}

pub(super) async fn search(State(site): Shared, JsonBody(call): JsonBody<SearchCall>) -> Answered<Answer> {
    let SearchCall { words, kinds, folder, changed_since, changed_before, instead_of, most } = call;
    let filter = Filter { kinds, folder, changed_since, changed_before };
    let request = Request { words, filter, instead_of, most };
    with(site, move |site| find(site, &request)).await.map(Json)
}

pub(super) fn find(site: &Site, request: &Request) -> Result<Answer, Refusal> {
    if request.words.chars().count() > MOST_CHARACTERS {
        return Err(Refusal::bad(format!("a query has at most {MOST_CHARACTERS} characters")));
    }
    if request.filter.folder.as_ref().is_some_and(|folder| !folder.is_absolute()) {
        return Err(Refusal::bad("the folder of a filter must be absolute"));
    }
    Ok(site.service.agent.search(request)?)
}

pub(super) async fn seen(State(site): Shared, JsonBody(call): JsonBody<ListCall>) -> Answered<Value> {
    with(site, move |site| Ok(site.service.agent.seen(call.list)?)).await.map(done)
}

pub(super) async fn left(State(site): Shared, JsonBody(call): JsonBody<ListCall>) -> Answered<Value> {
    with(site, move |site| Ok(site.service.agent.left(call.list)?)).await.map(done)
}

pub(super) async fn opened(State(site): Shared, JsonBody(call): JsonBody<OpenedCall>) -> Answered<Value> {
    let OpenedCall { list, document, launch } = call;
    with(site, move |site| {
        let (path, launched) = open(site, list, document, launch)?;
        Ok(Json(json!({ "path": path.to_string_lossy(), "launched": launch && launched.is_ok(), "problem": launched.err() })))
    })
    .await
}

/// The opening counts also where no program opens the file.
pub(super) fn open(
    site: &Site,
    list: ListId,
    document: DocumentId,
    launch: bool,
) -> Result<(PathBuf, Result<(), String>), Refusal> {
    let path = site.service.agent.opened(list, document)?;
    let launched = if launch { site.launcher.open(&path) } else { Ok(()) };
    Ok((path, launched))
}

pub(super) async fn why(State(site): Shared, Asked(call): Asked<WhyCall>) -> Answered<Why> {
    with(site, move |site| Ok(site.service.agent.why(call.list, call.document)?)).await.map(Json)
}

pub(super) async fn status(State(site): Shared) -> Answered<Value> {
    let status = |site: &Site| {
        let (agent, indexing) = (site.service.agent.status()?, site.service.indexing());
        let progress = words::progress(&indexing, agent.n_documents);
        Ok(json!({ "agent": agent, "indexing": indexing, "progress": progress }))
    };
    with(site, status).await.map(Json)
}

pub(super) async fn export(State(site): Shared) -> Answered<Export> {
    with(site, |site| Ok(site.service.agent.export()?)).await.map(Json)
}

pub(super) async fn folders(State(site): Shared, JsonBody(call): JsonBody<FoldersCall>) -> Answered<Value> {
    let change = move |site: &Site| match (&call.add, &call.remove) {
        (Some(folder), None) => Ok(json!({ "folder": add(site, folder)?.to_string_lossy() })),
        (None, Some(folder)) => remove(site, folder).map(|()| json!({})),
        _ => Err(Refusal::bad("say either what to add or what to remove")),
    };
    with(site, change).await.map(Json)
}

pub(super) fn add(site: &Site, folder: &Path) -> Result<PathBuf, Refusal> {
    let wrong = |why: &str| {
        let sentence = format!("{} cannot be added: {why}", folder.display());
        Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, sentence))
    };
    if !folder.is_absolute() {
        return wrong("say the whole path, from / on");
    }
    match folder.metadata() {
        Ok(it) if !it.is_dir() => return wrong("it is no folder"),
        Ok(it) if !is_own(&it) => return wrong("it belongs to another user"),
        Ok(_) => {}
        Err(_) => return wrong("there is no such folder"),
    }
    let folder = site.service.agent.add_folder(folder)?;
    site.service.ask_for_scan();
    Ok(folder)
}

fn is_own(folder: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    folder.uid() == rustix::process::geteuid().as_raw()
}

pub(super) fn remove(site: &Site, folder: &Path) -> Result<(), Refusal> {
    if !site.service.agent.remove_folder(folder)? {
        return Err(Refusal::new(StatusCode::NOT_FOUND, format!("{} was not added", folder.display())));
    }
    site.service.ask_for_scan();
    Ok(())
}

pub(super) async fn pause(State(site): Shared, _: JsonBody<NothingCall>) -> Answered<Value> {
    with(site, |site| Ok(site.service.agent.pause()?)).await.map(done)
}

pub(super) async fn resume(State(site): Shared, _: JsonBody<NothingCall>) -> Answered<Value> {
    with(site, |site| Ok(site.service.agent.resume()?)).await.map(done)
}

pub(super) async fn forget(State(site): Shared, _: JsonBody<NothingCall>) -> Answered<Value> {
    with(site, |site| Ok(site.service.agent.forget().map(|_| ())?)).await.map(done)
}

pub(super) async fn join(State(site): Shared, JsonBody(call): JsonBody<JoinCall>) -> Answered<Value> {
    with(site, move |site| join_federation(site, &call.invitation, &call.consent)).await.map(done)
}

pub(super) fn join_federation(site: &Site, invitation: &str, consent: &str) -> Result<(), Refusal> {
    let all = [Consent::ProtectedMessages, Consent::TrustedServer, Consent::NoPromise];
    let Some(consent) = all.into_iter().find(|it| consent_name(*it) == consent) else {
        let names = all.map(consent_name).join(", ");
        return Err(Refusal::bad(format!("consent must be one of: {names}")));
    };
    Ok(site.service.agent.join(invitation.trim(), consent).map(|_| ())?)
}

pub(super) async fn stop(State(site): Shared, _: JsonBody<NothingCall>) -> Json<Value> {
    site.service.stop();
    done(())
}

fn done((): ()) -> Json<Value> {
    Json(json!({}))
}
