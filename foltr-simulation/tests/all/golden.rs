//! The specification's golden vectors for users, the exact expectation of PDGD's gradient under them, and what
//! randomised response leaks about them.

use foltr_federation::privacy::{certain_outcomes, privacy_loss};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::metric::{expected_max_rr, first_click_law};
use foltr_rank::query::pad_rows;
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Clicks, Impression, OnlineLearner, QueryView, Ranking, Shape, Update};
use foltr_simulation::click::{Cascade, PositionBased, Preset, SimulatedUser};
use serde_json::Value;

fn vectors(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the vectors are JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn labels(value: &Value) -> Vec<u8> {
    numbers(value).iter().map(|&x| x as u8).collect()
}

fn preset(name: &str) -> Preset {
    serde_json::from_value(Value::String(name.to_lowercase())).unwrap_or_else(|_| panic!("no user is called {name}"))
}

fn assert_all_close(ours: &[f64], expected: &[f64], tolerance: f64, what: &Value) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    ours.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() <= tolerance, "{what}: {a} instead of {b}"));
}

#[test]
fn cascade_users() {
    for case in vectors("click_vectors")["ccm"].as_array().expect("cases") {
        let max_label = case["grades"].as_u64().expect("a number") as u8 - 1;
        let users = Cascade::preset(preset(case["model"].as_str().expect("a name")), max_label).expect("known grades");
        let shown = labels(&case["labels"]);
        assert_all_close(&users.marginals(&shown), &numbers(&case["click_prob_per_rank"]), 1e-12, case);
        let click: Vec<f64> = shown.iter().map(|&label| users.click_probability(0, label)).collect();
        let law = first_click_law(&click);
        assert_all_close(&law, &numbers(&case["first_click_distribution_last_is_none"]), 1e-12, case);
        let expected = case["expected_maxrr"].as_f64().expect("a number");
        assert_all_close(&[expected_max_rr(click)], &[expected], 1e-12, case);
    }
}

#[test]
fn position_based_users() {
    for case in vectors("click_vectors")["pbm"].as_array().expect("cases") {
        let eta = case["eta"].as_f64().expect("a number");
        let users = PositionBased::new(eta, &numbers(&case["click_prob_by_grade"]));
        let shown = labels(&case["labels"]);
        assert_all_close(&users.marginals(&shown), &numbers(&case["click_prob_per_rank"]), 1e-12, case);
    }
}

/// All ordered lists of `k` of `n` documents.
fn lists(n: u32, k: usize) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new()];
    for _ in 0..k {
        lists = lists
            .into_iter()
            .flat_map(|list: Vec<u32>| {
                let rest: Vec<u32> = (0..n).filter(|doc| !list.contains(doc)).collect();
                rest.into_iter().map(move |doc| list.iter().copied().chain([doc]).collect())
            })
            .collect();
    }
    lists
}

fn list_probability(scores: &[f64], list: &[u32]) -> f64 {
    let mut rest: f64 = scores.iter().map(|s| s.exp()).sum();
    let mut probability = 1.0;
    for &doc in list {
        let weight = scores[doc as usize].exp();
        probability *= weight / rest;
        rest -= weight;
    }
    probability
}

/// Probability of exactly these clicks, by walking down the list.
fn click_probability(users: &Cascade, shown: &[u8], clicks: Clicks) -> f64 {
    let (mut walking, mut stopped) = (1.0, 0.0);
    for (position, &label) in shown.iter().enumerate() {
        let click = users.click_probabilities()[label as usize];
        let stop = users.stop_probabilities()[label as usize];
        if clicks.at(position) {
            (walking, stopped) = (walking * click * (1.0 - stop), walking * click * stop);
        } else {
            walking *= 1.0 - click;
        }
    }
    walking + stopped
}

/// Expected weight of each document over all lists and all clicks, through the learner itself.
fn expected_weights(scores: &[f64], labels: &[u8], k: usize, users: &Cascade) -> Vec<f64> {
    let n_docs = scores.len();
    let mut identity = vec![0.0; n_docs * n_docs];
    (0..n_docs).for_each(|doc| identity[doc * n_docs + doc] = 1.0);
    let rows = pad_rows(&identity, n_docs);
    let query = QueryView::new(&rows, n_docs);
    let settings = PdgdSettings { learning_rate: 1.0, updates: Updates::Accumulated, n_shown: k, ..crate::scene::PDGD };
    let mut learner = Pdgd::new(Shape::Linear { n_features: n_docs }, settings);
    let mut stream = Streams::new(1).open(Purpose::Interaction, 0, 0);
    let params: Vec<f32> = scores.iter().map(|&s| s as f32).collect();
    let mut expected = vec![0.0; n_docs];
    for list in lists(n_docs as u32, k) {
        let shown: Vec<u8> = list.iter().map(|&doc| labels[doc as usize]).collect();
        for bits in 0..1_u128 << k {
            learner.begin(&params, &mut stream);
            learner.rank(query, &mut stream, &mut Ranking::default());
            let ranking = Ranking::from_docs(&list).expect("a short list");
            learner.observe(&Impression::new(query, &ranking, Clicks(bits)));
            let Update::Step { delta, .. } = learner.finish() else { panic!("PDGD makes steps") };
            let probability = list_probability(scores, &list) * click_probability(users, &shown, Clicks(bits));
            expected.iter_mut().zip(delta).for_each(|(sum, &w)| *sum += probability * f64::from(w));
        }
    }
    expected
}

#[test]
fn pdgd_expectation() {
    for case in vectors("pdgd_expectation")["cases"].as_array().expect("cases") {
        let users = Cascade::preset(preset(case["model"].as_str().expect("a name")), 2).expect("three grades");
        let k = case["k"].as_u64().expect("a number") as usize;
        let ours = expected_weights(&numbers(&case["scores"]), &labels(&case["labels"]), k, &users);
        assert_all_close(&ours, &numbers(&case["expected_doc_weights"]), 1e-7, case);
    }
}

#[test]
fn equal_labels_give_no_expected_gradient() {
    for preset in Preset::ALL {
        let users = Cascade::preset(preset, 2).expect("three grades");
        for label in 0..3 {
            let ours = expected_weights(&[0.9, -0.4, 2.5, 0.1], &[label; 4], 3, &users);
            assert!(ours.iter().all(|w| w.abs() < 1e-7), "{preset:?}, label {label}: {ours:?}");
        }
    }
}

/// The first-click laws of a user on all lists of five documents with three grades.
fn first_click_laws(preset: Preset) -> Vec<Vec<f64>> {
    let users = Cascade::preset(preset, 2).expect("three grades");
    let law = |number: u32| {
        let grades = (0..5).map(|position| (number / 3_u32.pow(position) % 3) as u8);
        first_click_law(&grades.map(|label| users.click_probability(0, label)).collect::<Vec<_>>())
    };
    (0..3_u32.pow(5)).map(law).collect()
}

#[test]
fn privacy_loss_of_randomised_response() {
    let golden = vectors("foltr_es_privacy");
    for case in golden["epsilon_table2"].as_array().expect("cases") {
        let p = case["p"].as_f64().expect("a number");
        for (truths, key) in [
            (certain_outcomes(6), "theoretical_n6"),
            (certain_outcomes(11), "theoretical_n11"),
            (first_click_laws(Preset::Perfect), "perfect_all_values"),
            (first_click_laws(Preset::Navigational), "navigational_all_values"),
            (first_click_laws(Preset::Informational), "informational_all_values"),
        ] {
            let expected = case[key].as_f64().unwrap_or_else(|| panic!("{key} is a number"));
            assert_all_close(&[privacy_loss(&truths, p)], &[expected], 1e-9, case);
        }
    }
    for case in golden["fpdgd_budget_match"].as_array().expect("cases") {
        let n = case["n"].as_u64().expect("a number") as usize;
        let ours = privacy_loss(&certain_outcomes(n), case["p"].as_f64().expect("a number"));
        assert_all_close(&[ours], &[case["eps"].as_f64().expect("a number")], 1e-9, case);
    }
}
