//! The page that says what the agent knows, stores and sends, with all that its owner can do about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Html;
use serde::Deserialize;

use super::body::Asked;
use super::refusal::Refusal;
use super::site::{PageResult, Site, with};
use super::words;
use crate::agent::{AgentStatus, Export, ExportedOpening, Federation, FolderStatus, Measured, SkippedFile};
use crate::feature::FEATURES;

/// Openings and features that are shown; the rest is counted.
const MOST_OPENINGS: usize = 50;
const MOST_WEIGHTS: usize = 8;

/// What a page says on top.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    pub is_good: bool,
    pub text: String,
}

impl Notice {
    pub fn done(text: impl Into<String>) -> Self {
        Self { is_good: true, text: text.into() }
    }

    pub fn refused(text: impl Into<String>) -> Self {
        Self { is_good: false, text: text.into() }
    }

    /// What a redirection says about what was done.
    pub fn of(name: &str) -> Option<Self> {
        Some(Self::done(match name {
            "added" => "The folder was added. Its files can be found as soon as they were looked at.",
            "removed" => "The folder was removed. Its files leave the index now.",
            "paused" => "Paused: nothing is recorded, learnt or sent.",
            "resumed" => "Learning goes on.",
            "forgotten" => "Forgotten. Searching begins anew.",
            "joined" => "The federation was joined.",
            _ => return None,
        }))
    }
}

struct Storage {
    what: String,
    amount: String,
    size: String,
}

struct Opened {
    when: String,
    words: String,
    document: String,
    rank: u32,
}

struct Weight {
    words: &'static str,
    /// Of the largest, in percent.
    share: f32,
    is_against: bool,
}

struct Quality {
    n_searches: String,
    n_with_opening: String,
    is_known: bool,
    first: String,
    first_three: String,
    typed: String,
    comparison: String,
}

#[derive(Template)]
#[template(path = "privacy.html")]
struct PrivacyPage {
    base: String,
    title: &'static str,
    here: &'static str,
    notice: Option<Notice>,
    is_paused: bool,
    problem: Option<String>,
    folders: Vec<FolderStatus>,
    n_documents: String,
    n_files: String,
    progress: Option<String>,
    not_watched: Vec<String>,
    problems: Vec<String>,
    skipped: Vec<SkippedFile>,
    n_skipped: String,
    n_more_skipped: usize,
    n_lists: String,
    n_openings: String,
    release: Option<u32>,
    openings: Vec<Opened>,
    n_more_openings: usize,
    weights: Vec<Weight>,
    federation: Option<Federation>,
    budget: Vec<String>,
    /// Of 100.
    budget_share: Option<f64>,
    being_forgotten_by: Vec<String>,
    quality: Quality,
    storage: Vec<Storage>,
    home: String,
}

#[derive(Template)]
#[template(path = "forget.html")]
struct ForgetPage {
    base: String,
    title: &'static str,
    here: &'static str,
    notice: Option<Notice>,
    n_openings: String,
    n_lists: String,
    n_documents: String,
    federation: Option<Federation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct After {
    done: String,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Asked(after): Asked<After>) -> PageResult {
    with(site, move |site| render(site, Notice::of(&after.done))).await.map(Html)
}

pub(super) fn with_notice(site: &Site, notice: Notice) -> Result<String, Refusal> {
    render(site, Some(notice))
}

pub(super) async fn forget_page(State(site): State<Arc<Site>>) -> PageResult {
    let page = |site: &Site| {
        let status = site.service.agent.status()?;
        rendered(&ForgetPage {
            base: site.base(),
            title: "Forget",
            here: "privacy",
            notice: None,
            n_openings: words::count(status.learned.n_openings as u64, "opening"),
            n_lists: words::count(status.learned.n_lists, "list"),
            n_documents: words::count(status.n_documents as u64, "document"),
            federation: status.federation,
        })
    };
    with(site, page).await.map(Html)
}

pub(super) fn rendered(template: &impl Template) -> Result<String, Refusal> {
    template.render().map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn render(site: &Site, notice: Option<Notice>) -> Result<String, Refusal> {
    render_export(site, site.service.agent.export()?, notice)
}

fn render_export(site: &Site, export: Export, notice: Option<Notice>) -> Result<String, Refusal> {
    let (status, indexing) = (export.status, site.service.indexing());
    let weight =
        |feature: &crate::feature::Feature| (feature.words, export.weights.get(feature.name).copied().unwrap_or(0.0));
    let weights = weights(FEATURES.iter().map(weight).collect());
    let budget = status.federation.as_ref().and_then(|it| it.budget);
    rendered(&PrivacyPage {
        base: site.base(),
        title: "Privacy",
        here: "privacy",
        notice,
        n_documents: words::count(status.n_documents as u64, "document"),
        n_files: words::count(status.n_files as u64, "file"),
        progress: words::progress(&indexing, status.n_documents),
        problems: indexing.last.map(|it| it.problems).unwrap_or_default(),
        not_watched: indexing.not_watched,
        n_more_skipped: status.n_skipped - status.skipped.len(),
        n_skipped: words::count(status.n_skipped as u64, "file"),
        n_lists: words::count(status.learned.n_lists, "list"),
        n_openings: words::count(status.learned.n_openings as u64, "opening"),
        release: status.learned.release,
        n_more_openings: export.openings.len().saturating_sub(MOST_OPENINGS),
        openings: export.openings.iter().rev().take(MOST_OPENINGS).map(opened).collect(),
        weights,
        budget: budget.as_ref().map(words::budget).unwrap_or_default(),
        budget_share: budget.and_then(|it| Some((100.0 * it.spent_epsilon / it.limit_epsilon?).clamp(0.0, 100.0))),
        quality: quality(&status.measured),
        storage: storage(site, &status),
        home: site.service.agent.home().folder().to_string_lossy().into_owned(),
        is_paused: status.is_paused,
        problem: status.problem,
        folders: status.folders,
        skipped: status.skipped,
        federation: status.federation,
        being_forgotten_by: status.being_forgotten_by,
    })
}

/// The largest ones.
fn weights(mut all: Vec<(&'static str, f32)>) -> Vec<Weight> {
    all.retain(|(_, weight)| *weight != 0.0 && weight.is_finite());
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let largest = all.first().map_or(1.0, |it| it.1.abs());
    let weight = |(words, weight): (&'static str, f32)| Weight {
        words,
        share: 100.0 * weight.abs() / largest,
        is_against: weight < 0.0,
    };
    all.into_iter().take(MOST_WEIGHTS).map(weight).collect()
}

fn opened(opening: &ExportedOpening) -> Opened {
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    Opened {
        when: words::date(opening.at),
        words: opening.query.clone(),
        document: opening.document.as_ref().map_or_else(|| "a file that is gone".to_owned(), name),
        rank: opening.rank,
    }
}

fn quality(measured: &Measured) -> Quality {
    Quality {
        n_searches: words::count(measured.n_searches as u64, "search"),
        n_with_opening: measured.n_with_opening.to_string(),
        is_known: measured.n_with_opening > 0,
        first: words::percent(measured.opened_at_rank_1),
        first_three: words::percent(measured.opened_up_to_rank_3),
        typed: format!("{:.1}", measured.mean_typed),
        comparison: words::comparison(&measured.comparison),
    }
}

fn storage(site: &Site, status: &AgentStatus) -> Vec<Storage> {
    let home = site.service.agent.home();
    let of = |what: &str, amount: String, path: PathBuf| {
        let what = what.to_owned();
        Storage { what, amount, size: words::size(size_of(&path)) }
    };
    let documents = words::count(status.n_documents as u64, "document");
    let openings = words::count(status.learned.n_openings as u64, "opening");
    let files = words::count(status.n_files as u64, "file");
    let mut all = vec![
        of("the words of your documents, to search them", documents, home.index()),
        of("names, titles and dates of files", files, home.catalogue()),
        of("what was opened, with the words that were typed", openings, home.history()),
    ];
    let of_device = |it: &crate::agent::Stored| Storage {
        what: it.what.clone(),
        amount: it.count.to_string(),
        size: words::size(it.bytes),
    };
    all.extend(status.stored.iter().filter(|it| it.count > 0).map(of_device));
    all
}

/// Of a folder, or of a database with the files beside it.
fn size_of(path: &Path) -> u64 {
    let length = |path: &Path| path.metadata().map_or(0, |it| if it.is_file() { it.len() } else { 0 });
    if let Ok(entries) = std::fs::read_dir(path) {
        return entries.flatten().map(|entry| length(&entry.path())).sum();
    }
    let beside = ["-wal", "-shm"].map(|ending| PathBuf::from(format!("{}{ending}", path.display())));
    length(path) + beside.iter().map(|it| length(it)).sum::<u64>()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::agent::Budget;

    pub(in crate::page) fn member() -> Federation {
        Federation {
            address: "https://search.example.org".into(),
            device: "3f0c<b>".into(),
            is_member: true,
            consent: "trusted-server".into(),
            promise: Some("The server sees every message; nobody else learns more than epsilon 4 about you.".into()),
            newest_release: Some(12),
            is_newest_refused: true,
            n_lists: 3,
            n_needed: 8,
            waiting_round: None,
            n_messages: 5,
            budget: Some(Budget {
                spent_epsilon: 1.0,
                spent_delta: 1e-6,
                limit_epsilon: Some(4.0),
                limit_delta: 1e-5,
                n_unprotected: 0,
                is_exhausted: false,
            }),
        }
    }

    /// The page of an agent with these changes.
    pub(in crate::page) fn page_with(site: &Site, change: impl FnOnce(&mut AgentStatus)) -> String {
        let mut export = site.service.agent.export().expect("read");
        change(&mut export.status);
        render_export(site, export, None).unwrap_or_else(|refusal| panic!("{refusal:?}"))
    }
}
