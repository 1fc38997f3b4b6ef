//! MaxRR: the reciprocal rank of the highest clicked document, and its exact expectation under a click model.
//!
//! `KO19` Kharitonov, WSDM 2019, section 5; spec section 2.3. Stopping plays no part: a user can stop only after a
//! click, and only the first click counts.

use crate::query::Clicks;

/// 1 / rank of the first click, 0 without a click.
#[inline]
pub fn max_rr(clicks: Clicks) -> f64 {
    clicks.first().map_or(0.0, |position| 1.0 / (position + 1) as f64)
}

/// P(first click at each position), given each shown document's click probability; the last entry is P(no click).
pub fn first_click_law(click_probability: &[f64]) -> Vec<f64> {
    let mut untouched = 1.0;
    let mut law: Vec<f64> = click_probability
        .iter()
        .map(|&probability| {
            let first = untouched * probability;
            untouched *= 1.0 - probability;
            first
        })
        .collect();
    law.push(untouched);
    law
}

/// Expected MaxRR of a list, given each shown document's click probability when examined.
#[inline]
pub fn expected_max_rr(click_probability: impl IntoIterator<Item = f64>) -> f64 {
    let (mut untouched, mut expected) = (1.0, 0.0);
    for (position, probability) in click_probability.into_iter().enumerate() {
        expected += untouched * probability / (position + 1) as f64;
        untouched *= 1.0 - probability;
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_click_counts() {
        // Navigational clicks on labels 2, 1, 0.
        assert!((expected_max_rr([0.95, 0.5, 0.05]) - 0.962_917).abs() < 5e-7);
        assert_eq!((max_rr(Clicks(0b1100)), max_rr(Clicks(0))), (1.0 / 3.0, 0.0));
    }
}
