//! `[adoption]` from the experiment file to the rows.

use foltr_experiment::rows::{MetricName, Row};
use foltr_experiment::spec::{Experiment, Metric, Split};
use foltr_test::ExperimentFile;

use super::{experiment, run};

const NDCG: Metric = Metric::Ndcg(10);

fn file() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .set("users.preset", "\"perfect\"")
        .section("clients", "n_clients = 10\ninteractions = 5")
        .set("federation.rounds", "300")
        .section("metrics", "offline = [\"ndcg@10\"]\nevaluate = \"first-and-last\"")
}

/// Four of ten are honest for 150 rounds, and then send vectors of great length.
fn attacked() -> ExperimentFile {
    let method = "{ kind = \"patient\", from = 150 }";
    file().section("attack", &format!("attackers = 4\nknowledge = \"full\"\nmethod = {method}"))
}

fn adopting(file: ExperimentFile) -> ExperimentFile {
    file.section("adoption", "error = 0.05\nlists = 2000")
}

fn rows(file: &ExperimentFile) -> Vec<Row> {
    run(&experiment(file)).expect("a run").0
}

fn last(rows: &[Row], metric: MetricName) -> f64 {
    rows.iter().rfind(|row| row.metric == metric).map(|row| row.value).expect("such a row")
}

#[test]
fn without_attackers_adoption_costs_nothing() {
    let (plain, tested) = (rows(&file()), rows(&adopting(file())));
    let offline = MetricName::Offline(Split::Test, NDCG);
    assert_eq!(last(&plain, offline), last(&tested, offline));
    // A mean over clients of the same number.
    let own = last(&tested, MetricName::Own(Split::Test, NDCG));
    assert!((own - last(&plain, offline)).abs() < 1e-14, "{own}");
    let n_refused = tested.iter().filter(|row| row.metric == MetricName::RefusedReleases && row.value > 0.0).count();
    assert_eq!(n_refused, 0);
}

#[test]
fn under_attack_users_are_better_off_than_the_global_ranker_leaves_them() {
    let (plain, tested) = (rows(&attacked()), rows(&adopting(attacked())));
    let mean = |rows: &[Row], metric| {
        let values: Vec<f64> = rows.iter().filter(|row| row.metric == metric).map(|row| row.value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert!(mean(&tested, MetricName::RefusedReleases) > 0.1);
    let online = MetricName::OnlineNdcg(10);
    assert!(mean(&tested, online) > mean(&plain, online) + 0.02);
    let own = last(&tested, MetricName::Own(Split::Test, NDCG));
    assert!(own > last(&tested, MetricName::Offline(Split::Test, NDCG)), "{own}");
}

#[test]
fn attackers_have_no_ranker_of_their_own() {
    let outcome = run(&experiment(&adopting(attacked()))).expect("a run").1;
    let clients: Vec<u32> = outcome.clients.iter().map(|client| client.client).collect();
    assert_eq!(clients, [4, 5, 6, 7, 8, 9]);
}

#[test]
fn wrong_values_and_combinations_are_named() {
    let problems = |file: ExperimentFile| -> Vec<String> {
        let problems = Experiment::from_toml(&file.to_string()).expect_err("something is wrong");
        problems.iter().map(ToString::to_string).collect()
    };
    let wrong = problems(file().section("adoption", "error = 1.5\nlists = 0"));
    assert!(wrong[0].contains("adoption.error") && wrong[0].contains("above 0 and below 1"), "{wrong:?}");
    assert!(wrong[1].contains("adoption.lists"), "{wrong:?}");
    let missing = problems(file().section("adoption", "error = 0.05"));
    assert!(missing[0].contains("lists"), "{missing:?}");
    let private = "kind = \"gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmode = \"clear\"";
    let refused = problems(adopting(file()).section("privacy", private));
    assert!(refused[0].contains("whether a device sends would depend on its clicks"), "{refused:?}");
    let random = "kind = \"random\"";
    let baseline = adopting(ExperimentFile::fpdgd()).section("learner", random);
    let refused = problems(baseline);
    assert!(refused.iter().any(|problem| problem.contains("`adoption`: remove this section")), "{refused:?}");
}
