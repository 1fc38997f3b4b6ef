//! Marks of significance, and the correction for many tests.

/// Bonferroni's correction: p times the number of comparisons, at most 1.
pub fn bonferroni(p: f64, n_comparisons: usize) -> f64 {
    (p * n_comparisons.max(1) as f64).min(1.0)
}

/// The mark beside a value that exceeds the baseline by `difference`, as in `WLZZ21` Table 2 and `W24` Table 3.1: △ ▽ for
/// gains and losses at p < 0.05, ▲ ▼ at p < 0.01. No paper says how many comparisons it corrects for.
pub fn mark(difference: f64, corrected_p: f64) -> &'static str {
    match (corrected_p, difference > 0.0) {
        (p, true) if p < 0.01 => "▲",
        (p, false) if p < 0.01 => "▼",
        _ => mark_of_one_level(difference, corrected_p),
    }
}

/// The same where a table marks p < 0.05 and nothing else.
pub fn mark_of_one_level(difference: f64, corrected_p: f64) -> &'static str {
    match (corrected_p, difference > 0.0) {
        (p, true) if p < 0.05 => "△",
        (p, false) if p < 0.05 => "▽",
        _ => "",
    }
}

#[test]
fn levels_and_symbols_are_those_of_the_tables() {
    assert_eq!([mark(1.0, 0.04), mark(-1.0, 0.04), mark(1.0, 0.009), mark(-1.0, 0.0)], ["△", "▽", "▲", "▼"]);
    assert_eq!([mark(1.0, 0.05), mark(1.0, 0.01)], ["", "△"]);
    assert_eq!([mark_of_one_level(1.0, 0.0), mark_of_one_level(-1.0, 0.049)], ["△", "▽"]);
    assert_eq!([bonferroni(0.25, 3), bonferroni(0.4, 3)], [0.75, 1.0]);
}
