//! The documents that are worth ranking: the best by the sum of BM25 over words and fields.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use tantivy::collector::{Count, FilterCollector, TopDocs};
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocAddress, columnar};

use super::{Field, IndexView, WordQuery};
use crate::answer::{DocumentId, Filter};

/// Documents that may be found; all if absent.
pub type Among = Option<Arc<HashSet<DocumentId>>>;

/// Words that a beginning may stand for count less than what was typed.
const ENDING_BOOST: f32 = 0.7;

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub id: DocumentId,
    pub(super) address: DocAddress,
    /// The sum by which it was found.
    pub score: f32,
}

#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Best first.
    pub best: Vec<Candidate>,
    pub n_matches: usize,
}

pub(super) fn find(
    view: &IndexView,
    query: &WordQuery,
    filter: &Filter,
    among: &Among,
    most: usize,
) -> tantivy::Result<Candidates> {
    if query.is_empty() || most == 0 {
        return Ok(Candidates::default());
    }
    let words: Vec<(Occur, Box<dyn Query>)> =
        query.words.iter().map(|word| (Occur::Should, of_word(view, &word.terms))).collect();
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = vec![(Occur::Must, Box::new(BooleanQuery::new(words)))];
    clauses.extend(filters(view, filter).into_iter().map(|clause| (Occur::Must, clause)));
    let (query, best) = (BooleanQuery::new(clauses), (TopDocs::with_limit(most).order_by_score(), Count));
    let (best, n_matches) = match among.clone() {
        None => view.searcher.search(&query, &best)?,
        Some(among) => {
            let is_among = move |id: u64| among.contains(&DocumentId(id));
            view.searcher.search(&query, &FilterCollector::new("id".into(), is_among, best))?
        }
    };
    let ids = ids(view)?;
    let best = best.into_iter().filter_map(|(score, address)| {
        let id = ids[address.segment_ord as usize].first(address.doc_id)?;
        Some(Candidate { id: DocumentId(id), address, score })
    });
    Ok(Candidates { best: best.collect(), n_matches })
}

fn ids(view: &IndexView) -> tantivy::Result<Vec<columnar::Column<u64>>> {
    view.searcher.segment_readers().iter().map(|segment| segment.fast_fields().u64("id")).collect()
}

/// A word counts in each field; of what it may stand for, the best.
fn of_word(view: &IndexView, terms: &[String]) -> Box<dyn Query> {
    let of_field = |field: Field| -> Box<dyn Query> {
        let of_term = |(at, term): (usize, &String)| -> Box<dyn Query> {
            let term = Term::from_field_text(view.fields.text[field as usize], term);
            let boost = if at == 0 { field.boost() } else { field.boost() * ENDING_BOOST };
            Box::new(BoostQuery::new(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)), boost))
        };
        let mut queries: Vec<Box<dyn Query>> = terms.iter().enumerate().map(of_term).collect();
        match queries.pop() {
            Some(query) if queries.is_empty() => query,
            last => {
                queries.extend(last);
                Box::new(DisjunctionMaxQuery::new(queries))
            }
        }
    };
    let fields = Field::ALL.into_iter().map(|field| (Occur::Should, of_field(field))).collect();
    Box::new(BooleanQuery::new(fields))
}

/// What must hold, without a part in the score.
fn filters(view: &IndexView, filter: &Filter) -> Vec<Box<dyn Query>> {
    let mut clauses: Vec<Box<dyn Query>> = Vec::new();
    if !filter.kinds.is_empty() {
        let of_kind = |kind: &crate::document::Kind| -> (Occur, Box<dyn Query>) {
            let term = Term::from_field_u64(view.fields.kind, *kind as u64);
            (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::Basic)))
        };
        clauses.push(Box::new(BooleanQuery::new(filter.kinds.iter().map(of_kind).collect())));
    }
    if filter.changed_since.is_some() || filter.changed_before.is_some() {
        let term = |time: i64| Term::from_field_i64(view.fields.changed, time);
        let lower = filter.changed_since.map_or(Bound::Unbounded, |time| Bound::Included(term(time)));
        let upper = filter.changed_before.map_or(Bound::Unbounded, |time| Bound::Excluded(term(time)));
        clauses.push(Box::new(RangeQuery::new(lower, upper)));
    }
    clauses.into_iter().map(|clause| Box::new(BoostQuery::new(clause, 0.0)) as Box<dyn Query>).collect()
}
