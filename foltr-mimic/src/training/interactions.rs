//! What the terms of queries give for documents, in a batch, and the gradients of their weights.
//!
//! Embeddings of this structure are not learnt. So the rows of a query and document are computed once and stored.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::Bag;
use crate::network::kernels::{Meeting, WIDTH};
use crate::network::vector::{dot, weighted_sum};
use crate::network::{Composition, Terms};

use super::adam::{Adam, Pace};
use super::batch::Batch;
use super::texts::{TERMS_AT_A_TIME, Texts};

/// Queries with a document that a thread looks at in a row: those of one query share memory.
const PLACES_AT_A_TIME: usize = 64;
/// Numbers that are stored at most before all are forgotten, unless one batch has more: 512 MiB.
const MOST_STORED: usize = 1 << 27;

#[derive(Clone, Debug, Default)]
pub(crate) struct Interactions {
    /// The queries of the batch.
    queries: Texts,
    /// Where the rows of a query and document begin in `stored`: one for each term of the query.
    starts: HashMap<[u32; 2], usize>,
    stored: Vec<f32>,
    /// The same of each row of the batch.
    batch_starts: Vec<usize>,
    /// x.dx of each row of the batch.
    slopes: Vec<f32>,
    /// 0, 1, ...: all terms of a query.
    all: Vec<u32>,
}

impl Interactions {
    pub fn read(
        &mut self,
        batch: &Batch,
        (queries, documents): (&[Bag], &[Bag]),
        terms: &Terms,
        composition: Composition,
        usual_length: usize,
    ) {
        self.queries.read(batch.queries.numbers.iter().map(|&query| &queries[query as usize]), terms, composition);
        self.queries.sort_by_terms(terms.weights.len());
        if self.stored.len() > MOST_STORED {
            self.starts.clear();
            self.stored.clear();
        }
        let longest = batch.queries.numbers.iter().map(|&query| queries[query as usize].terms.len()).max();
        self.all.clear();
        self.all.extend(0..longest.unwrap_or(0) as u32);
        self.batch_starts.clear();
        let n_before = self.stored.len();
        let mut n_stored = n_before;
        let mut new: Vec<(&[u32], &Bag)> = Vec::new();
        for (&[query, _], &document) in batch.rows.iter().zip(&batch.documents.numbers) {
            let query = batch.queries.numbers[query as usize];
            let start = *self.starts.entry([query, document]).or_insert_with(|| {
                let asked = &queries[query as usize].terms;
                new.push((asked, &documents[document as usize]));
                n_stored += asked.len() * WIDTH;
                n_stored - asked.len() * WIDTH
            });
            self.batch_starts.push(start);
        }
        self.stored.resize(n_stored, 0.0);
        let mut rest = &mut self.stored[n_before..];
        let mut places = Vec::with_capacity(new.len());
        for (asked, document) in new {
            let (rows, others) = rest.split_at_mut(asked.len() * WIDTH);
            places.push((asked, document, rows));
            rest = others;
        }
        places.into_par_iter().with_min_len(PLACES_AT_A_TIME).for_each_init(
            Meeting::default,
            |meeting, (asked, document, rows)| {
                meeting.read(terms, asked, document, usual_length, rows);
            },
        );
    }

    /// The inputs of each row of the batch.
    pub fn compose(&self, batch: &Batch, vectors: &mut [f32]) {
        let rows = batch.rows.par_iter().zip(&self.batch_starts);
        vectors.par_chunks_exact_mut(WIDTH).zip(rows).for_each(|(vector, (&[query, _], &start))| {
            let (asked, coefficients) = self.queries.text(query as usize);
            let n_terms = asked.len();
            weighted_sum(vector, &self.stored[start..][..n_terms * WIDTH], &self.all[..n_terms], coefficients);
        });
    }

    /// Changes the weights of the queries' terms, from the rows' inputs and their gradients.
    ///
    /// Each term's gradient is summed by one thread in the order of the batch.
    pub fn update(
        &mut self,
        terms: &mut Terms,
        composition: Composition,
        adam: &mut Adam,
        batch: &Batch,
        vectors: &[f32],
        gradients: &[f32],
    ) {
        self.slopes.resize(batch.rows.len(), 0.0);
        let rows = vectors.par_chunks_exact(WIDTH).zip(gradients.par_chunks_exact(WIDTH));
        self.slopes.par_iter_mut().zip(rows).for_each(|(slope, (x, dx))| *slope = dot(x, dx));
        let learning_rate = adam.learning_rate;
        let [of_weights, ..] = adam.moments.as_mut_slice() else { panic!("moments of the term weights") };
        let weights = (
            terms.weights.par_iter_mut(),
            of_weights.first.par_iter_mut(),
            of_weights.second.par_iter_mut(),
            adam.term_steps.par_iter_mut(),
        );
        let interactions = &*self;
        weights.into_par_iter().enumerate().with_min_len(TERMS_AT_A_TIME).for_each(
            |(term, (weight, first, second, n_steps))| {
                let slope = composition.slope(*weight);
                let mut gradient = None;
                for (query, place, share) in interactions.queries.of_term(term) {
                    let sum: f32 = interactions
                        .rows_of(batch, query)
                        .map(|(row, start)| {
                            let from_term = &interactions.stored[start + place * WIDTH..][..WIDTH];
                            dot(from_term, &gradients[row * WIDTH..][..WIDTH]) - slope * interactions.slopes[row]
                        })
                        .sum();
                    gradient = Some(gradient.unwrap_or(0.0) + share * sum);
                }
                let Some(gradient) = gradient else { return };
                *n_steps += 1;
                let slice = std::slice::from_mut;
                Pace::at(learning_rate, *n_steps).update(slice(weight), &[gradient], slice(first), slice(second));
            },
        );
    }

    /// The rows of a query of the batch, and where those of its terms begin.
    fn rows_of(&self, batch: &Batch, query: usize) -> impl Iterator<Item = (usize, usize)> {
        batch.rows_of_query.of(query).iter().map(|&row| (row as usize, self.batch_starts[row as usize]))
    }
}
