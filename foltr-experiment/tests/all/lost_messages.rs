//! Lost, refused and too long messages, from the experiment file on.

use foltr_experiment::rows::{MetricName, Row};
use foltr_experiment::spec::Experiment;
use foltr_test::ExperimentFile;

use super::{experiment, run};

fn attacked(clients: &str, attack: &str, defence: Option<&str>) -> ExperimentFile {
    let data =
        "kind = \"synthetic\"\nshape = \"tiny\"\nqueries = 60\nvalidation_queries = 0\ntest_queries = 20\nseed = 3";
    let file = ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .section("data", data)
        .section("clients", clients)
        .section("attack", &format!("attackers = 4\nknowledge = \"full\"\nmethod = {attack}"))
        .set("federation.rounds", "40")
        .set("metrics.evaluate", "\"first-and-last\"");
    match defence {
        Some(defence) => file.section("defence", defence),
        None => file,
    }
}

fn last(rows: &[Row], metric: MetricName) -> Option<f64> {
    rows.iter().rfind(|row| row.metric == metric).map(|row| row.value)
}

const CLIENTS: &str = "n_clients = 10\ninteractions = 5";
const FAR: &str = "{ kind = \"sign-flip\", scale = 1e38 }";

/// The attack: finite numbers near the largest, with a server that takes long steps. The first one that overflowed ended the
/// run.
#[test]
fn a_run_goes_on_after_steps_that_overflow_and_counts_them() {
    let fast = "{ kind = \"learning-rate\", rate = 100.0 }";
    let averaged = attacked(CLIENTS, FAR, None).set("federation.optimiser", fast);
    let (rows, _) = run(&experiment(&averaged)).expect("no error");
    assert!(rows.iter().all(|row| row.value.is_finite()));
    let dropped = last(&rows, MetricName::DroppedSteps);
    assert!(dropped.is_some_and(|steps| (1.0..=40.0).contains(&steps)), "{dropped:?}");
    assert!(rows.iter().any(|row| row.round == 40), "all rounds");
    let mean = "rule = { kind = \"mean\" }";
    let (rows, _) = run(&experiment(&attacked(CLIENTS, FAR, Some(mean)))).expect("no error");
    assert_eq!(last(&rows, MetricName::DroppedSteps), None);
    // Four in each of 40 rounds, but for those in which nobody clicked: zero is not long.
    let refused = last(&rows, MetricName::RefusedMessages);
    assert!(refused.is_some_and(|messages| (150.0..=160.0).contains(&messages)), "{refused:?}");
}

/// A dropout of a third left fewer messages than a rule against four attackers wants, and such a file was refused. Now the
/// rule has ten rows whatever is lost.
#[test]
fn lost_messages_do_not_exclude_a_rule() {
    let defence = "rule = { kind = \"trimmed-mean\", attackers = 4 }\nmixing = 4\nstand_ins = 20\nlongest = 1e4";
    let lossy = "n_clients = 10\ninteractions = 5\ndropout = 0.3";
    let file = attacked(lossy, "{ kind = \"sign-flip\" }", Some(defence));
    let (rows, _) = run(&experiment(&file)).expect("no error");
    assert_eq!(last(&rows, MetricName::RefusedMessages), None);
    let few = experiment_problems(&attacked(CLIENTS, FAR, Some(&defence.replace("= 4", "= 5"))));
    assert!(few.contains("needs at least 11 clients in a round, there are 10"), "{few}");
    for (longest, is_right) in [("0.0", false), ("-1.0", false), ("inf", false), ("5.0", true)] {
        let problems = experiment_problems(&attacked(CLIENTS, FAR, Some(&defence.replace("1e4", longest))));
        assert_eq!(problems.is_empty(), is_right, "{longest}: {problems}");
        assert!(is_right || problems.contains("longest"), "{problems}");
    }
}

fn experiment_problems(file: &ExperimentFile) -> String {
    Experiment::from_toml(&file.to_string()).err().map(|problems| format!("{problems:?}")).unwrap_or_default()
}
