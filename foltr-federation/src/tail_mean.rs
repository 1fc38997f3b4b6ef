//! The mean of the last models: what the server publishes when single models are noisy.
//!
//! `PJ92` Polyak, Juditsky: *Acceleration of Stochastic Approximation by Averaging*, SIAM J. Control Optim. 30, 1992, from
//! a given round on. It is computed from what is published anyway, so it costs no privacy.

use foltr_rank::Params;

/// The mean of all models from a round on; before that, the newest model.
#[derive(Clone, Debug, PartialEq)]
pub struct TailMean {
    pub(crate) first_round: u32,
    pub(crate) sum: Vec<f64>,
    pub(crate) n_models: u32,
}

impl TailMean {
    /// Averages the models after round `first_round` (counted from 1) and all later ones.
    pub fn new(first_round: u32, n_params: usize) -> Self {
        Self { first_round, sum: vec![0.0; n_params], n_models: 0 }
    }

    pub fn add(&mut self, n_rounds: u32, model: &[f64]) {
        assert_eq!(model.len(), self.sum.len(), "models must be of one length");
        if n_rounds >= self.first_round {
            self.sum.iter_mut().zip(model).for_each(|(sum, value)| *sum += value);
            self.n_models += 1;
        }
    }

    /// The mean, if there is anything to average yet.
    pub fn mean(&self) -> Option<Params> {
        let n_models = f64::from(self.n_models);
        (self.n_models > 0).then(|| self.sum.iter().map(|sum| (sum / n_models) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tail_is_averaged() {
        let mut tail = TailMean::new(2, 1);
        tail.add(1, &[100.0]);
        assert_eq!(tail.mean(), None);
        tail.add(2, &[1.0]);
        assert_eq!(tail.mean(), Some(vec![1.0]));
        tail.add(3, &[2.0]);
        assert_eq!(tail.mean(), Some(vec![1.5]));
    }
}
