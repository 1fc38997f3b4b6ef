//! What must be known to read the numbers of a run with privacy.

use foltr_federation::{Mechanism, Participation};
use foltr_simulation::datasets::Fold;

use crate::spec::{Budget, Experiment};

/// Noise on the mean step over the longest possible step, from which on it costs. Measured on real collections with 46
/// features: at 1.5 up to .011 of nDCG@10, at 3 up to .015, at 11 up to .12 (REPRODUCTION.md).
const LOUD: f64 = 1.0;

/// The same ratio where nothing was lost.
const QUIET: f64 = 0.3;

pub(super) fn warnings(experiment: &Experiment, fold: &Fold) -> Vec<String> {
    let width = fold.train.n_features();
    let n_params = experiment.ranker.map_or(width, |ranker| ranker.shape(width).n_params());
    let warnings = [
        shortened(experiment, n_params),
        noise_exceeds_signal(experiment, n_params),
        mislabelled(experiment, n_params),
        poisson_sampling(experiment, n_params),
    ];
    warnings.into_iter().flatten().collect()
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
        Mechanism::CentralDiscreteGaussian(mechanism) => mechanism.noise_multiplier(),
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
fn poisson_sampling(experiment: &Experiment, n_params: usize) -> Option<String> {
    let hidden = experiment.plan().circumstances(n_params).hidden_participation();
    matches!(hidden, Participation::PoissonSampling(_)).then(|| {
        "this epsilon counts the coins of clients.participation: it holds against those who cannot see who takes part, \
         not against a server that can (foltr privacy explain has both)"
            .into()
    })
}

/// A label is not what holds.
fn mislabelled(experiment: &Experiment, n_params: usize) -> Option<String> {
    let (plan, seen) =
        (experiment.plan(), "nothing against a server that reads single messages (foltr privacy explain)");
    let cost = plan.round_cost(n_params).ok()?;
    match (plan.mechanism(n_params).ok()?, cost.flaw) {
        (Mechanism::DistributedLaplace(mechanism), flaw) => {
            let of_sum =
                || format!("{:.1} a round if the server sees the sum only, and {seen}", cost.unseen.1.epsilon());
            let holds = flaw.map_or_else(of_sum, |flaw| format!("nothing: {flaw}"));
            let label = mechanism.claimed_epsilon();
            Some(format!("privacy.epsilon = {label} is the paper's label; what holds is {holds}"))
        }
        (_, flaw) => flaw.map(|flaw| format!("[privacy] promises nothing here: {flaw}")),
    }
}

#[cfg(test)]
mod tests {
    use foltr_test::ExperimentFile;

    use super::*;
    use crate::data;

    const GAUSSIAN: &str = "kind = \"gaussian\"\nclip = 0.1\nepsilon = 4.5\ndelta = 1e-5\nmode = \"sealed\"";
    const LAPLACE: &str = "kind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"";

    const RESPONSE: &str = "kind = \"randomised-response\"\nprobability = 0.9";

    fn file(privacy: &str, n_clients: usize) -> ExperimentFile {
        let file = ExperimentFile::fpdgd().set("data.queries", "3").set("clients.n_clients", &n_clients.to_string());
        file.set("federation.rounds", "50").section("privacy", privacy)
    }

    fn warnings(file: &ExperimentFile) -> Vec<String> {
        let experiment = Experiment::from_toml(&file.to_string()).expect("a sound file");
        let folds = data::load(&experiment.data).expect("generated");
        super::warnings(&experiment, &folds[0].1)
    }

    #[test]
    fn each_surprise_has_its_warning_and_no_other() {
        let budget = |epsilon| file(GAUSSIAN, 1000).set("budget.epsilon", epsilon).set("budget.delta", "1e-5");
        assert_eq!(warnings(&file(GAUSSIAN, 1000)), [""; 0]);
        assert_eq!(warnings(&budget("4.5")), [""; 0]);
        let published = ExperimentFile::evolution().set("learner.stream", "\"published\"");
        let published = published.set("data.queries", "3").section("privacy", RESPONSE);
        for (file, expected) in [
            (file(GAUSSIAN, 10), "with 10 clients the noise on the mean step is"),
            (budget("2.0"), "the budget (2, 1e-5) ends runs after 1"),
            (file(GAUSSIAN, 1000).set("clients.participation", "0.5"), "not against a server that can"),
            (file(LAPLACE, 100), "is the paper's label; what holds is"),
            (file(LAPLACE, 100).set("clients.dropout", "0.1"), "what holds is nothing: messages are lost"),
            (
                file(LAPLACE, 100).set("clients.absent", "[3]"),
                "what holds is nothing: messages are lost or clients absent",
            ),
            (published, "[privacy] promises nothing here: learner.stream = \"published\""),
        ] {
            let warnings = warnings(&file);
            assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}");
        }
    }
}
