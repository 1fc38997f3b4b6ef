//! Findings 14 to 16 of spec section 19, judged from one number a run. The thesis prints pictures and words; what its
//! words mean in numbers stands here, written down before any run.

use super::super::study::mean;
use super::super::tally::{Judged, Tally};
use crate::statistics::Test;

/// nDCG@10 by which the ranker of clients with one label must lie below that of alike clients ("clearly below").
pub const CLEARLY: f64 = 0.02;
/// With two labels a client the gap is smaller than this share of the gap with one label ("minimal").
pub const MINIMAL: f64 = 0.25;
/// A remedy that restores at least this share of the gap "restores most"; one that restores less does not close it.
pub const MOST: f64 = 0.5;
/// No significant difference: a paired, two-tailed t-test above this level, or a difference below [`NEGLIGIBLE`].
pub const LEVEL: f64 = 0.05;
/// nDCG@10 that nobody would notice.
pub const NEGLIGIBLE: f64 = 0.005;
/// Difference of online values that are equal: half a unit of the last digit that the thesis prints, and rounding.
pub const EXACT: f64 = 0.01;

/// Clients that hold the same beside clients that differ, run by run.
pub struct Case {
    /// Users, and what else tells it from the other cases.
    pub name: String,
    /// Clients that hold the same.
    pub iid: Vec<f64>,
    /// Clients that differ.
    pub skewed: Vec<f64>,
}

impl Case {
    fn gap(&self) -> f64 {
        mean(&self.iid) - mean(&self.skewed)
    }
}

/// Finding 14, first part: online values of alike clients are above those of clients with different preferences.
pub fn iid_is_above(cases: &[Case]) -> Judged {
    let mut tally = Tally::new();
    for case in cases {
        tally.count(case.gap() > 0.0);
        let (iid, skewed) = (mean(&case.iid), mean(&case.skewed));
        let more = 100.0 * case.gap() / skewed;
        tally.parts.push(format!("{} {iid:.2} and {skewed:.2} ({more:+.0} %)", case.name));
    }
    tally.judged("online value of IID above non-IID")
}

/// Finding 15, first part: rankers of clients with one label are clearly below those of alike clients.
pub fn is_clearly_below(cases: &[Case]) -> Judged {
    let mut tally = Tally::new();
    for case in cases {
        tally.count(case.gap() > CLEARLY);
        tally.parts.push(format!("{} {:.4} and {:.4}", case.name, mean(&case.iid), mean(&case.skewed)));
    }
    tally.judged(&format!("nDCG@10 of IID more than {CLEARLY} above one label a client"))
}

/// Finding 15: every run has the online value `expected`.
pub fn is_exact(cases: &[(String, Vec<f64>)], expected: f64) -> Judged {
    let mut tally = Tally::new();
    let mut largest = 0.0_f64;
    for (_, runs) in cases {
        runs.iter().for_each(|value| tally.count((value - expected).abs() <= EXACT));
        largest = runs.iter().fold(largest, |largest, value| largest.max((value - expected).abs()));
    }
    tally.parts.push(format!("largest difference {largest:.6}"));
    tally.judged(&format!("online value with one label a client is {expected:.2}, in every run"))
}

/// Finding 15: with two labels a client the gap is minimal. Names, then runs of IID, one label and two labels.
pub fn gap_is_minimal(cases: &[(String, [Vec<f64>; 3])]) -> Judged {
    let mut tally = Tally::new();
    for (name, runs) in cases {
        let [iid, one, two] = runs.each_ref().map(|runs| mean(runs));
        tally.count(iid > one && iid - two < MINIMAL * (iid - one));
        tally.parts.push(format!("{name} {iid:.4}, {one:.4}, {two:.4}"));
    }
    tally.judged(&format!("gap with two labels a client below {MINIMAL} of that with one; IID, one label, two labels"))
}

/// The share of a case's gap that a remedy restores; not a number if there is no gap.
pub fn restored(case: &Case, remedy: &[f64]) -> f64 {
    if case.gap() > 0.0 { (mean(remedy) - mean(&case.skewed)) / case.gap() } else { f64::NAN }
}

/// A case with the runs of some remedies.
pub struct Remedied {
    /// Without a remedy.
    pub case: Case,
    /// Name and runs of each.
    pub remedies: Vec<(String, Vec<f64>)>,
}

/// Finding 15: data sharing restores most of the gap.
pub fn restores_most(cases: &[Remedied]) -> Judged {
    by_share(cases, &format!("restores at least {MOST} of the gap"), |share| share >= MOST)
}

/// Findings 14 and 15: FedProx and FedPer do not close the gap.
pub fn closes_nothing(cases: &[Remedied]) -> Judged {
    by_share(cases, &format!("restores less than {MOST} of the gap"), |share| share < MOST)
}

fn by_share(cases: &[Remedied], what: &str, is_right: impl Fn(f64) -> bool) -> Judged {
    let mut tally = Tally::new();
    for Remedied { case, remedies } in cases {
        let words = remedies.iter().map(|(name, runs)| {
            let share = restored(case, runs);
            tally.count(is_right(share));
            format!("{name} {share:+.2}")
        });
        let words: Vec<String> = words.collect();
        tally.parts.push(format!("{} (gap {:.4}) {}", case.name, case.gap(), words.join(", ")));
    }
    tally.judged(what)
}

/// Finding 16, first part: clients that differ learn rankers as good as those of alike clients.
pub fn makes_no_difference(cases: &[Case]) -> Judged {
    let mut tally = Tally::new();
    for case in cases {
        let Ok(test) = Test::Paired.compare(&case.skewed, &case.iid) else {
            tally.count(false);
            continue;
        };
        tally.count(test.p > LEVEL || test.difference.abs() < NEGLIGIBLE);
        tally.parts.push(format!("{} {:+.4} (p = {:.2})", case.name, test.difference, test.p));
    }
    tally.judged(&format!("nDCG@10 of non-IID minus IID with p above {LEVEL} or below {NEGLIGIBLE}"))
}

/// Finding 16, second part: online values rise with the interactions of a client in a round.
pub fn rises(cases: &[(String, Vec<Vec<f64>>)]) -> Judged {
    let mut tally = Tally::new();
    for (name, levels) in cases {
        let means: Vec<f64> = levels.iter().map(|runs| mean(runs)).collect();
        means.windows(2).for_each(|pair| tally.count(pair[1] > pair[0]));
        let words: Vec<String> = means.iter().map(|mean| format!("{mean:.2}")).collect();
        tally.parts.push(format!("{name} {}", words.join(", ")));
    }
    tally.judged("online value of IID rises with B = 2, 5, 10")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(iid: &[f64], skewed: &[f64]) -> Case {
        Case { name: "perfect".into(), iid: iid.to_vec(), skewed: skewed.to_vec() }
    }

    #[test]
    fn above_and_clearly_above() {
        assert!(iid_is_above(&[case(&[1002.0, 1004.0], &[648.0, 650.0])]).holds);
        assert!(!iid_is_above(&[case(&[1002.0], &[648.0]), case(&[648.0], &[648.0])]).holds);
        assert!(is_clearly_below(&[case(&[0.45, 0.47], &[0.43, 0.44])]).holds, ".025 apart");
        assert!(!is_clearly_below(&[case(&[0.45, 0.47], &[0.44, 0.45])]).holds, ".015 apart");
    }

    #[test]
    fn exact_means_every_run() {
        let cases = |last: f64| [("perfect".to_owned(), vec![1589.23, last])];
        assert!(is_exact(&cases(1589.235), 1589.23).holds);
        let off = is_exact(&cases(1589.25), 1589.23);
        assert!(!off.holds && off.evidence.contains("1 of 2"), "{off:?}");
    }

    #[test]
    fn a_minimal_gap_is_less_than_a_quarter() {
        let cases = |two: f64| [("perfect".to_owned(), [vec![0.5], vec![0.3], vec![two]])];
        assert!(gap_is_minimal(&cases(0.46)).holds, "a fifth");
        assert!(!gap_is_minimal(&cases(0.44)).holds, "three tenths");
        assert!(!gap_is_minimal(&[("perfect".to_owned(), [vec![0.3], vec![0.3], vec![0.3]])]).holds, "no gap at all");
    }

    #[test]
    fn remedies_by_the_share_that_they_restore() {
        let with = |remedy: f64| [Remedied { case: case(&[0.5], &[0.3]), remedies: vec![("it".into(), vec![remedy])] }];
        assert!(restores_most(&with(0.41)).holds && !closes_nothing(&with(0.41)).holds);
        assert!(!restores_most(&with(0.39)).holds && closes_nothing(&with(0.39)).holds);
        let without = [Remedied { case: case(&[0.3], &[0.5]), remedies: vec![("it".into(), vec![0.4])] }];
        assert!(!restores_most(&without).holds && !closes_nothing(&without).holds, "nothing to restore");
    }

    #[test]
    fn no_difference_is_insignificant_or_negligible() {
        // Differences -.02 and .03: t = .2 with one degree of freedom.
        assert!(makes_no_difference(&[case(&[0.4, 0.4], &[0.38, 0.43])]).holds);
        // -.004 and -.004 differ for certain, and it does not matter.
        assert!(makes_no_difference(&[case(&[0.4, 0.41], &[0.396, 0.406])]).holds);
        assert!(!makes_no_difference(&[case(&[0.4, 0.41], &[0.36, 0.37])]).holds);
        assert!(!makes_no_difference(&[case(&[0.4], &[0.4])]).holds, "one run shows nothing");
    }

    #[test]
    fn rising_means_at_every_step() {
        let cases = |last: f64| [("perfect".to_owned(), vec![vec![742.1], vec![778.56], vec![last]])];
        assert!(rises(&cases(798.05)).holds);
        assert!(!rises(&cases(770.0)).holds);
    }
}
