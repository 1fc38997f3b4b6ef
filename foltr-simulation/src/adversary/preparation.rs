//! What attackers work out before the first round from nothing but their own data: a ranker, and how features scatter.

use std::collections::BTreeSet;

use foltr_federation::{Defence, Participation, Staleness};
use foltr_rank::Params;
use nalgebra::{DMatrix, DVector, SymmetricEigen};

use crate::client_data::ClientData;
use crate::client_round::TrainingSet;
use crate::federation_run::{FederationRun, FederationSettings};

/// What attackers have before the first round.
#[derive(Clone, Copy)]
pub struct Preparation<'a> {
    pub(crate) settings: &'a FederationSettings,
    pub(crate) data: &'a ClientData,
    pub(crate) n_attackers: u32,
}

/// So many attackers learn a ranker for all of them: more would learn hardly a better one, and with thousands it would take
/// longer than the run.
const MOST_LEARNERS: u32 = 200;

/// Keeps the attackers' clicks of this training apart from those of the run.
const OWN_TRAINING: u64 = 0x6f77_6e20_7261_6e6b;

/// A direction with less than this share of the largest variance is none that documents differ in.
const LEAST_VARIANCE: f64 = 1e-6;

impl Preparation<'_> {
    /// The ranker that attackers learn among themselves by averaging.
    pub fn own_ranker(&self, n_rounds: u32) -> Params {
        self.learn(self.data, n_rounds)
    }

    /// The ranker that they learn if their training sets had these labels.
    pub fn ranker_of_labels(&self, n_rounds: u32, change: impl Fn(&TrainingSet) -> TrainingSet) -> Params {
        let data = self.data.clone().with_labels_of(self.n_attackers, self.settings.n_clients, change);
        self.learn(&data, n_rounds)
    }

    fn learn(&self, data: &ClientData, n_rounds: u32) -> Params {
        let settings = FederationSettings {
            seed: self.settings.seed ^ OWN_TRAINING,
            participation: Participation::Everyone,
            dropout: 0.0,
            defence: Defence::NONE,
            attackers: None,
            average_from: None,
            staleness: Staleness::NONE,
            single_messages: false,
            absent: (self.n_attackers.min(MOST_LEARNERS)..self.settings.n_clients).collect(),
            ..self.settings.clone()
        };
        let mut run = FederationRun::new(settings, data).expect("less than the settings of the run, which are sound");
        for _ in 0..n_rounds {
            run.round().expect("honest messages are accepted");
        }
        run.ranker()
    }

    /// A vector times C^-power, with C the covariance of features around the mean of their query, over the attackers'
    /// queries. Unchanged where there is not one parameter a feature.
    pub fn whiten(&self, vector: &[f32], power: f64) -> Vec<f64> {
        let vector: Vec<f64> = vector.iter().map(|&value| value.into()).collect();
        let n_features = self.data.share(0).training.data().n_features();
        if power == 0.0 || vector.len() != n_features {
            return vector;
        }
        let SymmetricEigen { eigenvalues, eigenvectors } = SymmetricEigen::new(self.covariance(n_features));
        let least = LEAST_VARIANCE * eigenvalues.max();
        let factor = |variance: f64| if variance > least { variance.powf(-power) } else { 0.0 };
        let parts = eigenvectors.tr_mul(&DVector::from_vec(vector));
        let scaled = parts.zip_map(&eigenvalues, |part, variance| part * factor(variance));
        (eigenvectors * scaled).as_slice().to_vec()
    }

    /// Times the number of documents, which changes no direction.
    fn covariance(&self, n_features: usize) -> DMatrix<f64> {
        let mut sum = DMatrix::zeros(n_features, n_features);
        let mut seen = BTreeSet::new();
        for client in 0..self.n_attackers {
            let (share, set) = (self.data.share(client), self.data.holding(client).set);
            let queries = (0..share.n_queries()).map(|nth| share.query(nth));
            for query in queries.filter(|&query| seen.insert((set, query))) {
                let view = share.training.data().query(query as usize);
                let row =
                    |doc| DVector::from_iterator(n_features, view.row(doc)[..n_features].iter().map(|&x| x.into()));
                let rows: Vec<DVector<f64>> = (0..view.n_docs()).map(row).collect();
                let mean = rows.iter().sum::<DVector<f64>>() / rows.len().max(1) as f64;
                rows.into_iter().map(|row| row - &mean).for_each(|row| sum.ger(1.0, &row, &row, 1.0));
            }
        }
        sum
    }
}
