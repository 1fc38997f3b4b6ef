//! For which of two documents do most teachers vote, after noise?
//!
//! `PAEGT17` section 2.1 and spec section 16.3: label = argmax over j of n_j + Lap(1/gamma), ties to the lowest index;
//! the classes of a question are its two documents. A teacher votes for the first one if S(first) >= S(second): an
//! exact tie votes for the first, and which document is first was drawn by a fair coin. What is not a number votes for
//! the second.
//!
//! Gaussian noise goes beyond `DKA17`: `PSMRTE18` Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson: *Scalable
//! Private Learning with PATE*, ICLR 2018. Deviation: with two classes n_2 = n - n_1 and n is known, so one noisy count
//! is enough: the label is whether n_1 + N(0, sigma^2) reaches n/2. One training query moves n_1 by at most 1.

use foltr_rank::rng::{Purpose, Stream, Streams};
use rand_distr::{Distribution, StandardNormal};
use statrs::function::erf::erfc;

use super::{Question, check_same_lists, laplace, no_teachers};
use crate::{Candidates, InvalidInput, Pair};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VoteNoise {
    /// Labels are those of the majority, and nothing is guaranteed.
    None,
    /// Laplace noise of scale 1/gamma on both counts.
    Laplace { gamma: f64 },
    /// Gaussian noise of this deviation, in votes, on one count, which determines the other one.
    Gaussian { sigma: f64 },
}

impl VoteNoise {
    /// The probabilities that the first and the second document win, if `n_first` of `n_teachers` vote for the first.
    pub fn law(self, n_first: u32, n_teachers: u32) -> [f64; 2] {
        let n_second = n_teachers - n_first;
        let gap = f64::from(n_first.abs_diff(n_second));
        let minority = match self {
            Self::None => 0.0,
            // Spec section 16.3: exact for two classes.
            Self::Laplace { gamma } => (2.0 + gamma * gap) / 4.0 * (-gamma * gap).exp(),
            Self::Gaussian { sigma } => erfc(gap / 2.0 / sigma / std::f64::consts::SQRT_2) / 2.0,
        };
        if n_first >= n_second { [1.0 - minority, minority] } else { [minority, 1.0 - minority] }
    }

    fn draw(self, stream: &mut Stream) -> [f64; 2] {
        match self {
            Self::None => [0.0, 0.0],
            Self::Laplace { gamma } => [laplace(stream) / gamma, laplace(stream) / gamma],
            Self::Gaussian { sigma } => {
                let normal: f64 = StandardNormal.sample(stream);
                [sigma * normal, -sigma * normal]
            }
        }
    }

    fn check(self) -> Result<(), InvalidInput> {
        match self {
            Self::None => Ok(()),
            Self::Laplace { gamma: size } | Self::Gaussian { sigma: size } if size.is_finite() && size > 0.0 => Ok(()),
            noise => Err(InvalidInput::new(format!("{noise:?} is no size of noise"), "a finite number above 0")),
        }
    }
}

/// Questions about public lists, and how many teachers answered them with the first document.
#[derive(Clone, Debug)]
pub struct Ballot<'a> {
    lists: &'a [Candidates],
    questions: Vec<Question>,
    n_teachers: u32,
    n_first: Vec<u32>,
}

impl<'a> Ballot<'a> {
    /// Nobody has voted yet. Questions come from [`super::draw_questions`] of the same lists.
    pub fn new(lists: &'a [Candidates], questions: Vec<Question>) -> Self {
        let n_first = vec![0; questions.len()];
        Self { lists, questions, n_teachers: 0, n_first }
    }

    /// One more teacher votes, by its scores of the lists. If it scored other documents, nothing is counted.
    pub fn cast(&mut self, scored: &[Candidates]) -> Result<(), InvalidInput> {
        check_same_lists(self.lists, self.n_teachers as usize, scored)?;
        for (n_first, question) in self.n_first.iter_mut().zip(&self.questions) {
            let scores = &scored[question.list].scores;
            *n_first += u32::from(scores[question.first] >= scores[question.second]);
        }
        self.n_teachers += 1;
        Ok(())
    }

    /// The labels, in the order of the questions: what a student learns from, and all that may be shown; and the
    /// private votes. Noise belongs to a question's position; every call with other streams costs privacy anew.
    pub fn label(&self, noise: VoteNoise, streams: &Streams) -> Result<(Vec<Pair>, Votes), InvalidInput> {
        noise.check()?;
        if self.n_teachers == 0 {
            return Err(no_teachers());
        }
        let pair = |(position, question): (usize, &Question)| {
            let mut stream = streams.open(Purpose::Noise, position as u32, (position >> 32) as u32);
            let counts = [self.n_first[position], self.n_teachers - self.n_first[position]];
            let list = &self.lists[question.list];
            let (first, second) = (list.documents[question.first], list.documents[question.second]);
            let is_first = winner(counts, noise.draw(&mut stream)) == 0;
            let (better, worse) = if is_first { (first, second) } else { (second, first) };
            Pair { query: list.query, better, worse }
        };
        let pairs = self.questions.iter().enumerate().map(pair).collect();
        Ok((pairs, Votes::new(noise, self.n_teachers, self.n_first.clone())))
    }
}

/// The class with the largest noisy count; of equal ones the first.
fn winner(counts: [u32; 2], noise: [f64; 2]) -> usize {
    let [first, second] = [0, 1].map(|class| f64::from(counts[class]) + noise[class]);
    usize::from(second > first)
}

/// How teachers voted before noise. Private: it depends on the training queries without any protection.
#[derive(Clone, Debug, PartialEq)]
pub struct Votes {
    pub(crate) noise: VoteNoise,
    pub(crate) n_teachers: u32,
    n_first: Vec<u32>,
}

impl Votes {
    /// Of each question, how many of the teachers voted for its first document.
    pub fn new(noise: VoteNoise, n_teachers: u32, n_first: Vec<u32>) -> Self {
        assert!(n_first.iter().all(|&n| n <= n_teachers), "more votes for a document than {n_teachers} teachers");
        Self { noise, n_teachers, n_first }
    }

    pub(crate) fn n_labels(&self) -> usize {
        self.n_first.len()
    }

    /// How many questions got 0, 1, ... votes for the first document.
    pub(crate) fn histogram(&self) -> Vec<u64> {
        let mut histogram = vec![0; self.n_teachers as usize + 1];
        for &n in &self.n_first {
            histogram[n as usize] += 1;
        }
        histogram
    }
}

#[cfg(test)]
mod tests;
