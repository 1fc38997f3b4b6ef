//! A text collection as training data of mimic learning: queries are private or public, documents are known to everybody.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use foltr_mimic::collection::{Collection, Notes, Query, ZeroGrade};
use foltr_mimic::embeddings::EmbeddingSource;
use foltr_mimic::index::TextIndex;
use foltr_mimic::made_queries::{make_queries, read_queries};
use foltr_mimic::retrieval::{Grades, grades_of};
use foltr_mimic::vocabulary::Vocabulary;
use foltr_mimic::{Bag, Candidates, Inputs};
use foltr_rank::rng::{Purpose, Streams};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::outside::OutsideRuns;
use super::{JudgedQuery, Split, TrainingData};
use crate::data;
use crate::mimic::spec::{MimicExperiment, Supervision, TextData};
use crate::mimic::start::EmbeddingCache;

/// Of the division into folds, which is the same in all runs.
const FOLDS_SEED: u64 = 0;

pub struct TextStore {
    pub collection: Collection,
    pub vocabulary: Vocabulary,
    pub index: TextIndex,
    notes: Notes,
    documents: Vec<Bag>,
    /// Queries with something to find, and what BM25 finds. Query number i of the inputs is the i-th of them.
    judged: Vec<JudgedQuery>,
    queries: Vec<Bag>,
    /// Positions among judged queries, by fold.
    folds: Vec<Vec<usize>>,
    /// Of rankers that label public queries in place of teachers.
    outside: OutsideRuns,
    pub(in crate::mimic) embeddings: EmbeddingCache,
    /// Of embeddings, each once.
    pub(in crate::mimic) warnings: Mutex<BTreeSet<String>>,
    pub(super) hash: u64,
}

impl TextStore {
    pub fn load(data: &TextData, experiment: &MimicExperiment) -> Result<Self> {
        let path = data::resolve_path(&data.path)?;
        let (mut collection, mut notes) = Collection::read(&path, data.form)?;
        let filed = (data.zero_grade != ZeroGrade::NotRelevant).then(|| grades_of(&collection));
        notes.n_as_relevant = collection.read_grades(data.zero_grade);
        let index = TextIndex::in_memory(&collection.documents, data.analyser);
        let vocabulary = Vocabulary::of(&collection.documents, &index.analyser, data.min_documents, data.max_terms);
        ensure!(!vocabulary.terms.is_empty(), "{}: no term is in {} documents", path.display(), data.min_documents);
        let documents: Vec<Bag> = collection
            .documents
            .par_iter()
            .map(|document| vocabulary.bag(&document.content(), &index.analyser))
            .collect();
        let judged = judged(&collection, filed.as_deref(), &index, experiment.evaluation.depth);
        let n_folds = data.folds;
        let needs_judgements = matches!(experiment.supervision, Supervision::Full { .. }) || !judged.is_empty();
        ensure!(
            judged.len() >= n_folds || !needs_judgements,
            "{}: {} queries have relevant documents, {n_folds} folds need as many",
            path.display(),
            judged.len()
        );
        let queries = judged.iter().map(|query| vocabulary.bag(&query.text, &index.analyser)).collect();
        let mut order: Vec<usize> = (0..judged.len()).collect();
        order.shuffle(&mut Streams::new(FOLDS_SEED).open(Purpose::Data, 0, 0));
        let folds = (0..n_folds).map(|fold| order.iter().copied().skip(fold).step_by(n_folds).collect()).collect();
        let hash = hash(&collection, &files_of(experiment)?);
        let outside = match &experiment.supervision {
            Supervision::Scores { runs } => OutsideRuns::read(runs, &collection)?,
            _ => OutsideRuns::default(),
        };
        Ok(Self {
            collection,
            vocabulary,
            index,
            notes,
            documents,
            judged,
            queries,
            folds,
            outside,
            embeddings: EmbeddingCache::default(),
            warnings: Mutex::default(),
            hash,
        })
    }

    /// What is worth knowing of the files, and of embeddings that were made so far.
    pub fn notes(&self) -> Vec<String> {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let of_files = self.notes.sentences().into_iter().chain(self.outside.notes(&self.judged));
        of_files.chain(warnings.iter().cloned()).collect()
    }

    pub fn judged(&self) -> &[JudgedQuery] {
        &self.judged
    }

    pub fn public_texts(&self, experiment: &MimicExperiment, seed: u64) -> Result<Vec<String>> {
        Ok(self.texts(experiment, seed)?.1)
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "{} documents, {} terms, {} queries with relevant documents",
            self.collection.documents.len(),
            self.vocabulary.terms.len(),
            self.judged.iter().filter(|query| query.grades.n_relevant() > 0).count(),
        )
    }

    /// Judgements are different in every fold, BM25 is not.
    pub(super) fn folds(&self, experiment: &MimicExperiment) -> Vec<usize> {
        match experiment.supervision {
            Supervision::Full { .. } => (1..=self.folds.len()).collect(),
            Supervision::Weak { .. } | Supervision::Scores { .. } => vec![1],
        }
    }

    pub(super) fn training_data(&self, experiment: &MimicExperiment, fold: usize, seed: u64) -> Result<TrainingData> {
        let mut queries = self.queries.clone();
        let mut add = |texts: &[String], n_candidates: usize| -> Vec<Candidates> {
            let first = queries.len() as u32;
            queries.extend(texts.iter().map(|text| self.vocabulary.bag(text, &self.index.analyser)));
            let found: Vec<_> = texts.par_iter().map(|text| self.index.search(text, n_candidates)).collect();
            (first..).zip(found).map(|(query, found)| candidates(query, found)).collect()
        };
        let (private_texts, public_texts) = self.texts(experiment, seed)?;
        let public = add(&public_texts, experiment.public.candidates);
        let n_folds = self.folds.len();
        // Queries without relevant documents are dealt out like others, so that folds and parts do not depend on
        // judgements; they just cannot be judged.
        let can_be_judged = |position: &usize| self.judged[*position].grades.n_relevant() > 0;
        let judged = |fold: usize| self.folds[fold].iter().copied().filter(can_be_judged).collect();
        let split = |fold: usize| Split { validation: judged((fold + 1) % n_folds), test: judged(fold) };
        let (private, splits, validated_by_judgements) = match experiment.supervision {
            Supervision::Full { candidates, .. } => {
                let split = split(fold - 1);
                let held_out = [&self.folds[fold - 1], &self.folds[fold % n_folds]];
                (self.judged_queries(held_out, candidates), vec![split], true)
            }
            Supervision::Weak { candidates, .. } => {
                (add(&private_texts, candidates), (0..n_folds).map(split).collect(), false)
            }
            Supervision::Scores { .. } => (Vec::new(), (0..n_folds).map(split).collect(), false),
        };
        let is_outside = experiment.supervision.is_outside();
        ensure!(is_outside || !private.is_empty(), "there are no training queries");
        let mut public: Vec<Candidates> =
            public.into_iter().map(|list| Candidates { scores: Vec::new(), ..list }).collect();
        let outside = is_outside.then(|| self.outside.label(&public_texts, &mut public, &self.judged)).transpose()?;
        Ok(TrainingData {
            fold,
            inputs: Inputs::Text { queries, documents: self.documents.clone() },
            private,
            outside,
            validated_by_judgements,
            public,
            public_names: public_texts,
            judged: self.judged.clone(),
            splits,
            columns: Vec::new(),
            taken_as_public: taken_as_public(experiment),
        })
    }

    /// Judged documents and the best by BM25 of all queries that are neither for choices nor for results.
    fn judged_queries(&self, held_out: [&Vec<usize>; 2], n_candidates: usize) -> Vec<Candidates> {
        let is_free = |position: &usize| !held_out.iter().any(|fold| fold.contains(position));
        let candidates = |position: usize| {
            let query = &self.judged[position];
            let found = self.index.search(&query.text, n_candidates);
            let judged = query.grades.judged.iter().map(|&(document, _)| document);
            let mut documents: Vec<u32> = found.iter().map(|&(document, _)| document).chain(judged).collect();
            documents.sort_unstable();
            documents.dedup();
            let scores = documents.iter().map(|&document| f32::from(query.grades.grade(document))).collect();
            Candidates { query: query.list.query, documents, scores }
        };
        (0..self.judged.len()).filter(is_free).map(candidates).collect()
    }

    /// Texts of the private and of the public queries, disjoint where they are made.
    fn texts(&self, experiment: &MimicExperiment, seed: u64) -> Result<(Vec<String>, Vec<String>)> {
        let (private, n_private) = match &experiment.supervision {
            Supervision::Full { .. } | Supervision::Scores { .. } => (None, 0),
            Supervision::Weak { queries, n_queries, .. } => (queries.as_ref(), *n_queries),
        };
        let public = &experiment.public;
        let n_made =
            if private.is_some() { 0 } else { n_private } + if public.queries.is_some() { 0 } else { public.n_queries };
        let mut stream = Streams::new(seed).open(Purpose::Data, 1, 0);
        let documents = &self.collection.documents;
        let mut made = make_queries(documents, &self.index.analyser, &self.vocabulary, n_made, &mut stream);
        // Fewer may have been made: each side has its share of them.
        let n_private_made = if private.is_some() { 0 } else { made.len() * n_private / n_made.max(1) };
        let mut public_texts = made.split_off(n_private_made);
        let from_file = |path: &std::path::Path, n_queries: usize| -> Result<Vec<String>> {
            let path = data::resolve_path(path)?;
            let mut read = read_queries(&path)?;
            read.shuffle(&mut Streams::new(seed).open(Purpose::Data, 2, 0));
            read.truncate(n_queries);
            ensure!(!read.is_empty(), "{}: no queries", path.display());
            Ok(read)
        };
        let private_texts = private.map_or(Ok(made), |path| from_file(path, n_private))?;
        if let Some(path) = &public.queries {
            public_texts = from_file(path, public.n_queries)?;
        }
        Ok((private_texts, public_texts))
    }
}

/// Of the owner's data, what teachers share or others are told.
fn taken_as_public(experiment: &MimicExperiment) -> Vec<String> {
    let embeddings = [&experiment.teacher, &experiment.student].map(|network| match network.embeddings {
        EmbeddingSource::Random => "random",
        EmbeddingSource::Trained(_) => "trained on the documents",
        EmbeddingSource::Loaded { .. } => "read from a file",
    });
    let mut sentences = vec![format!(
        "Taken as public: all documents, and with them vocabulary, document frequencies and BM25; embeddings ({} for \
         teachers, {} for the student); the public queries; and the number and the order of the private ones.",
        embeddings[0], embeddings[1]
    )];
    match experiment.supervision {
        Supervision::Weak { queries: None, .. } => sentences.push(
            "The private queries of this run were made from the documents, in place of a query log: they are no secret."
                .into(),
        ),
        Supervision::Scores { .. } => sentences.push(
            "The teachers are rankers from outside, which nobody here saw trained: the guarantee holds only if every \
             private query had a part in one of them alone."
                .into(),
        ),
        _ => {}
    }
    sentences
}

fn candidates(query: u32, found: Vec<(u32, f32)>) -> Candidates {
    let (documents, scores) = found.into_iter().unzip();
    Candidates { query, documents, scores }
}

fn judged(collection: &Collection, filed: Option<&[Grades]>, index: &TextIndex, depth: usize) -> Vec<JudgedQuery> {
    let with_grades = collection.queries.iter().zip(grades_of(collection)).enumerate();
    let judged: Vec<_> = (0..).zip(with_grades.filter(|(_, (_, grades))| !grades.judged.is_empty())).collect();
    let search = |(query, (place, (asked, grades))): (u32, (usize, (&Query, Grades)))| {
        let list = candidates(query, index.search(&asked.text, depth));
        let filed_grades = filed.map(|filed| filed[place].clone());
        JudgedQuery { id: asked.id.clone(), text: asked.text.clone(), list, grades, filed_grades }
    };
    judged.into_par_iter().map(search).collect()
}

/// Contents of the files that an experiment names beside the collection.
fn files_of(experiment: &MimicExperiment) -> Result<Vec<Vec<u8>>> {
    let vectors = [&experiment.teacher, &experiment.student].map(|network| match &network.embeddings {
        EmbeddingSource::Loaded { file } => Some(file),
        _ => None,
    });
    let public = experiment.public.queries.as_ref();
    let named = experiment.supervision.files().into_iter().chain(public).chain(vectors.into_iter().flatten());
    let read = |path: &PathBuf| {
        let path = data::resolve_path(path)?;
        std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))
    };
    named.map(read).collect()
}

fn hash(collection: &Collection, files: &[Vec<u8>]) -> u64 {
    let mut hash = Xxh3::new();
    files.iter().for_each(|content| hash.update(content));
    let mut add = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    };
    for document in &collection.documents {
        [&document.id, &document.title, &document.text].into_iter().for_each(|text| add(text));
    }
    for query in &collection.queries {
        [&query.id, &query.text].into_iter().for_each(|text| add(text));
    }
    for judgement in &collection.judgements {
        add(&format!("{} {} {}", judgement.query, judgement.document, judgement.grade));
    }
    hash.digest()
}
