//! Marks of significance, computed as the paper did and compared with those that it printed.

use super::predicates::{Case, Outcome};
use super::read::{Printed, Test};
use super::select::{Selection, pairs};
use crate::statistics::{TTest, bonferroni, mark, mark_of_one_level};

/// Gains and losses of left at p < .05 and p < .01, no mark, and a mark that cannot be read.
pub const MARKS: [&str; 6] = ["△", "▽", "▲", "▼", "", UNREADABLE];
const UNREADABLE: &str = "?";

impl Case<'_> {
    /// One outcome a cell.
    pub fn marks(&self, table: &Printed) -> Vec<Outcome> {
        let cells = table.cells();
        let n_tests = self.expectation.n_tests.unwrap_or(cells.len());
        // A table without a mark of p < .01 has no such level.
        let has_two_levels = cells.iter().any(|(_, paper)| matches!(paper.as_str(), Some("▲" | "▼")));
        let levels = if has_two_levels { mark } else { mark_of_one_level };
        let cell = |(place, paper): &(Selection, &toml::Value)| {
            self.marked(place, paper.as_str().unwrap_or_default(), n_tests, levels)
        };
        cells.iter().filter_map(cell).collect()
    }

    fn marked(
        &self,
        place: &Selection,
        paper: &str,
        n_tests: usize,
        mark: fn(f64, f64) -> &'static str,
    ) -> Option<Outcome> {
        let (left, right) = self.sides(&self.query.and(place));
        let (left, right) = (self.selector.sample(&left), self.selector.sample(&right));
        if left.is_empty() || right.is_empty() {
            return None;
        }
        let test = self.expectation.test.unwrap_or(Test::Paired);
        let (left, right): (Vec<f64>, Vec<f64>) = match test {
            Test::Paired => pairs(&left, &right).into_iter().unzip(),
            Test::Welch => (left.into_values().collect(), right.into_values().collect()),
        };
        let expected = if paper == UNREADABLE { "mark not readable".into() } else { named(paper) };
        let outcome = Outcome { expected, n: left.len(), labels: place.labels(), ..Outcome::default() };
        let TTest { p, difference, interval_95, .. } = match crate::statistics::Test::from(test).compare(&left, &right)
        {
            Ok(test) => test,
            Err(error) => return Some(Outcome { note: Some(error.to_string()), ..outcome }),
        };
        let corrected_p = bonferroni(p, n_tests);
        let ours = mark(difference, corrected_p);
        Some(Outcome {
            met: (paper != UNREADABLE).then_some(ours == paper),
            value: Some(difference),
            interval: Some(interval_95),
            mark: Some(format!("{} (p = {corrected_p:.2e})", named(ours))),
            note: (paper == UNREADABLE).then(|| "the mark of the paper is not known".into()),
            ..outcome
        })
    }
}

fn named(mark: &str) -> String {
    if mark.is_empty() { "no mark".into() } else { mark.into() }
}

#[cfg(test)]
mod tests {
    use crate::expect::tests::{judge, problems, verdicts};
    use crate::expect::{Verdict, text};
    use Verdict::{Agrees, Differs, NotComparable};

    /// With four interactions perfect users gain .01, informational ones lose as much and navigational ones gain .0001; seeds
    /// scatter by .001 around it, and by .1 around the level that both numbers of interactions share.
    fn value(users: &str, interactions: u32, seed: u64, _: usize) -> f64 {
        let gain = match users {
            "perfect" => 0.01,
            "navigational" => 0.0001,
            _ => -0.01,
        };
        let scatter = seed as f64 - 2.0;
        0.5 + 0.1 * scatter + if interactions == 4 { gain + 0.001 * scatter } else { 0.0 }
    }

    fn expect(test: &str, marks: &str, more: &str) -> String {
        format!(
            "left = {{ 'clients.interactions' = 4 }}
            right = {{ 'clients.interactions' = 2 }}
            test = '{test}'\n{more}
            marks = {{ columns = 'users.preset', order = ['perfect', 'navigational', 'informational'], values = {marks} }}"
        )
    }

    #[test]
    fn marks_are_compared_cell_by_cell() {
        // t = .01 / (.001 / sqrt(3)) = 17.3 with two degrees of freedom: p = .0033, .0099 after three tests.
        let paired = |marks| verdicts(&expect("paired", marks, ""), &value);
        assert_eq!(paired("['▲', '', '▼']"), [Agrees, Agrees, Agrees]);
        assert_eq!(paired("['▼', '▲', '']"), [Differs, Differs, Differs], "other direction, missing, unexpected");
        // One level: what is below .01 has the mark of .05.
        assert_eq!(paired("['△', '', '▽']"), [Agrees, Agrees, Agrees]);
        assert_eq!(paired("['▲', '?', '▽']"), [Agrees, NotComparable, Differs]);
    }

    #[test]
    fn independent_samples_scatter_as_runs_do() {
        // The scatter of .1 that pairs share hides a gain of .01.
        assert_eq!(verdicts(&expect("welch", "['△', '', '▽']", ""), &value), [Differs, Agrees, Differs]);
        assert_eq!(verdicts(&expect("welch", "['', '', '']", ""), &value), [Agrees; 3]);
    }

    #[test]
    fn the_number_of_tests_decides_what_is_significant() {
        let of_tests = |n| verdicts(&expect("paired", "['▲', '', '']", &format!("n_tests = {n}")), &value);
        assert_eq!(of_tests(1), [Agrees, Agrees, Differs]);
        // p = .0033 * 4 is above .01, and below .05; .0033 * 16 is above both.
        assert_eq!(of_tests(4), [Differs, Agrees, Differs]);
        assert_eq!(of_tests(16), [Differs, Agrees, Agrees]);
    }

    #[test]
    fn both_marks_are_printed() {
        let judged = judge(&expect("paired", "['', '', '▼']", ""), &value);
        assert_eq!((judged[0].expected.as_str(), judged[0].mark.as_deref()), ("no mark", Some("▲ (p = 9.95e-3)")));
        assert!((judged[0].value.expect("a difference") - 0.01).abs() < 1e-12);
        let text = text(&judged);
        assert!(text.contains("▲ (p = 9.95e-3)") && text.contains("no mark (p = 1.00e0)"), "{text}");
    }

    #[test]
    fn what_cannot_be_marked_is_refused() {
        let refusal = |expect: &str| problems(&format!("metric = 'test-ndcg@10'\n{expect}")).join("; ");
        assert!(refusal(&expect("paired", "['*', '', '']", "")).contains("is not one of"), "unknown mark");
        assert!(refusal(&expect("paired", "['', '']", "")).contains("2 marks for 3 columns"));
        assert!(refusal(&expect("paired", "['', '', '']", "n_tests = 0")).contains("at least 1"));
        let untested = expect("paired", "['', '', '']", "").replace("test = 'paired'", "");
        assert!(refusal(&untested).contains("requires `test`"));
        let welch = "left = { 'clients.interactions' = 4 }\ntest = 'welch'\nat_least = 0.0";
        assert!(refusal(welch).contains("\"paired\""));
    }
}
