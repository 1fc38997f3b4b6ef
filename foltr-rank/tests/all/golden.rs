//! The specification's golden vectors for metrics, PDGD and the neural ranker.

use foltr_rank::learn::pdgd::pair_weights::{log_add_exp, pair_weights, pair_weights_log, unclicked_considered};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::metric::{WithoutRelevant, ideal_dcg, ndcg, online_performance};
use foltr_rank::query::pad_rows;
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Clicks, Impression, OnlineLearner, QueryView, Ranker, Ranking, Shape, Update};
use serde_json::Value;

fn vectors(name: &str) -> Value {
    let path = format!("{}/tests/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the vectors are JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

fn flat(value: &Value) -> Vec<f32> {
    value.as_array().expect("a list").iter().flat_map(numbers).map(|x| x as f32).collect()
}

fn clicks(value: &Value) -> Clicks {
    Clicks::from_flags(&numbers(value).iter().map(|&x| x != 0.0).collect::<Vec<_>>())
}

fn documents(value: &Value) -> Vec<u32> {
    numbers(value).iter().map(|&x| x as u32).collect()
}

fn assert_close(ours: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((ours - expected).abs() <= tolerance, "{what}: {ours} instead of {expected}");
}

#[test]
fn metrics() {
    let vectors = vectors("metric_vectors");
    let mut values = Vec::new();
    for (name, labels) in vectors["labels"].as_object().expect("labels by query") {
        let labels: Vec<u8> = numbers(labels).iter().map(|&x| x as u8).collect();
        let ranked = documents(&vectors["rankings"][name]).into_iter().map(|doc| labels[doc as usize]);
        let value = ndcg(ranked, ideal_dcg(&labels, 10), 10);
        assert_close(value.unwrap_or(0.0), vectors["ndcg_at_10"][name].as_f64().unwrap(), 1e-12, name);
        values.push(value);
    }
    let mean = |convention: WithoutRelevant| {
        let averaged: Vec<f64> = values.iter().filter_map(|&value| convention.apply(value)).collect();
        averaged.iter().sum::<f64>() / averaged.len() as f64
    };
    assert_close(mean(WithoutRelevant::Skip), vectors["offline_mean_skip_zero_ideal"].as_f64().unwrap(), 1e-12, "skip");
    let zero = vectors["mean_counting_zero_ideal_as_zero"].as_f64().unwrap();
    assert_close(mean(WithoutRelevant::Zero), zero, 1e-12, "zero");
    let example = &vectors["online"]["example"];
    let online = online_performance(&numbers(&example["round_means"]));
    assert_close(online, example["online_performance"].as_f64().unwrap(), 1e-12, "online");
}

/// The step of a PDGD learner after one interaction with the list and the clicks of a case.
fn pdgd_step(shape: Shape, params: &[f32], query: QueryView<'_>, case: &Value, updates: Updates) -> Vec<f32> {
    let settings = PdgdSettings {
        learning_rate: 1.0,
        updates,
        n_shown: 10,
        clip_radius: None,
        proximal: 0.0,
        max_displacement: None,
    };
    let mut learner = Pdgd::new(shape, settings);
    let mut stream = Streams::new(1).open(Purpose::Interaction, 0, 0);
    learner.begin(params, &mut stream);
    learner.rank(query, &mut stream, &mut Ranking::default());
    let ranking = Ranking::from_docs(&documents(&case["ranking"])).expect("a short list");
    learner.observe(&Impression::new(query, &ranking, clicks(&case["clicks"])));
    let Update::Step { delta, n_interactions: 1 } = learner.finish() else { panic!("one step") };
    delta.to_vec()
}

/// The step of a PDGD learner on a case whose scores are given: unit features before the case's own ones make the first
/// parameters the scores, and the step starts with the weights of the documents and ends with the gradient.
fn step(case: &Value) -> Vec<f32> {
    let (scores, features) = (numbers(&case["scores"]), case["features"].as_array().expect("a row a document"));
    let (n_docs, n_own) = (scores.len(), numbers(&features[0]).len());
    let n_features = n_docs + n_own;
    let mut dense = vec![0.0; n_docs * n_features];
    for (doc, row) in dense.chunks_exact_mut(n_features).enumerate() {
        row[doc] = 1.0;
        row[n_docs..].iter_mut().zip(numbers(&features[doc])).for_each(|(own, value)| *own = value as f32);
    }
    let rows = pad_rows(&dense, n_features);
    let query = QueryView::new(&rows, n_features);
    let mut params: Vec<f32> = scores.iter().map(|&s| s as f32).collect();
    params.resize(n_features, 0.0);
    pdgd_step(Shape::Linear { n_features }, &params, query, case, Updates::Accumulated)
}

#[test]
fn pdgd_document_weights_and_gradient() {
    for case in vectors("pdgd_vectors")["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let (step, weights, gradient) = (step(case), numbers(&case["doc_weights"]), numbers(&case["gradient"]));
        assert_eq!(step.len(), weights.len() + gradient.len(), "{name}");
        for (&ours, &expected) in step.iter().zip(&weights) {
            assert_close(f64::from(ours), expected, 2e-6 * expected.abs() + 1e-9, name);
        }
        // Terms of a sum may cancel, and features are rounded to f32.
        let size = weights.iter().fold(0.0_f64, |size, weight| size.max(weight.abs()));
        for (&ours, &expected) in step[weights.len()..].iter().zip(&gradient) {
            assert_close(f64::from(ours), expected, 4e-6 * size + 1e-9, name);
        }
    }
}

/// Scores by position, and the log-sum-exp of those not shown.
fn shown_and_hidden(case: &Value) -> (Vec<f64>, f64) {
    let (scores, ranking) = (numbers(&case["scores"]), documents(&case["ranking"]));
    let hidden = (0..scores.len()).filter(|&doc| !ranking.contains(&(doc as u32))).map(|doc| scores[doc]);
    let hidden = hidden.fold(f64::NEG_INFINITY, log_add_exp);
    (ranking.iter().map(|&doc| scores[doc as usize]).collect(), hidden)
}

#[test]
fn pdgd_single_pairs() {
    for case in vectors("pdgd_vectors")["cases"].as_array().expect("cases") {
        let (shown, hidden) = shown_and_hidden(case);
        let (seen, mut pairs) = (clicks(&case["clicks"]), Vec::new());
        for pair in case["pairs"].as_array().expect("pairs") {
            let [clicked, unclicked] = ["clicked_pos", "unclicked_pos"].map(|key| pair[key].as_u64().unwrap() as usize);
            pairs.push((clicked, unclicked));
            // A pair's weight depends neither on other clicks nor on which of the two was clicked. With one click at
            // the lower position the upper document belongs to no other pair.
            let (upper, lower) = (clicked.min(unclicked), clicked.max(unclicked));
            let ours = -f64::from(pair_weights_log(&shown, hidden, Clicks(1 << lower))[upper]);
            let [rho, sigma, weight] = ["rho", "sigma_grad", "weight"].map(|key| pair[key].as_f64().unwrap());
            assert_close(ours, weight, 1e-7 * weight + 1e-12, "weight");
            let gap = (shown[upper] - shown[lower]).abs();
            let slope = (-gap).exp() / (1.0 + (-gap).exp()).powi(2);
            assert_close(slope, sigma, 1e-12, "slope");
            // Weights are stored as f32, where those of extreme scores vanish.
            if weight > f64::from(f32::MIN_POSITIVE) {
                assert_close(ours / slope, rho, 1e-7 * rho, "rho");
            }
        }
        let unclicked = unclicked_considered(seen, shown.len());
        let positions = |bits: u128| (0..shown.len()).filter(move |i| bits >> i & 1 == 1);
        let considered: Vec<_> = positions(seen.0).flat_map(|c| positions(unclicked).map(move |u| (c, u))).collect();
        pairs.sort_unstable();
        assert_eq!(considered, pairs, "{}", case["name"]);
    }
}

#[test]
fn pdgd_pair_weights_in_double_precision() {
    for case in vectors("pdgd_vectors")["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        let (shown, hidden) = shown_and_hidden(case);
        let best = shown.iter().copied().fold(hidden, f64::max);
        let weight: Vec<f64> = shown.iter().map(|s| (s - best).exp()).collect();
        let linear = pair_weights::<16>(&weight, (hidden - best).exp(), clicks(&case["clicks"]));
        let log = pair_weights_log(&shown, hidden, clicks(&case["clicks"]));
        let expected = numbers(&case["doc_weights"]);
        for (position, &doc) in documents(&case["ranking"]).iter().enumerate() {
            let expected = expected[doc as usize];
            assert_close(f64::from(linear[position]), expected, 1e-7 * expected.abs() + 1e-12, name);
            assert_close(f64::from(log[position]), expected, 1e-7 * expected.abs() + 1e-12, name);
        }
    }
}

#[test]
fn pdgd_pair_rule() {
    for case in vectors("pdgd_vectors")["pair_rule_k5"].as_array().expect("cases") {
        let clicks = clicks(&case["clicks"]);
        let unclicked = unclicked_considered(clicks, 5);
        // Without a click or without a candidate there is no pair, and the vectors list neither side.
        let considered = |bits: u128| (0..5).filter(|i| bits >> i & 1 == 1).collect::<Vec<u32>>();
        assert_eq!(considered(unclicked), documents(&case["unclicked_used"]), "{case}");
    }
}

#[test]
fn neural_ranker() {
    let vectors = vectors("neural_vectors");
    let shape = Shape::Mlp { n_features: 2, n_hidden: 2, activation: Activation::Logistic };
    let mut params = flat(&vectors["W1"]);
    params.extend(numbers(&vectors["b1"]).iter().chain(&numbers(&vectors["w2"])).map(|&x| x as f32));
    let rows = pad_rows(&flat(&vectors["X"]), 2);
    let query = QueryView::new(&rows, 2);
    let mut ranker = Ranker::new(shape);
    ranker.load(&params);
    let mut scores = [0.0; 3];
    ranker.score(query, &mut scores);
    for (&ours, expected) in scores.iter().zip(numbers(&vectors["scores"])) {
        assert_close(f64::from(ours), expected, 2e-7, "score");
    }
    let mut expected = flat(&vectors["grad_W1"]);
    expected.extend(numbers(&vectors["grad_b1"]).iter().chain(&numbers(&vectors["grad_w2"])).map(|&x| x as f32));
    for updates in [Updates::Accumulated, Updates::Immediate] {
        for (ours, &expected) in pdgd_step(shape, &params, query, &vectors, updates).into_iter().zip(&expected) {
            assert_close(f64::from(ours), f64::from(expected), 3e-7, "gradient");
        }
    }
}
