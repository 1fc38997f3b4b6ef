//! Labels of public queries: what many teachers say together, as files that a student learns from.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use foltr_mimic::accountant;
use foltr_mimic::aggregation::{Ballot, VoteNoise, aggregate_scores, draw_questions};
use foltr_mimic::guarantee::Guarantee;
use foltr_mimic::{Candidates, Pair, Supervision};
use foltr_rank::rng::{Purpose, Streams};
use serde::{Deserialize, Serialize};

use super::spec::AggregationMethod;
use crate::store::{put, put_json};

/// Written last: labels are there once this file is.
const LABELS: &str = "labels.jsonl";
const GUARANTEE: &str = "guarantee.json";
/// Of the data owner: nothing in it may be shown to others.
const ACCOUNTING: &str = "accounting-private.json";

/// Labels with what they give away.
pub struct Labels {
    supervision: Supervision,
    guarantee: Guarantee,
    accounting: Option<Accounting>,
}

/// The content of `accounting-private.json`: what the votes that were cast would give.
#[derive(Serialize)]
struct Accounting {
    not_to_be_shown: String,
    /// By moments 1 to 8, as `PAEGT17` counts; none with Gaussian noise.
    original_data_independent: Option<f64>,
    original_data_dependent: Option<f64>,
    data_independent: f64,
    data_dependent: f64,
    delta: f64,
}

/// One line of `labels.jsonl`. Documents are called by their number in the data.
#[derive(Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Scores { query: u32, name: String, documents: Vec<u32>, scores: Vec<f32> },
    Pair { query: u32, name: String, better: u32, worse: u32 },
}

/// The content of `guarantee.json`.
#[derive(Serialize)]
struct Told {
    /// Whatever the votes were; nothing here depends on them.
    epsilon: Option<f64>,
    delta: f64,
    unit: &'static str,
    sentences: Vec<String>,
}

/// What `guarantee.json` says to those who read it back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PrivacyStatement {
    /// None: no guarantee.
    pub epsilon: Option<f64>,
    /// Beside the epsilon.
    pub delta: f64,
    /// In words.
    pub sentences: Vec<String>,
}

impl PrivacyStatement {
    /// Reads what was promised about labels.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(GUARANTEE);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} is missing; `foltr mimic label` makes it", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))
    }
}

/// Whether labels were made before.
pub fn is_there(folder: &Path) -> bool {
    folder.join(LABELS).exists()
}

/// Labels the public queries.
///
/// # Errors
/// If the teachers did not score the same documents.
pub fn make(
    method: AggregationMethod,
    scores: &[Vec<Candidates>],
    public: &[Candidates],
    streams: &Streams,
) -> Result<Labels> {
    let (noise, n_pairs, delta) = match method {
        AggregationMethod::Scores { scale } => {
            let labels = aggregate_scores(scores, scale, streams)?;
            let n_scored = labels.iter().map(|list| list.documents.len()).sum();
            let guarantee = Guarantee::of_scores(scale, scores.len(), n_scored, 1e-5);
            return Ok(Labels { supervision: Supervision::Scores(labels), guarantee, accounting: None });
        }
        AggregationMethod::Votes { gamma, pairs, delta, .. } => (VoteNoise::Laplace { gamma }, pairs, delta),
        AggregationMethod::GaussianVotes { deviation, pairs, delta, .. } => {
            (VoteNoise::Gaussian { sigma: deviation }, pairs, delta)
        }
    };
    let questions = draw_questions(public, n_pairs, &mut streams.open(Purpose::Data, 0, 0));
    let mut ballot = Ballot::new(public, questions);
    for scored in scores {
        ballot.cast(scored)?;
    }
    let labels = ballot.label(noise, streams)?;
    let guarantee = Guarantee::of_votes(&labels.votes, delta);
    let spent = accountant::spent(&labels.votes, delta);
    let accounting = Accounting {
        not_to_be_shown: guarantee.private_sentence().unwrap_or_default(),
        original_data_independent: spent.original.map(|original| original.data_independent),
        original_data_dependent: spent.original.map(|it| it.data_dependent_private.for_the_data_owner()),
        data_independent: spent.data_independent,
        data_dependent: spent.data_dependent_private.for_the_data_owner(),
        delta,
    };
    Ok(Labels { supervision: Supervision::Pairs(labels.pairs), guarantee, accounting: Some(accounting) })
}

impl Labels {
    /// Writes labels and what they guarantee.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, folder: &Path, names: &[String], public: &[Candidates]) -> Result<()> {
        let names: BTreeMap<u32, &String> = public.iter().map(|list| list.query).zip(names).collect();
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
        let told = Told {
            epsilon: self.guarantee.epsilon.is_finite().then_some(self.guarantee.epsilon),
            delta: self.guarantee.delta,
            unit: self.guarantee.unit,
            sentences: self.guarantee.sentences(),
        };
        put_json(&folder.join(GUARANTEE), &told)?;
        if let Some(accounting) = &self.accounting {
            put_json(&folder.join(ACCOUNTING), accounting)?;
        }
        put(&folder.join(LABELS), &text)
    }

    /// Reads the labels of a folder.
    ///
    /// # Errors
    /// If they are missing or damaged, with the line.
    pub fn read(folder: &Path) -> Result<Supervision> {
        let path = folder.join(LABELS);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} is missing; `foltr mimic label` makes it", path.display()))?;
        let (mut lists, mut pairs) = (Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let place = || format!("{}:{number}: not a label", path.display());
            match serde_json::from_str(line).with_context(place)? {
                Line::Scores { query, documents, scores, .. } => lists.push(Candidates { query, documents, scores }),
                Line::Pair { query, better, worse, .. } => pairs.push(Pair { query, better, worse }),
            }
        }
        ensure!(lists.is_empty() || pairs.is_empty(), "{}: scores and pairs side by side", path.display());
        Ok(if pairs.is_empty() { Supervision::Scores(lists) } else { Supervision::Pairs(pairs) })
    }
}
