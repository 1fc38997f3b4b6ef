//! Table 2 of `KO19`: how much a privatised MaxRR reveals in one interaction, by enumeration of all 243 lists of five
//! documents.
//!
//! Deviation from the released script, which compares only the first value: the maximum is over all values, as in the
//! paper's text and its printed numbers (spec section 5).

use anyhow::Result;
use foltr_federation::privacy::{certain_outcomes, privacy_loss};
use foltr_rank::metric::first_click_law;
use foltr_simulation::click::{Cascade, Preset, SimulatedUser};

use super::judgement;
use foltr_experiment::spec::label;
use foltr_experiment::study::Entry;
use foltr_report::expect::{Judgement, Verdict};

const ID: &str = "foltr-es-table-2";

pub fn table_2_entry() -> Entry {
    let title = "Epsilon of privatised MaxRR by enumeration of all lists".into();
    Entry { id: ID.into(), paper: "KO19".into(), item: "Table 2".into(), title, ..Entry::default() }
}

const LIST_LENGTH: u32 = 5;
const N_GRADES: u32 = 3;
const PROBABILITIES: [f64; 6] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// The bound and perfect users share the first row.
const PRINTED: [(Preset, [f64; 6]); 3] = [
    (Preset::Perfect, [0.51, 1.61, 2.71, 3.81, 4.55, 6.20]),
    (Preset::Navigational, [0.47, 1.52, 2.58, 3.65, 4.39, 6.00]),
    (Preset::Informational, [0.28, 1.00, 1.70, 2.56, 3.13, 4.39]),
];

/// Half a unit of the last printed digit.
const TOLERANCE: f64 = 0.005;

fn first_click_laws(preset: Preset) -> Result<Vec<Vec<f64>>> {
    let users = Cascade::preset(preset, (N_GRADES - 1) as u8)?;
    let law = |number: u32| {
        let labels = (0..LIST_LENGTH).map(|position| (number / N_GRADES.pow(position) % N_GRADES) as u8);
        first_click_law(&labels.map(|label| users.click_probability(0, label)).collect::<Vec<_>>())
    };
    Ok((0..N_GRADES.pow(LIST_LENGTH)).map(law).collect())
}

pub fn table_2() -> Result<Vec<Judgement>> {
    let bounds = PROBABILITIES.map(|p| privacy_loss(&certain_outcomes(LIST_LENGTH as usize + 1), p));
    let mut judgements = row("bound", bounds, PRINTED[0].1);
    let mut below = Vec::new();
    for (preset, printed) in PRINTED {
        let laws = first_click_laws(preset)?;
        let ours = PROBABILITIES.map(|p| privacy_loss(&laws, p));
        judgements.extend(row(&label(&preset), ours, printed));
        let gaps = bounds.iter().zip(ours).map(|(bound, ours)| bound - ours);
        below.push(gaps.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), gap| (low.min(gap), high.max(gap))));
    }
    let [perfect, navigational, informational] = below[..] else { anyhow::bail!("three kinds of users") };
    judgements.extend([
        finding("perfect", "perfect users reach the bound", perfect.1.abs() < 1e-9, perfect.1),
        finding(
            "navigational",
            "navigational users stay .04 to .21 below the bound",
            navigational.0 >= 0.04 && navigational.1 <= 0.21,
            navigational.1,
        ),
        finding(
            "informational",
            "informational users stay further below the bound, up to five times",
            informational.0 > navigational.0 && informational.1 > 5.0 * navigational.1,
            informational.1,
        ),
    ]);
    Ok(judgements)
}

fn row(users: &str, ours: [f64; 6], printed: [f64; 6]) -> Vec<Judgement> {
    let cell = |((p, ours), paper): ((&f64, f64), f64)| {
        let verdict = if (ours - paper).abs() <= TOLERANCE { Verdict::Agrees } else { Verdict::Differs };
        let case = [("users", users), ("p", &p.to_string())];
        let expected = format!("{paper} ± {TOLERANCE}");
        Judgement { expected, ..judgement(ID, "printed numbers", &case, verdict, ours) }
    };
    PROBABILITIES.iter().zip(ours).zip(printed).map(cell).collect()
}

fn finding(users: &str, says: &str, holds: bool, value: f64) -> Judgement {
    let verdict = if holds { Verdict::Holds } else { Verdict::Fails };
    Judgement { finding: Some(5), ..judgement(ID, says, &[("users", users)], verdict, value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_printed_numbers_agree_and_the_finding_holds() {
        let judgements = table_2().expect("three grades");
        assert_eq!(judgements.len(), 4 * 6 + 3);
        let failures: Vec<&Judgement> = judgements.iter().filter(|one| one.verdict.is_failure()).collect();
        assert!(failures.is_empty(), "{failures:#?}");
    }
}
