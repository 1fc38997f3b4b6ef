use proptest::prelude::*;
use rand::{Rng, RngExt};

use super::*;
use crate::learn::pdgd::{PdgdSettings, Updates};
use crate::learn::{Learning, Models};
use crate::metric::{discount, ideal_dcg, ndcg};
use crate::query::{Candidates, Clicks, ImpressionError, QueryView, Ranking, pad_rows};
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
    list_beside(features, sharpness, f64::NEG_INFINITY, clicks)
}

/// The same where others are hidden.
fn list_beside(features: &[f32], sharpness: f64, hidden: f64, clicks: u128) -> Option<ShownList> {
    let rows = pad_rows(features, 1);
    let scores: Vec<f64> = features.iter().map(|&feature| sharpness * f64::from(feature)).collect();
    let docs: Vec<u32> = (0..features.len() as u32).collect();
    let (query, ranking) = (QueryView::new(&rows, 1), Ranking::from_docs(&docs).expect("a short list"));
    ShownList::new(query, &ranking, &scores, hidden, Clicks(clicks)).expect("a sound list")
}

/// The mean discounts of documents with these scores.
fn discounts(scores: &[f32]) -> Vec<f64> {
    let mut means = vec![0.0; scores.len()];
    mean_discount::mean_discounts(scores, &mut means);
    means
}

fn compare(reference: f32, candidate: f32, lists: &[ShownList]) -> Comparison {
    super::compare(SHAPE, &[reference], &[candidate], lists).expect("one feature")
}

/// Three documents in an order of the Plackett-Luce law, and a click on one of them.
fn search(sharpness: f64, random: &mut impl Rng, clicked: impl Fn(&[f32], f64) -> usize) -> Option<ShownList> {
    search_among(vec![0.0_f32, 1.0, 2.0], sharpness, random, clicked)
}

/// The first three of these documents.
fn search_among(
    mut left: Vec<f32>,
    sharpness: f64,
    random: &mut impl Rng,
    clicked: impl Fn(&[f32], f64) -> usize,
) -> Option<ShownList> {
    let mut shown = Vec::new();
    while shown.len() < 3 {
        let weights: Vec<f64> = left.iter().map(|&feature| (sharpness * f64::from(feature)).exp()).collect();
        let mut at = random.random::<f64>() * weights.iter().sum::<f64>();
        let place = weights.iter().position(|weight| {
            at -= weight;
            at < 0.0
        });
        shown.push(left.remove(place.unwrap_or(left.len() - 1)));
    }
    let position = clicked(&shown, random.random());
    let hidden = left.iter().map(|&feature| (sharpness * f64::from(feature)).exp()).sum::<f64>().ln();
    list_beside(&shown, sharpness, hidden, 1 << position)
}

/// The next such search that is evidence.
fn searched(sharpness: f64, random: &mut impl Rng, clicked: impl Fn(&[f32], f64) -> usize) -> ShownList {
    std::iter::repeat_with(|| search(sharpness, random, &clicked)).flatten().next().expect("without end")
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
    // The clicked document is first with probability 2/3, then with 1/3: 2 rho (d_c - d_u) / 2, d_u = -d_c.
    let fall = (discount(1) - discount(0)) / 3.0;
    assert!((comparison.sum - fall * 2.0 / 3.0).abs() < 1e-3, "{comparison:?}");
    assert!((comparison.estimate() - fall).abs() < 1e-3);
    // rho (1 - rho) (2 fall)^2 is more than the square of what was seen.
    assert!((comparison.squares - 2.0 / 9.0 * 4.0 * fall * fall).abs() < 1e-3);
    assert_eq!((comparison.n_lists, comparison.n_clicks), (1, 1));
    assert_eq!(compare(1.0, 1.0, &[shown]).sum, 0.0, "the same model");
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
        // Rankers whose own lists are certain.
        let estimate = compare(100.0, -100.0, &[shown]).estimate();
        assert!((estimate - expected).abs() < 3e-3, "clicks {clicks:05b}: {estimate} instead of {expected}");
    }
}

#[test]
fn the_estimate_is_the_difference_of_the_lists_that_are_drawn() {
    let shown = list(&[1.0, 0.3, -1.0], 0.0, 0b001).expect("a preference");
    let (moved, before) = (discounts(&[2.0, 0.6, -2.0])[0], discounts(&[0.5, 0.15, -0.5])[0]);
    assert!((compare(0.5, 2.0, &[shown]).estimate() - (moved - before)).abs() < 1e-3);
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

/// Lists that are left out because they are nearly certain could make the rest lean to one side: to somebody who prefers
/// nothing, the reversed model would look worse, or better, than it is.
#[test]
fn leaving_out_certain_lists_favours_no_order() {
    let mut random = stream();
    // The same three documents each time, between certain and open; and others each time, of which about half is left out.
    for (features, sharpness, n_left) in [(Some([0.0, 1.0, 2.0]), 3.0, 400..=400), (None, 20.0, 100..=300)] {
        let mut search = |_| {
            let others = || (0..6).map(|_| 2.0 * random.random::<f32>()).collect();
            let features = features.map_or_else(others, |features| features.to_vec());
            search_among(features, sharpness, &mut random, indifferent)
        };
        let (mut n_low, mut n_high) = (0, 0);
        for _ in 0..800 {
            let lists: Vec<ShownList> = (0..400).filter_map(&mut search).collect();
            assert!(n_left.contains(&lists.len()), "{} of 400", lists.len());
            let comparison = compare(1.0, -1.0, &lists);
            n_low += u32::from(comparison.outcome(2.0) == Outcome::Worse);
            n_high += u32::from(comparison.outcome(2.0) == Outcome::Better);
        }
        // Beyond two standard errors: 2.3 % each of a normal law, and two standard errors of that.
        assert!(n_low.max(n_high) <= 26, "{n_low} and {n_high} of 800");
    }
}

#[test]
fn lists_that_are_nearly_certain_decide_nothing() {
    // The other order would come once in 22,000 lists, and has not: that the first is always clicked says nothing.
    assert_eq!(list(&[10.0, 0.0], 1.0, 0b01), None);
    // Once in 26: still no evidence on its own.
    let shown = list(&[3.2, 0.0], 1.0, 0b01).expect("a preference");
    let comparison = compare(1.0, -1.0, &vec![shown; 20]);
    assert!(comparison.sum < 0.0);
    assert!(comparison.sum.abs() < comparison.squares.sqrt(), "{comparison:?}");
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
    let mut device = Adoption::new(RULE, SHAPE, 1, &[1.0]).expect("a sound rule");
    let mut random = stream();
    for _ in 0..n_lists {
        device.observe(searched(0.8, &mut random, prefers_large)).expect("one feature");
    }
    device
}

fn consider(device: &mut Adoption, version: u32, weight: f32) -> Verdict {
    device.consider(version, &[weight]).expect("one parameter")
}

#[test]
fn a_worse_release_is_refused_and_a_later_one_adopted() {
    let mut device = device(400);
    let refused = consider(&mut device, 2, -1.0);
    assert_eq!((refused.outcome, device.present(), device.n_tests()), (Outcome::Worse, &[1.0][..], 1));
    assert_eq!((refused.in_use, refused.reference, device.version()), (1, 1, 1));
    let needed = refused.clicks_needed(-refused.comparison.estimate()).expect("known");
    assert!(needed < 400.0, "it was noticed with 400 clicks, {needed} would do for .8");
    // The reference once more: nothing to test.
    assert!(consider(&mut device, 3, 1.0).is_adopted());
    assert_eq!((device.version(), device.n_tests()), (3, 1));
}

#[test]
fn a_better_release_becomes_the_reference() {
    let first = Reference { params: vec![-1.0], ..device(0).reference };
    let mut device = Adoption { reference: first.clone(), ..device(400) };
    let verdict = consider(&mut device, 2, 0.5);
    assert_eq!((verdict.outcome, verdict.in_use, device.reference()), (Outcome::Better, 2, &[0.5][..]));
    assert_eq!((device.reference_version(), device.reference.number, device.reference.n_before), (2, 2, 400));
    // It was chosen by these lists, so that they cannot compare others with it. They still speak against the first.
    assert_eq!(device.former, Some(first));
    let verdict = consider(&mut device, 3, -2.0);
    assert_eq!((verdict.outcome, verdict.reference, verdict.in_use), (Outcome::Worse, 1, 2));
    assert!(consider(&mut device, 4, 0.2).is_adopted(), "worse than the second, but nothing new was clicked");
}

#[test]
fn a_model_that_turned_out_to_be_worse_is_given_up_for_the_reference() {
    let mut early = device(5);
    assert!(consider(&mut early, 2, -1.0).is_adopted(), "five lists are too few to tell");
    assert_eq!((early.version(), early.reference_version()), (2, 1));
    early.lists = device(400).lists;
    let verdict = consider(&mut early, 3, -2.0);
    assert_eq!((verdict.outcome, verdict.in_use, early.present()), (Outcome::Worse, 1, &[1.0][..]));
}

/// A bad release came when a device had seen few clicks, and then none for a year: nothing but a second look finds it.
#[test]
fn a_bad_model_is_found_although_no_other_release_comes() {
    let mut device = device(5);
    assert!(consider(&mut device, 2, -1.0).is_adopted());
    let (mut random, mut checks) = (stream(), Vec::new());
    for _ in 5..400 {
        device.observe(searched(-1.0, &mut random, prefers_large)).expect("one feature");
        if device.is_due() {
            let verdict = device.reconsider();
            checks.push((device.n_observed, verdict.outcome));
            assert_eq!(verdict.in_use, device.version());
        }
    }
    assert_eq!((device.version(), device.present()), (1, &[1.0][..]), "{checks:?}");
    assert_eq!(checks.iter().map(|check| check.0).collect::<Vec<_>>(), [16, 32, 64, 128, 256]);
}

/// A release that was fitted to the stored clicks became the reference, and is bad on those that follow.
#[test]
fn a_reference_that_turned_out_to_be_worse_is_given_up_for_the_one_before() {
    let chosen = Reference { version: 2, params: vec![-1.0], number: 2, n_before: 400 };
    let mut device = device(400);
    device.former = Some(std::mem::replace(&mut device.reference, chosen));
    (device.version, device.present) = (2, vec![-1.0]);
    assert_eq!(device.reconsider().outcome, Outcome::Undecided, "no list is newer than it");
    let mut random = stream();
    for _ in 0..300 {
        device.observe(searched(-1.0, &mut random, prefers_large)).expect("one feature");
    }
    let verdict = device.reconsider();
    assert_eq!((verdict.outcome, verdict.in_use, device.reference_version()), (Outcome::Worse, 1, 1));
    assert_eq!(device.former, None);
    assert_eq!(device.reconsider().outcome, Outcome::Undecided);
}

/// A tenth of the model has the same order. Lists that are drawn from it are nearly random.
#[test]
fn a_release_that_flattens_all_scores_is_refused() {
    let mut device = Adoption::new(RULE, SHAPE, 1, &[2.0]).expect("a sound rule");
    let mut random = stream();
    for _ in 0..400 {
        device.observe(searched(2.0, &mut random, prefers_large)).expect("one feature");
    }
    for scale in [0.1, 0.01, 0.0] {
        let verdict = consider(&mut device, 2, 2.0 * scale);
        assert_eq!((verdict.outcome, verdict.in_use), (Outcome::Worse, 1), "{scale}: {verdict:?}");
    }
    assert!(consider(&mut device, 3, 2.1).is_adopted());
}

/// A sharpened release makes lists certain. They tell nothing, and pushed out those that spoke against the next, bad one.
#[test]
fn a_reversed_release_is_refused_also_behind_a_sharpened_one() {
    let mut device = device(400);
    assert!(consider(&mut device, 2, 9.0).is_adopted(), "nobody sees worse lists");
    let mut random = stream();
    for _ in 0..1_000 {
        // What of the certain lists is evidence goes in.
        if let Some(list) = search(9.0, &mut random, prefers_large) {
            device.observe(list).expect("one feature");
        }
    }
    assert!(device.n_observed < 500, "{} lists", device.n_observed);
    let verdict = consider(&mut device, 3, -1.0);
    assert_eq!((verdict.outcome, verdict.in_use), (Outcome::Worse, 2), "{verdict:?}");
}

/// Finite parameters, but nothing can be ranked with them.
#[test]
fn a_release_whose_scores_overflow_is_refused_without_a_test() {
    let mut device = device(50);
    device.observe(list(&[100.0, 99.5, 0.0], 1.0, 0b010).expect("a preference")).expect("one feature");
    let verdict = consider(&mut device, 2, f32::MAX);
    assert_eq!((verdict.outcome, verdict.in_use, device.n_tests()), (Outcome::Worse, 1, 0));
    assert!(verdict.comparison.is_empty());
    // A list on which the reference overflows, too, says nothing: one document would keep all releases out.
    let mut large = Adoption::new(RULE, SHAPE, 1, &[f32::MAX]).expect("a sound rule");
    large.lists = device.lists.clone();
    assert!(consider(&mut large, 2, f32::MAX / 2.0).is_adopted());
    assert!(consider(&mut large, 3, 1.0).is_adopted());
}

/// Somebody writes 2^64 - 1 tests into a device's file: counting on from there would overflow.
#[test]
fn counts_beyond_all_use_are_refused_and_do_not_overflow() {
    let full = Adoption { n_tests: 1 << 53, ..device(30) };
    assert!(matches!(Adoption::decode(&full.encode(), SHAPE), Err(AdoptionError::Bytes(_))));
    let mut last = Adoption { n_tests: u64::MAX, n_observed: u64::MAX, ..device(30) };
    consider(&mut last, 2, -1.0);
    last.observe(list(&[0.0, 1.0], 0.0, 1).expect("a preference")).expect("one feature");
    assert_eq!((last.n_tests, last.n_observed), (u64::MAX, u64::MAX));
}

/// Rows that are no documents were stored, and the device's own bytes could not be read any more.
#[test]
fn what_a_list_is_made_of_can_be_stored() {
    let new = |rows: &[f32]| {
        let (query, ranking) = (QueryView::new(rows, 1), Ranking::from_docs(&[1, 0]).expect("two"));
        ShownList::new(query, &ranking, &[0.0, 0.0], 0.0, Clicks(1))
    };
    let mut rows = pad_rows(&[1.0, 2.0], 1);
    assert!(matches!(new(&rows), Ok(Some(_))));
    rows[0] = f32::NAN;
    assert_eq!(new(&rows), Err(ListError::Documents(QueryError::NotFinite { doc: 1, feature: 0 })));
    (rows[0], rows[15]) = (1.0, 0.5);
    assert_eq!(new(&rows), Err(ListError::Documents(QueryError::Padding { doc: 0 })));
}

/// Shapes that came from a damaged plan: no features, or more parameters than a machine counts.
#[test]
fn shapes_that_no_device_computes_are_refused() {
    let huge = Shape::Mlp { n_features: usize::MAX, n_hidden: 3, activation: crate::Activation::Relu };
    for shape in [Shape::Linear { n_features: 0 }, huge] {
        assert!(matches!(Adoption::new(RULE, shape, 1, &[]), Err(AdoptionError::Parameter(_))), "{shape:?}");
        assert!(matches!(Adoption::decode(&device(1).encode(), shape), Err(AdoptionError::Parameter(_))));
        assert!(matches!(super::compare(shape, &[], &[], []), Err(AdoptionError::Parameter(_))));
    }
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
    let refused = Adoption::new(rule, SHAPE, 1, &[1.0]).expect_err("no error").to_string();
    assert_eq!(refused, "error = 1 must be above 0 and below 1");
    let mut device = device(1);
    let length = ParamsError::Length { shape: SHAPE, expected: 1, got: 2 };
    assert_eq!(device.consider(2, &[1.0, 2.0]), Err(AdoptionError::Model(length)));
    let not_finite = ParamsError::NotFinite { parameter: 0 };
    assert_eq!(device.consider(2, &[f32::NAN]), Err(AdoptionError::Model(not_finite)));
    let rows = pad_rows(&[1.0, 2.0, 3.0, 4.0], 2);
    let (query, ranking) = (QueryView::new(&rows, 2), Ranking::from_docs(&[1, 0]).expect("two"));
    let wide = |scores: &[f64], hidden, clicks| ShownList::new(query, &ranking, scores, hidden, Clicks(clicks));
    let other = wide(&[0.0, 0.0], 0.0, 1).expect("sound").expect("a preference");
    assert_eq!(device.observe(other), Err(QueryError::OtherFeatures { ours: 1, theirs: 2 }.into()));
    assert_eq!(wide(&[0.0], 0.0, 1), Err(ListError::Scores { n_scores: 1, n_shown: 2 }));
    assert_eq!(wide(&[0.0, 0.0], 0.0, 4), Err(ImpressionError::ClickBelow { position: 2, n_shown: 2 }.into()));
    assert!(matches!(wide(&[0.0, f64::NAN], 0.0, 1), Err(ListError::NotFinite { .. })));
    assert!(matches!(wide(&[0.0, 0.0], f64::INFINITY, 1), Err(ListError::NotFinite { .. })));
    let unknown = ShownList::new(query, &Ranking::from_docs(&[2]).expect("one"), &[0.0], 0.0, Clicks(1));
    assert_eq!(unknown, Err(ImpressionError::UnknownDocument { doc: 2, n_docs: 2 }.into()));
    assert_eq!((wide(&[0.0, 0.0], 0.0, 0), wide(&[0.0, 0.0], 0.0, 3)), (Ok(None), Ok(None)));
}

#[test]
fn a_list_that_ended_in_a_session_is_evidence() {
    let settings = PdgdSettings {
        learning_rate: 0.1,
        updates: Updates::Immediate,
        n_shown: 2,
        clip_radius: None,
        proximal: 0.0,
        max_displacement: None,
    };
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

/// With a bound on displacement, too: whatever is clicked, of somebody who clicks by position alone the evidence of all lists
/// that can be drawn adds up to nothing. Which lists count does not depend on the order that came.
#[test]
fn with_bounded_displacement_positions_alone_are_no_evidence() {
    use crate::bytes::{Reader, Writer};
    use crate::learn::Lesson;
    use crate::plackett_luce::by_definition::{lists, log_probability, ranks};
    let features = [0.5_f32, 2.0, 1.0, 0.0, 1.75];
    let rows = pad_rows(&features, 1);
    let query = QueryView::new(&rows, 1);
    let scores: Vec<f64> = features.iter().map(|&feature| 1.5 * f64::from(feature)).collect();
    let (ranks, mut n_counted) = (ranks(&scores), 0);
    for (n_shown, k) in [(3, 1), (3, 2), (4, 1), (4, 3), (5, 2)] {
        let n_ranks = (n_shown + k).min(5);
        let lesson = |list: &[u32]| {
            let mut by_rank = scores.clone();
            by_rank.sort_by(|a, b| b.total_cmp(a));
            let mut out = Writer::default();
            out.u8(5).u8(k as u8).u8(n_ranks as u8);
            by_rank[..n_ranks].iter().for_each(|&score| {
                out.f32s(&[score as f32]);
            });
            list.iter().for_each(|&doc| {
                out.u8(ranks[doc as usize] as u8);
            });
            Lesson::read(n_shown, &mut Reader::new(&out.0)).expect("a list that can be drawn")
        };
        for clicks in 1..(1 << n_shown) - 1 {
            let (mut sum, mut size) = (0.0, 0.0);
            for list in lists(5, n_shown) {
                let Some(probability) = log_probability(&scores, k, &list) else { continue };
                let ranking = Ranking::from_docs(&list).expect("a short list");
                let evidence = ShownList::of_lesson(query, &ranking, &lesson(&list), Clicks(clicks)).expect("sound");
                let Some(evidence) = evidence else { continue };
                let comparison = compare(1.0, -0.3, &[evidence]);
                sum += probability.exp() * comparison.sum;
                size += probability.exp() * comparison.sum.abs();
                n_counted += 1;
            }
            assert!(sum.abs() < 1e-6 && size > 1e-3, "{n_shown}, {k}, {clicks:b}: {sum} of {size}");
        }
    }
    assert!(n_counted > 500, "{n_counted}");
}

#[test]
fn a_device_that_is_stored_and_read_again_decides_with_the_same_bits() {
    let releases = [-1.0, 0.5, -0.3, 2.0, -2.0, 1.0];
    let (mut whole, mut again) = (device(30), device(30));
    let mut random = stream();
    for (version, release) in (2..).zip(releases) {
        again = Adoption::decode(&again.encode(), SHAPE).expect("our own bytes");
        let list = searched(0.8, &mut random, prefers_large);
        for device in [&mut whole, &mut again] {
            device.observe(list.clone()).expect("one feature");
        }
        assert_eq!(whole.consider(version, &[release]), again.consider(version, &[release]));
        assert_eq!(whole.encode(), again.encode());
    }
    let bytes = whole.encode();
    assert!(Adoption::decode(&bytes, Shape::Linear { n_features: 2 }).is_err());
    for len in 0..bytes.len() {
        assert!(Adoption::decode(&bytes[..len], SHAPE).is_err(), "{len} bytes");
    }
}

proptest! {
    /// Any bytes are a state, which is written as it was read and can be used, or an error.
    #[test]
    fn damaged_bytes_are_read_or_refused(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = device(3).encode();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(mut device) = Adoption::decode(&bytes, SHAPE) {
            prop_assert_eq!(device.encode(), bytes);
            prop_assert!(device.consider(2, &[-1.0]).is_ok());
            device.reconsider();
        }
    }
}
