//! What must somebody know who reads the numbers of a run with privacy?

use foltr_federation::Mechanism;
use foltr_simulation::datasets::Fold;

use crate::spec::{Budget, Experiment};

/// Noise on the mean step over the longest possible step, from which on it costs. Measured on real collections with 46
/// features: at 1.5 up to .011 of nDCG@10, at 3 up to .015, at 11 up to .12 (REPRODUCTION.md).
const LOUD: f64 = 1.0;

/// The same ratio where nothing was lost.
const QUIET: f64 = 0.3;

/// Everything to know about an experiment on this data; nothing where it is without privacy or without surprise.
pub fn cautions(experiment: &Experiment, fold: &Fold) -> Vec<String> {
    let width = fold.train.n_features();
    let n_params = experiment.ranker.map_or(width, |ranker| ranker.shape(width).n_params());
    let found = [
        shortened(experiment, n_params),
        noise_exceeds_signal(experiment, n_params),
        mislabelled(experiment, n_params),
        poisson_sampling(experiment),
    ];
    found.into_iter().flatten().collect()
}

/// The budget ends the run before its last round.
fn shortened(experiment: &Experiment, n_params: usize) -> Option<String> {
    let (Budget { epsilon, delta }, schedule) = (experiment.budget?, experiment.schedule()?);
    let n_rounds = experiment.plan().affordable_rounds(schedule.n_rounds, n_params).ok()?;
    (n_rounds < schedule.n_rounds).then(|| {
        format!("the budget ({epsilon}, {delta:e}) ends runs after {n_rounds} of {} rounds", schedule.n_rounds)
    })
}

/// The noise is longer than what it hides.
fn noise_exceeds_signal(experiment: &Experiment, n_params: usize) -> Option<String> {
    let noise_multiplier = match experiment.plan().mechanism(n_params).ok()? {
        Mechanism::Gaussian(mechanism) => mechanism.noise_multiplier(),
        Mechanism::DiscreteGaussian(mechanism) => mechanism.noise_multiplier(),
        _ => return None,
    };
    let cohort = experiment.schedule()?.cohort;
    let ratio = noise_multiplier * (n_params as f64).sqrt() / cohort as f64;
    (ratio > LOUD).then(|| {
        format!(
            "with {cohort} clients the noise on the mean step is {ratio:.1} times as long as the longest step, which costs \
             quality{}; this guarantee needs more clients (about {:.0}), fewer rounds or a larger epsilon",
            if ratio > 5.0 { ", most of it perhaps" } else { "" },
            cohort as f64 * ratio / QUIET
        )
    })
}

/// A guarantee that rests on coins which nobody else sees.
fn poisson_sampling(experiment: &Experiment) -> Option<String> {
    experiment.clients.as_ref()?.participation?;
    Some(
        "this epsilon counts the coins of clients.participation: it holds against those who cannot see who takes part, \
         not against a server that can (foltr privacy explain has both)"
            .into(),
    )
}

/// A paper's epsilon is not what holds.
fn mislabelled(experiment: &Experiment, n_params: usize) -> Option<String> {
    let Mechanism::DistributedLaplace(mechanism) = experiment.plan().mechanism(n_params).ok()? else { return None };
    let holds = match experiment.plan().cost(n_params).ok()?.epsilon() {
        epsilon if epsilon.is_finite() => format!("{epsilon:.1} a round if the server sees the sum only"),
        _ => "nothing, since messages are lost".into(),
    };
    Some(format!(
        "privacy.epsilon = {} is the paper's label; what holds is {holds}, and nothing against a server that reads single \
         messages (foltr privacy explain)",
        mechanism.claimed_epsilon()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use crate::grid::Grid;

    fn cautions_of(privacy: &str, n_clients: usize) -> Vec<String> {
        cautions_with(privacy, n_clients, "")
    }

    fn cautions_with(privacy: &str, n_clients: usize, more_of_clients: &str) -> Vec<String> {
        let text = format!(
            "seeds = [1]\n[data]\nkind = \"synthetic\"\nshape = \"tiny\"\nqueries = 3\nseed = 1\n\
             [clients]\nn_clients = {n_clients}\ninteractions = 2\n{more_of_clients}[users]\nkind = \"cascade\"\npreset = \"perfect\"\n\
             [ranker]\nkind = \"linear\"\ninitialisation = {{ kind = \"zero\" }}\n\
             [learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\
             [federation]\nrounds = 50\noptimiser = {{ kind = \"learning-rate\", rate = 1.0 }}\n{privacy}"
        );
        let grid = Grid::from_toml(&text, &[]).expect("a sound file");
        let folds = data::load(&grid.settings[0].training().expect("no mimic learning").data).expect("generated");
        cautions(grid.settings[0].training().expect("no mimic learning"), &folds[0].1)
    }

    const GAUSSIAN: &str =
        "[privacy]\nkind = \"gaussian\"\nclip = 0.1\nepsilon = 4.5\ndelta = 1e-5\nmode = \"sealed\"\n";

    #[test]
    fn too_few_clients_are_told_and_enough_are_not() {
        let told = cautions_of(GAUSSIAN, 10);
        assert!(told.len() == 1 && told[0].starts_with("with 10 clients the noise on the mean step is"), "{told:?}");
        assert!(cautions_of(GAUSSIAN, 1000).is_empty());
    }

    #[test]
    fn a_budget_that_ends_a_run_is_told() {
        let told = cautions_of(&format!("{GAUSSIAN}[budget]\nepsilon = 2.0\ndelta = 1e-5\n"), 1000);
        assert!(told.len() == 1 && told[0].starts_with("the budget (2, 1e-5) ends runs after 1"), "{told:?}");
        assert!(cautions_of(&format!("{GAUSSIAN}[budget]\nepsilon = 4.5\ndelta = 1e-5\n"), 1000).is_empty());
    }

    #[test]
    fn coins_are_told_to_hide_less_from_the_server() {
        let told = cautions_with(GAUSSIAN, 1000, "participation = 0.5\n");
        assert!(told.len() == 1 && told[0].contains("not against a server that can"), "{told:?}");
    }

    #[test]
    fn the_label_of_the_paper_is_not_left_alone() {
        let laplace = "[privacy]\nkind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"\n";
        let told = cautions_of(laplace, 100);
        assert!(told.len() == 1 && told[0].contains("is the paper's label; what holds is"), "{told:?}");
        let told = cautions_with(laplace, 100, "dropout = 0.1\n");
        assert!(told[0].contains("what holds is nothing, since messages are lost"), "{told:?}");
    }
}
