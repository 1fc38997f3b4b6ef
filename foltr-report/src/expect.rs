//! Expectations: what a study says should come out, judged on its results (`docs/expectations.md`).

mod check;
pub(crate) mod figure;
mod marks;
mod predicates;
mod read;
pub(crate) mod reduce;
pub(crate) mod select;
mod verdict;

use foltr_experiment::results::Results;
use foltr_experiment::spec::Problem;
use foltr_experiment::study::{COLLECTION_AXIS, Names, Study};

pub use figure::Drawn;
pub use reduce::{At, Basis};
pub use verdict::{Judgement, Verdict, text};

use crate::distinct;
use crate::plot::Format;
use check::Checker;
use figure::{Drawing, FigureSpec};
use predicates::Outcome;
use read::{Expectation, QuickMode};
use select::{Selection, Selector};

#[derive(Clone, Debug, Default)]
pub struct Criteria {
    expectations: Vec<Expectation>,
    figures: Vec<FigureSpec>,
}

impl Criteria {
    /// Reads and checks all expectations and figures of a study, before anything runs: all problems, by line.
    pub fn read(study: &Study) -> Result<Self, Vec<Problem>> {
        let mut checker = Checker::of(study);
        let mut criteria = Self::default();
        for block in &study.figures {
            let Some(figure) = block.read::<FigureSpec>(&mut checker.problems) else { continue };
            checker.block.clone_from(&block.place);
            figure.check(&mut checker, &criteria.figures);
            criteria.figures.push(figure);
        }
        for block in &study.expectations {
            let Some(expectation) = block.read::<Expectation>(&mut checker.problems) else { continue };
            checker.block.clone_from(&block.place);
            checker.check(&expectation);
            criteria.expectations.push(expectation);
        }
        if checker.problems.is_empty() { Ok(criteria) } else { Err(study.located(checker.problems)) }
    }

    pub fn is_empty(&self) -> bool {
        self.expectations.is_empty() && self.figures.is_empty()
    }

    pub fn judge(&self, study: &Study, results: &Results) -> Vec<Judgement> {
        let selector = selector(study, results);
        let asked = self.expectations.iter().filter(|one| one.is_about(study));
        asked.flat_map(|one| judge_one(one, study, &selector)).collect()
    }

    /// Name, figure or table, and how it is to be set.
    pub fn draw(&self, study: &Study, results: &Results) -> Vec<(String, Drawn, Format)> {
        let selector = selector(study, results);
        let asked = self.figures.iter().filter(|figure| is_about(&figure.entry, &figure.only_on, study));
        let draw = |figure: &FigureSpec| {
            let drawn = Drawing::of(figure, &study.collections, &selector).draw();
            (figure.name.clone(), drawn, figure.format())
        };
        asked.map(draw).collect()
    }
}

fn selector<'a>(study: &'a Study, results: &'a Results) -> Selector<'a> {
    Selector::of(results, study.collections.first().map(|(name, _)| name.as_str()))
}

fn is_about(entries: &Names, only_on: &Names, study: &Study) -> bool {
    (only_on.0.is_empty() || study.collections.iter().any(|(name, _)| only_on.allow(Some(name))))
        && entries.allow(study.entry.as_ref().map(|entry| entry.id.as_str()))
}

fn judge_one(expectation: &Expectation, study: &Study, selector: &Selector<'_>) -> Vec<Judgement> {
    let cases = expectation.cases(selector);
    let n_cases = cases.len();
    let mut judgements = Vec::new();
    for case in &cases {
        let collection = case.one(COLLECTION_AXIS).or_else(|| expectation.fixed.one(COLLECTION_AXIS));
        let data = study.collection(collection).map(|(name, data)| (name.as_str(), data));
        if data.is_some_and(|(name, _)| !expectation.only_on.allow(Some(name))) {
            continue;
        }
        let query = expectation.query(case);
        for outcome in predicates::outcomes(expectation, &query, n_cases, selector) {
            let not_comparable = data.and_then(|(_, data)| expectation.level().refuses(data));
            let not_comparable = not_comparable.or_else(|| different_lengths(expectation, &query, selector));
            judgements.push(conclude(expectation, study, case, outcome, data.map(|(name, _)| name), not_comparable));
        }
    }
    if judgements.is_empty() {
        let outcome = Outcome { note: Some("no runs".into()), ..Outcome::default() };
        judgements.push(conclude(expectation, study, &Selection::default(), outcome, None, None));
    }
    judgements
}

/// Why sums over the rounds of different runs say nothing about which is better; none if the runs are equally long. A
/// printed number is compared with runs of its own setting only.
fn different_lengths(expectation: &Expectation, query: &Selection, selector: &Selector<'_>) -> Option<String> {
    if expectation.printed.is_some() {
        return None;
    }
    let sides = [&expectation.left, &expectation.right].map(|side| side.as_ref().map(|side| query.and(side)));
    let bases = sides.into_iter().map(|side| side.unwrap_or_else(|| query.clone())).flat_map(|side| {
        let at = side.at.clone().unwrap_or_default();
        selector.settings(&side).into_iter().map(move |setting| at.basis(selector.results, setting)).collect::<Vec<_>>()
    });
    let bases = distinct(bases);
    (bases.len() > 1)
        .then(|| "discounted sums of runs with different numbers of rounds or interactions are not comparable".into())
}

fn conclude(
    expectation: &Expectation,
    study: &Study,
    case: &Selection,
    outcome: Outcome,
    collection: Option<&str>,
    not_comparable: Option<String>,
) -> Judgement {
    let is_number = expectation.is_of_a_table();
    let is_reported = study.is_quick && expectation.quick == QuickMode::Report;
    let because = || expectation.because(collection, study.is_quick);
    let (verdict, because) = match outcome.met {
        _ if not_comparable.is_some() => (Verdict::unjudged(is_number), not_comparable),
        None => (Verdict::unjudged(is_number), outcome.note),
        _ if is_reported => (Verdict::unjudged(is_number), Some("a small budget".into())),
        Some(true) => (if is_number { Verdict::Agrees } else { Verdict::Holds }, None),
        Some(false) => match because() {
            Some(because) => (Verdict::Explained, Some(because.to_owned())),
            None => (if is_number { Verdict::Differs } else { Verdict::Fails }, outcome.note),
        },
    };
    let mut labels = case.labels();
    labels.extend(outcome.labels);
    Judgement {
        entry: study.entry.as_ref().map(|entry| entry.id.clone()),
        says: expectation.says.clone(),
        finding: expectation.finding,
        case: labels,
        verdict,
        value: outcome.value.filter(|value| value.is_finite()),
        values: outcome.values,
        expected: outcome.expected,
        interval: outcome.interval,
        mark: outcome.mark,
        n: outcome.n,
        because,
        data: study.collection(collection).map(|(_, data)| data.name.clone()),
        quick: study.is_quick,
    }
}

#[cfg(test)]
mod tests;
