use super::*;
use crate::query::Clicks;
use crate::rng::{Purpose, Stream, Streams};

fn stream(number: u32) -> Stream {
    Streams::new(5).open(Purpose::Interaction, number, 0)
}

/// Lists of rankers with these scores, one after the other.
struct Lists {
    interleaver: Interleaver,
    random: Stream,
    n_shown: usize,
    ranking: Ranking,
    origins: Origins,
}

impl Lists {
    fn new(method: Interleaving, scores: &[&[f32]], n_shown: usize) -> Self {
        let mut interleaver = Interleaver::new(method, scores.len());
        scores.iter().enumerate().for_each(|(ranker, scores)| interleaver.set_scores(ranker, scores, n_shown));
        let (ranking, origins) = (Ranking::default(), Origins::default());
        Self { interleaver, random: stream(scores.len() as u32), n_shown, ranking, origins }
    }

    fn next(&mut self) -> (&[u32], &Origins) {
        self.interleaver.interleave(self.n_shown, &mut self.random, &mut self.ranking, &mut self.origins);
        (self.ranking.docs(), &self.origins)
    }
}

/// P(list), and for each position P(ranker | list), by enumerating who drew which position.
fn by_enumeration(orders: &[Vec<u32>], list: &[u32]) -> (f64, Vec<Vec<f64>>) {
    let (n_rankers, n_shown) = (orders.len(), list.len());
    let (mut total, mut shares) = (0.0, vec![vec![0.0; n_rankers]; n_shown]);
    for code in 0..n_rankers.pow(n_shown as u32) {
        let drawer = |position: usize| code / n_rankers.pow(position as u32) % n_rankers;
        let mut probability = 1.0;
        for position in 0..n_shown {
            let order = &orders[drawer(position)];
            let weight = |doc: &u32| ((order.iter().position(|it| it == doc).expect("known") + 1) as f64).powi(-3);
            let rest: f64 = order.iter().filter(|doc| !list[..position].contains(doc)).map(weight).sum();
            probability *= weight(&list[position]) / rest / n_rankers as f64;
        }
        total += probability;
        (0..n_shown).for_each(|position| shares[position][drawer(position)] += probability);
    }
    shares.iter_mut().flatten().for_each(|share| *share /= total);
    (total, shares)
}

/// E[sign(clicks of one - clicks of other)] over all assignments of positions to rankers.
fn preference_by_enumeration(shares: &[Vec<f64>], clicks: Clicks, one: usize, other: usize) -> f64 {
    let n_rankers = shares[0].len();
    let mut expected = 0.0;
    for code in 0..n_rankers.pow(shares.len() as u32) {
        let (mut probability, mut difference) = (1.0, 0_i32);
        for (position, share) in shares.iter().enumerate() {
            let owner = code / n_rankers.pow(position as u32) % n_rankers;
            probability *= share[owner];
            if clicks.at(position) {
                difference += i32::from(owner == one) - i32::from(owner == other);
            }
        }
        expected += probability * f64::from(difference.signum());
    }
    expected
}

const SCORES: [&[f32]; 3] = [&[0.9, 0.7, 0.5, 0.3, 0.1], &[0.1, 0.2, 0.9, 0.4, 0.3], &[0.5, 0.5, 0.1, 0.9, 0.8]];

#[test]
fn probabilistic_lists_shares_and_credits_are_those_of_all_assignments() {
    let mut lists = Lists::new(Interleaving::Probabilistic, &SCORES, 4);
    let orders = lists.interleaver.orders.clone();
    assert_eq!(orders[2], [3, 4, 1, 0, 2], "of equal scores the later document first");
    let n = 40_000;
    let mut counts = std::collections::BTreeMap::<Vec<u32>, u32>::new();
    for i in 0..n {
        let (list, origins) = lists.next();
        let (list, origins) = (list.to_vec(), origins.clone());
        *counts.entry(list.clone()).or_default() += 1;
        if i >= 50 {
            continue;
        }
        let (_, shares) = by_enumeration(&orders, &list);
        for (position, shares) in shares.iter().enumerate() {
            for (ranker, share) in shares.iter().enumerate() {
                assert!((f64::from(origins.share(position, ranker)) - share).abs() < 1e-6, "{list:?}");
            }
        }
        for bits in 0..16 {
            let expected = preference_by_enumeration(&shares, Clicks(bits), 2, 0);
            let ours = origins.preference(Clicks(bits), 2, 0);
            assert!((ours - expected).abs() < 1e-6, "{list:?} {bits:04b}: {ours} is not {expected}");
        }
    }
    for (list, count) in counts {
        let (probability, _) = by_enumeration(&orders, &list);
        let error = 5.0 * (probability / f64::from(n)).sqrt() + 2.0 / f64::from(n);
        assert!((f64::from(count) / f64::from(n) - probability).abs() < error, "{list:?}: {count}, {probability}");
    }
}

#[test]
fn a_team_draft_by_hand() {
    // Rankings 0 1 2 3 and 1 3 0 2. Whoever is first takes its best; the other its best of what is left; and again.
    let mut lists = Lists::new(Interleaving::TeamDraft, &[&[4.0, 3.0, 2.0, 1.0], &[2.0, 4.0, 1.0, 3.0]], 4);
    let mut seen = std::collections::BTreeMap::<Vec<(u32, bool)>, u32>::new();
    let n = 16_000;
    for _ in 0..n {
        let (docs, origins) = lists.next();
        let list = docs.iter().enumerate().map(|(position, &doc)| (doc, origins.share(position, 0) == 1.0)).collect();
        *seen.entry(list).or_default() += 1;
    }
    let (a, b) = (true, false);
    let expected = [
        // The first ranker begins: 0 (A), 1 (B), then 2 (A), 3 (B) or 3 (B), 2 (A).
        vec![(0, a), (1, b), (2, a), (3, b)],
        vec![(0, a), (1, b), (3, b), (2, a)],
        vec![(1, b), (0, a), (2, a), (3, b)],
        vec![(1, b), (0, a), (3, b), (2, a)],
    ];
    assert_eq!(seen.keys().cloned().collect::<std::collections::BTreeSet<_>>(), expected.clone().into());
    for (list, count) in seen {
        assert!((f64::from(count) / f64::from(n) - 0.25).abs() < 0.02, "{list:?}: {count}");
    }
    let mut origins = Origins::default();
    origins.reset(2, 4).copy_from_slice(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(origins.preference(Clicks(0b0101), 0, 1), 1.0);
    assert_eq!(origins.preference(Clicks(0b0111), 0, 1), 1.0);
    assert_eq!(origins.preference(Clicks(0b1001), 0, 1), 0.0);
    assert_eq!(origins.preference(Clicks(0b1010), 0, 1), -1.0);
    assert_eq!(origins.preference(Clicks(0), 0, 1), 0.0);
}

/// Users who click positions and not documents prefer nobody, whatever the rankers are; equals tie under all users.
#[test]
fn neither_method_prefers_anybody_without_reason() {
    let n = 40_000;
    for method in Interleaving::ALL {
        let mut lists = Lists::new(method, &SCORES[..2], 4);
        let mut by_position = [0.0; 16];
        for _ in 0..n {
            let (_, origins) = lists.next();
            for (bits, sum) in by_position.iter_mut().enumerate() {
                *sum += origins.preference(Clicks(bits as u128), 0, 1) / f64::from(n);
            }
        }
        // Clicks that do not depend on the list: no preference, within five standard errors.
        for (bits, mean) in by_position.iter().enumerate() {
            assert!(mean.abs() < 5.0 / f64::from(n).sqrt(), "{method:?} {bits:04b}: {mean}");
        }
        // Equal rankers, and a user who clicks one document.
        let mut equals = Lists::new(method, &[SCORES[0], SCORES[0]], 4);
        let mut sum = 0.0;
        for _ in 0..n {
            let (docs, origins) = equals.next();
            let clicked = docs.iter().position(|&doc| doc == 1).map_or(0, |position| 1 << position);
            let preference = origins.preference(Clicks(clicked | 0b1), 0, 1);
            assert!(method == Interleaving::TeamDraft || preference == 0.0, "equals tie in every list");
            sum += preference;
        }
        assert!(sum.abs() / f64::from(n) < 5.0 / f64::from(n).sqrt(), "{method:?}: {sum}");
    }
}

#[test]
fn the_better_ranker_wins() {
    // Document 0 is the only one that anybody clicks; the first ranker has it first, the second last.
    for method in Interleaving::ALL {
        let mut lists = Lists::new(method, &[&[5.0, 4.0, 3.0, 2.0, 1.0], &[1.0, 4.0, 3.0, 2.0, 0.0]], 3);
        let mut comparison = InterleavedComparison::default();
        for _ in 0..1_000 {
            let (docs, origins) = lists.next();
            let clicked = docs.iter().position(|&doc| doc == 0).map_or(0, |position| 1 << position);
            comparison.add(origins.preference(Clicks(clicked), 0, 1));
        }
        assert!(comparison.interval().0 > 0.3 && comparison.sign_test() < 1e-6, "{method:?}: {comparison:?}");
    }
}

#[test]
fn a_comparison_and_a_list_survive_as_bytes_and_refuse_others() {
    let mut comparison = InterleavedComparison::default();
    [0.25, -0.5, 0.0].into_iter().for_each(|preference| comparison.add(preference));
    assert_eq!(InterleavedComparison::decode(&comparison.encode()), Ok(comparison));
    assert_eq!(comparison.interval().0, comparison.mean() - 1.959_963_984_540_054 * comparison.standard_error());
    let mut list = InterleavedList::new(Interleaving::TeamDraft, [SCORES[0], SCORES[1]], 4, &mut stream(0));
    assert!(list.click(3) && !list.click(4));
    let bytes = list.encode();
    assert_eq!(InterleavedList::decode(&bytes), Ok(list));
    for end in 0..bytes.len() {
        assert!(InterleavedList::decode(&bytes[..end]).is_err());
    }
    let wrong = InterleavedComparison { wins: 5, ..comparison };
    assert!(InterleavedComparison::decode(&wrong.encode()).is_err());
}

#[test]
fn sign_tests_by_hand() {
    let test = |wins, losses| InterleavedComparison { wins, losses, ..Default::default() }.sign_test();
    assert_eq!(test(0, 0), 1.0);
    assert_eq!(test(3, 3), 1.0);
    assert!((test(10, 0) - 2.0 / 1024.0).abs() < 1e-15);
    assert!((test(2, 8) - 2.0 * 56.0 / 1024.0).abs() < 1e-14);
    // The normal law with a correction for continuity: z = (5199.5 - 5000) / 50.
    assert!((test(5_200, 4_800) - 6.6e-5).abs() < 1e-6, "{}", test(5_200, 4_800));
}
