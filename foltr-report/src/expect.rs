//! Expectations: what a study says should come out, judged on its results (`docs/expectations.md`).

mod check;
mod figure;
mod predicates;
mod read;
mod reduce;
mod select;
mod verdict;

use foltr_experiment::results::Results;
use foltr_experiment::spec::Problem;
use foltr_experiment::study::{COLLECTION_AXIS, Study};

pub use figure::{Drawn, FigureSpec};
pub use read::{DataLevel, Expectation};
pub use reduce::At;
pub use select::{Labels, Query, Selection, Selector};
pub use verdict::{Judgement, Verdict, text};

use predicates::Outcome;
use read::QuickMode;

/// What is judged and drawn of a study.
#[derive(Clone, Debug, Default)]
pub struct Criteria {
    pub expectations: Vec<Expectation>,
    pub figures: Vec<FigureSpec>,
}

impl Criteria {
    /// Reads and checks all expectations and figures of a study, before anything runs.
    ///
    /// # Errors
    /// With everything that is wrong with them, by line.
    pub fn read(study: &Study) -> Result<Self, Vec<Problem>> {
        let scope = check::Scope::of(study);
        let mut problems = Vec::new();
        let figures = figure::read(study, &scope, &mut problems);
        let mut expectations = Vec::new();
        for block in &study.expectations {
            let Some(expectation) = block.read::<Expectation>(&mut problems) else { continue };
            scope.check(&expectation, &block.place, &mut problems);
            expectations.push(expectation);
        }
        if problems.is_empty() { Ok(Self { expectations, figures }) } else { Err(study.located(problems)) }
    }

    pub fn is_empty(&self) -> bool {
        self.expectations.is_empty() && self.figures.is_empty()
    }

    /// Judges the expectations that are about the study's entry.
    pub fn judge(&self, study: &Study, results: &Results) -> Vec<Judgement> {
        let selector = Selector::of(study, results);
        let asked = self.expectations.iter().filter(|one| one.is_about(study));
        asked.flat_map(|one| judge_one(one, study, &selector)).collect()
    }

    /// Draws the figures that are about the study's entry, with their names.
    pub fn draw(&self, study: &Study, results: &Results) -> Vec<(String, Drawn)> {
        figure::draw(&self.figures, study, results)
    }
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
            judgements.push(conclude(expectation, study, case, outcome, data.map(|(name, _)| name), not_comparable));
        }
    }
    if judgements.is_empty() {
        let outcome = Outcome { note: Some("no runs".into()), ..Outcome::default() };
        judgements.push(conclude(expectation, study, &Selection::default(), outcome, None, None));
    }
    judgements
}

fn conclude(
    expectation: &Expectation,
    study: &Study,
    case: &Selection,
    outcome: Outcome,
    collection: Option<&str>,
    not_comparable: Option<String>,
) -> Judgement {
    let is_number = expectation.printed.is_some();
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
        n: outcome.n,
        because,
        data: study.collection(collection).map(|(_, data)| data.name.clone()),
        quick: study.is_quick,
    }
}

#[cfg(test)]
mod tests;
