//! What was judged: a printed number against ours, or a conclusion that holds or fails; the content of `verdict.json`.

use serde::{Deserialize, Serialize};

use crate::table::table;

/// One judgement of an entry.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    /// About a number.
    Cell(Cell),
    /// About a conclusion.
    Finding(Finding),
    /// About a promise of ours.
    Claim(Claim),
}

/// A number of the paper beside ours.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The entry.
    pub id: String,
    /// Which number: data, method, users, measure.
    pub cell: String,
    /// As it is printed; none where the paper has only a picture.
    pub paper: Option<f64>,
    /// Ours: a mean over runs, unless the paper had a single one.
    pub ours: f64,
    /// Largest difference that agrees; none where nothing can be compared.
    pub tolerance: Option<f64>,
    /// How the two compare.
    pub verdict: Verdict,
    /// Why they cannot be compared, or what explains the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Runs behind our number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Verdict {
    /// Within the tolerance.
    #[serde(rename = "agrees")]
    Agrees,
    /// Outside of it.
    #[serde(rename = "differs")]
    Differs,
    /// Other data or another setting; counts neither way.
    #[serde(rename = "not comparable")]
    NotComparable,
}

/// A conclusion of the paper, by its number in spec section 19.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The entry.
    pub id: String,
    /// Number in spec section 19.
    pub finding: u8,
    /// Whether our runs support it.
    pub holds: bool,
    /// The numbers that say so.
    pub evidence: String,
}

/// Something that no paper says and foltr promises.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The entry.
    pub id: String,
    /// What is promised.
    pub claim: String,
    /// Whether our runs support it.
    pub holds: bool,
    /// The numbers that say so.
    pub evidence: String,
}

impl Verdict {
    /// As `verdict.json` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotComparable => "not comparable",
        }
    }

    /// Of two numbers that can be compared. A number that is not finite never agrees.
    pub fn of(paper: f64, ours: f64, tolerance: f64) -> Self {
        // The slack lets .45 and .46 be .01 apart, which binary fractions do not know.
        if (paper - ours).abs() <= tolerance + 1e-12 { Self::Agrees } else { Self::Differs }
    }
}

impl Judgement {
    /// Whether a comparable number differs or a conclusion fails.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Cell(cell) => cell.verdict == Verdict::Differs,
            Self::Finding(finding) => !finding.holds,
            Self::Claim(claim) => !claim.holds,
        }
    }

    /// Whether a conclusion or promise holds; none for a number.
    pub fn holds(&self) -> Option<bool> {
        match self {
            Self::Cell(_) => None,
            Self::Finding(finding) => Some(finding.holds),
            Self::Claim(claim) => Some(claim.holds),
        }
    }
}

/// All numbers as a table; nothing when there are none.
pub fn told_cells(judgements: &[Judgement]) -> Option<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
    let row = |judgement: &Judgement| {
        let Judgement::Cell(cell) = judgement else { return None };
        Some(vec![
            cell.cell.clone(),
            cell.verdict.name().to_owned(),
            number(cell.paper),
            format!("{:.4}", cell.ours),
            cell.paper.map_or_else(|| "-".into(), |paper| format!("{:+.4}", cell.ours - paper)),
            number(cell.tolerance),
            cell.n.map_or_else(|| "-".into(), |n| n.to_string()),
        ])
    };
    let rows: Vec<Vec<String>> = judgements.iter().filter_map(row).collect();
    let header = ["cell", "verdict", "paper", "ours", "difference", "tolerance", "runs"];
    (!rows.is_empty()).then(|| table(&header, 2, rows))
}

/// All findings and claims as a table; nothing when there are none.
pub fn told_findings(judgements: &[Judgement]) -> Option<String> {
    let row = |judgement: &Judgement| {
        let (what, evidence) = match judgement {
            Judgement::Cell(_) => return None,
            Judgement::Finding(finding) => (finding.finding.to_string(), &finding.evidence),
            Judgement::Claim(claim) => (claim.claim.clone(), &claim.evidence),
        };
        let verdict = if judgement.holds()? { "holds" } else { "FAILS" };
        Some(vec![what, verdict.to_owned(), evidence.replace("; ", ";\n")])
    };
    let rows: Vec<Vec<String>> = judgements.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table(&["finding", "verdict", "evidence"], 3, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_exactly_the_tolerance_agrees_and_nan_never_does() {
        assert_eq!(Verdict::of(0.45, 0.46, 0.01), Verdict::Agrees);
        assert_eq!(Verdict::of(0.45, 0.4601, 0.01), Verdict::Differs);
        assert_eq!(Verdict::of(0.45, f64::NAN, 0.01), Verdict::Differs);
    }
}
