use proptest::prelude::*;
use rand::{Rng, RngExt};

use super::*;
use crate::learn::pdgd::{PdgdSettings, Updates};
use crate::learn::{Learning, Models};
use crate::metric::{discount, ideal_dcg, ndcg};
use crate::query::{Candidates, Clicks, MAX_SHOWN, QueryView, Ranking, pad_rows};
use crate::rng::{Purpose, Stream, Streams};
use crate::session::Session;

const RULE: AdoptionRule = AdoptionRule { error: 0.05, lists: 400 };
/// The score of a document is its only feature.
const SHAPE: Shape = Shape::Linear { n_features: 1 };

fn stream() -> Stream {
    Streams::new(9).open(Purpose::Interaction, 0, 0)
}

/// Documents with these features, all shown in this order, drawn with scores `sharpness` times the features.
fn list(features: &[f32], sharpness: f64, clicks: u128) -> Option<ShownList> {
    let rows = pad_rows(features, 1);
    let scores: Vec<f64> = features.iter().map(|&feature| sharpness * f64::from(feature)).collect();
    let docs: Vec<u32> = (0..features.len() as u32).collect();
    let (query, ranking) = (QueryView::new(&rows, 1), Ranking::from_docs(&docs).expect("a short list"));
    ShownList::new(query, &ranking, &scores, f64::NEG_INFINITY, Clicks(clicks)).expect("a sound list")
}

fn compare(reference: f32, candidate: f32, lists: &[ShownList]) -> Comparison {
    super::compare(SHAPE, &[reference], &[candidate], lists).expect("one feature")
}

/// Three documents in an order of the Plackett-Luce law, and a click on one of them.
fn searched(sharpness: f64, random: &mut impl Rng, clicked: impl Fn(&[f32], f64) -> usize) -> ShownList {
    let mut left = vec![0.0_f32, 1.0, 2.0];
    let mut shown = Vec::new();
    while !left.is_empty() {
        let weights: Vec<f64> = left.iter().map(|&feature| (sharpness * f64::from(feature)).exp()).collect();
        let mut at = random.random::<f64>() * weights.iter().sum::<f64>();
        let place = weights.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        shown.push(left.remove(place.unwrap_or(left.len() - 1)));
    }
    let position = clicked(&shown, random.random());
    list(&shown, sharpness, 1 << position).expect("one of three was clicked")
}

/// Clicks the first document most of the time, whatever it is.
fn indifferent(_: &[f32], at: f64) -> usize {
    if at < 0.7 { 0 } else { 1 + usize::from(at > 0.9) }
}

/// Clicks the document with the largest feature most of the time.
fn prefers_large(shown: &[f32], at: f64) -> usize {
    let largest = shown.iter().position(|&feature| feature == 2.0).expect("it is shown");
    if at < 0.7 { largest } else { indifferent(shown, (at - 0.7) / 0.3) }
}

#[test]
fn evidence_by_hand() {
    // e^score 2 and 1, everything shown: R has probability 2/3, R* 1/3, and the click on the first counts rho = 1/3.
    let shown = list(&[2_f32.ln(), 0.0], 1.0, 0b01).expect("a preference");
    assert!((f64::from(shown.rho[0]) - 1.0 / 3.0).abs() < 1e-6 && (shown.weight() - 2.0 / 3.0).abs() < 1e-6);
    let comparison = compare(1.0, -1.0, std::slice::from_ref(&shown));
    // The clicked document falls from the first place to the second: 2 rho (d_c - d_u) / 2, d_u = -d_c.
    let fall = discount(1) - discount(0);
    assert!((comparison.sum - fall * 2.0 / 3.0).abs() < 1e-6, "{comparison:?}");
    assert!((comparison.estimate() - fall).abs() < 1e-6);
    // rho (1 - rho) (2 fall)^2 is more than the square of what was seen.
    assert!((comparison.squares - 2.0 / 9.0 * 4.0 * fall * fall).abs() < 1e-6);
    assert_eq!((comparison.n_lists, comparison.n_clicks), (1, 1));
    assert_eq!(compare(1.0, 2.0, &[shown]).sum, 0.0, "the same order");
}

#[test]
fn of_lists_in_random_order_the_estimate_is_the_difference_of_the_clicks_ndcg() {
    let features = [0.3, -1.0, 2.0, 0.0, 0.7];
    for clicks in 1..31_u128 {
        // Scores of 0: every order was as likely.
        let shown = list(&features, 0.0, clicks).expect("some but not all are clicked");
        let order_of = |sign: f32| {
            let mut places: Vec<usize> = (0..features.len()).collect();
            places.sort_by(|&a, &b| (sign * features[b]).total_cmp(&(sign * features[a])));
            places.into_iter().map(|place| u8::from(clicks >> place & 1 == 1)).collect::<Vec<u8>>()
        };
        let labels = order_of(1.0);
        let value = |order: &[u8]| ndcg(order.iter().copied(), ideal_dcg(&labels, 5), 5).expect("a click");
        let expected = value(&order_of(-1.0)) - value(&labels);
        let estimate = compare(1.0, -1.0, &[shown]).estimate();
        assert!((estimate - expected).abs() < 1e-6, "clicks {clicks:05b}: {estimate} instead of {expected}");
    }
}

#[test]
fn equal_scores_share_their_places() {
    let shown = list(&[1.0, 1.0, -1.0], 0.0, 0b001).expect("a preference");
    let comparison = compare(0.0, 1.0, &[shown]);
    let all = (discount(0) + discount(1) + discount(2)) / 3.0;
    assert!((comparison.estimate() - ((discount(0) + discount(1)) / 2.0 - all)).abs() < 1e-6);
}

#[test]
fn position_bias_is_no_evidence_and_preference_is() {
    let mut random = stream();
    let mut lists = |clicked: fn(&[f32], f64) -> usize| -> Vec<ShownList> {
        (0..40_000).map(|_| searched(0.8, &mut random, clicked)).collect()
    };
    let biased = compare(1.0, -1.0, &lists(indifferent));
    let error = biased.estimate() / biased.standard_error();
    assert!(error.abs() < 3.5, "{error} standard errors");
    let preferring = compare(1.0, -1.0, &lists(prefers_large));
    assert!(preferring.estimate() < -0.1 && preferring.outcome(6.0) == Outcome::Worse, "{preferring:?}");
    // Without the weights the reversed order looks bad to somebody who prefers nothing.
    let naive: Vec<ShownList> = lists(indifferent)
        .into_iter()
        .map(|shown| ShownList { rho: vec![0.5; shown.rho.len()].into(), ..shown })
        .collect();
    assert_eq!(compare(1.0, -1.0, &naive).outcome(6.0), Outcome::Worse);
}

#[test]
fn lists_that_are_nearly_certain_decide_nothing() {
    // The other order would come once in 22,000 lists, and has not: that the first is always clicked says nothing.
    let shown = list(&[10.0, 0.0], 1.0, 0b01).expect("a preference");
    let comparison = compare(1.0, -1.0, &vec![shown; 2_000]);
    assert!(comparison.sum < 0.0);
    assert!(comparison.sum.abs() < 0.5 * comparison.squares.sqrt(), "{comparison:?}");
}

#[test]
fn thresholds_and_clicks_by_hand() {
    assert!((comparison::threshold(RULE.error_of_test(1, 1)) - 2.960_4).abs() < 1e-3, "sqrt(2 ln 80)");
    assert!((comparison::threshold(RULE.error_of_test(1, 100)) - 5.078).abs() < 1e-2);
    let spent: f64 = (1..500).flat_map(|j| (1..500).map(move |k| RULE.error_of_test(j, k))).sum();
    assert!(spent < 0.05 && spent > 0.0497, "{spent}");
    // 100 lists of weight 1 with squares of .04: standard error .02. (3 + 1.0364)^2 times as many clicks for a loss of .02.
    let comparison = Comparison { sum: -1.0, squares: 4.0, weight: 100.0, n_lists: 100, n_clicks: 150 };
    let needed = comparison.clicks_needed(0.02, 3.0).expect("known");
    assert!((needed - 150.0 * 4.036_43_f64.powi(2)).abs() < 1.0, "{needed}");
    assert_eq!(Comparison::default().clicks_needed(0.02, 3.0), None);
    assert_eq!(comparison.clicks_needed(0.0, 3.0), None);
}

fn device(n_lists: usize) -> Adoption {
    let mut device = Adoption::new(RULE, SHAPE, &[1.0]).expect("a sound rule");
    let mut random = stream();
    for _ in 0..n_lists {
        device.observe(searched(0.8, &mut random, prefers_large)).expect("one feature");
    }
    device
}

#[test]
fn a_worse_release_is_refused_and_a_later_one_adopted() {
    let mut device = device(400);
    let refused = device.consider(&[-1.0]).expect("one parameter");
    assert_eq!((refused.outcome, device.present(), device.n_tests()), (Outcome::Worse, &[1.0][..], 1));
    let needed = refused.clicks_needed(-refused.comparison.estimate()).expect("known");
    assert!(needed < 400.0, "it was noticed with 400 clicks, {needed} would do for .8");
    // The same order as the reference: nothing to test.
    assert!(device.consider(&[2.0]).expect("one parameter").is_adopted());
    assert_eq!((device.present(), device.n_tests()), (&[2.0][..], 1));
}

#[test]
fn a_better_release_becomes_the_reference() {
    let mut device = Adoption { reference: vec![-1.0], ..device(400) };
    let verdict = device.consider(&[0.5]).expect("one parameter");
    assert_eq!((verdict.outcome, device.reference(), device.reference_number), (Outcome::Better, &[0.5][..], 2));
    assert_eq!(device.consider(&[-1.0]).expect("one parameter").outcome, Outcome::Worse);
}

#[test]
fn a_model_that_turned_out_to_be_worse_is_given_up_for_the_reference() {
    let mut early = device(5);
    assert!(early.consider(&[-1.0]).expect("one parameter").is_adopted(), "five lists are too few to tell");
    assert_eq!((early.present(), early.reference()), (&[-1.0][..], &[1.0][..]));
    early.lists = device(400).lists;
    assert!(!early.consider(&[-2.0]).expect("one parameter").is_adopted());
    assert_eq!(early.present(), [1.0]);
}

#[test]
fn the_newest_lists_are_stored_and_no_more() {
    let device = device(450);
    assert_eq!(device.n_lists(), 400);
    let all: Vec<ShownList> = {
        let mut random = stream();
        (0..450).map(|_| searched(0.8, &mut random, prefers_large)).collect()
    };
    assert!(device.lists.iter().eq(&all[50..]));
}

#[test]
fn what_does_not_fit_is_a_named_error() {
    let rule = AdoptionRule { error: 1.0, lists: 0 };
    assert_eq!(rule.check().iter().map(|problem| problem.name).collect::<Vec<_>>(), ["error", "lists"]);
    let refused = Adoption::new(rule, SHAPE, &[1.0]).expect_err("no error").to_string();
    assert_eq!(refused, "error = 1 must be above 0 and below 1");
    let mut device = device(1);
    let length = device.consider(&[1.0, 2.0]).expect_err("two parameters");
    assert_eq!(length, AdoptionError::Length { n_params: 2, wanted: 1 });
    assert!(matches!(device.consider(&[f32::NAN]), Err(AdoptionError::NotFinite { index: 0, .. })));
    let rows = pad_rows(&[1.0, 2.0, 3.0, 4.0], 2);
    let (query, ranking) = (QueryView::new(&rows, 2), Ranking::from_docs(&[1, 0]).expect("two"));
    let wide = |scores: &[f64], hidden, clicks| ShownList::new(query, &ranking, scores, hidden, Clicks(clicks));
    let other = wide(&[0.0, 0.0], 0.0, 1).expect("sound").expect("a preference");
    assert_eq!(device.observe(other), Err(AdoptionError::Features { n_features: 2, wanted: 1 }));
    assert_eq!(wide(&[0.0], 0.0, 1), Err(ListError::Scores { n_scores: 1, n_shown: 2 }));
    assert_eq!(wide(&[0.0, 0.0], 0.0, 4), Err(ListError::ClickBelow { position: 2, n_shown: 2 }));
    assert!(matches!(wide(&[0.0, f64::NAN], 0.0, 1), Err(ListError::NotFinite { .. })));
    assert!(matches!(wide(&[0.0, 0.0], f64::INFINITY, 1), Err(ListError::NotFinite { .. })));
    let unknown = ShownList::new(query, &Ranking::from_docs(&[2]).expect("one"), &[0.0], 0.0, Clicks(1));
    assert_eq!(unknown, Err(ListError::UnknownDocument { doc: 2, n_docs: 2 }));
    assert_eq!((wide(&[0.0, 0.0], 0.0, 0), wide(&[0.0, 0.0], 0.0, 3)), (Ok(None), Ok(None)));
}

#[test]
fn a_list_that_ended_in_a_session_is_evidence() {
    let settings =
        PdgdSettings { learning_rate: 0.1, updates: Updates::Immediate, n_shown: 2, clip_radius: None, proximal: 0.0 };
    let mut session = Session::new(SHAPE, Learning::Pdgd(settings)).expect("sound settings");
    let (mut random, model) = (stream(), 1.5);
    session.begin(Models { global: &[model], clusters: &[] }, 1, &mut random).expect("one parameter");
    let features = [0.2, 1.0, -0.5];
    let query = Candidates::new(&features, 1).expect("three documents");
    for position in 0..2 {
        let shown = session.rank(query.view(), 0, &mut random).expect("a list");
        session.clicked(shown.impression, position, 1).expect("an open list");
        // Until it ends, a list teaches nothing: both were drawn with the model of the release.
        let docs = shown.ranking.docs();
        let scores: Vec<f64> = docs.iter().map(|&doc| f64::from(model * features[doc as usize])).collect();
        let hidden = (0..3).find(|doc| !docs.contains(doc)).expect("one is hidden");
        let hidden = f64::from(model * features[hidden as usize]);
        let expected = ShownList::new(query.view(), &shown.ranking, &scores, hidden, Clicks(1 << position));
        let expected = expected.expect("sound").expect("a preference");
        let stored = session.open().iter().find(|open| open.id() == shown.impression).expect("it is open");
        let evidence = ShownList::of_impression(stored).expect("a preference");
        assert_eq!((&evidence.rows, evidence.clicks), (&expected.rows, expected.clicks));
        assert!((evidence.rho[0] - expected.rho[0]).abs() < 1e-6, "{} not {}", evidence.rho[0], expected.rho[0]);
    }
    let unclicked = session.rank(query.view(), 0, &mut random).expect("a list").impression;
    assert_eq!(ShownList::of_impression(&session.dismiss(unclicked).expect("an open list")), None);
}

#[test]
fn scores_beyond_all_numbers_do_not_panic() {
    let mut device = device(50);
    assert!(device.consider(&[f32::MAX]).is_ok());
    let extreme = list(&[f32::MAX, -f32::MAX, 0.0], 1.0, 0b010).expect("a preference");
    device.observe(extreme).expect("one feature");
    let verdict = device.consider(&[-f32::MAX]).expect("finite parameters");
    assert!(verdict.comparison.estimate().is_finite() && verdict.comparison.standard_error().is_finite());
    let long: Vec<f32> = (0..MAX_SHOWN as u16).map(f32::from).collect();
    device.observe(list(&long, 1.0, 1 << 99).expect("a preference")).expect("one feature");
    assert!(device.consider(&[-1.0]).is_ok());
}

#[test]
fn a_device_that_is_stored_and_read_again_decides_with_the_same_bits() {
    let releases = [-1.0, 0.5, -0.3, 2.0, -2.0, 1.0];
    let (mut whole, mut again) = (device(30), device(30));
    let mut random = stream();
    for release in releases {
        again = Adoption::from_bytes(SHAPE, &again.to_bytes()).expect("our own bytes");
        let list = searched(0.8, &mut random, prefers_large);
        for device in [&mut whole, &mut again] {
            device.observe(list.clone()).expect("one feature");
        }
        assert_eq!(whole.consider(&[release]), again.consider(&[release]));
        assert_eq!(whole.to_bytes(), again.to_bytes());
    }
    let bytes = whole.to_bytes();
    assert!(Adoption::from_bytes(Shape::Linear { n_features: 2 }, &bytes).is_err());
    for len in 0..bytes.len() {
        assert!(Adoption::from_bytes(SHAPE, &bytes[..len]).is_err(), "{len} bytes");
    }
}

proptest! {
    /// Any bytes are a state, which is written as it was read and can be used, or an error.
    #[test]
    fn damaged_bytes_are_read_or_refused(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = device(3).to_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(mut device) = Adoption::from_bytes(SHAPE, &bytes) {
            prop_assert_eq!(device.to_bytes(), bytes);
            prop_assert!(device.consider(&[-1.0]).is_ok());
        }
    }
}
