//! What all verdicts of a folder say, as Markdown: REPRODUCTION.md.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::timestamp;
use foltr_report::expect::{Judgement, Verdict};

/// The page is for reading.
const MOST_BYTES: usize = 15 * 1024;

/// An entry, for the table.
pub struct Described {
    pub id: String,
    pub paper: String,
    pub item: String,
    pub title: String,
}

/// Writes the summary of the verdicts in `out/<id>/verdict.json`.
///
/// # Errors
/// If there are none, or a file cannot be read or written.
pub fn write(out: &Path, entries: &[Described], file: &Path) -> Result<()> {
    let mut judged = Vec::new();
    for entry in entries {
        let path = out.join(&entry.id).join("verdict.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let judgements: Vec<Judgement> =
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        judged.push((entry, judgements));
    }
    ensure!(!judged.is_empty(), "{} has no verdicts; run foltr reproduce --all first", out.display());
    let date = timestamp::timestamp(std::time::SystemTime::now());
    let text = markdown(&judged, date.split('T').next().unwrap_or(&date));
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

fn markdown(judged: &[(&Described, Vec<Judgement>)], date: &str) -> String {
    let mut papers: Vec<&str> = Vec::new();
    for (entry, _) in judged {
        if !papers.contains(&entry.paper.as_str()) {
            papers.push(&entry.paper);
        }
    }
    let mut text = format!(
        "# Reproduction\n\nWritten by `foltr reproduce --write-summary` on {date} from the verdicts of {} entries. \
         `foltr reproduce ID` runs an entry again; [docs/expectations.md](docs/expectations.md) says how it is judged. \
         Papers are those of [PAPERS.md](PAPERS.md); `foltr` is what goes beyond them.\n",
        judged.len()
    );
    for paper in papers {
        let entries = || judged.iter().filter(|(entry, _)| entry.paper == paper);
        let _ = writeln!(text, "\n## {paper}\n\n{}", header());
        entries().for_each(|(entry, judgements)| text += &row(entry, judgements));
    }
    text += "\n## Failures and explanations\n\n";
    // What does not fit is counted.
    let mut left_out = 0;
    for line in judged.iter().flat_map(|(entry, judgements)| reasons(entry, judgements)) {
        if text.len() + line.len() + 200 < MOST_BYTES {
            text += &line;
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "* {left_out} more in the files `verdict.txt`");
    }
    text
}

/// Verdicts with a column.
const COLUMNS: [(&str, &[Verdict]); 6] = [
    ("agrees", &[Verdict::Agrees]),
    ("differs", &[Verdict::Differs]),
    ("holds", &[Verdict::Holds]),
    ("fails", &[Verdict::Fails]),
    ("explained", &[Verdict::Explained]),
    ("not judged", &[Verdict::NotJudged, Verdict::NotComparable]),
];

fn header() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    format!(
        "| entry | item | {} | budget | data |\n|---|---|{}---|---|",
        names.join(" | "),
        "---:|".repeat(names.len())
    )
}

fn row(entry: &Described, judgements: &[Judgement]) -> String {
    let count = |wanted: &[Verdict]| {
        let n = judgements.iter().filter(|judgement| wanted.contains(&judgement.verdict)).count();
        if n == 0 { String::new() } else { n.to_string() }
    };
    let counts: Vec<String> = COLUMNS.iter().map(|(_, verdicts)| count(verdicts)).collect();
    let mut data: Vec<&str> = Vec::new();
    for name in judgements.iter().filter_map(|judgement| judgement.data.as_deref()) {
        if !data.contains(&name) {
            data.push(name);
        }
    }
    let budget = if judgements.iter().any(|judgement| judgement.quick) { "quick" } else { "full" };
    format!("| {} | {} | {} | {budget} | {} |\n", entry.id, entry.item, counts.join(" | "), data.join(", "))
}

/// One line a claim that fails or has an explanation.
fn reasons(entry: &Described, judgements: &[Judgement]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let is_told = |judgement: &&Judgement| judgement.verdict.is_failure() || judgement.verdict == Verdict::Explained;
    let told: Vec<&Judgement> = judgements.iter().filter(is_told).collect();
    for group in told.chunk_by(|a, b| a.says == b.says && a.verdict == b.verdict && a.because == b.because) {
        let first = group[0];
        let of = judgements.iter().filter(|judgement| judgement.says == first.says).count();
        let finding = first.finding.map_or_else(String::new, |number| format!(" (finding {number})"));
        let because = first.because.as_ref().map_or_else(String::new, |because| format!(": {because}"));
        let verdict = first.verdict.name();
        let says = &first.says;
        lines.push(format!("* {}: {says}{finding}: {} of {of} {verdict}{because}\n", entry.id, group.len()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(verdict: Verdict, because: Option<&str>) -> Judgement {
        Judgement {
            entry: Some("one".into()),
            says: "more is better".into(),
            finding: Some(3),
            case: std::collections::BTreeMap::new(),
            verdict,
            value: Some(0.5),
            values: Vec::new(),
            expected: "at least 0".into(),
            interval: None,
            n: 5,
            because: because.map(str::to_owned),
            data: Some("MQ2008".into()),
            quick: true,
        }
    }

    #[test]
    fn a_page_counts_verdicts_and_gives_reasons() {
        let entry = Described { id: "one".into(), paper: "A1".into(), item: "Table 1".into(), title: String::new() };
        let judgements = vec![
            judgement(Verdict::Holds, None),
            judgement(Verdict::Explained, Some("chance")),
            judgement(Verdict::Fails, None),
        ];
        let text = markdown(&[(&entry, judgements)], "2026-01-02");
        assert!(text.contains("| one | Table 1 |  |  | 1 | 1 | 1 |  | quick | MQ2008 |"), "{text}");
        assert!(text.contains("* one: more is better (finding 3): 1 of 3 explained: chance\n"), "{text}");
        assert!(text.contains("1 of 3 fails\n") && text.contains("2026-01-02"), "{text}");
    }

    #[test]
    fn a_page_never_grows_beyond_what_is_read() {
        let entry = Described { id: "one".into(), paper: "A1".into(), item: String::new(), title: String::new() };
        let many = (0..500).map(|i| judgement(Verdict::Explained, Some(&"word ".repeat(20 + i % 7)))).collect();
        let text = markdown(&[(&entry, many)], "2026-01-02");
        assert!(text.len() <= MOST_BYTES && text.contains("more in the files"), "{}", text.len());
    }
}
