//! Lists longer than those of the papers.

use foltr_experiment::rows::{MetricName, Row};
use foltr_experiment::spec::{Experiment, Metric, Split};
use foltr_test::ExperimentFile;

use crate::{experiment, run};

fn file(list_length: usize) -> ExperimentFile {
    let data =
        "kind = \"synthetic\"\nshape = \"mslr\"\nqueries = 40\nvalidation_queries = 0\ntest_queries = 40\nseed = 3";
    let file = ExperimentFile::fpdgd().section("data", data).set("metrics.list_length", &list_length.to_string());
    file.set("metrics.cutoff", "100").set("federation.rounds", "20")
}

#[test]
fn rankers_learn_from_lists_of_a_hundred_documents() {
    let long = experiment(&file(100));
    let (rows, outcome) = run(&long).expect("a run");
    let values = |metric| rows.iter().filter(move |row: &&Row| row.metric == metric).map(|row| row.value);
    let test = MetricName::Offline(Split::Test, Metric::Ndcg(10));
    let (first, last) = (values(test).next().expect("round 0"), values(test).next_back().expect("the last round"));
    assert!(last > first + 0.1, "from {first} to {last}");
    // More of a list is seen than of a short one.
    let online = |rows: &[Row]| {
        let of_rounds = rows.iter().filter(|row| row.metric == MetricName::OnlineNdcg(100)).map(|row| row.value);
        of_rounds.sum::<f64>()
    };
    let (short_rows, _) = run(&experiment(&file(10))).expect("a run");
    assert!(online(&rows) > 1.5 * online(&short_rows), "{} and {}", online(&rows), online(&short_rows));
    assert_eq!(outcome.n_interactions, 400);
}

#[test]
fn lists_that_nobody_can_see_or_report_about_are_refused() {
    let refused = |file: ExperimentFile| {
        let problems = Experiment::from_toml(&file.to_string()).expect_err("too long");
        format!("{problems:?}")
    };
    assert!(refused(file(101)).contains("must be 1 to 100"));
    let evolution = ExperimentFile::evolution().set("metrics.list_length", "17");
    assert!(
        refused(evolution).contains("must be 1 to 16 with this learner: a message has a bit for each shown document")
    );
}
