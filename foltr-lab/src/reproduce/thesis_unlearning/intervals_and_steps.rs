//! Table 6.2 of `W24`: how often must updates be stored, and how long must clients work?

use anyhow::Result;
use foltr_federation::Unlearning;
use foltr_federation::unlearn::{FedEraser, Variant};
use serde::{Deserialize, Serialize};

use super::reading::{self, BySetting, Unlearnt};
use super::{INTERVALS, INTERVALS_AND_STEPS, Place, STEPS, configuration, notes, of_users, printed, why};
use crate::reproduce::Study;
use crate::reproduce::each::{Done, Task};
use crate::reproduce::forgetting::Federation;
use crate::reproduce::series::{BY_USERS, in_words};
use crate::reproduce::study::mean;
use crate::results::Results;
use crate::run::Stage;
use crate::table::table;

/// Differences that still agree. Means of fifteen runs on the same folds differ by a few thousandths between two sets
/// of seeds; the rest is for what the thesis does not say, such as the scaling of features.
const TOLERANCE: f64 = 0.015;

/// Twelve ways to forget the marked client, from one training.
#[derive(Serialize, Deserialize)]
struct Forgotten {
    /// By steps and interval: nDCG@10 on test queries.
    values: [[f64; 3]; 4],
    /// With one thread.
    training_seconds: f64,
    unlearning_seconds: f64,
}

/// Trains once and forgets in every way.
fn forget(task: &Task<'_>) -> Result<Forgotten> {
    let stage = Stage::new(&task.setting.experiment, task.fold, task.seed)?;
    let federation = Federation::new(task, &stage)?;
    let trained = federation.train(&federation.settings)?;
    let (mut values, mut seconds) = ([[0.0; 3]; 4], 0.0);
    for (values, steps) in values.iter_mut().zip(STEPS) {
        for (value, interval) in values.iter_mut().zip(INTERVALS) {
            let method = Unlearning::FedEraser(FedEraser { interval, steps, variant: Variant::Thesis });
            let forgot = federation.forget(&trained, &method, &[0], 0)?;
            *value = federation.quality(&[forgot.params])[0];
            seconds += forgot.price.seconds;
        }
    }
    Ok(Forgotten { values, training_seconds: trained.price.seconds, unlearning_seconds: seconds })
}

/// Both kinds of runs on a collection.
struct Ran {
    configurations: Results,
    forgotten: Vec<Done<Forgotten>>,
}

impl Ran {
    fn of(study: &mut Study<'_>, place: &Place) -> Result<Self> {
        let mut overrides = place.overrides(study);
        // The twelve settings have one training: the file's lists are gone through in `forget`.
        overrides.push("unlearning.method={ kind = \"fed-eraser\", interval = 5, steps = 4 }".into());
        let forgotten = study.each(&place.folder(INTERVALS_AND_STEPS), INTERVALS_AND_STEPS.text, &overrides, forget)?;
        Ok(Self { configurations: place.configurations(study)?, forgotten })
    }

    fn unlearnt(&self, users: &'static str) -> Result<Unlearnt> {
        let mut by_setting = BySetting::default();
        for done in self.forgotten.iter().filter(|done| done.is(BY_USERS.axis, users)) {
            for (runs, values) in by_setting.iter_mut().zip(done.value.values) {
                runs.iter_mut().zip(values).for_each(|(runs, value)| runs.push(value));
            }
        }
        let last = |name: &'static str| configuration(&self.configurations, name).last(&BY_USERS, users);
        Ok(Unlearnt { users, marked: last("9H-1M")?, retrained: last("9H-0M")?, by_setting })
    }

    /// Time with one thread.
    fn seconds(&self) -> [f64; 2] {
        let sum = |of: fn(&Forgotten) -> f64| self.forgotten.iter().map(|done| of(&done.value)).sum();
        [sum(|it| it.training_seconds), sum(|it| it.unlearning_seconds)]
    }
}

/// The table, and findings 23 to 25.
pub fn table_2(study: &mut Study<'_>) -> Result<()> {
    let places = Place::all(study);
    for place in &places {
        let ran = Ran::of(study, place)?;
        let all = of_users(|users| ran.unlearnt(users))?;
        study.table(&format!("{}: nDCG@10 on test queries, last rankers", place.data.name), &shown(&all));
        cells(study, place, &all);
        place.conclude(study, 23, reading::near_retraining(&all), Some(why::STILL_LEARNING));
        place.conclude(study, 23, reading::gap_is_closed(&all), None);
        place.conclude(study, 24, reading::falls(&all), None);
        place.conclude(study, 25, reading::better_than_before(&all), None);
        let [training, unlearning] = ran.seconds();
        study.note(format!(
            "{}: {training:.1} s of training and {unlearning:.1} s of unlearning, with one thread",
            place.data.name
        ));
    }
    notes(study, &places);
    Ok(())
}

fn shown(all: &[Unlearnt]) -> String {
    let mut lines = Vec::new();
    for case in all {
        let line = |name: String, values: [String; 3]| -> Vec<String> {
            [case.users.to_owned(), name].into_iter().chain(values).collect()
        };
        lines.push(line("9H-0M".into(), std::array::from_fn(|_| in_words(&case.retrained, 4))));
        for (steps, by_interval) in STEPS.iter().zip(&case.by_setting) {
            let values = std::array::from_fn(|interval| in_words(&by_interval[interval], 4));
            lines.push(line(format!("U(9H-1M), {steps} steps"), values));
        }
        lines.push(line("9H-1M".into(), std::array::from_fn(|_| in_words(&case.marked, 4))));
    }
    table(&["users", "ranker", "interval 5", "interval 10", "interval 20"], 2, lines)
}

/// Ours beside the printed numbers.
fn cells(study: &mut Study<'_>, place: &Place, all: &[Unlearnt]) {
    let Some(printed) = printed::of(place.wanted) else { return };
    let short = study.is_quick().then(|| "2 000 rounds instead of 10 000".to_owned());
    let why = place.data.why_not(place.wanted).or(short);
    for (case, printed) in all.iter().zip(printed) {
        let mut cell = |name: String, paper: f64, runs: &[f64]| {
            let cell = format!("{} {} {name}", place.wanted.name(), case.users);
            match &why {
                Some(why) => study.not_comparable(cell, Some(paper), mean(runs), why),
                None => study.cell_of_runs(cell, paper, runs, TOLERANCE),
            }
        };
        cell("9H-0M".into(), printed.retrained, &case.retrained);
        for (steps, (papers, ours)) in STEPS.iter().zip(printed.unlearned.iter().zip(&case.by_setting)) {
            for (interval, (&paper, runs)) in INTERVALS.iter().zip(papers.iter().zip(ours)) {
                cell(format!("interval {interval}, {steps} steps"), paper, runs);
            }
        }
    }
}
