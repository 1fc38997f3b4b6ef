//! `at`: from the course of a metric in one run to one number.

use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::MetricName;
use foltr_rank::metric::{ONLINE_DISCOUNT, online_performance};
use serde::Deserialize;
use toml::Value;

use crate::statistics::mean;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum At {
    #[default]
    Final,
    /// The sum over rounds of .9995^round times the value (spec section 3); none where rows are means over rounds.
    DiscountedSum,
    /// The papers' formula: the sum over interactions of .9995^interaction times the value, from 0. Rows are means over the
    /// interactions of a round, which therefore all count as that mean.
    DiscountedByInteraction,
    /// The value of a round, or of the last one before it.
    Round(usize),
    /// The same after a share of all rounds.
    Share(f64),
    /// The mean over a part of the course, as shares of it.
    Part(f64, f64),
    /// The mean over rounds, both included.
    Rounds(usize, usize),
    /// By how much it changed from the first to the second.
    Change(Box<(At, At)>),
}

/// What a number depends on beside the quality of lists. Only numbers of equal bases can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    Any,
    Rounds { n_rounds: usize, per_round: usize },
    Interactions(usize),
}

impl Basis {
    pub fn describe(&self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Rounds { n_rounds, per_round } => format!("{n_rounds} rounds of {per_round} interactions"),
            Self::Interactions(n) => format!("{n} interactions"),
        }
    }
}

impl At {
    pub fn basis(&self, results: &Results, setting: usize) -> Basis {
        let schedule = results.grid.settings[setting].experiment.schedule();
        let (n_rounds, per_round) = schedule.map_or((0, 0), |it| (it.n_rounds, it.interactions_per_round()));
        match self {
            Self::DiscountedSum => Basis::Rounds { n_rounds, per_round },
            Self::DiscountedByInteraction => Basis::Interactions(n_rounds * per_round),
            _ => Basis::Any,
        }
    }
}

impl TryFrom<Value> for At {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let share = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
        let read = match &value {
            Value::String(word) => match word.as_str() {
                "final" => Some(Self::Final),
                "mean" => Some(Self::Part(0.0, 1.0)),
                "last-fifth" => Some(Self::Part(0.8, 1.0)),
                "last-tenth" => Some(Self::Part(0.9, 1.0)),
                "discounted-sum" => Some(Self::DiscountedSum),
                "discounted-by-interaction" => Some(Self::DiscountedByInteraction),
                _ => None,
            },
            Value::Integer(round) => usize::try_from(*round).ok().map(Self::Round),
            Value::Float(share) if (0.0..=1.0).contains(share) => Some(Self::Share(*share)),
            Value::Array(ends) => match ends.iter().map(share).collect::<Option<Vec<f64>>>().as_deref() {
                Some(&[from, to]) if (0.0..=1.0).contains(&from) && from < to && to <= 1.0 => {
                    Some(Self::Part(from, to))
                }
                _ => None,
            },
            Value::Table(table) => Self::of_table(table)?,
            _ => None,
        };
        let allowed = "\"final\", \"mean\", \"last-fifth\", \"last-tenth\", \"discounted-sum\", \
                       \"discounted-by-interaction\", a round, a share of the rounds, [from, to] as shares of the course, { rounds = [from, to] }, or { from = ..., to = ... }";
        read.ok_or_else(|| format!("unknown value; expected one of {allowed}"))
    }
}

impl At {
    fn of_table(table: &toml::Table) -> Result<Option<Self>, String> {
        let at = |key: &str| table.get(key).cloned().map(Self::try_from).transpose();
        Ok(match (table.len(), table.get("rounds"), at("from")?, at("to")?) {
            (1, Some(Value::Array(rounds)), ..) => {
                let rounds = rounds.iter().map(|round| usize::try_from(round.as_integer()?).ok());
                match rounds.collect::<Option<Vec<usize>>>().as_deref() {
                    Some(&[from, to]) if from <= to => Some(Self::Rounds(from, to)),
                    _ => None,
                }
            }
            (2, None, Some(from), Some(to)) => Some(Self::Change(Box::new((from, to)))),
            _ => None,
        })
    }

    /// The number of a run; none if it was not measured.
    pub fn of(&self, run: &Run, metric: MetricName) -> Option<f64> {
        let course = run.rows.course(metric);
        let values = || course.iter().map(|(_, value)| *value);
        let (last_round, last) = *course.last()?;
        let value_at = |round: usize| course.iter().rfind(|(at, _)| *at <= round).map(|(_, value)| *value);
        Some(match *self {
            Self::Final => last,
            Self::DiscountedSum => {
                is_of_single_rounds(&course, metric).then(|| online_performance(&values().collect::<Vec<_>>()))?
            }
            Self::DiscountedByInteraction => {
                let is_known = is_of_single_rounds(&course, metric) && run.n_interactions > 0;
                is_known.then(|| by_interaction(&course, run.n_interactions as f64 / last_round as f64))?
            }
            Self::Round(round) => value_at(round)?,
            Self::Share(share) => value_at((share * last_round as f64).round() as usize)?,
            Self::Part(from, to) => {
                let n = course.len();
                // At least one value, however short the course.
                let start = ((from * n as f64) as usize).min(n - 1);
                let end = ((to * n as f64) as usize).clamp(start + 1, n);
                values().skip(start).take(end - start).sum::<f64>() / (end - start) as f64
            }
            Self::Rounds(from, to) => {
                let inside = course.iter().filter(|(round, _)| (from..=to).contains(round)).map(|(_, value)| *value);
                let inside: Vec<f64> = inside.collect();
                (!inside.is_empty()).then(|| mean(&inside))?
            }
            Self::Change(ref ends) => ends.1.of(run, metric)? - ends.0.of(run, metric)?,
        })
    }
}

/// Sum over rounds r, from 1, of the round's mean times the sum of .9995^t over its interactions t.
fn by_interaction(course: &[(usize, f64)], per_round: f64) -> f64 {
    let discount_of = |round: usize| {
        let (before, after) = ((round as f64 - 1.0) * per_round, round as f64 * per_round);
        (ONLINE_DISCOUNT.powf(before) - ONLINE_DISCOUNT.powf(after)) / (1.0 - ONLINE_DISCOUNT)
    };
    course.iter().map(|&(round, value)| value * discount_of(round)).sum()
}

/// Whether a measure of rounds has rows of single rounds, and not of means over several. Rounds may lack a row: those that
/// nobody came to.
fn is_of_single_rounds(course: &[(usize, f64)], metric: MetricName) -> bool {
    metric.split().is_some() || course[0].0 <= 1 || course.windows(2).any(|two| two[1].0 - two[0].0 == 1)
}

#[test]
fn two_rounds_of_two_interactions_by_hand() {
    // 1 * (1 + g) + 0.5 * (g^2 + g^3) with g = .9995.
    let g = ONLINE_DISCOUNT;
    let expected = 1.0 + g + 0.5 * (g * g + g * g * g);
    assert!((by_interaction(&[(1, 1.0), (2, 0.5)], 2.0) - expected).abs() < 1e-9);
    // With one interaction a round both sums are the same, also where nobody came to a round.
    let course = [(1, 0.3), (2, 0.4), (3, 0.5)];
    assert!((by_interaction(&course, 1.0) - online_performance(&course.map(|(_, value)| value))).abs() < 1e-9);
    assert!((by_interaction(&[(1, 0.3), (3, 0.5)], 1.0) - (0.3 + 0.5 * g * g)).abs() < 1e-9);
}
