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
    weak: Option<WeakLabel>,
    /// For people.
    description: String,
}

struct FeatureFold {
    number: usize,
    data: Fold,
    hash: u64,
}

/// A feature in place of labels.
#[derive(Clone, Copy)]
struct WeakLabel {
    column: usize,
    /// Others that correlate with it more than this leave the inputs.
    threshold: f64,
}

impl FeatureStore {
    pub fn load(section: &Data, experiment: &MimicExperiment) -> Result<Self> {
        let folds = data::load(section)?;
        let (_, first) = folds.first().context("the data has no folds")?;
        let n_features = first.train.n_features();
        let weak = match experiment.supervision {
            Supervision::Weak { feature: Some(feature), near_copies, .. } => {
                ensure!(feature <= n_features, "supervision.feature = {feature}: the data has {n_features} features");
                Some(WeakLabel { column: feature - 1, threshold: near_copies })
            }
            _ => None,
        };
        let fold = |(number, data): (usize, Fold)| FeatureFold { number, hash: data.content_hash(), data };
        let folds = folds.into_iter().map(fold).collect();
        let store = Self { folds, weak, description: String::new() };
        Ok(Self { description: store.described(experiment)?, ..store })
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
        self.description.clone()
    }

    fn described(&self, experiment: &MimicExperiment) -> Result<String> {
        let FeatureFold { number, data: first, .. } = &self.folds[0];
        let n_features = first.train.n_features();
        let (public, _) = divide(first, *number, experiment, experiment.seeds.first().copied().unwrap_or(1))?;
        let columns = self.inputs(&first.train, &public)?;
        let out = (0..n_features).filter(|column| !columns.contains(column));
        let out: Vec<String> = out.map(|column| (column + 1).to_string()).collect();
        let without = if out.is_empty() { String::new() } else { format!(" (not {})", out.join(", ")) };
        Ok(format!(
            "{} fold(s); in the first run {} training queries, {} of {n_features} features are inputs{without}",
            self.folds.len(),
            first.train.n_queries(),
            columns.len(),
        ))
    }

    pub(super) fn training_data(&self, experiment: &MimicExperiment, fold: usize, seed: u64) -> Result<TrainingData> {
        let FeatureFold { data, .. } = self.fold(fold).with_context(|| format!("the data has no fold {fold}"))?;
        let (public, private) = divide(data, fold, experiment, seed)?;
        let columns = self.inputs(&data.train, &public)?;
        let train = self.supervised(&data.train);
        let mut rows = Rows { columns: &columns, values: Vec::new() };
        // Public documents come first: their numbers are published, and may not depend on how many others there are.
        let public_lists = public.iter().map(|&query| rows.add(&data.train, &train[query]));
        let public_lists = public_lists.map(|list| Candidates { scores: Vec::new(), ..list }).collect();
        let (mut judged, mut split) = (Vec::new(), Split::default());
        let parts = [(data.validation.as_ref(), &mut split.validation), (Some(&data.test), &mut split.test)];
        for (part, positions) in parts {
            let Some(part) = part else { continue };
            let lists = self.supervised(part).into_iter().enumerate();
            for (query, list) in lists.filter(|(query, _)| part.has_relevant(*query)) {
                positions.push(judged.len());
                judged.push(self.judged(part, query, rows.add(part, &list)));
            }
        }
        let private = private.iter().map(|&query| rows.add(&data.train, &train[query])).collect();
        Ok(TrainingData {
            fold,
            inputs: Inputs::Features { n_features: columns.len(), rows: rows.values },
            private,
            outside: None,
            validated_by_judgements: self.weak.is_none() && data.validation.is_some(),
            public: public_lists,
            public_names: public.iter().map(|&query| data.train.query_id(query).to_owned()).collect(),
            judged,
            splits: vec![split],
            taken_as_public: self.taken_as_public(data.train.n_features(), columns.len(), public.len()),
            columns,
        })
    }

    /// Columns that networks see, from 0: all, or those that do not give the weak label away in the public queries.
    ///
    /// Teachers share this choice, and a student's file shows it, so that private queries may have no part in it.
    fn inputs(&self, train: &Dataset, public: &[usize]) -> Result<Vec<usize>> {
        let all: Vec<usize> = (0..train.n_features()).collect();
        let Some(WeakLabel { column, threshold }) = self.weak else { return Ok(all) };
        let mut starts = vec![0];
        let mut rows = Rows { columns: &all, values: Vec::new() };
        for &query in public {
            let documents = train.docs(query).map(|document| document as u32).collect();
            rows.add(train, &Candidates { documents, ..Candidates::default() });
            starts.push(rows.len());
        }
        let copies = near_copies(&rows.values, all.len(), &starts, column, threshold);
        let columns: Vec<usize> = all.iter().copied().filter(|column| !copies.contains(column)).collect();
        ensure!(!columns.is_empty(), "every feature is a near copy of feature {} in public queries", column + 1);
        Ok(columns)
    }

    /// Of the owner's data, what teachers share or others are told.
    fn taken_as_public(&self, n_features: usize, n_inputs: usize, n_public: usize) -> Vec<String> {
        let inputs = match self.weak {
            None => format!("Networks see all {n_features} features; none was chosen by means of data."),
            Some(WeakLabel { column, threshold }) => format!(
                "Networks see {n_inputs} of {n_features} features: feature {} is the label, and which ones correlate \
                 with it above {threshold} was found on the public queries alone.",
                column + 1
            ),
        };
        vec![
            inputs,
            format!(
                "Taken as public: documents and names of {n_public} queries, the number and the order of all training \
                 queries, and how many features a file has. Nothing is scaled by means of other queries."
            ),
            "The seed divides queries into public and private ones. Runs of other seeds and folds divide them anew: \
             a query that is private in this one may be public in another."
                .into(),
        ]
    }

    /// All queries with what teachers may learn from: labels, or the feature that stands for them.
    fn supervised(&self, data: &Dataset) -> Vec<Candidates> {
        let (rows, stride) = (data.rows(), row_stride(data.n_features()));
        let starts: Vec<usize> = data.query_start().iter().map(|&start| start as usize).collect();
        score_rows(&starts, |row| match self.weak {
            Some(WeakLabel { column, .. }) => rows[row * stride + column],
            None => f32::from(data.all_labels()[row]),
        })
    }

    fn judged(&self, data: &Dataset, query: usize, list: Candidates) -> JudgedQuery {
        let grades = list.documents.iter().copied().zip(data.labels(query).iter().copied()).collect();
        let scores = if self.weak.is_some() { list.scores } else { Vec::new() };
        let list = Candidates { query: list.query, documents: list.documents, scores };
        JudgedQuery {
            id: data.query_id(query).to_owned(),
            text: String::new(),
            list,
            grades: Grades::new(grades),
            filed_grades: None,
        }
    }
}

/// Public and private training queries, by their positions and the seed, without a look at what is in them.
fn divide(data: &Fold, fold: usize, experiment: &MimicExperiment, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut public: Vec<usize> = (0..data.train.n_queries()).collect();
    public.shuffle(&mut Streams::new(seed).open(Purpose::Data, 0, fold as u32));
    let share = experiment.public.share;
    let n_public = (share * public.len() as f64).round() as usize;
    let private = public.split_off(n_public.max(1).min(public.len()));
    ensure!(!private.is_empty(), "public.share = {share} leaves no query for teachers");
    Ok((public, private))
}

/// The inputs of networks, one document after the other.
struct Rows<'a> {
    columns: &'a [usize],
    values: Vec<f32>,
}

impl Rows<'_> {
    fn len(&self) -> usize {
        self.values.len() / self.columns.len()
    }

    /// Adds the documents of a query; they have new numbers.
    fn add(&mut self, data: &Dataset, list: &Candidates) -> Candidates {
        let first = self.len() as u32;
        let stride = row_stride(data.n_features());
        for &document in &list.documents {
            let row = &data.rows()[document as usize * stride..][..stride];
            self.values.extend(self.columns.iter().map(|&column| row[column]));
        }
        let documents = (first..).take(list.documents.len()).collect();
        Candidates { documents, ..list.clone() }
    }
}

#[cfg(test)]
mod tests;
