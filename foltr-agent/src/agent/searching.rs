//! A search: documents are found, described by features, ranked and shown; what is opened teaches.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use foltr_client::{DeviceError, ImpressionId, Refused, Shown};
use foltr_rank::query::pad_rows;
use foltr_rank::{Ranker, normalise_rows, row_stride};

use super::lists::{List, Origin, SavedList};
use super::{Agent, AgentError, COMPARED, LIST_LENGTH};
use crate::answer::{Answer, DocumentId, Hit, ListId, Request, Share, Why};
use crate::catalogue::Catalogue;
use crate::feature::{self, FEATURES, Moment, PathFacts, Seen};
use crate::history::{Ending, History, Opening, word_set};
use crate::index::{Among, Candidate, IndexView, WordQuery};

/// Documents that are ranked.
const CANDIDATES: usize = 150;
/// As many as a page shows.
const SHOWN: usize = 20;

/// Documents with their features, best by plain BM25 first.
struct Described {
    candidates: Vec<Candidate>,
    features: Vec<f32>,
}

impl Agent {
    pub fn search(&self, request: &Request) -> Result<Answer, AgentError> {
        let begun = Instant::now();
        let view = self.viewer.view();
        let query = view.query(&request.words)?;
        let found = view.candidates(&query, &request.filter, &self.among(request)?, CANDIDATES)?;
        let described = self.describe(&view, &query, &request.words, found.best)?;
        let previous = self.end_previous(request.instead_of)?;
        let (list, hits) = if described.candidates.is_empty() {
            (None, Vec::new())
        } else {
            let (order, origin) = self.order(&described, previous)?;
            let shown = &order[..order.len().min(request.most.unwrap_or(SHOWN))];
            let hits = self.hits(&view, &query, &described, shown)?;
            (Some(self.remember(&described, shown, origin, &request.words)?), hits)
        };
        let microseconds = begun.elapsed().as_micros() as u64;
        Ok(Answer { list, hits, n_matches: found.n_matches, microseconds })
    }

    /// What is ranked, with the rows that the ranker sees.
    pub(super) fn documents_of(&self, request: &Request) -> Result<(Vec<DocumentId>, Vec<f32>), AgentError> {
        let view = self.lock_index()?.view();
        let query = view.query(&request.words)?;
        let found = view.candidates(&query, &request.filter, &self.among(request)?, CANDIDATES)?;
        let described = self.describe(&view, &query, &request.words, found.best)?;
        let rows = if described.candidates.is_empty() { Vec::new() } else { scaled(&described.features) };
        Ok((described.candidates.iter().map(|it| it.id).collect(), rows))
    }

    /// The documents below the folder that was asked for.
    fn among(&self, request: &Request) -> Result<Among, AgentError> {
        let Some(folder) = &request.filter.folder else { return Ok(None) };
        let catalogue = self.read_catalogue()?;
        let of_folder = catalogue.files().filter(|(_, file)| file.path.starts_with(folder));
        let among: HashSet<DocumentId> = of_folder.flat_map(|(id, _)| catalogue.documents_of(id)).copied().collect();
        Ok(Some(Arc::new(among)))
    }

    fn describe(
        &self,
        view: &IndexView,
        query: &WordQuery,
        words: &str,
        mut candidates: Vec<Candidate>,
    ) -> Result<Described, AgentError> {
        let (catalogue, history) = (self.read_catalogue()?, self.lock_history()?);
        // What the index has and the catalogue has not is what an interrupted run has left.
        candidates.retain(|it| catalogue.document(it.id).is_some());
        let matches = view.matches(query, &candidates)?;
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|&a, &b| {
            matches[b].bm25.total_cmp(&matches[a].bm25).then(candidates[a].id.cmp(&candidates[b].id))
        });
        let moment = moment(&catalogue, &history, self.now(), words);
        let typed = word_set(words);
        let mut features = Vec::with_capacity(order.len() * FEATURES.len());
        for &at in &order {
            let (id, matches) = (candidates[at].id, &matches[at]);
            let Some(document) = catalogue.document(id) else { continue };
            let file = catalogue.path_of(document);
            let added = catalogue.folders().iter().find(|folder| file.starts_with(&folder.path));
            let path = PathFacts::new(file, added.map(|folder| folder.path.as_path()), &moment);
            let usage = history.use_of(id, &typed, moment.now);
            feature::append(&Seen { moment: &moment, document, file, matches, usage: &usage, path }, &mut features);
        }
        Ok(Described { candidates: order.into_iter().map(|at| candidates[at]).collect(), features })
    }

    /// The order to show, as places in `described`.
    fn order(&self, described: &Described, previous: Option<ImpressionId>) -> Result<(Vec<usize>, Origin), AgentError> {
        let is_paused = self.device.is_paused()?;
        if self.settings.compares && !is_paused && self.lock_lists()?.is_turn(COMPARED) {
            return self.compared_order(described);
        }
        if self.settings.explores {
            let Shown { impression, order, .. } = self.device.rank_next(&described.features, previous)?;
            return Ok((order, Origin::Device(impression)));
        }
        Ok((by_score(&self.scores(&scaled(&described.features))?), Origin::Plain))
    }

    /// What the ranker in use gives documents with these scaled features.
    fn scores(&self, rows: &[f32]) -> Result<Vec<f32>, AgentError> {
        let ranker = self.device.ranker()?;
        let query = foltr_rank::QueryView::new(rows, FEATURES.len());
        let mut scores = vec![0.0; query.n_docs()];
        let mut own = Ranker::with_params(ranker.shape, &ranker.params).map_err(|_| AgentError::Broken)?;
        own.score(query, &mut scores);
        Ok(scores)
    }

    fn compared_order(&self, described: &Described) -> Result<(Vec<usize>, Origin), AgentError> {
        let scores = self.scores(&scaled(&described.features))?;
        // Documents are in the order of plain BM25.
        let plain: Vec<f32> = (0..scores.len()).map(|at| -(at as f32)).collect();
        let list = super::measuring::compare(&scores, &plain, LIST_LENGTH);
        let first: Vec<usize> = list.docs().iter().map(|&doc| doc as usize).collect();
        let rest = by_score(&scores).into_iter().filter(|at| !first.contains(at));
        Ok((first.iter().copied().chain(rest).collect(), Origin::Compared(Box::new(list))))
    }

    fn hits(
        &self,
        view: &IndexView,
        query: &WordQuery,
        described: &Described,
        shown: &[usize],
    ) -> Result<Vec<Hit>, AgentError> {
        let (catalogue, history) = (self.read_catalogue()?, self.lock_history()?);
        let none = HashSet::new();
        let hit = |&at: &usize| -> Option<Result<Hit, AgentError>> {
            let candidate = &described.candidates[at];
            let document = catalogue.document(candidate.id)?;
            let path = catalogue.path_of(document);
            let name = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let snippet = match view.snippet(query, candidate) {
                Ok(snippet) => snippet,
                Err(error) => return Some(Err(error.into())),
            };
            Some(Ok(Hit {
                document: candidate.id,
                title: if document.title.is_empty() { name() } else { document.title.clone() },
                path: path.to_string_lossy().into_owned(),
                part: document.part.clone(),
                kind: document.kind,
                changed: document.changed,
                n_openings: history.use_of(candidate.id, &none, 0).n_openings,
                snippet,
            }))
        };
        shown.iter().filter_map(hit).collect()
    }

    fn remember(
        &self,
        described: &Described,
        shown: &[usize],
        origin: Origin,
        words: &str,
    ) -> Result<ListId, AgentError> {
        let rows = scaled(&described.features);
        let stride = row_stride(FEATURES.len());
        let list = List {
            origin,
            order: shown.iter().map(|&at| described.candidates[at].id).collect(),
            rows: shown.iter().flat_map(|&at| &rows[at * stride..(at + 1) * stride]).copied().collect(),
            words: words.trim().to_owned(),
            is_seen: false,
            first_opened: None,
        };
        let (id, over) = self.lock_lists()?.add(list);
        over.into_iter().try_for_each(|list| self.end(list))?;
        Ok(id)
    }

    /// Ends a list that another one takes the place of.
    fn end_previous(&self, list: Option<ListId>) -> Result<Option<ImpressionId>, AgentError> {
        let Some(id) = list else { return Ok(None) };
        let Some(list) = self.lock_lists()?.remove(id) else { return Ok(None) };
        let impression = if let Origin::Device(impression) = list.origin { Some(impression) } else { None };
        self.end(list)?;
        Ok(impression)
    }

    /// A person has looked at this list for a moment.
    pub fn seen(&self, id: ListId) -> Result<(), AgentError> {
        self.lock_lists()?.get_mut(id).ok_or(AgentError::NoList(id))?.is_seen = true;
        Ok(())
    }

    /// The person opens a document of a list. When it returns, that is durable. Returns the file.
    pub fn opened(&self, id: ListId, document: DocumentId) -> Result<PathBuf, AgentError> {
        let (position, words) = {
            let mut lists = self.lock_lists()?;
            let list = lists.get_mut(id).ok_or(AgentError::NoList(id))?;
            let position = list.order.iter().position(|it| *it == document).ok_or(AgentError::NotInList(document))?;
            list.is_seen = true;
            list.first_opened.get_or_insert(position as u32 + 1);
            match &mut list.origin {
                Origin::Device(impression) => self.click(*impression, position)?,
                Origin::Compared(compared) => drop(compared.click(position)),
                Origin::Plain => {}
            }
            (position, list.words.clone())
        };
        let rank = position as u32 + 1;
        if !self.device.is_paused()? {
            self.lock_history()?.add(Opening { document, at: self.now(), query: words, rank })?;
        }
        let catalogue = self.read_catalogue()?;
        let record = catalogue.document(document).ok_or(AgentError::NotInList(document))?;
        Ok(catalogue.path_of(record).to_owned())
    }

    /// A list that has ended teaches no more, and its documents can be opened all the same.
    fn click(&self, impression: ImpressionId, position: usize) -> Result<(), AgentError> {
        match self.device.clicked(impression, position) {
            Ok(_) | Err(DeviceError::Refused(Refused::Click(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The person is done with a list.
    pub fn left(&self, id: ListId) -> Result<(), AgentError> {
        let list = self.lock_lists()?.remove(id).ok_or(AgentError::NoList(id))?;
        self.end(list)
    }

    fn end(&self, list: List) -> Result<(), AgentError> {
        let List { origin, is_seen, first_opened, words, .. } = list;
        match origin {
            Origin::Device(impression) => self.end_impression(impression, is_seen)?,
            Origin::Compared(compared) if first_opened.is_some() => self.add_comparison(&compared)?,
            Origin::Compared(_) | Origin::Plain => {}
        }
        if is_seen && !self.device.is_paused()? {
            let n_typed = words.chars().count() as u32;
            self.lock_history()?.end_search(Ending { at: self.now(), rank: first_opened, n_typed })?;
        }
        Ok(())
    }

    /// A list for a later process. Clicks on it teach there as they would here.
    pub fn save_list(&self, id: ListId) -> Result<SavedList, AgentError> {
        self.lock_lists()?.save(id).ok_or(AgentError::NoList(id))
    }

    pub fn restore_list(&self, saved: SavedList) -> Result<ListId, AgentError> {
        Ok(self.lock_lists()?.restore(saved))
    }

    /// A list may have ended by itself, after a day.
    fn end_impression(&self, impression: ImpressionId, is_seen: bool) -> Result<(), AgentError> {
        let ended = if is_seen { self.device.dismiss(impression) } else { self.device.withdraw(impression) };
        match ended {
            Err(DeviceError::Refused(Refused::Click(_))) => Ok(()),
            ended => Ok(ended?),
        }
    }

    /// Why a document is where it is in a list.
    pub fn why(&self, id: ListId, document: DocumentId) -> Result<Why, AgentError> {
        let (at, rows) = {
            let lists = self.lock_lists()?;
            let list = lists.get(id).ok_or(AgentError::NoList(id))?;
            let at = list.order.iter().position(|it| *it == document).ok_or(AgentError::NotInList(document))?;
            (at, list.rows.clone())
        };
        // A list of an earlier version of the agent has other features.
        if rows.len() < (at + 1) * row_stride(FEATURES.len()) {
            return Err(AgentError::NoList(id));
        }
        let scores = self.scores(&rows)?;
        let ranker = self.device.ranker()?;
        let row = &rows[at * row_stride(FEATURES.len())..];
        let share = |(feature, (weight, value)): (&feature::Feature, (&f32, &f32))| Share {
            feature: feature.words.to_owned(),
            value: *value,
            share: weight * value,
        };
        let mut shares: Vec<Share> = FEATURES.iter().zip(ranker.params.iter().zip(row)).map(share).collect();
        shares.retain(|it| it.share != 0.0);
        shares.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
        let rank_by_score = 1 + scores.iter().filter(|&&score| score > scores[at]).count();
        Ok(Why { rank_by_score, rank_shown: at + 1, score: scores[at], shares })
    }
}

fn moment(catalogue: &Catalogue, history: &History, now: i64, words: &str) -> Moment {
    let recent = history.recent().into_iter().filter_map(|id| catalogue.document(id));
    let recent: Vec<(PathBuf, _)> = recent.map(|it| (catalogue.path_of(it).to_owned(), it.language)).collect();
    Moment::new(now, words, &recent)
}

/// Rows as the ranker sees them.
fn scaled(features: &[f32]) -> Vec<f32> {
    let rows = pad_rows(features, FEATURES.len());
    let mut scaled = vec![0.0; rows.len()];
    normalise_rows(&rows, &mut scaled, row_stride(FEATURES.len()));
    scaled
}

/// Best first; of equal ones the first.
fn by_score(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    order
}
