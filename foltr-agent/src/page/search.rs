//! The page to search with. Its script searches while somebody types; without it, a form does.

use std::path::PathBuf;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::{Html, Redirect};
use serde::Deserialize;

use super::body::Asked;
use super::refusal::Refusal;
use super::site::{PageResult, Site, with};
use super::view::{Notice, rendered};
use super::{api, words};
use crate::answer::{Answer, Filter, Hit, Request};
use crate::document::Kind;

const DAY: i64 = 86_400;
/// For the filter by date.
const TIMES: [(&str, &str, i64); 3] =
    [("7", "In the last week", 7), ("31", "In the last month", 31), ("366", "In the last year", 366)];

/// The form, or what the page says after another one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Search {
    q: String,
    kind: String,
    folder: String,
    days: String,
    done: String,
}

struct Choice {
    value: String,
    label: String,
    is_chosen: bool,
}

struct Row {
    document: u64,
    title: String,
    kind: Kind,
    path: String,
    short_path: String,
    date: String,
    snippet: Vec<crate::answer::Fragment>,
}

struct Results {
    list: u64,
    said: String,
    rows: Vec<Row>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    base: String,
    title: &'static str,
    here: &'static str,
    notice: Option<Notice>,
    q: String,
    kinds: Vec<Choice>,
    folders: Vec<Choice>,
    times: Vec<Choice>,
    results: Option<Results>,
    progress: Option<String>,
    n_documents: usize,
    n_folders: usize,
    is_paused: bool,
    suggested: String,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Asked(search): Asked<Search>) -> PageResult {
    with(site, move |site| {
        let notice = Notice::of(&search.done);
        render(site, &search, notice)
    })
    .await
    .map(Html)
}

/// Somebody has cut off the end of the address.
pub(super) async fn without_slash(State(site): State<Arc<Site>>) -> Redirect {
    Redirect::to(&site.base())
}

/// The page with a word about what was done or refused.
pub(super) fn with_notice(site: &Site, notice: Notice) -> Result<String, Refusal> {
    render(site, &Search::default(), Some(notice))
}

fn render(site: &Site, search: &Search, notice: Option<Notice>) -> Result<String, Refusal> {
    let status = site.service.agent.status()?;
    let folders: Vec<String> = status.folders.into_iter().map(|it| it.path).collect();
    let choice = |value: &str, label: &str, chosen: &str| Choice {
        value: value.to_owned(),
        label: label.to_owned(),
        is_chosen: value == chosen,
    };
    let name = |path: &String| path.rsplit('/').find(|it| !it.is_empty()).unwrap_or(path).to_owned();
    rendered(&SearchPage {
        base: site.base(),
        title: "Search",
        here: "search",
        notice,
        q: search.q.clone(),
        kinds: Kind::ALL.iter().map(|it| choice(it.name(), kind_label(*it), &search.kind)).collect(),
        times: TIMES.iter().map(|(value, label, _)| choice(value, label, &search.days)).collect(),
        results: results(site, search, &folders)?,
        progress: words::progress(&site.service.indexing(), status.n_documents),
        n_documents: status.n_documents,
        n_folders: folders.len(),
        is_paused: status.is_paused,
        suggested: site.suggested.as_ref().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default(),
        folders: folders.iter().map(|it| choice(it, &name(it), &search.folder)).collect(),
    })
}

fn results(site: &Site, search: &Search, folders: &[String]) -> Result<Option<Results>, Refusal> {
    if search.q.trim().is_empty() || folders.is_empty() {
        return Ok(None);
    }
    let days = TIMES.iter().find(|(value, ..)| *value == search.days).map(|(.., days)| *days);
    let filter = Filter {
        kinds: Kind::ALL.into_iter().filter(|it| it.name() == search.kind).collect(),
        folder: folders.iter().find(|it| **it == search.folder).map(PathBuf::from),
        changed_since: days.map(|days| site.service.agent.now() - days * DAY),
        changed_before: None,
    };
    let answer = api::find(site, &Request { words: search.q.clone(), filter, ..Request::default() })?;
    let Answer { list, hits, n_matches, microseconds } = answer;
    let said = match n_matches {
        0 => "Nothing has these words.".to_owned(),
        n => format!("{} in {:.1} ms", words::count(n as u64, "match"), microseconds as f64 / 1e3),
    };
    let rows = hits.into_iter().map(|hit| row(hit, folders)).collect();
    Ok(Some(Results { list: list.map_or(0, |it| it.0), said, rows }))
}

fn row(hit: Hit, folders: &[String]) -> Row {
    Row {
        document: hit.document.0,
        title: hit.title,
        kind: hit.kind,
        short_path: words::short_path(&hit.path, folders),
        path: hit.path,
        date: words::date(hit.changed),
        snippet: hit.snippet,
    }
}

const fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "Text",
        Kind::Markdown => "Note",
        Kind::Html => "Web",
        Kind::Pdf => "PDF",
        Kind::Office => "Office",
        Kind::Source => "Code",
        Kind::Mail => "Mail",
    }
}

impl Row {
    fn label(&self) -> &'static str {
        kind_label(self.kind)
    }
}
