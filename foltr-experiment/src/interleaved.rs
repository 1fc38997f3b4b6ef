//! Two trained rankers compared by clicks: lists with documents of both, and users who click what their labels say.

use anyhow::{Context, Result, ensure};
use foltr_rank::interleave::{InterleavedComparison, Interleaver, Interleaving, Origins};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{MAX_SHOWN, Ranker, Ranking};
use foltr_simulation::click::{ClickModel, Preset, SimulatedUser, Users};
use foltr_simulation::dataset::Dataset;
use rand::RngExt;

use crate::model::Model;

/// How two rankers are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterleavedTest {
    pub method: Interleaving,
    pub users: Preset,
    /// Lists that users are shown; each is for a query drawn at random.
    pub n_lists: u64,
    pub n_shown: usize,
    pub seed: u64,
}

impl InterleavedTest {
    /// Shows the lists. Both data sets have the same queries, scaled as each model wants them.
    pub fn run(&self, models: [&Model; 2], data: [&Dataset; 2]) -> Result<InterleavedComparison> {
        let n_queries = data[0].n_queries();
        ensure!(n_queries > 0, "there are no queries to compare the rankers on");
        ensure!(data[1].n_queries() == n_queries, "the rankers are compared on different queries");
        ensure!((1..=MAX_SHOWN).contains(&self.n_shown), "lists must have 1 to {MAX_SHOWN} documents");
        let users = self.users(data[0].max_label())?;
        let mut rankers = [Ranker::new(models[0].shape), Ranker::new(models[1].shape)];
        rankers.iter_mut().zip(models).for_each(|(ranker, model)| ranker.load(&model.params));
        let mut stream = Streams::new(self.seed).open(Purpose::Interaction, 0, 0);
        let mut interleaver = Interleaver::new(self.method, 2);
        let (mut ranking, mut origins, mut scores) = (Ranking::default(), Origins::default(), Vec::new());
        let mut comparison = InterleavedComparison::default();
        for _ in 0..self.n_lists {
            let query = stream.random_range(0..n_queries);
            for (i, ranker) in rankers.iter_mut().enumerate() {
                scores.resize(data[i].query(query).n_docs(), 0.0);
                ranker.score(data[i].query(query), &mut scores);
                interleaver.set_scores(i, &scores, self.n_shown);
            }
            interleaver.interleave(self.n_shown, &mut stream, &mut ranking, &mut origins);
            let labels = data[0].labels(query);
            let mut shown = [0; MAX_SHOWN];
            shown.iter_mut().zip(ranking.docs()).for_each(|(label, &doc)| *label = labels[doc as usize]);
            let clicks = users.click(&shown[..ranking.len()], &mut stream);
            comparison.add(origins.preference(clicks, 0, 1));
        }
        Ok(comparison)
    }

    fn users(&self, max_label: u8) -> Result<Users> {
        let users = ClickModel::from(self.users).build(max_label)?;
        users.into_iter().next().context("a cascade model has one kind of users")
    }
}

#[cfg(test)]
mod tests {
    use foltr_rank::Shape;
    use foltr_simulation::datasets::{Synthetic, SyntheticShape};

    use super::*;
    use crate::spec::Normalisation;

    fn model(params: Vec<f32>) -> Model {
        Model { shape: Shape::Linear { n_features: params.len() }, normalise: Normalisation::None, params }
    }

    /// The ranker of the labels' own weights beats its reverse, ties with itself on average, and the order of the two
    /// arguments only changes the sign.
    #[test]
    fn the_better_ranker_wins_and_equals_tie() {
        let fold = Synthetic { n_train: 60, ..Synthetic::new(SyntheticShape::Tiny) }.generate(3).expect("sound");
        let data = &fold.train;
        let mean = |label_is_high: bool| -> Vec<f32> {
            let mut sums = vec![0.0; data.n_features()];
            for query in 0..data.n_queries() {
                for (doc, &label) in data.labels(query).iter().enumerate() {
                    let sign = if (label > 0) == label_is_high { 1.0 } else { -1.0 };
                    sums.iter_mut().zip(data.query(query).row(doc)).for_each(|(sum, x)| *sum += sign * x);
                }
            }
            sums
        };
        let (good, bad) = (model(mean(true)), model(mean(false)));
        for method in Interleaving::ALL {
            let test = InterleavedTest { method, users: Preset::Navigational, n_lists: 8_000, n_shown: 10, seed: 1 };
            let won = test.run([&good, &bad], [data, data]).expect("a comparison");
            assert!(won.interval().0 > 0.0, "{method:?}: {won:?}");
            let is_certain = method != Interleaving::TeamDraft || won.sign_test() < 1e-3;
            assert!(is_certain, "{won:?}");
            let lost = test.run([&bad, &good], [data, data]).expect("a comparison");
            assert!(lost.interval().1 < 0.0, "{method:?}: {lost:?}");
            let tied = test.run([&good, &good], [data, data]).expect("a comparison");
            assert!(tied.mean().abs() <= 4.0 * tied.standard_error(), "{method:?}: {tied:?}");
            assert_eq!(tied, test.run([&good, &good], [data, data]).expect("a comparison"), "same seed, same numbers");
        }
    }
}
