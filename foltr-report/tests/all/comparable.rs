//! What a report compares, and what it does not: lengths of runs, kinds of queries, tests over runs and over queries.

use std::collections::BTreeMap;

use crate::fabricated::{level, report, report_of};
use foltr_experiment::rows::MetricName;
use foltr_report::report::{Choices, Page, QueryMeans, Report};
use foltr_test::ExperimentFile;

fn page(report: &Report) -> String {
    Page::of(report, &Choices::default()).expect("a page").html
}

/// The section of a page with this id.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\">")).unwrap_or_else(|| panic!("no section {id}"));
    &page[start..start + page[start..].find("</section>").expect("an end")]
}

fn file(seeds: &str) -> ExperimentFile {
    ExperimentFile::fpdgd().set("seeds", seeds)
}

/// Runs of 120, 60 and 30 rounds, equally good in every round: their sums are about 119, 59 and 30.
fn lengths() -> Report {
    let file = file("[1, 2, 3]").set("federation.rounds", "[120, 60, 30]");
    report_of(&file, |setting, seed| {
        let n_rounds = [120, 60, 30][setting];
        let value = 0.9 + 0.0001 * seed as f64;
        [level("test-ndcg@10", (0, n_rounds), value), level("online-ndcg@10", (1, n_rounds), value)].concat()
    })
}

#[test]
fn sums_of_different_lengths_are_neither_tested_nor_best_nor_coloured_and_the_table_says_why() {
    let page = page(&lengths());
    let online = section(&page, "online");
    for sum in ["104.", "53.", "26."] {
        assert!(online.contains(&format!("<span class=\"mean\">{sum}")), "{sum}: not shown, or as the best\n{online}");
    }
    let cells: Vec<&str> = online.split("<td class=\"number\"").filter(|cell| cell.contains("class=\"mean")).collect();
    for cell in cells.iter().filter(|cell| !cell.contains(">0.9")) {
        assert!(!cell.contains(['▲', '▼', '△', '▽']) && !cell.contains("p "), "{cell}");
    }
    assert!(online.contains("not compared with the baseline: 60 rounds of 20 interactions, there 120 rounds of 20"));
    assert!(online.contains("online nDCG@10, discounted by round: settings with different lengths are not compared"));
    assert!(online.contains("(2400 interactions; 1200 interactions; 600 interactions)"), "{online}");
    assert!(!page.contains("discounted by round</h3>"), "a heat map would colour the sums");
}

#[test]
fn sums_of_equal_lengths_are_compared_by_round_and_by_interaction() {
    let file = file("[1, 2, 3]").set("learner.learning_rate", "[0.1, 0.01]").set("federation.rounds", "50");
    let report = report_of(&file, |setting, seed| {
        level("online-ndcg@10", (1, 50), 0.8 - 0.1 * setting as f64 + 0.0001 * (seed as f64) * (1.0 + setting as f64))
    });
    let page = page(&report);
    let online = section(&page, "online");
    assert_eq!(online.matches('▼').count(), 4, "three columns and the legend\n{online}");
    assert!(!online.contains("not compared"));
    // By interaction: 0.8002 (1 - .9995^1000) / (1 - .9995) = 629.8.
    assert!(online.contains(">629.8"), "{online}");
}

#[test]
fn a_setting_with_other_rounds_of_equal_budget_is_compared_by_interaction_only() {
    let file = file("[1, 2, 3]").and("[grid]\nzip.shape = [\"clients.interactions\", \"federation.rounds\"]\n");
    let file = file.set("clients.interactions", "[2, 4]").set("federation.rounds", "[20, 10]");
    let report = report_of(&file, |setting, seed| {
        level("online-ndcg@10", (1, [20, 10][setting]), 0.8 - 0.1 * setting as f64 + 0.0001 * seed as f64)
    });
    let page = page(&report);
    let online = section(&page, "online");
    assert!(online.contains("10 rounds of 40 interactions, there 20 rounds of 20 interactions"), "{online}");
    assert!(!online.contains("discounted by interaction: settings"), "{online}");
    assert_eq!(online.matches('▼').count(), 3, "by interaction, the mean, and the legend\n{online}");
}

#[test]
fn held_out_tables_have_no_training_columns() {
    let page = page(&report_of(&file("[1, 2, 3]"), |_, _| {
        let metrics = ["test-ndcg@10", "validation-map", "train-ndcg@10", "simulated-time"];
        metrics.iter().flat_map(|metric| level(metric, (1, 5), 0.5)).collect()
    }));
    let (held_out, training) = (section(&page, "final-ranker"), section(&page, "training-queries"));
    assert!(held_out.contains("nDCG@10 on test queries") && held_out.contains("MAP on validation queries"));
    assert!(!held_out.contains("training") && !held_out.contains("time"), "{held_out}");
    assert!(training.contains("nDCG@10 on training queries") && !training.contains("on test queries"));
    assert!(section(&page, "time-and-messages").contains("simulated time"));
}

/// Two settings with values that only their queries tell apart: the second is better on every query.
#[test]
fn tests_over_queries_stand_beside_those_over_runs() {
    let file = file("[1, 2]").set("learner.learning_rate", "[0.1, 0.01]");
    let mut report = report_of(&file, |_, seed| level("test-ndcg@10", (0, 5), 0.5 + 0.01 * seed as f64));
    let metric: MetricName = "test-ndcg@10".parse().expect("a metric");
    let queries = |more: f64, first: usize| {
        let value =
            |query: usize| (1, query.to_string(), 0.01 * query as f64 + more * (1.0 + 0.1 * (query % 3) as f64));
        BTreeMap::from([(metric, (first..first + 30).map(value).collect())])
    };
    report.queries = QueryMeans::of(vec![queries(0.0, 1), queries(0.02, 1)]);
    let with = page(&report);
    let table = section(&with, "final-ranker");
    assert!(table.contains("p &lt; 0.0001") || table.contains("p &#60; 0.0001"), "{table}");
    assert!(table.contains("(paired t-test over 30 queries, means over seeds, Bonferroni-corrected)"), "{table}");
    assert!(table.contains("(paired t-test over runs, Bonferroni-corrected)"), "{table}");
    assert_eq!(table.matches("<sup>‡</sup>").count(), 1, "{table}");
    // Other queries cannot be paired.
    report.queries = QueryMeans::of(vec![queries(0.0, 1), queries(0.02, 2)]);
    assert!(!page(&report).contains("paired t-test over 30 queries"));
}

#[test]
fn two_runs_have_no_band_no_error_bar_and_no_interval() {
    let value = |setting: usize, seed: u64| 0.7 - 0.1 * setting as f64 + 0.2 * seed as f64;
    let page_of = |seeds: &str| {
        let file = file(seeds).set("learner.learning_rate", "[0.1, 0.01]");
        page(&report_of(&file, |setting, seed| level("test-ndcg@10", (0, 5), value(setting, seed))))
    };
    let (two, three) = (page_of("[1, 2]"), page_of("[1, 2, 3]"));
    for sign in ["class=\"band\"", "class=\"error-bar\"", "<span class=\"half\">", "confidence bands"] {
        assert!(!two.contains(sign) && three.contains(sign), "{sign}");
    }
    assert!(two.contains("the interval of two runs is as wide as anything and not shown"));
}

#[test]
fn curves_begin_with_the_initial_ranker() {
    let page = page(&report(40));
    let numbers =
        page.split("id=\"numbers\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("numbers");
    let panels: Vec<Vec<(usize, Vec<[f64; 4]>)>> = serde_json::from_str(numbers).expect("JSON");
    assert_eq!(panels.len(), 12);
    for (idx, curves) in panels.iter().enumerate() {
        // The first six panels are of rankers; users see no list before the first round, of 2000 interactions.
        let first = if idx < 6 { 0.0 } else { 2000.0 };
        assert!(curves.iter().all(|(_, points)| points[0][0] == first), "panel {idx}: {curves:?}");
    }
}

#[test]
fn headings_axes_and_legends_have_names_and_no_keys() {
    let page = page(&report(40));
    let visible = page.split("<section id=\"settings\">").next().expect("a page");
    for name in ["nDCG@10 on test queries", "online nDCG@10", ">users<", ">data<", "perfect users"] {
        assert!(visible.contains(name), "{name}");
    }
    for key in ["test-ndcg", "online-ndcg", "users.preset", "data.folder"] {
        assert!(!visible.contains(key), "{key} in {}", &visible[visible.find(key).unwrap_or(0)..][..200]);
    }
}
