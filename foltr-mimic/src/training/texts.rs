//! The texts of a batch as vectors, and the gradients of their terms.

use rayon::prelude::*;

use crate::Bag;
use crate::network::vector::{dot, weighted_sum};
use crate::network::{Composition, Terms};

use super::adam::{Adam, Pace};
use super::batch::Groups;

/// Terms that a thread changes at a time.
pub(super) const TERMS_AT_A_TIME: usize = 32;

/// Every term of some texts of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    ends: Vec<u32>,
    terms: Vec<u32>,
    /// s(t), and s(t) f(t): see [`Composition::shares`].
    shares: Vec<f32>,
    coefficients: Vec<f32>,
    text_of: Vec<u32>,
    /// The same by terms.
    by_term: Groups,
    texts_by_term: Vec<u32>,
    shares_by_term: Vec<f32>,
    /// x.dx of each text, for compositions whose shares depend on the weights.
    slopes: Vec<f32>,
}

impl Texts {
    pub fn read<'a>(&mut self, bags: impl Iterator<Item = &'a Bag>, terms: &Terms, composition: Composition) {
        for memory in [&mut self.ends, &mut self.terms, &mut self.text_of] {
            memory.clear();
        }
        self.shares.clear();
        for (text, bag) in bags.enumerate() {
            self.terms.extend(&bag.terms);
            self.text_of.resize(self.terms.len(), text as u32);
            self.ends.push(self.terms.len() as u32);
            composition.shares(bag, &terms.weights, &mut self.shares);
        }
        self.coefficients.clear();
        let factors = self.terms.iter().map(|&term| composition.factor(terms.weights[term as usize]));
        self.coefficients.extend(self.shares.iter().zip(factors).map(|(share, factor)| share * factor));
    }

    fn start(&self, text: usize) -> usize {
        if text == 0 { 0 } else { self.ends[text - 1] as usize }
    }

    /// The terms of a text and their coefficients.
    pub fn text(&self, text: usize) -> (&[u32], &[f32]) {
        let range = self.start(text)..self.ends[text] as usize;
        (&self.terms[range.clone()], &self.coefficients[range])
    }

    /// Texts that have a term, its place among their terms, and its share. They must have been sorted.
    pub fn of_term(&self, term: usize) -> impl Iterator<Item = (usize, usize, f32)> {
        self.by_term.of(term).iter().map(|&position| {
            let (position, text) = (position as usize, self.text_of[position as usize] as usize);
            (text, position - self.start(text), self.shares[position])
        })
    }

    pub fn compose(&self, terms: &Terms, n_dimensions: usize, vectors: &mut [f32]) {
        vectors.par_chunks_exact_mut(n_dimensions).enumerate().for_each(|(text, vector)| {
            let (rows, coefficients) = self.text(text);
            weighted_sum(vector, &terms.embeddings, rows, coefficients);
        });
    }

    /// Sorts what was read by terms, for [`Self::update`].
    pub fn sort_by_terms(&mut self, n_terms: usize) {
        let Self { terms, shares, text_of, by_term, texts_by_term, shares_by_term, .. } = self;
        by_term.sort(n_terms, terms.iter().copied());
        texts_by_term.clear();
        texts_by_term.extend(by_term.members.iter().map(|&position| text_of[position as usize]));
        shares_by_term.clear();
        shares_by_term.extend(by_term.members.iter().map(|&position| shares[position as usize]));
    }

    /// Changes embeddings and weights of the terms of the batch, from the texts' vectors and their gradients.
    ///
    /// Each term's gradient is summed by one thread in the order of the texts.
    pub fn update(
        &mut self,
        terms: &mut Terms,
        composition: Composition,
        adam: &mut Adam,
        vectors: &[f32],
        gradients: &[f32],
    ) {
        let n_dimensions = vectors.len() / self.ends.len();
        self.slopes.resize(self.ends.len(), 0.0);
        if composition != Composition::Sum {
            let rows = vectors.par_chunks_exact(n_dimensions).zip(gradients.par_chunks_exact(n_dimensions));
            self.slopes.par_iter_mut().zip(rows).for_each(|(slope, (x, dx))| *slope = dot(x, dx));
        }
        let learning_rate = adam.learning_rate;
        let [of_embeddings, of_weights, ..] = adam.moments.as_mut_slice() else { panic!("moments of two groups") };
        let rows = (
            terms.embeddings.par_chunks_exact_mut(n_dimensions),
            of_embeddings.first.par_chunks_exact_mut(n_dimensions),
            of_embeddings.second.par_chunks_exact_mut(n_dimensions),
            terms.weights.par_iter_mut(),
            of_weights.first.par_iter_mut(),
            of_weights.second.par_iter_mut(),
            adam.term_steps.par_iter_mut(),
        );
        let texts = &*self;
        rows.into_par_iter().enumerate().with_min_len(TERMS_AT_A_TIME).for_each_init(
            || vec![0.0; n_dimensions],
            |gradient, (term, (embedding, first, second, weight, weight_first, weight_second, n_steps))| {
                let range = texts.by_term.range(term);
                if range.is_empty() {
                    return;
                }
                *n_steps += 1;
                let pace = Pace::at(learning_rate, *n_steps);
                let of_weight = texts.gradient(range, *weight, composition, embedding, gradients, gradient);
                pace.update(embedding, gradient, first, second);
                let slice = std::slice::from_mut;
                pace.update(slice(weight), &[of_weight], slice(weight_first), slice(weight_second));
            },
        );
    }

    /// The gradient of a term's embedding, and returned that of its weight.
    fn gradient(
        &self,
        range: std::ops::Range<usize>,
        weight: f32,
        composition: Composition,
        embedding: &[f32],
        gradients: &[f32],
        out: &mut [f32],
    ) -> f32 {
        let (texts, shares) = (&self.texts_by_term[range.clone()], &self.shares_by_term[range]);
        weighted_sum(out, gradients, texts, shares);
        let slope = composition.slope(weight);
        let normaliser: f32 = texts.iter().zip(shares).map(|(&text, share)| share * self.slopes[text as usize]).sum();
        let of_weight = dot(embedding, out) - slope * normaliser;
        let factor = composition.factor(weight);
        out.iter_mut().for_each(|value| *value *= factor);
        of_weight
    }
}
