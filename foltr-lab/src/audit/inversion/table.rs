//! What does each possible set of clicks on a list add to the update?

use foltr_rank::learn::pdgd::{Pdgd, Updates};
use foltr_rank::rng::Purpose;
use foltr_rank::{Clicks, Impression, OnlineLearner, Ranking, Update};

use super::scene::{Scene, Shown};

/// Contributions of all sets of clicks on one list, coordinate after coordinate, and how likely the sets are.
pub(super) struct Table {
    /// Of coordinate j and clicks c: at `j * n_sets + c`.
    contributions: Vec<f32>,
    /// ln of the probability of each set.
    pub ln_prior: Vec<f32>,
    /// Probability of each set.
    pub prior: Vec<f64>,
}

impl Table {
    pub fn n_sets(&self) -> usize {
        self.prior.len()
    }

    pub fn n_params(&self) -> usize {
        self.contributions.len() / self.n_sets()
    }

    /// One coordinate of all sets.
    pub fn coordinate(&self, j: usize) -> &[f32] {
        &self.contributions[j * self.n_sets()..(j + 1) * self.n_sets()]
    }

    /// The contribution of one set.
    pub fn of(&self, clicks: usize) -> impl Iterator<Item = f32> {
        self.contributions.iter().skip(clicks).step_by(self.n_sets()).copied()
    }
}

/// Makes tables with one learner.
pub(super) struct TableMaker<'a> {
    scene: &'a Scene,
    learner: Pdgd,
}

impl<'a> TableMaker<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        // Accumulated: the gradient itself, on a model that stays where it is.
        Self { scene, learner: scene.learner(Updates::Accumulated) }
    }

    /// The tables of all lists, if the clicks were these; without a guess all lists come from the global model.
    pub fn tables(&mut self, shown: &[Shown], guess: Option<&[Clicks]>) -> Vec<Table> {
        let mut model = self.scene.global().to_vec();
        let mut tables = Vec::with_capacity(shown.len());
        for (i, list) in shown.iter().enumerate() {
            let table = self.table(list, &model);
            if let Some(guess) = guess {
                model.iter_mut().zip(table.of(guess[i].0 as usize)).for_each(|(value, step)| *value += step);
            }
            tables.push(table);
        }
        tables
    }

    fn table(&mut self, list: &Shown, model: &[f32]) -> Table {
        let query = self.scene.data().query(list.query);
        let (n_sets, d) = (1_usize << list.ranking.len(), model.len());
        let mut contributions = vec![0.0; n_sets * d];
        // Only its scores are wanted: the list that it draws is not shown to anybody.
        let mut unused = self.scene.streams().open(Purpose::Noise, 0, 0);
        self.learner.begin(model, &mut unused);
        self.learner.rank(query, &mut unused, &mut Ranking::default());
        for set in 0..n_sets {
            self.learner.begin(model, &mut unused);
            self.learner.observe(&Impression { query, ranking: &list.ranking, clicks: Clicks(set as u32) });
            let Update::Step { delta, .. } = self.learner.finish() else { unreachable!("PDGD makes steps") };
            delta.iter().enumerate().for_each(|(j, &value)| contributions[j * n_sets + set] = value);
        }
        let prior = self.scene.prior(list.ranking.len()).to_vec();
        Table { contributions, ln_prior: prior.iter().map(|p| p.ln() as f32).collect(), prior }
    }
}
