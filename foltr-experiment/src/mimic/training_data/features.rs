//! Feature files as training data of mimic learning: a document is a row, and belongs to one query.

use anyhow::{Context, Result, ensure};
use foltr_mimic::near_copies::near_copies;
use foltr_mimic::retrieval::Grades;
use foltr_mimic::supervision::score_rows;
use foltr_mimic::{Candidates, Inputs};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::row_stride;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Fold;
use rand::seq::SliceRandom;

use super::{JudgedQuery, Split, TrainingData};
use crate::data;
use crate::mimic::spec::{MimicExperiment, Supervision};
use crate::spec::Data;

pub struct FeatureStore {
    folds: Vec<FeatureFold>,
    /// The column that is the weak label.
    label: Option<usize>,
}

struct FeatureFold {
    number: usize,
    data: Fold,
    columns: Vec<usize>,
    hash: u64,
}

impl FeatureStore {
    /// Reads the files, and finds out which features say the same as the weak label.
    pub fn load(section: &Data, experiment: &MimicExperiment) -> Result<Self> {
        let folds = data::load(section)?;
        let (_, first) = folds.first().context("the data has no folds")?;
        let n_features = first.train.n_features();
        let weak = match experiment.supervision {
            Supervision::Weak { feature: Some(feature), near_copies, .. } => Some((feature, near_copies)),
            _ => None,
        };
        if let Some((feature, _)) = weak {
            ensure!(feature <= n_features, "supervision.feature = {feature}: the data has {n_features} features");
        }
        let fold = |(number, data): (usize, Fold)| {
            let (columns, hash) = (inputs(&data.train, weak)?, data.content_hash());
            Ok(FeatureFold { number, data, columns, hash })
        };
        let folds = folds.into_iter().map(fold).collect::<Result<_>>()?;
        Ok(Self { folds, label: weak.map(|(feature, _)| feature - 1) })
    }

    fn fold(&self, number: usize) -> Option<&FeatureFold> {
        self.folds.iter().find(|fold| fold.number == number)
    }

    pub(super) fn hash(&self, number: usize) -> u64 {
        self.fold(number).map_or(0, |fold| fold.hash)
    }

    pub(super) fn folds(&self) -> Vec<usize> {
        self.folds.iter().map(|fold| fold.number).collect()
    }

    pub(super) fn describe(&self) -> String {
        let FeatureFold { data: first, columns, .. } = &self.folds[0];
        let n_features = first.train.n_features();
        let out = (0..n_features).filter(|column| !columns.contains(column));
        let out: Vec<String> = out.map(|column| (column + 1).to_string()).collect();
        let without = if out.is_empty() { String::new() } else { format!(" (not {})", out.join(", ")) };
        format!(
            "{} fold(s), {} training queries in the first, {} of {n_features} features are inputs{without}",
            self.folds.len(),
            first.train.n_queries(),
            columns.len(),
        )
    }

    pub(super) fn training_data(&self, experiment: &MimicExperiment, fold: usize, seed: u64) -> Result<TrainingData> {
        let of_fold = self.fold(fold).with_context(|| format!("the data has no fold {fold}"))?;
        let FeatureFold { data, columns, .. } = of_fold;
        let mut queries: Vec<usize> = (0..data.train.n_queries()).collect();
        queries.shuffle(&mut Streams::new(seed).open(Purpose::Data, 0, fold as u32));
        let n_public = (experiment.public.share * queries.len() as f64).round() as usize;
        let (public, private) = queries.split_at(n_public.clamp(1, queries.len()));
        ensure!(!private.is_empty(), "public.share = {} leaves no query for teachers", experiment.public.share);
        let all = self.supervised(&data.train);
        let hidden = |&query: &usize| Candidates { scores: Vec::new(), ..all[query].clone() };
        let mut rows: Vec<f32> = selected(&data.train, columns).collect();
        let (mut judged, mut split) = (Vec::new(), Split::default());
        let parts = [(data.validation.as_ref(), &mut split.validation), (Some(&data.test), &mut split.test)];
        for (part, positions) in parts {
            let Some(part) = part else { continue };
            let first = (rows.len() / columns.len()) as u32;
            rows.extend(selected(part, columns));
            let lists = self.supervised(part).into_iter().enumerate();
            for (query, list) in lists.filter(|(query, _)| part.has_relevant(*query)) {
                positions.push(judged.len());
                judged.push(self.judged(part, query, list, first));
            }
        }
        Ok(TrainingData {
            fold,
            inputs: Inputs::Features { n_features: columns.len(), rows },
            private: private.iter().map(|&query| all[query].clone()).collect(),
            validated_by_judgements: self.label.is_none() && data.validation.is_some(),
            public: public.iter().map(hidden).collect(),
            public_names: public.iter().map(|&query| data.train.query_id(query).to_owned()).collect(),
            judged,
            splits: vec![split],
            columns: columns.clone(),
        })
    }

    /// All queries with what teachers may learn from: labels, or the feature that stands for them.
    fn supervised(&self, data: &Dataset) -> Vec<Candidates> {
        let (rows, stride) = (data.rows(), row_stride(data.n_features()));
        score_rows(&starts(data), |row| match self.label {
            Some(column) => rows[row * stride + column],
            None => f32::from(data.all_labels()[row]),
        })
    }

    fn judged(&self, data: &Dataset, query: usize, list: Candidates, first: u32) -> JudgedQuery {
        let documents: Vec<u32> = list.documents.iter().map(|doc| first + doc).collect();
        let grades = documents.iter().copied().zip(data.labels(query).iter().copied()).collect();
        let scores = if self.label.is_some() { list.scores } else { Vec::new() };
        let list = Candidates { query: list.query, documents, scores };
        JudgedQuery { id: data.query_id(query).to_owned(), text: String::new(), list, grades: Grades::new(grades) }
    }
}

/// Columns that networks see, from 0: all, or those that do not give the weak label away.
fn inputs(train: &Dataset, weak: Option<(usize, f64)>) -> Result<Vec<usize>> {
    let all: Vec<usize> = (0..train.n_features()).collect();
    let Some((feature, threshold)) = weak else { return Ok(all) };
    let rows: Vec<f32> = selected(train, &all).collect();
    let copies = near_copies(&rows, train.n_features(), &starts(train), feature - 1, threshold);
    let columns: Vec<usize> = all.into_iter().filter(|column| !copies.contains(column)).collect();
    ensure!(!columns.is_empty(), "every feature is a near copy of feature {feature}");
    Ok(columns)
}

fn starts(data: &Dataset) -> Vec<usize> {
    data.query_start().iter().map(|&start| start as usize).collect()
}

fn selected(data: &Dataset, columns: &[usize]) -> impl Iterator<Item = f32> {
    let rows = data.rows().chunks_exact(row_stride(data.n_features()));
    rows.flat_map(|row| columns.iter().map(|&column| row[column]))
}
