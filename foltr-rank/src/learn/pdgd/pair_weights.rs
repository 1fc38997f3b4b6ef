//! PDGD's weight of each shown document: which pairs the clicks suggest, and how much each pair counts.
//!
//! `OdR18` Oosterhuis, de Rijke: *Differentiable Unbiased Online Learning to Rank*, CIKM 2018, Eqs. 5 to 9; spec
//! sections 6.2 and 6.3, which give the closed form used here. For positions a < b with documents x and y, R* being R
//! with the two exchanged and Z_i the sum of e^score over all documents of the query not shown above position i:
//!
//! P(R*) / P(R) = prod_{i = a+1}^{b} Z_i / Z*_i,   Z*_i = Z_i + e^{s_x} - e^{s_y},   rho = 1 / (1 + prod Z*_i / Z_i).
//!
//! Z* is built from positive terms only (Z*_b = Z_{b+1} + e^{s_x}, then each R\[i\] on the way up), so nothing cancels.

use crate::elementary::{exp_double, ln_1p_double};
use crate::query::{Clicks, MAX_SHOWN, positions};

/// Positions from which unclicked documents are used: up to one past the last click (spec section 6.2).
#[inline]
pub fn unclicked_considered(clicks: Clicks, n_shown: usize) -> u128 {
    match clicks.last() {
        None => 0,
        Some(last) => {
            let considered = (1_u128 << (last + 2).min(n_shown)) - 1;
            considered & !clicks.0
        }
    }
}

/// Weights of the shown documents, by position: plus for each pair's clicked document, minus for its unclicked one.
///
/// `weight[i]` is e^{score} of the document at position i and `hidden` the sum over the documents not shown, both up to
/// one common factor. They must be positive (`hidden` may be 0 when everything is shown) and finite. At most `N` are shown.
#[inline(always)]
pub fn pair_weights<const N: usize>(weight: &[f64], hidden: f64, clicks: Clicks) -> [f32; N] {
    let mut result = [0.0_f64; N];
    for_each_pair::<N>(weight, hidden, clicks, |c, u, inverse_rho| {
        let both = weight[c] + weight[u];
        // rho * e^{s_x} e^{s_y} / (e^{s_x} + e^{s_y})^2: Eqs. 6 and 8.
        let pair = (weight[c] / both) * (weight[u] / both) / inverse_rho;
        result[c] += pair;
        result[u] -= pair;
    });
    result.map(|w| w as f32)
}

/// Visits every pair that the clicks suggest: positions of the clicked and the unclicked document, and 1 / rho.
#[inline(always)]
pub(super) fn for_each_pair<const N: usize>(
    weight: &[f64],
    hidden: f64,
    clicks: Clicks,
    mut visit: impl FnMut(usize, usize, f64),
) {
    let n_shown = weight.len();
    let mut below = [0.0_f64; N]; // Z_{i + 1}
    let mut inverse = [0.0_f64; N]; // 1 / Z_i
    let mut rest = hidden;
    for i in (0..n_shown).rev() {
        below[i] = rest;
        rest += weight[i];
        inverse[i] = 1.0 / rest;
    }
    let unclicked = unclicked_considered(clicks, n_shown);
    for c in positions::<N>(clicks.0) {
        for u in positions::<N>(unclicked) {
            let (a, b) = (c.min(u), c.max(u));
            // prod over i of Z*_i / Z_i. All factors lie on the same side of 1, so it cannot be 0 times infinity.
            let mut swapped = below[b] + weight[a];
            let mut ratio = swapped * inverse[b];
            for i in (a + 1..b).rev() {
                swapped += weight[i];
                ratio *= swapped * inverse[i];
            }
            visit(c, u, 1.0 + ratio);
        }
    }
}

/// The same in log space, for scores whose exponentials a double cannot hold: `score[i]` at position i, and the
/// log-sum-exp of the scores not shown (negative infinity when everything is shown).
pub fn pair_weights_log(score: &[f64], hidden: f64, clicks: Clicks) -> [f32; MAX_SHOWN] {
    let mut result = [0.0_f64; MAX_SHOWN];
    let unclicked = unclicked_considered(clicks, score.len());
    for_each_pair_log(score, hidden, clicks, unclicked, |c, u, inverse_rho| {
        let gap = exp_double(-(score[c] - score[u]).abs());
        let pair = gap / ((1.0 + gap) * (1.0 + gap)) / inverse_rho;
        result[c] += pair;
        result[u] -= pair;
    });
    result.map(|w| w as f32)
}

/// [`for_each_pair`] in log space, of the clicked documents with these unclicked ones.
pub(crate) fn for_each_pair_log(
    score: &[f64],
    hidden: f64,
    clicks: Clicks,
    unclicked: u128,
    mut visit: impl FnMut(usize, usize, f64),
) {
    let n_shown = score.len();
    let mut rest = [f64::NEG_INFINITY; MAX_SHOWN + 1]; // ln Z_i
    rest[n_shown] = hidden;
    for i in (0..n_shown).rev() {
        rest[i] = log_add_exp(score[i], rest[i + 1]);
    }
    for c in (0..n_shown).filter(|&i| clicks.at(i)) {
        for u in (0..n_shown).filter(|&i| unclicked >> i & 1 == 1) {
            let (a, b) = (c.min(u), c.max(u));
            let mut swapped = log_add_exp(rest[b + 1], score[a]);
            let mut log_ratio = swapped - rest[b];
            for i in (a + 1..b).rev() {
                swapped = log_add_exp(swapped, score[i]);
                log_ratio += swapped - rest[i];
            }
            visit(c, u, 1.0 + exp_double(log_ratio));
        }
    }
}

/// ln(e^a + e^b) without overflow.
#[inline]
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    /// e^-40 is nothing beside 1 in double precision. Scores that spread far differ by more, most of the time.
    const NOTHING: f64 = -40.0;
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low - high > NOTHING { high + ln_1p_double(exp_double(low - high)) } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::SHORT_LIST;
    use proptest::prelude::*;

    /// rho by the definition: probabilities of both lists, factor by factor (small scores only).
    fn weights_by_enumeration(score: &[f64], hidden: f64, clicks: Clicks) -> Vec<f64> {
        let weight: Vec<f64> = score.iter().map(|s| s.exp()).collect();
        let probability = |order: &[usize]| {
            (0..order.len())
                .map(|i| weight[order[i]] / (order[i..].iter().map(|&d| weight[d]).sum::<f64>() + hidden))
                .product::<f64>()
        };
        let identity: Vec<usize> = (0..score.len()).collect();
        let unclicked = unclicked_considered(clicks, score.len());
        let mut result = vec![0.0; score.len()];
        for c in identity.iter().copied().filter(|&i| clicks.at(i)) {
            for u in identity.iter().copied().filter(|&i| unclicked >> i & 1 == 1) {
                let mut swapped = identity.clone();
                swapped.swap(c, u);
                let (p, q) = (probability(&identity), probability(&swapped));
                let both = weight[c] + weight[u];
                let pair = q / (p + q) * weight[c] * weight[u] / (both * both);
                result[c] += pair;
                result[u] -= pair;
            }
        }
        result
    }

    #[test]
    fn three_documents_worked_by_hand() {
        // Spec section 6.4: weights 3 : 2 : 1, everything shown.
        let weights = |bits| pair_weights(&[3.0, 2.0, 1.0], 0.0, Clicks(bits));
        let close = |ours: [f32; SHORT_LIST], expected: [f32; 3]| {
            ours.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-7, "{a} not {b}"));
        };
        close(weights(0b010), [-0.102_857_14, 0.176_931_22, -0.074_074_07]);
        close(weights(0b001), [0.102_857_14, -0.102_857_14, 0.0]);
        close(weights(0b100), [-0.031_25, -0.074_074_07, 0.105_324_07]);
        close(weights(0b000), [0.0; 3]);
        close(weights(0b111), [0.0; 3]);
    }

    #[test]
    fn hidden_documents_count() {
        // Spec section 6.4, tail check: shown 2, 4, 3; hidden 1 and 5.
        let ours = pair_weights::<SHORT_LIST>(&[2.0, 4.0, 3.0], 6.0, Clicks(0b010));
        for (a, b) in ours.iter().zip([-0.120_370_4_f32, 0.236_374_7, -0.116_004_4]) {
            assert!((a - b).abs() < 2e-7);
        }
    }

    #[test]
    fn logarithms_of_sums_are_those_of_the_definition() {
        for (a, b) in [(0.0, 0.0), (3.0, -2.5), (-700.0, -699.0), (1e6, 1e6 - 39.0), (0.1, 0.1 - 41.0), (5.0, -1e30)] {
            let want = f64::max(a, b) + (-f64::abs(a - b)).exp().ln_1p();
            assert!((log_add_exp(a, b) - want).abs() <= 1e-15 * want.abs().max(1.0), "{a} and {b}");
            assert_eq!(log_add_exp(a, b), log_add_exp(b, a));
        }
        assert_eq!(log_add_exp(f64::NEG_INFINITY, 2.0), 2.0);
        assert_eq!(log_add_exp(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
    }

    #[test]
    fn extreme_scores_stay_finite_and_agree() {
        let score = [0.0, -120.0, -300.0, -450.0, -580.0];
        let weight: Vec<f64> = score.iter().map(|s: &f64| s.exp()).collect();
        for bits in 0..32 {
            let linear = pair_weights::<SHORT_LIST>(&weight, (-590_f64).exp(), Clicks(bits));
            let log = pair_weights_log(&score, -590.0, Clicks(bits));
            for (a, b) in linear.iter().zip(log) {
                assert!(a.is_finite() && (a - b).abs() <= 1e-6 * b.abs(), "clicks {bits:05b}: {a} not {b}");
            }
        }
    }

    #[test]
    fn long_lists_agree_with_enumeration() {
        let score: Vec<f64> = (0..MAX_SHOWN).map(|i| f64::from((i * 37 % 11) as u32) / 5.0).collect();
        let weight: Vec<f64> = score.iter().map(|s| s.exp()).collect();
        let clicks = Clicks(1 | 1 << 17 | 1 << 64 | 1 << 98);
        let (linear, log) =
            (pair_weights::<MAX_SHOWN>(&weight, 2.0, clicks), pair_weights_log(&score, 2_f64.ln(), clicks));
        for (i, expected) in weights_by_enumeration(&score, 2.0, clicks).into_iter().enumerate() {
            assert!((f64::from(linear[i]) - expected).abs() < 1e-6, "{i}: {} not {expected}", linear[i]);
            assert!((f64::from(log[i]) - expected).abs() < 1e-6, "{i}: {} not {expected}", log[i]);
        }
    }

    proptest! {
        #[test]
        fn both_forms_agree_with_enumeration(
            score in prop::collection::vec(-4.0_f64..4.0, 1..=10), hidden in 0.0_f64..5.0, bits in 0_u128..1024,
        ) {
            let clicks = Clicks(bits & ((1 << score.len()) - 1));
            let weight: Vec<f64> = score.iter().map(|s| s.exp()).collect();
            let expected = weights_by_enumeration(&score, hidden, clicks);
            let linear = pair_weights::<SHORT_LIST>(&weight, hidden, clicks);
            prop_assert_eq!(&pair_weights::<MAX_SHOWN>(&weight, hidden, clicks)[..SHORT_LIST], &linear);
            let log = pair_weights_log(&score, hidden.ln(), clicks);
            for i in 0..score.len() {
                prop_assert!((f64::from(linear[i]) - expected[i]).abs() < 1e-7);
                prop_assert!((f64::from(log[i]) - expected[i]).abs() < 1e-7);
            }
            // They sum to zero; clicked documents gain, the others lose.
            prop_assert!(expected.iter().sum::<f64>().abs() < 1e-12);
            for (i, &weight) in linear.iter().enumerate().take(score.len()) {
                let gain = if clicks.at(i) { weight } else { -weight };
                prop_assert!(gain >= 0.0);
            }
        }
    }
}
