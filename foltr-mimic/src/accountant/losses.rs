//! What do blocks of labels cost together, each with the curve delta(epsilon) of one pair of distributions?
//!
//! Every such curve is that of a dominating pair, and compositions are dominated by those of the pairs (`ZDW22` Theorem
//! 10), adaptive ones too. The privacy losses ln(p/r) of a pair lie on a grid; those of a composition add up. What falls
//! beyond the grid counts as an infinite loss, so that results are upper bounds.

/// The law of the privacy loss under the first distribution. The pair is as far apart in either direction: the loss -x
/// is e^-x times as likely as x.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    spacing: f64,
    /// Of the losses 0, h, 2h and so on.
    chances: Vec<f64>,
    infinite: f64,
}

impl Losses {
    /// Of the pair whose delta has these values at the epsilons 0, h, 2h and so on, and is linear in e^epsilon between.
    pub fn of_curve(spacing: f64, deltas: impl Iterator<Item = f64>) -> Self {
        let deltas: Vec<f64> = deltas.collect();
        let n = deltas.len();
        // Slopes times e^epsilon of the node where they begin; they change by the chances over e^epsilon.
        let slope = |node: usize| if node + 1 < n { (deltas[node + 1] - deltas[node]) / spacing.exp_m1() } else { 0.0 };
        let chance = |node: usize| (slope(node) - slope(node - 1) * spacing.exp()).max(0.0);
        let mut chances: Vec<f64> = (0..n).map(|node| if node == 0 { 0.0 } else { chance(node) }).collect();
        let infinite = deltas.last().copied().unwrap_or(0.0);
        let others: f64 = chances.iter().enumerate().map(|(node, chance)| chance * (1.0 + mirror(node, spacing))).sum();
        chances[0] = (1.0 - infinite - others).max(0.0);
        Self { spacing, chances, infinite }
    }

    /// Both one after the other; losses beyond the node `top` count as infinite.
    pub fn compose(&self, other: &Self, top: usize) -> Self {
        let (a, b) = (self.both_signs(), other.both_signs());
        let mut sums = vec![0.0; a.len() + b.len() - 1];
        for (i, x) in a.iter().enumerate() {
            for (sum, y) in sums[i..].iter_mut().zip(&b) {
                *sum += x * y;
            }
        }
        // Loss 0 is in the middle.
        let mut chances = sums.split_off(sums.len() / 2);
        let beyond = chances.split_off(chances.len().min(top + 1));
        let lost: f64 = (top + 1..).zip(beyond).map(|(node, x)| x * (1.0 + mirror(node, self.spacing))).sum();
        // That one of them is infinite is at most as likely as the sum.
        let infinite = self.infinite + other.infinite + lost;
        Self { spacing: self.spacing, chances, infinite }
    }

    /// `n` times, at least once, by squaring.
    pub fn times(&self, n: usize, top: usize) -> Self {
        if n <= 1 {
            return self.clone();
        }
        let half = self.times(n / 2, top);
        let even = half.compose(&half, top);
        if n.is_multiple_of(2) { even } else { even.compose(self, top) }
    }

    /// The smallest epsilon at this delta; infinite if infinite losses are too likely.
    pub fn epsilon(&self, delta: f64) -> f64 {
        let shrink = (-self.spacing).exp();
        // Of the losses above a node: their chances, and those times e^(epsilon - loss).
        let (mut above, mut shrunk) = (0.0, 0.0);
        let mut delta_above = self.infinite;
        if delta_above > delta {
            return f64::INFINITY;
        }
        for node in (0..self.chances.len() - 1).rev() {
            above += self.chances[node + 1];
            shrunk = (shrunk + self.chances[node + 1]) * shrink;
            let delta_here = self.infinite + (above - shrunk);
            if delta_here > delta {
                let share = (delta_here - delta) / (delta_here - delta_above);
                return node as f64 * self.spacing + (share * self.spacing.exp_m1()).ln_1p();
            }
            delta_above = delta_here;
        }
        0.0
    }

    fn both_signs(&self) -> Vec<f64> {
        let negative = self.chances.iter().enumerate().skip(1).rev();
        let negative = negative.map(|(node, chance)| chance * mirror(node, self.spacing));
        negative.chain(self.chances.iter().copied()).collect()
    }
}

/// How likely is the negative of a node's loss, relative to that loss?
fn mirror(node: usize, spacing: f64) -> f64 {
    (-(node as f64) * spacing).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Randomised response: e^x times as likely is the truth as the lie, for a loss x of `node` nodes.
    fn response(spacing: f64, node: usize) -> Losses {
        let x = node as f64 * spacing;
        let delta = |epsilon: f64| (x.exp() - epsilon.exp()).max(0.0) / (1.0 + x.exp());
        Losses::of_curve(spacing, (0..=node + 3).map(|at| delta(at as f64 * spacing)))
    }

    #[test]
    fn a_curve_gives_the_losses_of_its_pair() {
        let losses = response(0.1, 4);
        let truth = 0.4_f64.exp() / (1.0 + 0.4_f64.exp());
        for (node, chance) in losses.chances.iter().enumerate() {
            let expected = if node == 4 { truth } else { 0.0 };
            assert!((chance - expected).abs() < 1e-12, "{node}: {chance}");
        }
        assert!(losses.infinite.abs() < 1e-15);
        // And back: (e^.4 - e^epsilon)/(1 + e^.4) at epsilon .25.
        let delta = (0.4_f64.exp() - 0.25_f64.exp()) / (1.0 + 0.4_f64.exp());
        assert!((losses.epsilon(delta) - 0.25).abs() < 1e-12);
        assert_eq!(losses.epsilon(0.5), 0.0);
    }

    #[test]
    fn many_times_are_the_binomial_law() {
        let (spacing, node, n) = (0.1, 2, 7);
        let p = (0.2_f64).exp() / (1.0 + (0.2_f64).exp());
        let choose = [1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0];
        let chance = |heads: i32| choose[heads as usize] * p.powi(heads) * (1.0 - p).powi(n - heads);
        for epsilon in [0.0, 0.3, 0.65, 1.2] {
            let excess = |heads| (chance(heads) - f64::exp(epsilon) * chance(n - heads)).max(0.0);
            let delta: f64 = (0..=n).map(excess).sum();
            let ours = response(spacing, node).times(n as usize, 100).epsilon(delta);
            assert!((ours - epsilon).abs() < 1e-9, "{epsilon}: {ours}");
        }
    }

    #[test]
    fn what_is_beyond_the_grid_is_infinite() {
        let far = response(0.1, 2).times(3, 4);
        let p = (0.2_f64).exp() / (1.0 + (0.2_f64).exp());
        // Three truths are a loss of 6 nodes; three lies count as well, as nobody knows any more what they were.
        assert!((far.infinite - p.powi(3) - (1.0 - p).powi(3)).abs() < 1e-12, "{}", far.infinite);
        assert_eq!(far.epsilon(far.infinite / 2.0), f64::INFINITY);
    }
}
