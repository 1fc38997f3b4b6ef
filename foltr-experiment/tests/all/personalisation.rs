//! Rankers of clients, from the experiment file to the rows: who is evaluated by what, and what is refused.

use foltr_experiment::rows::{MetricName, Row, RunOutcome};
use foltr_experiment::spec::{Experiment, Metric, Split};
use foltr_test::ExperimentFile;

use super::experiment;

const NDCG: Metric = Metric::Ndcg(10);

/// A small experiment on four intents that contradict each other.
fn file() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .set("data.seed", "3")
        .set("data.intents", "4")
        .set("data.conflict", "\"strong\"")
        .section("clients", "n_clients = 5\ninteractions = 4")
        .section("partition", "kind = \"intents\"\nshuffled = false")
        .set("federation.rounds", "150")
        .section("metrics", "offline = [\"ndcg@10\"]\nevaluate = \"first-and-last\"")
}

fn personal(section: &str) -> ExperimentFile {
    file().section("personalisation", section)
}

fn run(experiment: &Experiment) -> (Vec<Row>, RunOutcome) {
    super::run(experiment).expect("a run")
}

fn last(rows: &[Row], metric: MetricName) -> Option<f64> {
    rows.iter().rfind(|row| row.metric == metric).map(|row| row.value)
}

fn of_clients(outcome: &RunOutcome) -> Vec<f64> {
    outcome.clients.iter().map(|client| client.value).collect()
}

const ADDITIVE: &str = "kind = \"additive\"\nn_clusters = 1\nmemory = 0.0\nown_rate = 1.0\nown_decay = 0.002";

#[test]
fn the_global_ranker_is_worth_the_mean_of_what_it_is_worth_to_each() {
    let (rows, outcome) = run(&experiment(&file()));
    let values = of_clients(&outcome);
    // Five clients with four intents: the first and the last are evaluated by the same labels.
    let groups: Vec<u32> = outcome.clients.iter().map(|client| client.group).collect();
    assert_eq!((groups, values[0]), (vec![0, 1, 2, 3, 0], values[4]));
    assert!(values[1] != values[0] && values[2] != values[1]);
    let mean = values.iter().sum::<f64>() / 5.0;
    let global = last(&rows, MetricName::Offline(Split::Test, NDCG)).expect("a global ranker");
    assert!((global - mean).abs() < 1e-12, "{global} instead of {mean}");
    assert!((last(&rows, MetricName::Own(Split::Test, NDCG)).expect("by client") - mean).abs() < 1e-12);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(last(&rows, MetricName::WorstDecile(Split::Test, NDCG)), Some(least));
    // Nobody has another ranker that could be worse.
    assert_eq!(last(&rows, MetricName::WorseOff(Split::Test, NDCG)), None);
}

#[test]
fn rankers_of_many_rounds_are_evaluated_together_and_are_worth_the_same() {
    let metrics = |evaluate: &str| format!("offline = [\"ndcg@10\", \"mrr@10\"]\nevaluate = {evaluate}");
    let measured = |section: &str, evaluate: &str| {
        let file = personal(section).set("federation.rounds", "40").section("metrics", &metrics(evaluate));
        run(&experiment(&file))
    };
    for section in [ADDITIVE, "kind = \"local-only\""] {
        let (rows, outcome) = measured(section, "{ every = 1 }");
        let (alone, outcome_alone) = measured(section, "\"first-and-last\"");
        assert_eq!(outcome.clients, outcome_alone.clients);
        for metric in [NDCG, Metric::Mrr(10)] {
            for name in [MetricName::Own, MetricName::WorstDecile, MetricName::WorseOff] {
                let name = name(Split::Test, metric);
                assert_eq!(last(&rows, name), last(&alone, name));
                let rounds = rows.iter().filter(|row| row.metric == name).map(|row| row.round);
                assert!(last(&alone, name).is_none() || rounds.eq(0..=40), "{name} in every round, in order");
            }
        }
        // The first value becomes known when enough rankers wait: after online values of several rounds.
        let place = |metric, round| rows.iter().position(|row| row.metric == metric && row.round == round);
        assert!(place(MetricName::Own(Split::Test, NDCG), 0) > place(MetricName::OnlineNdcg(10), 5));
    }
}

/// What a robust rule costs the clients whom it overrules can be tabulated: rows of one global ranker by client.
#[test]
fn a_defended_global_ranker_has_a_worst_decile_too() {
    let defence =
        "rule = { kind = \"trimmed-mean\", attackers = 2 }\nmixing = 2\nmomentum = { kind = \"growing\", share = 0.5 }";
    let (rows, outcome) = run(&experiment(&file().section("defence", defence)));
    let values = of_clients(&outcome);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(last(&rows, MetricName::WorstDecile(Split::Test, NDCG)), Some(least));
    let (clean, _) = run(&experiment(&file()));
    assert!(last(&clean, MetricName::WorstDecile(Split::Test, NDCG)) != Some(least), "the defence does something");
}

/// Without rows of every round the price of a defence while it learns is still known: means over the first rounds and all.
#[test]
fn online_means_are_those_of_all_rounds() {
    let online = |rows: &[Row]| -> Vec<(usize, f64)> {
        let of_metric = rows.iter().filter(|row| row.metric == MetricName::OnlineNdcg(10));
        of_metric.map(|row| (row.round, row.value)).collect()
    };
    let (all, _) = run(&experiment(&file()));
    let all = online(&all);
    assert_eq!(all.len(), 150, "evaluate = \"first-and-last\" is about rankers, not about rounds");
    let (means, _) = run(&experiment(&file().set("metrics.online", "{ every = 50 }")));
    let means = online(&means);
    assert_eq!(means.iter().map(|(round, _)| *round).collect::<Vec<_>>(), [50, 100, 150]);
    for (block, (_, mean)) in all.chunks(50).zip(&means) {
        let wanted = block.iter().map(|(_, value)| value).sum::<f64>() / 50.0;
        assert!((mean - wanted).abs() < 1e-12, "{mean} instead of {wanted}");
    }
    let text = file().set("metrics.online", "{ every = 40 }").to_string();
    let refused = Experiment::from_toml(&text).expect_err("150 is no multiple of 40");
    assert!(format!("{refused:?}").contains("must divide the 150 rounds"), "{refused:?}");
}

#[test]
fn a_ranker_of_ones_own_is_better_where_wishes_contradict_each_other() {
    let (plain, _) = run(&experiment(&file()));
    let shared = last(&plain, MetricName::Own(Split::Test, NDCG)).expect("by client");
    for method in [
        ADDITIVE,
        "kind = \"local-only\"",
        "kind = \"ditto\"\npull = 0.01",
        "kind = \"interpolation\"\nmemory = 0.99",
        "kind = \"known-groups\"\nn_groups = 4",
    ] {
        let (rows, outcome) = run(&experiment(&personal(method)));
        let own = last(&rows, MetricName::Own(Split::Test, NDCG)).expect("by client");
        assert!(own > shared + 0.02, "{method}: {own} after {shared}");
        let has_global = !method.contains("local-only") && !method.contains("known-groups");
        assert_eq!(last(&rows, MetricName::Offline(Split::Test, NDCG)).is_some(), has_global, "{method}");
        assert_eq!(last(&rows, MetricName::WorseOff(Split::Test, NDCG)).is_some(), has_global, "{method}");
        // What nobody trains is not saved as if it were a ranker.
        assert_eq!(outcome.ranker.is_some(), has_global, "{method}");
    }
}

#[test]
fn fed_per_is_evaluated_with_its_own_layers_and_with_the_averaged_one() {
    let network = "kind = \"mlp\"\nhidden = 8\nactivation = \"logistic\"\ninitialisation = { kind = \"fan-in\" }";
    let fed_per = experiment(&personal("kind = \"fed-per\"").section("ranker", network));
    let (rows, outcome) = run(&fed_per);
    let own = last(&rows, MetricName::Own(Split::Test, NDCG)).expect("own layers");
    let global = last(&rows, MetricName::Offline(Split::Test, NDCG)).expect("averaged layers");
    assert!(own != global && own > 0.0 && global > 0.0);
    assert_eq!(of_clients(&outcome).len(), 5);
}

#[test]
fn a_device_whose_messages_are_lost_still_learns() {
    let local = personal("kind = \"local-only\"");
    let (whole, _) = run(&experiment(&local));
    let (lossy, outcome) = run(&experiment(&local.set("clients.dropout", "0.9")));
    // It sends nothing, so nothing is lost.
    assert_eq!(last(&whole, MetricName::Own(Split::Test, NDCG)), last(&lossy, MetricName::Own(Split::Test, NDCG)));
    assert_eq!(outcome.n_interactions, 150 * 5 * 4);
}

#[test]
fn what_cannot_be_had_together_is_refused_by_name() {
    let refused = |file: ExperimentFile| -> Vec<String> {
        let problems = Experiment::from_toml(&file.to_string()).expect_err("a wrong file");
        problems.into_iter().map(|problem| problem.key).collect()
    };
    let ditto = personal("kind = \"ditto\"\npull = 0.1");
    let laplace = "kind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"";
    assert_eq!(refused(ditto.clone().section("privacy", laplace)), ["privacy.kind"]);
    assert_eq!(refused(ditto.clone().set("personalisation.pull", "30.0")), ["personalisation.pull"]);
    assert_eq!(refused(ditto.set("learner.proximal", "0.1")), ["learner.proximal"]);
    let twice = "{ kind = \"learning-rate\", rate = 2.0 }";
    let fed_per = personal("kind = \"fed-per\"").set("federation.optimiser", twice);
    assert_eq!(refused(fed_per), ["federation.optimiser", "personalisation.kind"]);
    let gaussian = "kind = \"gaussian\"\nclip = 0.2\nnoise_multiplier = 1.0\nmode = \"sealed\"";
    assert_eq!(refused(personal("kind = \"local-only\"").section("privacy", gaussian)), ["privacy.kind"]);
    // What clips the message itself goes with an own part that stays on the device.
    assert_eq!(experiment(&personal(ADDITIVE).section("privacy", gaussian)).check(), []);
}
