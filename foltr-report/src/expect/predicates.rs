//! Predicates: does a number, a difference, an order or a table come out as expected? What is not a number never does.

use std::collections::BTreeMap;

use super::read::{Along, Expectation, GapClosed, Printed, Spread, number};
use super::select::{Selection, Selector, differences, gap_runs, pairs};
use crate::statistics::{Estimate, GapRun, GapShare, Test, equivalence_p, mean};

const SIGNIFICANT: f64 = 0.05;

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// None: it cannot be judged.
    pub met: Option<bool>,
    pub value: Option<f64>,
    pub values: Vec<(String, f64)>,
    pub expected: String,
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// Our mark of significance, in words.
    pub mark: Option<String>,
    /// Why it cannot be judged, or fails.
    pub note: Option<String>,
    /// Of a cell of a table, beside those of the case.
    pub labels: BTreeMap<String, String>,
}

/// The outcomes of a case: one, or one a printed number; none without runs.
pub fn outcomes(expectation: &Expectation, query: &Selection, n_cases: usize, selector: &Selector<'_>) -> Vec<Outcome> {
    let case = Case { expectation, query, n_cases, selector };
    if let Some(printed) = &expectation.printed {
        return case.printed(printed);
    }
    if let Some(marks) = &expectation.marks {
        return case.marks(marks);
    }
    let outcome = if let Some(along) = &expectation.rises {
        case.ordered(along, 1.0)
    } else if let Some(along) = &expectation.falls {
        case.ordered(along, -1.0)
    } else if let Some(gap) = &expectation.gap_closed {
        case.gap_closed(gap)
    } else if let Some(spread) = &expectation.spread {
        case.spread(spread)
    } else if let Some(bound) = expectation.equivalent {
        case.equivalent(bound)
    } else if let Some(bound) = expectation.clients_below {
        case.clients_below(bound)
    } else {
        case.bounded()
    };
    outcome.into_iter().collect()
}

pub(super) struct Case<'a> {
    pub(super) expectation: &'a Expectation,
    pub(super) query: &'a Selection,
    n_cases: usize,
    pub(super) selector: &'a Selector<'a>,
}

/// Left and right values of runs that belong together; right is 0 without a comparison.
struct Compared(Vec<(f64, f64)>);

impl Compared {
    fn differences(&self) -> Vec<f64> {
        self.0.iter().map(|(left, right)| left - right).collect()
    }

    fn mean(&self) -> f64 {
        mean(&self.differences())
    }

    fn outcome(&self) -> Outcome {
        let differences = self.differences();
        let interval = Estimate::of(&differences).and_then(|estimate| estimate.confidence_interval_95);
        Outcome { value: Some(self.mean()), interval, n: differences.len(), ..Outcome::default() }
    }
}

impl Case<'_> {
    pub(super) fn sides(&self, query: &Selection) -> (Selection, Selection) {
        let side = |side: &Option<Selection>| side.as_ref().map_or_else(|| query.clone(), |side| query.and(side));
        (side(&self.expectation.left), side(&self.expectation.right))
    }

    fn compared(&self, query: &Selection) -> Option<Compared> {
        let Expectation { left, right, .. } = self.expectation;
        let compared = if left.is_none() && right.is_none() {
            self.selector.sample(query).into_values().map(|value| (value, 0.0)).collect()
        } else {
            let (left, right) = self.sides(query);
            pairs(&self.selector.sample(&left), &self.selector.sample(&right))
        };
        (!compared.is_empty()).then_some(Compared(compared))
    }

    fn bounded(&self) -> Option<Outcome> {
        let compared = self.compared(self.query)?;
        let Expectation { at_least, at_most, test, .. } = self.expectation;
        let is_inside = is_between(compared.mean(), *at_least, *at_most);
        let mut outcome = Outcome { met: Some(is_inside), expected: bounds(*at_least, *at_most), ..compared.outcome() };
        if test.is_some() {
            let level = SIGNIFICANT / self.n_cases as f64;
            outcome.expected += &format!(", p < {level:.2e} (paired, Bonferroni-corrected)");
            let (left, right): (Vec<f64>, Vec<f64>) = compared.0.into_iter().unzip();
            let (met, note) = match Test::Paired.compare(&left, &right) {
                Ok(test) => (Some(is_inside && test.p < level), format!("p = {:.2e}", test.p)),
                Err(error) => ((left.len() > 1).then_some(false), error.to_string()),
            };
            (outcome.met, outcome.note) = (met, Some(note));
        }
        Some(outcome)
    }

    fn equivalent(&self, bound: f64) -> Option<Outcome> {
        let compared = self.compared(self.query)?;
        let mut outcome = compared.outcome();
        outcome.expected = format!("equivalent within {bound}");
        let differences = compared.differences();
        if differences.len() < 2 {
            outcome.note = Some("a single pair of runs".into());
        } else {
            let p = equivalence_p(&differences, bound);
            outcome.met = Some(p < SIGNIFICANT);
            outcome.note = Some(format!("two one-sided tests: p = {p:.2e}"));
        }
        Some(outcome)
    }

    fn clients_below(&self, bound: f64) -> Option<Outcome> {
        let (left, right) = self.sides(self.query);
        let (left, right) = (self.selector.clients(&left), self.selector.clients(&right));
        let pairs: Vec<(f64, f64)> =
            left.iter().filter_map(|(client, value)| Some((*value, *right.get(client)?))).collect();
        // What is not a number is below.
        let n_below = pairs.iter().filter(|(left, right)| left.is_nan() || right.is_nan() || left < right).count();
        let share = n_below as f64 / pairs.len() as f64;
        let outcome = Outcome {
            met: Some(share <= bound),
            value: Some(share),
            expected: format!("at most {bound} of the clients below"),
            n: pairs.len(),
            ..Outcome::default()
        };
        (!pairs.is_empty()).then_some(outcome)
    }

    /// Means along an axis; labels without runs are left out.
    fn means(&self, axis: &str, labels: &[String]) -> Vec<(String, f64, usize)> {
        let mean = |label: &String| {
            let compared = self.compared(&self.query.with(axis, label))?;
            Some((label.clone(), compared.mean(), compared.0.len()))
        };
        labels.iter().filter_map(mean).collect()
    }

    fn labels_along(&self, axis: &str) -> Vec<String> {
        self.selector.labels_of(axis, self.query)
    }

    /// `sign` is 1 for rising and -1 for falling.
    fn ordered(&self, along: &Along, sign: f64) -> Option<Outcome> {
        let groups: Vec<Vec<String>> = match &along.order {
            Some(order) => order.iter().map(|group| group.0.clone()).collect(),
            None => self.labels_along(&along.along).into_iter().map(|label| vec![label]).collect(),
        };
        let means: Vec<Vec<(String, f64, usize)>> =
            groups.iter().map(|group| self.means(&along.along, group)).filter(|means| !means.is_empty()).collect();
        if means.is_empty() {
            return None;
        }
        let word = if sign > 0.0 { "rises" } else { "falls" };
        let slack = if along.slack > 0.0 { format!(", slack {}", along.slack) } else { String::new() };
        let ends = if along.ends { " from first to last" } else { "" };
        let mut outcome = Outcome {
            expected: format!("{word} along {}{ends}{slack}", along.along),
            values: means.iter().flatten().map(|(label, mean, _)| (label.clone(), *mean)).collect(),
            n: means.iter().flatten().map(|(_, _, n)| *n).min().unwrap_or(0),
            ..Outcome::default()
        };
        if means.len() < 2 {
            outcome.note = Some(format!("a single label along {}", along.along));
            return Some(outcome);
        }
        let compared: Vec<(&[_], &[_])> = if along.ends {
            vec![(&means[0][..], &means[means.len() - 1][..])]
        } else {
            means.windows(2).map(|two| (&two[0][..], &two[1][..])).collect()
        };
        let step = |before: &(String, f64, usize), next: &(String, f64, usize)| sign * (next.1 - before.1);
        let steps: Vec<f64> = compared
            .iter()
            .flat_map(|(before, next)| before.iter().flat_map(move |a| next.iter().map(move |b| step(a, b))))
            .collect();
        outcome.value = Some(steps.iter().copied().fold(f64::INFINITY, least));
        outcome.met = Some(steps.iter().all(|&step| step > -along.slack));
        Some(outcome)
    }

    fn gap_closed(&self, gap: &GapClosed) -> Option<Outcome> {
        let Expectation { left, right, .. } = self.expectation;
        let value = if left.is_none() && right.is_none() {
            self.selector.sample(self.query)
        } else {
            let (left, right) = self.sides(self.query);
            differences(&self.selector.sample(&left), &self.selector.sample(&right))
        };
        let [from, to] = [&gap.from, &gap.to].map(|end| self.selector.sample(&self.query.and(end)));
        if [&value, &from, &to].iter().any(|sample| sample.is_empty()) {
            return None;
        }
        let n = value.len();
        let mut runs = gap_runs(&value, &from, &to);
        if runs.len() < n {
            // Runs that do not belong together: a share of the means, and no interval.
            let [value, from, to] = [value, from, to].map(|sample| mean(&sample.into_values().collect::<Vec<_>>()));
            runs = vec![GapRun { value, from, to }];
        }
        let means = |of: fn(&GapRun) -> f64| mean(&runs.iter().map(of).collect::<Vec<_>>());
        let GapShare { share, has_gap, confidence_interval_95, .. } = GapShare::of(&runs)?;
        Some(Outcome {
            // Where there is no gap, nothing closes it.
            met: Some(has_gap && is_between(share, gap.at_least, gap.at_most)),
            value: Some(share),
            values: vec![
                ("from".into(), means(|run| run.from)),
                ("value".into(), means(|run| run.value)),
                ("to".into(), means(|run| run.to)),
                ("share".into(), share),
            ],
            expected: format!("share of the gap {}", bounds(gap.at_least, gap.at_most)),
            interval: confidence_interval_95,
            n: n.max(runs.len()),
            ..Outcome::default()
        })
    }

    fn spread(&self, spread: &Spread) -> Option<Outcome> {
        let means = self.means(&spread.along, &self.labels_along(&spread.along));
        if means.is_empty() {
            return None;
        }
        let (low, high) = means.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, mean, _)| {
            (least(low, *mean), -least(-high, -mean))
        });
        let mut outcome = Outcome {
            value: Some(high - low),
            expected: format!("spread along {} {}", spread.along, bounds(spread.at_least, spread.at_most)),
            n: means.iter().map(|(_, _, n)| *n).min().unwrap_or(0),
            ..Outcome::default()
        };
        if means.len() > 1 {
            outcome.met = Some(is_between(high - low, spread.at_least, spread.at_most));
        } else {
            outcome.note = Some(format!("a single label along {}", spread.along));
        }
        outcome.values = means.into_iter().map(|(label, mean, _)| (label, mean)).collect();
        Some(outcome)
    }

    fn printed(&self, printed: &Printed) -> Vec<Outcome> {
        let cells = printed.cells().into_iter();
        cells.filter_map(|(place, value)| self.cell(&place, number(value).filter(|paper| paper.is_finite())?)).collect()
    }

    fn cell(&self, place: &Selection, paper: f64) -> Option<Outcome> {
        let compared = self.compared(&self.query.and(place))?;
        let Expectation { within, within_percent, .. } = self.expectation;
        let tolerance = within.or(within_percent.map(|percent| percent / 100.0 * paper.abs())).unwrap_or(0.0);
        // Numbers are printed with few digits: a difference of exactly the tolerance agrees.
        let met = (compared.mean() - paper).abs() <= tolerance + 1e-12;
        Some(Outcome {
            met: Some(met),
            expected: format!("{paper} ± {tolerance}"),
            labels: place.labels(),
            ..compared.outcome()
        })
    }
}

/// The smaller number; not a number if one is not.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

fn is_between(value: f64, at_least: Option<f64>, at_most: Option<f64>) -> bool {
    !value.is_nan() && at_least.is_none_or(|low| value >= low) && at_most.is_none_or(|high| value <= high)
}

fn bounds(at_least: Option<f64>, at_most: Option<f64>) -> String {
    let parts = [at_least.map(|low| format!("at least {low}")), at_most.map(|high| format!("at most {high}"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
