//! How much do many labels give away at worst, if an adversary chooses the counts of each?
//!
//! Let delta_k(g), with g = e^epsilon, be the largest sum of max(0, p - g r) over the outcomes of k labels. The adversary
//! chooses the neighbouring laws (p, r) of every label, after having seen all labels before. Then
//!
//! delta_0(g) = max(0, 1 - g),
//! delta_k(g) = max over (p, r) of p_1 delta_{k-1}(g r_1/p_1) + p_2 delta_{k-1}(g r_2/p_2),
//!
//! because max(0, p_j x - g r_j y) = p_j max(0, x - (g r_j/p_j) y). Votes are cast before any noise is drawn, so a run's
//! counts are one such choice. No single pair is the worst of all: the points (1 - p_1, r_1) lie on the convex
//! trade-off curve of the noise, and which one costs most depends on g and k.
//!
//! Computed on a grid of epsilons. Every delta_k is convex in g, so a chord between two nodes lies above it (the dots
//! that `DGKKM22` connect), and all results are upper bounds. Pairs come in both directions, so only epsilons from 0 on
//! are stored: delta_k(1/g) = 1 - 1/g + delta_k(g)/g.
//!
//! Deviation from the recursion: it runs for a block of labels. A block's curve is that of one pair of distributions,
//! and blocks are composed as those ([`super::losses`]). That is never below the recursion, and a little above it.

use super::losses::Losses;
use crate::aggregation::VoteNoise;

/// Of the curve of a block.
const NODES: usize = 1024;
/// Of the losses of all labels: the node beyond which they count as infinite.
const TOP: usize = 2048;
/// Labels of a block at most; the cost of blocks in place of single labels falls with their size.
const BLOCK: usize = 128;
/// Pairs of counts times labels that a block may have, for the sake of time.
const WORK: usize = 32_000;
/// Nodes that one label may move at most.
const FURTHEST: usize = 16 * NODES;
/// What is spent on losses beyond the grid and on labels that hardly ever change, over delta.
const SPARE: f64 = 1e-4;
/// Roundings of all sums together stay below this share of delta.
const ROUNDING: f64 = 1e-9;

/// An epsilon of this many labels at this delta. `reach(n, delta)` is one as well, of n of the labels: it says how far
/// the grid goes.
pub fn epsilon(
    noise: VoteNoise,
    n_teachers: u32,
    n_labels: usize,
    delta: f64,
    reach: impl Fn(usize, f64) -> f64,
) -> f64 {
    let (n_pairs, spare) = (n_teachers.max(1) as usize, SPARE * delta);
    let block = BLOCK.min(WORK / n_pairs).clamp(1, n_labels);
    let furthest = reach(n_labels, spare);
    let spacing = reach(block, spare * block as f64 / n_labels as f64) / NODES as f64;
    if !(spacing > 0.0 && furthest < 1e5) {
        return f64::INFINITY;
    }
    let Some(labels) = LabelChoices::new(noise, n_teachers, spare / n_labels as f64, spacing) else {
        return f64::INFINITY;
    };
    let (n_blocks, n_left) = (n_labels / block, n_labels % block);
    let mut curve = Curve::of_nothing(spacing);
    let mut rest = None;
    for n in 1..=block {
        curve = curve.after_one_more(&labels);
        if n == n_left {
            rest = Some(curve.clone());
        }
    }
    // A block's losses spread far wider than a label's: all blocks together need no finer grid than this.
    let every = ((furthest / spacing) as usize).div_ceil(TOP).max(1);
    let losses = |curve: &Curve| Losses::of_curve(spacing * every as f64, curve.deltas.iter().copied().step_by(every));
    let blocks = losses(&curve).times(n_blocks, TOP);
    let all = match rest {
        None => blocks,
        Some(rest) => blocks.compose(&losses(&rest), TOP),
    };
    all.epsilon(delta * (1.0 - ROUNDING)) * (1.0 + ROUNDING)
}

/// delta at the epsilons 0, h, 2h and so on; beyond the last it is at most as large as there.
#[derive(Clone, Debug)]
struct Curve {
    spacing: f64,
    deltas: Vec<f64>,
}

impl Curve {
    fn of_nothing(spacing: f64) -> Self {
        Self { spacing, deltas: vec![0.0; NODES + 1] }
    }

    fn after_one_more(&self, labels: &LabelChoices) -> Self {
        let n = self.deltas.len();
        let last = self.deltas[n - 1];
        let below = |node: usize| {
            let epsilon = -(node as f64) * self.spacing;
            -epsilon.exp_m1() + epsilon.exp() * self.deltas.get(node).copied().unwrap_or(last)
        };
        let mut padded: Vec<f64> = (1..=labels.furthest).rev().map(below).collect();
        padded.extend(&self.deltas);
        padded.resize(n + 2 * labels.furthest, last);
        let hardly = labels.hardly_ever;
        let mut worst: Vec<f64> = self.deltas.iter().map(|delta| hardly + (1.0 - hardly) * delta).collect();
        for terms in &labels.pairs {
            let [a, b, c, d] = terms.map(|(node, _)| &padded[node..node + n]);
            let [of_a, of_b, of_c, of_d] = terms.map(|(_, weight)| weight);
            for i in 0..n {
                let delta = of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i];
                worst[i] = worst[i].max(delta);
            }
        }
        Self { spacing: self.spacing, deltas: worst }
    }
}

/// All that the adversary may choose for one label.
struct LabelChoices {
    /// For a pair of laws, the four nodes whose deltas are read, relative to the node of the result, plus
    /// `furthest`, and their weights: two for each outcome.
    pairs: Vec<[(usize, f64); 4]>,
    furthest: usize,
    /// Larger than the chance of the less likely outcome of all other pairs: such a label changes with at most this.
    hardly_ever: f64,
}

impl LabelChoices {
    /// None if there is so little noise that a label may cost more than the grid can tell.
    fn new(noise: VoteNoise, n_teachers: u32, hardly_ever: f64, spacing: f64) -> Option<Self> {
        let law = |n_first| noise.law(n_first, n_teachers);
        // The pair of n and n + 1 mirrors that of N - n and N - n - 1: all pairs in both directions.
        let pairs = (0..n_teachers).map(|n| (law(n), law(n + 1)));
        let matters = |(p, r): &([f64; 2], [f64; 2])| (0..2).all(|class| p[class].max(r[class]) > hardly_ever);
        let terms = |(p, r): ([f64; 2], [f64; 2])| {
            let [first, second] = [0, 1].map(|class| chord(p[class], r[class], spacing));
            [first[0], first[1], second[0], second[1]]
        };
        let signed: Vec<[(i64, f64); 4]> = pairs.filter(matters).map(terms).collect();
        let furthest = signed.iter().flatten().map(|(node, _)| node.unsigned_abs()).max().unwrap_or(0) as usize;
        let positive = |terms: [(i64, f64); 4]| terms.map(|(node, weight)| ((node + furthest as i64) as usize, weight));
        (furthest < FURTHEST).then(|| Self { pairs: signed.into_iter().map(positive).collect(), furthest, hardly_ever })
    }
}

/// p delta(g r/p) at a node, by the two nodes around g r/p: how far they are, and their weights.
fn chord(p: f64, r: f64, spacing: f64) -> [(i64, f64); 2] {
    let shift = (r / p).ln() / spacing;
    let below = shift.floor();
    let weight = ((shift - below) * spacing).exp_m1() / spacing.exp_m1();
    [(below as i64, p * (1.0 - weight)), (below as i64 + 1, p * weight)]
}

#[cfg(test)]
mod tests;
