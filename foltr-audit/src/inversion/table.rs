//! What does each possible set of clicks on a list add to the update?

use foltr_rank::learn::pdgd::{Pdgd, Updates};
use foltr_rank::rng::Purpose;
use foltr_rank::{Clicks, Impression, OnlineLearner, Ranking, Update};

use super::scene::{Scene, Shown};

/// Contributions of all sets of clicks on one list, coordinate after coordinate, and how likely the sets are.
pub(super) struct Table {
    /// Of coordinate j and clicks c: at `j * n_sets + c`.
    contributions: Vec<f32>,
    pub ln_prior: Vec<f32>,
    pub prior: Vec<f64>,
}

impl Table {
    pub fn n_sets(&self) -> usize {
        self.prior.len()
    }

    pub fn coordinate(&self, j: usize) -> &[f32] {
        &self.contributions[j * self.n_sets()..(j + 1) * self.n_sets()]
    }

    pub fn of(&self, clicks: usize) -> impl Iterator<Item = f32> {
        self.contributions.iter().skip(clicks).step_by(self.n_sets()).copied()
    }
}

pub(super) struct TableMaker<'a> {
    scene: &'a Scene,
    learner: Pdgd,
}

impl<'a> TableMaker<'a> {
    pub fn new(scene: &'a Scene) -> Self {
        // Accumulated: the gradient itself, on a model that stays where it is.
        Self { scene, learner: scene.learner(Updates::Accumulated) }
    }

    /// The tables of all lists, as if they all came from the global model.
    pub fn first_tables(&mut self, shown: &[Shown]) -> Vec<Table> {
        shown.iter().map(|list| self.table(list, &self.scene.global)).collect()
    }

    /// The tables of all lists, if the clicks were these.
    pub fn tables(&mut self, shown: &[Shown], guess: &[Clicks]) -> Vec<Table> {
        let mut tables = Vec::new();
        self.extend(&mut tables, shown, guess);
        tables
    }

    /// Makes those tables again that a change of the guess changes: of lists after the first change.
    pub fn follow(&mut self, tables: &mut Vec<Table>, shown: &[Shown], from: &[Clicks], to: &[Clicks]) {
        let n_same = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        tables.truncate(n_same + 1);
        self.extend(tables, shown, to);
    }

    /// Adds the tables of the lists that have none yet.
    fn extend(&mut self, tables: &mut Vec<Table>, shown: &[Shown], guess: &[Clicks]) {
        let mut model = self.scene.global.clone();
        for (i, list) in shown.iter().enumerate() {
            if i == tables.len() {
                tables.push(self.table(list, &model));
            }
            model.iter_mut().zip(tables[i].of(guess[i].0 as usize)).for_each(|(value, step)| *value += step);
        }
    }

    fn table(&mut self, list: &Shown, model: &[f32]) -> Table {
        let query = self.scene.data.query(list.query);
        let (n_sets, d) = (1_usize << list.ranking.len(), model.len());
        let mut contributions = vec![0.0; n_sets * d];
        // Only its scores are wanted: the list that it draws is not shown to anybody.
        let mut unused = self.scene.streams.open(Purpose::Noise, 0, 0);
        self.learner.begin(model, &mut unused);
        self.learner.rank(query, &mut unused, &mut Ranking::default());
        for set in 0..n_sets {
            self.learner.begin(model, &mut unused);
            self.learner.observe(&Impression::new(query, &list.ranking, Clicks(set as u128)));
            let Update::Step { delta, .. } = self.learner.finish() else { unreachable!("PDGD makes steps") };
            delta.iter().enumerate().for_each(|(j, &value)| contributions[j * n_sets + set] = value);
        }
        let prior = self.scene.prior[list.ranking.len()].clone();
        Table { contributions, ln_prior: prior.iter().map(|p| p.ln() as f32).collect(), prior }
    }
}
