//! Rankers of one's own, from the experiment file to the rows: who is judged by what, and what is refused.

use std::sync::atomic::AtomicBool;

use foltr_lab::data;
use foltr_lab::rows::{MetricName, Row, RunOutcome};
use foltr_lab::run::run_one;
use foltr_lab::spec::{Experiment, Metric, Split};

const NDCG: Metric = Metric::Ndcg(10);

/// A small experiment on four intents that contradict each other, with replaced lines.
fn text(more: &str, replaced: &[(&str, &str)]) -> String {
    let text = "seeds = [1]\n[data]\nkind = \"synthetic\"\nshape = \"tiny\"\nqueries = 100\nseed = 3\nintents = 4\n\
                conflict = \"strong\"\n[clients]\nn_clients = 5\ninteractions = 4\n\
                [partition]\nkind = \"intents\"\nshuffled = false\n\
                [users]\nkind = \"cascade\"\npreset = \"perfect\"\n\
                [ranker]\nkind = \"linear\"\ninitialisation = { kind = \"zero\" }\n\
                [learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n\
                [federation]\nrounds = 150\noptimiser = { kind = \"learning-rate\", rate = 1.0 }\n\
                [metrics]\noffline = [\"ndcg@10\"]\nevaluate = \"first-and-last\"\n";
    let replace = |text: String, (old, new): &(&str, &str)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    };
    replaced.iter().fold(text.to_owned(), replace) + more
}

fn experiment(more: &str, replaced: &[(&str, &str)]) -> Experiment {
    Experiment::from_toml(&text(more, replaced)).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn run(experiment: &Experiment) -> (Vec<Row>, RunOutcome) {
    let fold = data::load(&experiment.data).expect("data").remove(0).1;
    let mut rows = Vec::new();
    let stop = AtomicBool::new(false);
    let outcome = run_one(experiment, &fold, 1, 1, &|_| {}, &mut |row| rows.push(row), &stop).expect("a run");
    (rows, outcome)
}

fn last(rows: &[Row], metric: MetricName) -> Option<f64> {
    rows.iter().rfind(|row| row.metric == metric).map(|row| row.value)
}

fn of_clients(outcome: &RunOutcome) -> Vec<f64> {
    outcome.clients.iter().map(|client| client.value).collect()
}

const ADDITIVE: &str =
    "[personalisation]\nkind = \"additive\"\nn_clusters = 1\nmemory = 0.0\nown_rate = 1.0\nown_decay = 0.002";

#[test]
fn the_global_ranker_is_worth_the_mean_of_what_it_is_worth_to_each() {
    let (rows, outcome) = run(&experiment("", &[]));
    let values = of_clients(&outcome);
    // Five clients with four intents: the first and the last are judged by the same labels.
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
fn a_ranker_of_ones_own_is_better_where_wishes_contradict_each_other() {
    let (plain, _) = run(&experiment("", &[]));
    let shared = last(&plain, MetricName::Own(Split::Test, NDCG)).expect("by client");
    for method in [
        ADDITIVE,
        "[personalisation]\nkind = \"local-only\"",
        "[personalisation]\nkind = \"ditto\"\npull = 0.01",
        "[personalisation]\nkind = \"interpolation\"\nmemory = 0.99",
        "[personalisation]\nkind = \"known-groups\"\nn_groups = 4",
    ] {
        let (rows, outcome) = run(&experiment(method, &[]));
        let own = last(&rows, MetricName::Own(Split::Test, NDCG)).expect("by client");
        assert!(own > shared + 0.02, "{method}: {own} after {shared}");
        let has_global = !method.contains("local-only") && !method.contains("known-groups");
        assert_eq!(last(&rows, MetricName::Offline(Split::Test, NDCG)).is_some(), has_global, "{method}");
        assert_eq!(last(&rows, MetricName::WorseOff(Split::Test, NDCG)).is_some(), has_global, "{method}");
        // What nobody trains is not saved as if it were a ranker.
        assert_eq!(outcome.params.is_some(), has_global, "{method}");
    }
}

#[test]
fn fed_per_is_judged_with_its_own_layers_and_with_the_averaged_one() {
    let network = "kind = \"mlp\"\nhidden = 8\nactivation = \"logistic\"\ninitialisation = { kind = \"fan-in\" }";
    let linear = "kind = \"linear\"\ninitialisation = { kind = \"zero\" }";
    let fed_per = experiment("[personalisation]\nkind = \"fed-per\"", &[(linear, network)]);
    let (rows, outcome) = run(&fed_per);
    let own = last(&rows, MetricName::Own(Split::Test, NDCG)).expect("own layers");
    let global = last(&rows, MetricName::Offline(Split::Test, NDCG)).expect("averaged layers");
    assert!(own != global && own > 0.0 && global > 0.0);
    assert_eq!(of_clients(&outcome).len(), 5);
}

#[test]
fn a_device_whose_messages_are_lost_still_learns() {
    let local = "[personalisation]\nkind = \"local-only\"";
    let (whole, _) = run(&experiment(local, &[]));
    let (lossy, outcome) = run(&experiment(local, &[("interactions = 4", "interactions = 4\ndropout = 0.9")]));
    // It sends nothing, so nothing is lost.
    assert_eq!(last(&whole, MetricName::Own(Split::Test, NDCG)), last(&lossy, MetricName::Own(Split::Test, NDCG)));
    assert_eq!(outcome.n_interactions, 150 * 5 * 4);
}

#[test]
fn what_cannot_be_had_together_is_refused_by_name() {
    let refused = |more: &str, replaced: &[(&str, &str)]| -> Vec<String> {
        let problems = Experiment::from_toml(&text(more, replaced)).expect_err("a wrong file");
        problems.into_iter().map(|problem| problem.key).collect()
    };
    let rate = "optimiser = { kind = \"learning-rate\", rate = 1.0 }";
    let laplace = "[privacy]\nkind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"\n";
    let ditto = "[personalisation]\nkind = \"ditto\"\npull = ";
    assert_eq!(refused(&format!("{laplace}{ditto}0.1"), &[]), ["privacy.kind"]);
    assert_eq!(refused(&format!("{ditto}30.0"), &[]), ["personalisation.pull"]);
    let pulled = [("updates = \"immediate\"", "updates = \"immediate\"\nproximal = 0.1")];
    assert_eq!(refused(&format!("{ditto}0.1"), &pulled), ["learner.proximal"]);
    let fed_per = refused("[personalisation]\nkind = \"fed-per\"", &[(rate, &rate.replace("1.0", "2.0"))]);
    assert_eq!(fed_per, ["federation.optimiser", "personalisation.kind"]);
    let gaussian = "[privacy]\nkind = \"gaussian\"\nclip = 0.2\nnoise_multiplier = 1.0\nmode = \"sealed\"\n".to_owned();
    assert_eq!(refused(&(gaussian.clone() + "[personalisation]\nkind = \"local-only\""), &[]), ["privacy"]);
    // What clips the message itself goes with an own part that stays on the device.
    assert_eq!(experiment(&(gaussian + ADDITIVE), &[]).check(), []);
}
