//! How small an error does a row of the audit detect? The smallest of a ladder of factors that 19 of 20 audits detect.
//!
//! Measuring takes about as long as twenty audits, so what was measured is a file, `docs/audit-power.md`, which is compiled
//! in and printed beside every row.

use foltr_rank::rng::Streams;
use indicatif::ProgressBar;

use super::inversion::{self, Scene};
use super::{AuditBudget, Expected, Verdict, rows};

/// What was measured, with its date.
const MEASURED: &str = include_str!("../../docs/audit-power.md");
/// What comes before the date.
const DATE: &str = "Measured on ";

/// Factors by which noise is too small, or epsilon or a clip too large.
const FACTORS: [f64; 17] =
    [1.000_01, 1.001, 1.01, 1.02, 1.03, 1.04, 1.05, 1.07, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0];
/// The same for attacks on messages, which take longer and find less.
const INVERSION_FACTORS: [f64; 5] = [1.5, 2.0, 4.0, 8.0, 16.0];
const N_AUDITS: u32 = 20;
const MOST_MISSED: u32 = 1;

/// A row, and the smallest error that it detects; none if it detects none of the ladder.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Detection {
    pub row: String,
    pub error: Option<String>,
}

/// The smallest error that this row detects, if it was measured.
pub fn detects(row: &str) -> Option<String> {
    let cell = |line: &str| line.strip_prefix("| ")?.strip_prefix(row)?.strip_prefix(" | ").map(str::to_owned);
    MEASURED.lines().find_map(cell).map(|cell| cell.trim_end_matches(" |").to_owned())
}

/// The day of the measurement.
pub fn date() -> &'static str {
    let from = MEASURED.find(DATE).map_or("", |at| &MEASURED[at + DATE.len()..]);
    from.split(|c: char| c != '-' && !c.is_ascii_digit()).next().unwrap_or("")
}

/// Measures all sound rows whose name has `only` in it, and calls `show` with each as soon as it is known.
pub fn measure(scene: &Scene, seed: u64, only: &str, mut show: impl FnMut(&Detection)) -> Vec<Detection> {
    let mut detections = Vec::new();
    let mut add = |detection: Detection| {
        show(&detection);
        detections.push(detection);
    };
    for (number, row) in (0..).zip(rows()).filter(|(_, row)| row.expected == Expected::Sound && row.name.contains(only))
    {
        let detects = |factor, audit: u32| {
            let streams = Streams::new(seed.wrapping_add(u64::from(audit)));
            let finding = row.examine(factor, &streams, number, AuditBudget::FULL, &ProgressBar::hidden());
            finding.verdict == Verdict::Violated
        };
        add(Detection { row: row.name.clone(), error: smallest(row.error, &FACTORS, detects) });
    }
    for (row, error, invert) in inversion::with_errors(scene).into_iter().filter(|(row, ..)| row.contains(only)) {
        let detects = |factor, audit| {
            let inversion = invert(factor, audit);
            inversion.lower_limit > inversion.chance
        };
        add(Detection { row, error: smallest(error, &INVERSION_FACTORS, detects) });
    }
    detections
}

/// The first factor that enough audits detect, from the first on that one audit detects, which is found by halving: a
/// factor may then be said to be a step larger than it is, never smaller.
fn smallest(error: &str, factors: &[f64], detects: impl Fn(f64, u32) -> bool) -> Option<String> {
    let first = factors.partition_point(|&factor| !detects(factor, 0));
    let is_detected = |factor: &&f64| {
        let mut n_missed = 0;
        (0..N_AUDITS).all(|audit| {
            n_missed += u32::from(!detects(**factor, audit));
            n_missed <= MOST_MISSED
        })
    };
    factors[first..].iter().find(is_detected).map(|factor| format!("{error} {factor}"))
}

/// The text of `docs/audit-power.md`.
pub fn text(detections: &[Detection], date: &str, data_name: &str) -> String {
    let line = |detection: &Detection| {
        let error = detection.error.as_deref().unwrap_or("no error that was tried");
        format!("| {} | {error} |\n", detection.row)
    };
    format!(
        "# What the audit detects\n\n\
         {DATE}{date} by `foltr audit --power`, lists of {data_name}: for every row of `foltr audit` that must hold, the\n\
         smallest error of its mechanism that 19 of 20 audits with other seeds refute. `noise / 1.05` is noise of a deviation\n\
         that is 1.05 times too small, `epsilon x 1.1` a mechanism of 1.1 times the epsilon of its label, `clip x 1.001` a clip\n\
         that is 1.001 times too long. Factors are from a ladder of a few; the row may detect a little less.\n\n\
         | row | detects |\n|---|---|\n{}",
        detections.iter().map(line).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_error_is_that_which_19_of_20_audits_detect() {
        let factors = [1.1, 1.2, 1.3];
        assert_eq!(smallest("noise /", &factors, |factor, _| factor > 1.15).as_deref(), Some("noise / 1.2"));
        // The audits of 1.2 miss once, those of 1.1 twice.
        let missed = |factor, audit| audit == 7 || audit == 9 && factor < 1.15;
        assert_eq!(
            smallest("noise /", &factors, |factor, audit| !missed(factor, audit)).as_deref(),
            Some("noise / 1.2")
        );
        assert_eq!(smallest("noise /", &factors, |_, _| false), None);
    }

    #[test]
    fn every_row_that_must_hold_has_been_measured_and_no_other() {
        let names: Vec<String> =
            rows().into_iter().filter(|row| row.expected == Expected::Sound).map(|row| row.name).collect();
        for name in &names {
            assert!(detects(name).is_some(), "{name} is not in docs/audit-power.md: run foltr audit --power");
        }
        let n_measured = MEASURED.lines().filter(|line| line.starts_with("| ")).count() - 1;
        let n_inverted = MEASURED.lines().filter(|line| line.starts_with("| inversion, ")).count();
        assert_eq!(n_measured, names.len() + n_inverted);
        assert_eq!(n_inverted, 4);
        assert!(date().len() == 10 && date().starts_with("20"), "{}", date());
    }
}
