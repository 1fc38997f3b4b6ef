//! What do rankers from outside say of public and of judged queries? Their TREC runs, read for the lists of a run.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use foltr_mimic::Candidates;
use foltr_mimic::collection::Collection;
use foltr_mimic::run_file::Run;
use xxhash_rust::xxh3::xxh3_64;

use super::JudgedQuery;
use crate::data;

/// Scores of the same lists by each ranker.
#[derive(Clone, Debug)]
pub struct OutsideScores {
    pub public: Vec<Vec<Candidates>>,
    /// None where a run lacks a query: that ranker is not evaluated.
    pub judged: Option<Vec<Vec<Candidates>>>,
}

/// The runs of all rankers, and their files.
#[derive(Default)]
pub struct OutsideRuns(Vec<(PathBuf, Run)>);

/// What runs call a public query: it follows from the text, so that one run serves all seeds.
pub fn public_name(text: &str) -> String {
    format!("public-{:016x}", xxh3_64(text.as_bytes()))
}

impl OutsideRuns {
    pub fn read(files: &[PathBuf], collection: &Collection) -> Result<Self> {
        let ids = collection.documents.iter().map(|document| document.id.as_str());
        let numbers: HashMap<&str, u32> = ids.zip(0..).collect();
        let read = |file: &PathBuf| {
            let path = data::resolve_path(file)?;
            let run = Run::read(&path, &numbers)?;
            Ok((path, run))
        };
        Ok(Self(files.iter().map(read).collect::<Result<_>>()?))
    }

    /// The public lists without documents that a run does not score, and the scores of the others.
    pub fn label(&self, texts: &[String], public: &mut [Candidates], judged: &[JudgedQuery]) -> Result<OutsideScores> {
        let names: Vec<String> = texts.iter().map(|text| public_name(text)).collect();
        for (file, run) in &self.0 {
            let mut lacking = Vec::new();
            for ((name, text), list) in names.iter().zip(texts).zip(&mut *public) {
                let was_empty = list.documents.is_empty();
                let scores = run.scores(name, &list.documents).unwrap_or_default();
                let scored = list.documents.iter().zip(scores).filter(|(_, score)| score.is_some());
                list.documents = scored.map(|(&document, _)| document).collect();
                if list.documents.is_empty() && !was_empty {
                    lacking.push((name, text));
                }
            }
            if let Some((name, text)) = lacking.first() {
                let (n_lacking, n_queries) = (lacking.len(), texts.len());
                bail!(
                    "{}: no scores of {n_lacking} of {n_queries} public queries, such as {name} ({text}); expected all \
                     queries that `foltr mimic queries` writes",
                    file.display()
                );
            }
        }
        let of_run = |(_, run): &(PathBuf, Run)| public_scores(run, &names, public);
        let judged_scores =
            self.0.iter().map(|(_, run)| judged.iter().map(|query| judged_scores(run, query)).collect());
        Ok(OutsideScores { public: self.0.iter().map(of_run).collect(), judged: judged_scores.collect() })
    }

    /// What is worth knowing of them.
    pub fn notes(&self, judged: &[JudgedQuery]) -> Vec<String> {
        let lacks = |(_, run): &&(PathBuf, Run)| judged.iter().any(|query| judged_scores(run, query).is_none());
        let note = |(file, _): &(PathBuf, Run)| {
            format!("{} has no scores of some judged queries: its ranker is not evaluated as a teacher", file.display())
        };
        self.0.iter().filter(lacks).map(note).collect()
    }
}

fn public_scores(run: &Run, names: &[String], public: &[Candidates]) -> Vec<Candidates> {
    let scored = |(name, list): (&String, &Candidates)| {
        let scores = run.scores(name, &list.documents).unwrap_or_default();
        Candidates { scores: scores.into_iter().flatten().collect(), ..list.clone() }
    };
    names.iter().zip(public).map(scored).collect()
}

/// Documents that a run lacks come last. None where it has no document of the query.
fn judged_scores(run: &Run, query: &JudgedQuery) -> Option<Candidates> {
    let list = &query.list;
    let scores = run.scores(&query.id, &list.documents)?;
    let lowest = scores.iter().copied().flatten().reduce(f32::min)?;
    let scores = scores.into_iter().map(|score| score.unwrap_or(lowest)).collect();
    Some(Candidates { scores, ..list.clone() })
}
