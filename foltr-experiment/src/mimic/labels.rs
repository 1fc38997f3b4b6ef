//! Labels of public queries by all teachers together, as files that a student learns from.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_mimic::accountant::Spent;
use foltr_mimic::aggregation::{AggregationMethod, Ballot, aggregate_scores, draw_questions};
use foltr_mimic::guarantee::{Guarantee, UNIT};
use foltr_mimic::{Candidates, Pair, Supervision};
use foltr_rank::rng::{Stream, Streams};
use serde::{Deserialize, Serialize};

use super::training_data::TrainingData;
use crate::store::{put, put_json};

/// Written last: labels are there once this file is.
const LABELS: &str = "labels.jsonl";
const GUARANTEE: &str = "guarantee.json";
/// Of the data owner: nothing in it may be shown to others.
const ACCOUNTING: &str = "accounting-private.json";

pub struct Labels {
    supervision: Supervision,
    guarantee: Guarantee,
}

/// One line of `labels.jsonl`. Documents are called by their number in the data.
#[derive(Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Scores { query: u32, name: String, documents: Vec<u32>, scores: Vec<f32> },
    Pair { query: u32, name: String, better: u32, worse: u32 },
}

/// The content of `guarantee.json`: whatever the votes were; nothing here depends on them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct PrivacyStatement {
    /// None: no guarantee.
    pub epsilon: Option<f64>,
    pub delta: f64,
    unit: String,
    pub sentences: Vec<String>,
}

impl PrivacyStatement {
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(GUARANTEE);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} is missing; `foltr mimic label` makes it", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))
    }
}

pub fn exist(folder: &Path) -> bool {
    folder.join(LABELS).exists()
}

/// Labels of the public lists by the teachers' scores of them.
pub fn make(
    method: AggregationMethod,
    scores: &[Vec<Candidates>],
    public: &[Candidates],
    questions: &mut Stream,
    noises: &Streams,
) -> Result<Labels> {
    if let AggregationMethod::Scores { scale } = method {
        let labels = aggregate_scores(scores, scale, noises)?;
        let n_scored = labels.iter().map(|list| list.documents.len()).sum();
        let guarantee = Guarantee::of_scores(scale, scores.len(), n_scored, 1e-5);
        return Ok(Labels { supervision: Supervision::Scores(labels), guarantee });
    }
    let (noise, n_pairs, delta) = method.votes().context("scores or votes")?;
    let questions = draw_questions(public, n_pairs, questions);
    let mut ballot = Ballot::new(public, questions);
    for scored in scores {
        ballot.cast(scored)?;
    }
    let (pairs, votes) = ballot.label(noise, noises)?;
    Ok(Labels { supervision: Supervision::Pairs(pairs), guarantee: Guarantee::of_votes(&votes, delta) })
}

/// What the votes that were cast would give; the original accountant knows Laplace noise only.
fn accounting(guarantee: &Guarantee) -> Option<serde_json::Value> {
    let Spent { data_independent, data_dependent_private, original } = guarantee.accounting_private?;
    Some(serde_json::json!({
        "not_to_be_shown": guarantee.private_sentence(),
        "original_data_independent": original.map(|original| original.data_independent),
        "original_data_dependent": original.map(|original| original.data_dependent_private.for_the_data_owner()),
        "data_independent": data_independent,
        "data_dependent": data_dependent_private.for_the_data_owner(),
        "delta": guarantee.delta,
    }))
}

impl Labels {
    pub fn write(&self, folder: &Path, data: &TrainingData) -> Result<()> {
        let queries = data.public.iter().map(|list| list.query);
        let names: BTreeMap<u32, &String> = queries.zip(&data.public_names).collect();
        let name = |query: &u32| names.get(query).map_or_else(String::new, |name| (*name).clone());
        let mut text = Vec::new();
        let mut add = |line: &Line| -> Result<()> {
            serde_json::to_writer(&mut text, line)?;
            Ok(text.write_all(b"\n")?)
        };
        match &self.supervision {
            Supervision::Scores(lists) => {
                for Candidates { query, documents, scores } in lists {
                    let (documents, scores) = (documents.clone(), scores.clone());
                    add(&Line::Scores { query: *query, name: name(query), documents, scores })?;
                }
            }
            Supervision::Pairs(pairs) => {
                for &Pair { query, better, worse } in pairs {
                    add(&Line::Pair { query, name: name(&query), better, worse })?;
                }
            }
        }
        let statement = PrivacyStatement {
            epsilon: self.guarantee.epsilon.is_finite().then_some(self.guarantee.epsilon),
            delta: self.guarantee.delta,
            unit: UNIT.into(),
            sentences: self.guarantee.sentences(&data.taken_as_public),
        };
        put_json(&folder.join(GUARANTEE), &statement)?;
        if let Some(accounting) = accounting(&self.guarantee) {
            put_json(&folder.join(ACCOUNTING), &accounting)?;
        }
        put(&folder.join(LABELS), &text)
    }

    pub fn read(folder: &Path) -> Result<Supervision> {
        let path = folder.join(LABELS);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} is missing; `foltr mimic label` makes it", path.display()))?;
        let (mut lists, mut pairs) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let location = || format!("{}:{number}: not a label", path.display());
            match serde_json::from_str(line).with_context(location)? {
                Line::Scores { query, documents, scores, .. } => lists.push(Candidates { query, documents, scores }),
                Line::Pair { query, better, worse, .. } => pairs.push(Pair { query, better, worse }),
            }
        }
        ensure!(lists.is_empty() || pairs.is_empty(), "{}: scores and pairs side by side", path.display());
        Ok(if pairs.is_empty() { Supervision::Scores(lists) } else { Supervision::Pairs(pairs) })
    }
}
