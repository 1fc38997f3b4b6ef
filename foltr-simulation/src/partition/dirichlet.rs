//! Label skew of any strength: each label's documents go to clients in proportions drawn from a Dirichlet distribution.
//!
//! `HQB19` Hsu, Qi, Brown: *Measuring the Effects of Non-Identical Data Distribution*, 2019, introduced the Dirichlet
//! distribution with its concentration alpha as the knob between one label a client (alpha near 0) and IID (alpha large).
//! `YAG19` Yurochkin et al.: *Bayesian Nonparametric Federated Learning of Neural Networks*, ICML 2019, draw
//! proportions over clients for each label, so that every document is held by exactly one client.
//!
//! Deviation from `HQB19`, who draw proportions over labels for each client and samples of equal size: this is the
//! construction of `YAG19`, which leaves no document over; clients differ in size as well. A client without any document is
//! an error, not redrawn, so that the law of the proportions stays as it is.

use foltr_rank::parameter::{ParameterError, require};
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Gamma};
use serde::{Deserialize, Serialize};

use super::{PartitionError, PartitionMethod, PartitionedData, draws};
use crate::dataset::Dataset;
use crate::datasets::Fold;

/// Label skew: each label's documents go to clients in proportions from a Dirichlet distribution.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// Concentration: small is skewed, large is even.
    pub alpha: f64,
}

impl PartitionMethod for Dirichlet {
    fn check(&self) -> Vec<ParameterError> {
        require("alpha", self.alpha, self.alpha > 0.0, "a positive number").err().into_iter().collect()
    }

    fn divide(&self, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<PartitionedData, PartitionError> {
        Ok(PartitionedData::by_docs(fold, &split(&fold.train, n_clients, self.alpha, streams)?))
    }
}

/// The documents (rows of `data`, rising) that each client holds.
fn split(data: &Dataset, n_clients: usize, alpha: f64, streams: &Streams) -> Result<Vec<Vec<u32>>, PartitionError> {
    let gamma = Gamma::new(alpha, 1.0).map_err(|error| PartitionError(format!("alpha = {alpha}: {error}")))?;
    let mut assigned = vec![Vec::new(); n_clients];
    for label in 0..=data.max_label() {
        let mut stream = streams.open(Purpose::Data, u32::from(label), draws::DIRICHLET);
        let rows = 0..data.n_docs() as u32;
        let mut docs: Vec<u32> = rows.filter(|&doc| data.all_labels()[doc as usize] == label).collect();
        docs.shuffle(&mut stream);
        let shares = proportions(n_clients, &gamma, &mut stream);
        let (mut start, mut upto) = (0, 0.0);
        for (client, (own, share)) in assigned.iter_mut().zip(shares).enumerate() {
            upto += share;
            let end = (upto * docs.len() as f64).round() as usize;
            // Rounding of the sum must not lose the last document.
            let end = if client + 1 == n_clients { docs.len() } else { end.clamp(start, docs.len()) };
            own.extend_from_slice(&docs[start..end]);
            start = end;
        }
    }
    assigned.iter_mut().for_each(|docs| docs.sort_unstable());
    match assigned.iter().position(Vec::is_empty) {
        Some(client) => Err(PartitionError(format!(
            "client {client} would hold no document with alpha = {alpha}; a larger alpha, fewer clients or another seed \
             is needed"
        ))),
        None => Ok(assigned),
    }
}

/// A draw from the symmetric Dirichlet distribution: gamma variables divided by their sum.
fn proportions(n_clients: usize, gamma: &Gamma<f64>, stream: &mut Stream) -> Vec<f64> {
    let mut shares: Vec<f64> = (0..n_clients).map(|_| gamma.sample(stream)).collect();
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|share| *share /= sum);
    } else {
        // With a tiny alpha all variables can be too small for a number: in that limit one client has everything.
        shares[stream.random_range(0..n_clients)] = 1.0;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{Synthetic, SyntheticShape};

    fn data() -> Dataset {
        Synthetic { n_train: 200, ..Synthetic::new(SyntheticShape::Tiny) }.generate(3).expect("valid").train
    }

    #[test]
    fn every_document_has_one_owner() {
        let data = data();
        let held = split(&data, 5, 1.0, &Streams::new(2)).expect("enough documents");
        let mut all = held.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..data.n_docs() as u32));
        assert_eq!(split(&data, 5, 1.0, &Streams::new(2)).as_ref(), Ok(&held));
        assert_ne!(split(&data, 5, 1.0, &Streams::new(3)).as_ref(), Ok(&held));
    }

    #[test]
    fn proportions_have_the_moments_of_the_dirichlet_distribution() {
        let (n_clients, n_draws) = (4, 20_000);
        for alpha in [0.2, 1.0, 5.0] {
            let gamma = Gamma::new(alpha, 1.0).expect("positive");
            let mut stream = Streams::new(1).open(Purpose::Data, 0, 0);
            let firsts: Vec<f64> = (0..n_draws).map(|_| proportions(n_clients, &gamma, &mut stream)[0]).collect();
            let mean = firsts.iter().sum::<f64>() / f64::from(n_draws);
            let variance = firsts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n_draws);
            let n = n_clients as f64;
            let expected = (n - 1.0) / (n * n * (n * alpha + 1.0));
            // Five standard errors of the mean; the variance of a bounded variable is known to 5 % by far.
            assert!((mean - 1.0 / n).abs() < 5.0 * (expected / f64::from(n_draws)).sqrt(), "{alpha}: {mean}");
            assert!((variance / expected - 1.0).abs() < 0.05, "{alpha}: {variance} instead of {expected}");
        }
    }

    #[test]
    fn alpha_is_the_strength_of_the_skew() {
        let data = data();
        // Share of a label's documents that its largest owner has, on average over seeds.
        let largest = |alpha: f64| -> f64 {
            let of_seed = |seed| {
                let Ok(held) = split(&data, 3, alpha, &Streams::new(seed)) else { return 1.0 };
                let zeros = |docs: &Vec<u32>| docs.iter().filter(|&&doc| data.all_labels()[doc as usize] == 0).count();
                let counts: Vec<usize> = held.iter().map(zeros).collect();
                *counts.iter().max().expect("three clients") as f64 / counts.iter().sum::<usize>() as f64
            };
            (0..50).map(of_seed).sum::<f64>() / 50.0
        };
        let [skewed, middle, even] = [0.05, 1.0, 1000.0].map(largest);
        assert!(skewed > 0.85 && skewed > middle && middle > even && even < 0.37, "{skewed} {middle} {even}");
    }

    #[test]
    fn clients_with_nothing_are_an_error() {
        let error = split(&data(), 50, 1e-4, &Streams::new(1)).expect_err("three labels, fifty clients").to_string();
        assert!(error.contains("would hold no document with alpha = 0.0001"), "{error}");
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Dirichlet { alpha }.check()[0].name, "alpha");
        }
    }
}
