//! What was judged: the content of `verdict.json`, and the same for people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::distinct;
use crate::table::table;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Judgement {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<u32>,
    /// Axis -> label.
    pub case: BTreeMap<String, String>,
    pub verdict: Verdict,
    /// None if it is not finite, or there are no runs.
    pub value: Option<f64>,
    /// Label -> mean, along an axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, f64)>,
    pub expected: String,
    /// 95 % confidence interval of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Our mark of significance with its corrected p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Runs, or pairs of runs.
    pub n: usize,
    /// Why it fails or is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Holds,
    Fails,
    Explained,
    #[default]
    #[serde(rename = "not judged")]
    NotJudged,
    Agrees,
    Differs,
    #[serde(rename = "not comparable")]
    NotComparable,
}

impl Verdict {
    pub const ALL: [(&'static str, Self); 7] = [
        ("holds", Self::Holds),
        ("fails", Self::Fails),
        ("agrees", Self::Agrees),
        ("differs", Self::Differs),
        ("explained", Self::Explained),
        ("not judged", Self::NotJudged),
        ("not comparable", Self::NotComparable),
    ];

    pub(super) fn unjudged(is_number: bool) -> Self {
        if is_number { Self::NotComparable } else { Self::NotJudged }
    }

    pub fn is_failure(self) -> bool {
        matches!(self, Self::Fails | Self::Differs)
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, verdict)| *verdict == self).map_or("", |(name, _)| name)
    }
}

impl Judgement {
    pub fn case_name(&self) -> String {
        self.case.iter().map(|(axis, label)| format!("{axis} = {label}")).collect::<Vec<_>>().join(", ")
    }

    fn number(&self) -> String {
        if !self.values.is_empty() {
            let values = self.values.iter().map(|(label, value)| format!("{label} {value:.4}"));
            // Of a share: it need not be in the middle.
            let interval = self.interval.map_or_else(String::new, |(low, high)| format!(" [{low:.4}, {high:.4}]"));
            return values.collect::<Vec<_>>().join(", ") + &interval;
        }
        let interval = self.interval.map_or_else(String::new, |(low, high)| format!(" ± {:.4}", (high - low) / 2.0));
        let mark = self.mark.as_ref().map_or_else(String::new, |mark| format!(" {mark}"));
        self.value.map_or_else(String::new, |value| format!("{value:.4}{interval}{mark}"))
    }
}

/// Judgements for people: one table a claim.
pub fn text(judgements: &[Judgement]) -> String {
    let mut text = String::new();
    for group in judgements.chunk_by(|a, b| a.says == b.says && a.finding == b.finding) {
        let first = &group[0];
        let finding = first.finding.map_or_else(String::new, |number| format!("finding {number}: "));
        text += &format!("{finding}{}\n", first.says);
        let row = |one: &Judgement| {
            vec![one.verdict.name().into(), one.case_name(), one.number(), one.expected.clone(), one.n.to_string()]
        };
        text += &table(&["verdict", "case", "value", "expected", "runs"], 4, group.iter().map(row).collect());
        text.push('\n');
        let reasons = distinct(group.iter().filter_map(|one| one.because.as_deref()));
        reasons.iter().for_each(|because| text += &format!("* {because}\n"));
        text.push('\n');
    }
    text
}
