//! Team draft: in each round every ranker, in random order, adds its best document that is not in the list yet.
//!
//! `RKJ08` Radlinski, Kurup, Joachims: *How Does Clickthrough Data Reflect Retrieval Quality?*, CIKM 2008, Algorithm 2, for
//! two rankers; `SSWLR14` Schuth, Sietsma, Whiteson, Lefortier, de Rijke: *Multileaved Comparisons for Fast Online
//! Evaluation*, CIKM 2014, Algorithm 1, for several. With more rankers than positions only some are in a list.

use rand::Rng;

use super::below;

/// Fills the list, and writes for each position 1 for the ranker whose turn it was and 0 for the others.
pub(super) fn draw(
    orders: &[Vec<u32>],
    turns: &mut Vec<usize>,
    random: &mut dyn Rng,
    shown: &mut [u32],
    shares: &mut [f32],
) {
    let n_rankers = orders.len();
    turns.clear();
    turns.extend(0..n_rankers);
    shares.fill(0.0);
    for position in 0..shown.len() {
        let turn = position % n_rankers;
        // Fisher and Yates, one step a turn: a new random order in every round.
        turns.swap(turn, turn + below(n_rankers - turn, random));
        let ranker = turns[turn];
        let (before, rest) = shown.split_at_mut(position);
        let best = orders[ranker].iter().find(|doc| !before.contains(doc));
        rest[0] = *best.expect("an order is at least as long as the list");
        shares[position * n_rankers + ranker] = 1.0;
    }
}
