use super::*;
use crate::learn::pdgd::list_mass;
use crate::plackett_luce::by_definition::{lists, log_probability, problems};
use crate::select::ScoreBuffer;

fn buffer(scores: &[f64]) -> ScoreBuffer {
    let mut buffer = ScoreBuffer::default();
    buffer.reset(scores.len()).iter_mut().zip(scores).for_each(|(ours, &score)| *ours = score as f32);
    buffer
}

/// The list of these documents, as a sampler with these scores could have drawn it.
fn bounded(scores: &[f64], k: usize, list: &[u32]) -> BoundedList {
    let mut stream = crate::rng::Streams::new(1).open(crate::rng::Purpose::Interaction, 0, 0);
    let mut sampler = BoundedSampler::new(k);
    sampler.sample(&mut buffer(scores), list.len(), &mut stream, &mut Ranking::default(), |_| {});
    let mut bounded = BoundedList::new();
    bounded.fill(&sampler, &Ranking::from_docs(list).expect("a short list"));
    bounded
}

fn rho(bounded: &BoundedList, a: usize, b: usize) -> f64 {
    let mut sums = Sums::default();
    sums.fill(bounded);
    bounded.rho(&sums, a, b)
}

/// All lists that can be drawn, with the logarithms of their probabilities.
fn possible(scores: &[f64], n_shown: usize, k: usize) -> Vec<(Vec<u32>, f64)> {
    let all = lists(scores.len() as u32, n_shown).into_iter();
    all.filter_map(|list| log_probability(scores, k, &list).map(|probability| (list, probability))).collect()
}

#[test]
fn three_documents_worked_by_hand() {
    // e^score 3 : 2 : 1 and k = 1. P(012) = .4, P(021) = .2, P(102) = .4, and all others are impossible.
    let scores = [3_f64.ln(), 2_f64.ln(), 0.0];
    for (list, a, b, expected) in [
        ([0, 1, 2], 0, 1, 0.5),
        ([0, 1, 2], 1, 2, 1.0 / 3.0),
        ([0, 1, 2], 0, 2, 0.0),
        ([0, 2, 1], 1, 2, 2.0 / 3.0),
        ([0, 2, 1], 0, 1, 0.0),
        ([0, 2, 1], 0, 2, 0.0),
        ([1, 0, 2], 0, 1, 0.5),
        ([1, 0, 2], 1, 2, 0.0),
        ([1, 0, 2], 0, 2, 0.0),
    ] {
        let ours = rho(&bounded(&scores, 1, &list), a, b);
        assert!((ours - expected).abs() < 1e-6, "{list:?}, {a}, {b}: {ours} instead of {expected}");
    }
    // A click on the second of 0, 1, 2: pairs (1, 0) and (1, 2) with slopes 6 / 25 and 2 / 9, at a rate of 10.
    let mut weights = [1.0; MAX_SHOWN];
    bounded(&scores, 1, &[0, 1, 2]).position_weights(&mut Sums::default(), Clicks(0b010), 10.0, &mut weights);
    let (first, third) = (10.0 * 0.5 * 6.0 / 25.0, 10.0 / 3.0 * 2.0 / 9.0);
    for (ours, expected) in weights.iter().zip([-first, first + third, -third, 0.0]) {
        assert!((f64::from(*ours) - expected).abs() < 1e-6, "{ours} instead of {expected}");
    }
}

#[test]
fn rho_is_that_of_the_law() {
    let mut n_exchanges = 0;
    for (scores, n_shown, k) in problems() {
        for (list, probability) in possible(&scores, n_shown, k) {
            let bounded = bounded(&scores, k, &list);
            for b in 1..list.len() {
                for a in 0..b {
                    let mut exchanged = list.clone();
                    exchanged.swap(a, b);
                    let other = log_probability(&scores, k, &exchanged);
                    let expected = other.map_or(0.0, |other| 1.0 / (1.0 + (probability - other).exp()));
                    let ours = rho(&bounded, a, b);
                    assert!(
                        (ours - expected).abs() < 1e-9,
                        "{list:?} of {scores:?}, {k}, {a}, {b}: {ours} instead of {expected}"
                    );
                    assert!(other.is_some() || ours == 0.0, "an impossible exchange weighs {ours}");
                    n_exchanges += usize::from(other.is_some());
                }
            }
        }
    }
    assert!(n_exchanges > 1_000, "{n_exchanges}");
}

#[test]
fn a_bound_beyond_all_documents_weighs_as_no_bound() {
    for (scores, n_shown, _) in problems() {
        for (list, _) in possible(&scores, n_shown, scores.len()) {
            let (bounded, ranking) = (bounded(&scores, scores.len(), &list), Ranking::from_docs(&list).expect("short"));
            for clicks in (0..1 << list.len()).map(Clicks) {
                let (mut ours, mut expected) = ([0.0; MAX_SHOWN], [0.0; MAX_SHOWN]);
                bounded.position_weights(&mut Sums::default(), clicks, 0.3, &mut ours);
                let exponentials = &mut Vec::new();
                list_mass::position_weights(&buffer(&scores), exponentials, (&ranking, clicks), 0.3, &mut expected);
                for (ours, expected) in ours.iter().zip(expected) {
                    assert!((ours - expected).abs() < 1e-6, "{list:?} of {scores:?}: {ours} instead of {expected}");
                }
            }
        }
    }
}

/// If clicks depend on positions alone, nothing is learnt on average, for every pattern of clicks.
#[test]
fn positions_alone_teach_nothing_on_average() {
    let mut n_taught = 0;
    for (scores, n_shown, k) in problems() {
        let possible = possible(&scores, n_shown, k);
        for clicks in (0..1 << n_shown.min(scores.len())).map(Clicks) {
            let mut mean = vec![0.0; scores.len()];
            for (list, probability) in &possible {
                let mut weights = [0.0; MAX_SHOWN];
                bounded(&scores, k, list).position_weights(&mut Sums::default(), clicks, 1.0, &mut weights);
                for (&doc, &weight) in list.iter().zip(&weights) {
                    mean[doc as usize] += probability.exp() * f64::from(weight);
                    n_taught += usize::from(weight != 0.0);
                }
            }
            assert!(mean.iter().all(|mean| mean.abs() < 1e-7), "{scores:?}, {n_shown}, {k}, {clicks:?}: {mean:?}");
        }
    }
    assert!(n_taught > 1_000, "{n_taught}");
}

#[test]
fn nothing_is_learnt_without_displacement() {
    let mut preferences = Preferences::default();
    let list = bounded(&[1.0, 0.5, 0.2, 0.1], 0, &[0, 1, 2]);
    list.add_preferences(&mut Sums::default(), Clicks(0b010), &mut preferences);
    assert!(preferences.is_empty());
    list.position_weights(&mut Sums::default(), Clicks(0b010), 1.0, &mut [0.0; MAX_SHOWN]);
}

#[test]
fn preferences_are_the_pairs_that_can_be_exchanged() {
    let scores = [3_f64.ln(), 2_f64.ln(), 0.0];
    let mut preferences = Preferences::default();
    // Of (1, 0) and (1, 2) only the second pair of list 0 2 1 can be exchanged: it weighs 2/3 times the slope at equal scores.
    bounded(&scores, 1, &[0, 2, 1]).add_preferences(&mut Sums::default(), Clicks(0b010), &mut preferences);
    let weights = preferences.weights(&[0.0; 3], 1.0);
    for (ours, expected) in weights.iter().zip([0.0, 1.0 / 6.0, -1.0 / 6.0]) {
        assert!((f64::from(*ours) - expected).abs() < 1e-6, "{weights:?}");
    }
}

#[test]
fn openness_is_that_of_the_documents_and_not_of_their_order() {
    // Adjacent ranks 0, 1 and 1, 2 with q = 3/5 and 2/3; ranks 0 and 2 never change places.
    let scores = [3_f64.ln(), 2_f64.ln(), 0.0];
    for list in [[0, 1, 2], [0, 2, 1], [1, 0, 2]] {
        assert!((bounded(&scores, 1, &list).openness() - (6.0 / 25.0 + 2.0 / 9.0) / 2.0).abs() < 1e-6);
    }
    // With k = 2 they do: q = 3/4.
    let all = (6.0 / 25.0 + 2.0 / 9.0 + 3.0 / 16.0) / 3.0;
    assert!((bounded(&scores, 2, &[2, 0, 1]).openness() - all).abs() < 1e-6);
    assert_eq!((bounded(&scores, 1, &[0]).openness(), bounded(&scores, 0, &[0, 1, 2]).openness()), (0.0, 0.0));
}

#[test]
fn lists_are_bytes_and_back() {
    for (scores, n_shown, k) in problems() {
        for (list, _) in possible(&scores, n_shown, k) {
            let bounded = bounded(&scores, k, &list);
            let mut out = Writer::default();
            bounded.write(&mut out);
            assert_eq!(BoundedList::read(list.len(), &mut Reader::new(&out.0)), Ok(bounded));
        }
    }
    let read = |k: u8, scores: &[f32], ranks: &[u8]| {
        let mut out = Writer::default();
        out.u8(k).u8(scores.len() as u8).f32s(scores).bytes(ranks);
        BoundedList::read(ranks.len(), &mut Reader::new(&out.0)).is_ok()
    };
    assert!(read(1, &[2.0, 1.0, 0.0], &[1, 0]));
    assert!(!read(1, &[2.0, 1.0, 0.0], &[2, 0]), "too far");
    assert!(!read(1, &[2.0, 1.0, 0.0], &[1, 2]), "the first document is due");
    assert!(!read(1, &[2.0, 1.0, 0.0], &[0, 0]), "twice");
    assert!(!read(1, &[1.0, 2.0, 0.0], &[0, 1]), "scores that rise");
    assert!(!read(1, &[3.0, 2.0, 1.0, 0.0], &[0, 1]), "a document beyond what can be shown");
    assert!(!read(1, &[1.0], &[0, 1]), "fewer documents than places");
    assert!(!read(101, &[2.0, 1.0], &[0, 1]), "a bound beyond the end of any list");
}
