//! What all verdicts of a folder say, as Markdown: REPRODUCTION.md.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::estimate::{self, Estimate};
use crate::timestamp::timestamp;
use foltr_experiment::study::Entry;
use foltr_report::distinct;
use foltr_report::expect::{Judgement, Verdict};

const MOST_BYTES: usize = 15 * 1024;

/// Bytes of a reason, from the whole text to what must do when there are too many.
const LENGTHS: [usize; 6] = [usize::MAX, 240, 160, 100, 60, 30];

type Judged<'a> = (&'a Entry, Vec<Judgement>);

/// Writes the summary of the verdicts in `out/<id>/verdict.json`, with the commit of their runs and the hours that are left. What
/// the file says of other entries stays, so that they can be run in pieces and on several machines.
pub fn write<'a>(
    out: &Path,
    entries: impl Iterator<Item = &'a Entry>,
    file: &Path,
    commit: Option<&str>,
) -> Result<()> {
    let (mut judged, mut not_run): (Vec<Judged<'_>>, Vec<&Entry>) = (Vec::new(), Vec::new());
    for entry in entries {
        let path = out.join(&entry.id).join("verdict.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            not_run.push(entry);
            continue;
        };
        let judgements = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        judged.push((entry, judgements));
    }
    ensure!(!judged.is_empty(), "{} has no verdicts; run foltr reproduce --all first", out.display());
    let time = timestamp(std::time::SystemTime::now());
    let date = time.split('T').next().unwrap_or_default();
    let before = std::fs::read_to_string(file).unwrap_or_default();
    let before = Before::read(&before);
    let text = markdown(&judged, &not_run, &before, &estimate::read(out)?, &Written { date, commit });
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

/// When a summary is written, and of which code.
struct Written<'a> {
    date: &'a str,
    commit: Option<&'a str>,
}

/// What a summary that is there says, by entry.
#[derive(Default)]
struct Before<'a> {
    rows: HashMap<&'a str, &'a str>,
    claims: Vec<(&'a str, &'a str)>,
}

impl<'a> Before<'a> {
    fn read(text: &'a str) -> Self {
        let row = |line: &'a str| Some((line.strip_prefix("| ")?.split(" | ").next()?, line));
        let claim = |line: &'a str| Some((line.strip_prefix("* ")?.split(", ").next()?, line));
        // Heads of tables have eight or nine cells as well.
        let is_entry = |(id, line): &(&str, &str)| *id != "entry" && line.matches('|').count() >= 11;
        Self {
            rows: text.lines().filter_map(row).filter(is_entry).collect(),
            claims: text.lines().filter_map(claim).collect(),
        }
    }

    /// With the commit, which earlier summaries did not have.
    fn row(&self, entry: &Entry) -> Option<String> {
        let cells: Vec<&str> = self.rows.get(entry.id.as_str())?.trim_matches('|').split('|').map(str::trim).collect();
        let (first, last) = cells.split_at(cells.len().min(9));
        let commit = if last.len() > 1 { last[0] } else { "" };
        Some(format!("| {} | {commit} | {} |\n", first.join(" | "), last.last()?))
    }

    fn claims_of(&self, entry: &Entry) -> impl Iterator<Item = String> {
        self.claims.iter().filter(|(id, _)| *id == entry.id).map(|(_, line)| format!("{line}\n"))
    }
}

fn markdown(
    judged: &[Judged<'_>],
    others: &[&Entry],
    before: &Before<'_>,
    estimates: &[Estimate],
    written: &Written<'_>,
) -> String {
    let Written { date, commit } = written;
    let (before_rows, not_run): (Vec<_>, Vec<_>) =
        others.iter().map(|entry| (*entry, before.row(entry))).partition(|(_, row)| row.is_some());
    let mut text = format!(
        "# Reproduction\n\nWritten by `foltr reproduce --write-summary`, last on {date}, from the verdicts of {} entries. \
         `foltr reproduce ID` runs an entry again; [docs/expectations.md](docs/expectations.md) says how it is judged. \
         Papers are those of [PAPERS.md](PAPERS.md); `foltr` is what goes beyond them.\n",
        judged.len() + before_rows.len()
    );
    if !not_run.is_empty() {
        let ids: Vec<&str> = not_run.iter().map(|(entry, _)| entry.id.as_str()).collect();
        let _ = writeln!(text, "\nNot run: {}.", ids.join(", "));
    }
    text += &left(estimates);
    let all = judged.iter().map(|(entry, _)| *entry).chain(before_rows.iter().map(|(entry, _)| *entry));
    for paper in distinct(all.map(|entry| &entry.paper)) {
        let _ = writeln!(text, "\n## {paper}\n\n{}", header());
        let new = judged.iter().filter(|(entry, _)| entry.paper == *paper);
        let mut rows: Vec<String> = new.map(|(entry, judgements)| row(entry, judgements, *commit)).collect();
        rows.extend(before_rows.iter().filter(|(entry, _)| entry.paper == *paper).filter_map(|(_, row)| row.clone()));
        rows.sort();
        text += &rows.concat();
    }
    text += "\n## Failures and explanations\n\n";
    let most = MOST_BYTES.saturating_sub(text.len());
    let stay: Vec<String> = before_rows.iter().flat_map(|(entry, _)| before.claims_of(entry)).collect();
    let lists = LENGTHS.map(|length| [claims(judged, length), stay.clone()].concat());
    let fitting = lists.iter().find(|lines| lines.iter().map(String::len).sum::<usize>() <= most);
    let lines = fitting.unwrap_or(&lists[LENGTHS.len() - 1]);
    if lines.is_empty() {
        return text + "None.\n";
    }
    for (i, line) in lines.iter().enumerate() {
        if text.len() + line.len() + 50 > MOST_BYTES && fitting.is_none() {
            let _ = writeln!(text, "* {} more in the files `verdict.txt`", lines.len() - i);
            break;
        }
        text += line;
    }
    text
}

/// Entries whose full budgets are not finished, the shortest first.
fn left(estimates: &[Estimate]) -> String {
    let mut left: Vec<&Estimate> = estimates.iter().filter(|it| it.n_finished < it.n_runs).collect();
    if left.is_empty() {
        return String::new();
    }
    left.sort_by(|a, b| a.core_hours.total_cmp(&b.core_hours));
    let total: f64 = left.iter().map(|it| it.core_hours).sum();
    let one = |it: &&Estimate| format!("{} {:.1}", it.id, it.core_hours);
    let all = left.iter().map(one).collect::<Vec<_>>().join(", ");
    format!(
        "\nFull budgets that are left, in hours of one core ({total:.1} in all; shared runs count in each): {all}.\n"
    )
}

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
    let rule = "---:|".repeat(names.len());
    format!("| entry | item | {} | budget | commit | data |\n|---|---|{rule}---|---|---|", names.join(" | "))
}

fn row(entry: &Entry, judgements: &[Judgement], commit: Option<&str>) -> String {
    let count = |verdicts: &[Verdict]| {
        let n = judgements.iter().filter(|judgement| verdicts.contains(&judgement.verdict)).count();
        if n == 0 { String::new() } else { n.to_string() }
    };
    let counts: Vec<String> = COLUMNS.iter().map(|(_, verdicts)| count(verdicts)).collect();
    let data = distinct(judgements.iter().filter_map(|judgement| judgement.data.as_deref()));
    let budget = match judgements.iter().any(|judgement| judgement.quick) {
        true => "quick",
        // A figure alone has no verdict that would say so.
        false if judgements.is_empty() => "",
        false => "full",
    };
    let (id, item, commit) = (&entry.id, &entry.item, commit.unwrap_or_default());
    format!("| {id} | {item} | {} | {budget} | {commit} | {} |\n", counts.join(" | "), data.join("; "))
}

/// One line a claim that fails or has an explanation; failures first. A reason is written once.
fn claims(judged: &[Judged<'_>], length: usize) -> Vec<String> {
    let (mut failing, mut explained) = (Vec::new(), Vec::new());
    let mut known: HashMap<&str, &str> = HashMap::new();
    for (entry, judgements) in judged {
        let is_shown = |it: &&Judgement| it.verdict.is_failure() || it.verdict == Verdict::Explained;
        let mut groups: Vec<Vec<&Judgement>> = Vec::new();
        for judgement in judgements.iter().filter(is_shown) {
            let claim = |it: &Judgement| (it.says.clone(), it.verdict, it.because.clone());
            match groups.iter_mut().find(|group| claim(group[0]) == claim(judgement)) {
                Some(group) => group.push(judgement),
                None => groups.push(vec![judgement]),
            }
        }
        for group in groups {
            let first = group[0];
            let all = judgements.iter().filter(|judgement| judgement.says == first.says).count();
            let finding = first.finding.map_or_else(String::new, |number| format!(" (finding {number})"));
            let reason = match first.because.as_deref() {
                None => outcome(first),
                Some(because) => match known.insert(because, &entry.id) {
                    Some(before) => format!("as in {before}"),
                    None => shortened(because, length),
                },
            };
            let (id, says, n, verdict) = (&entry.id, &first.says, group.len(), first.verdict.name());
            let lines = if first.verdict.is_failure() { &mut failing } else { &mut explained };
            lines.push(format!("* {id}, {says}{finding}: {n} of {all} {verdict}: {reason}\n"));
        }
    }
    [failing, explained].concat()
}

fn outcome(judgement: &Judgement) -> String {
    let value = judgement.value.map_or_else(|| "no value".into(), |value| format!("{value:.4}"));
    let case = if judgement.case.is_empty() { String::new() } else { format!(" for {}", judgement.case_name()) };
    format!("{value}{case}, expected {}", judgement.expected)
}

/// At most so many bytes, and whole words.
fn shortened(text: &str, length: usize) -> String {
    if text.len() <= length {
        return text.into();
    }
    let fits = |(end, _): &(usize, &str)| end + 4 <= length;
    let end = text.match_indices(' ').take_while(fits).last().map_or(0, |(end, _)| end);
    format!("{} ...", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgement(says: &str, verdict: Verdict, because: Option<&str>) -> Judgement {
        Judgement {
            says: says.into(),
            finding: Some(3),
            case: [("users.preset".to_owned(), "perfect".to_owned())].into(),
            verdict,
            value: Some(0.5),
            expected: "at least 0.6".into(),
            because: because.map(str::to_owned),
            data: Some("MQ2007, 85 % sample".into()),
            quick: true,
            ..Judgement::default()
        }
    }

    fn entry(id: &str, paper: &str) -> Entry {
        Entry { id: id.into(), paper: paper.into(), item: "Table 1".into(), ..Entry::default() }
    }

    #[test]
    fn a_page_counts_verdicts_and_gives_every_reason_once() {
        let (one, two) = (entry("one", "A1"), entry("two", "B2"));
        let more = |verdict, because| judgement("more is better", verdict, because);
        let of_one = vec![
            more(Verdict::Holds, None),
            more(Verdict::Explained, Some("chance")),
            more(Verdict::Fails, None),
            more(Verdict::Explained, Some("chance")),
        ];
        let of_two = vec![judgement("less is worse", Verdict::Explained, Some("chance"))];
        let estimate = |id: &str, n_finished, core_hours| Estimate { id: id.into(), n_runs: 4, n_finished, core_hours };
        let estimates = [estimate("one", 4, 0.0), estimate("two", 1, 2.55), estimate("three", 0, 1.25)];
        let written = Written { date: "2026-01-02", commit: Some("0a1b") };
        let three = entry("three", "A1");
        let judged = [(&one, of_one), (&two, of_two)];
        let text = markdown(&judged, &[&three], &Before::default(), &estimates, &written);
        assert!(
            text.contains("last on 2026-01-02, from the verdicts of 2 entries.")
                && text.contains("\nNot run: three.\n"),
            "{text}"
        );
        let left = "(3.8 in all; shared runs count in each): three 1.2, two 2.5.\n";
        assert!(text.contains(left), "{text}");
        assert!(text.contains("| one | Table 1 |  |  | 1 | 1 | 2 |  | quick | 0a1b | MQ2007, 85 % sample |"), "{text}");
        let (_, claims) = text.split_once("## Failures and explanations\n\n").expect("a section");
        let expected = [
            "* one, more is better (finding 3): 1 of 4 fails: 0.5000 for users.preset = perfect, expected at least 0.6",
            "* one, more is better (finding 3): 2 of 4 explained: chance",
            "* two, less is worse (finding 3): 1 of 1 explained: as in one",
        ];
        assert_eq!(claims.lines().collect::<Vec<_>>(), expected);

        // The second entry again: what is there of the first one stays.
        let again = [(&two, vec![judgement("less is worse", Verdict::Holds, None)])];
        let written = Written { date: "2026-01-03", commit: Some("2c3d") };
        let later = markdown(&again, &[&one, &three], &Before::read(&text), &[], &written);
        let row_of_one = "| one | Table 1 |  |  | 1 | 1 | 2 |  | quick | 0a1b | MQ2007, 85 % sample |";
        assert!(text.contains(row_of_one) && later.contains(row_of_one), "{later}");
        assert!(later.contains("| two | Table 1 |  |  | 1 |  |  |  | quick | 2c3d |"), "{later}");
        assert!(later.contains(expected[0]) && later.contains(expected[1]) && !later.contains(expected[2]), "{later}");
        assert!(later.contains("from the verdicts of 2 entries.") && later.contains("\nNot run: three.\n"), "{later}");
    }

    #[test]
    fn rows_without_a_commit_get_an_empty_one() {
        let text = "| entry | item | agrees | differs | holds | fails | explained | not judged | budget | data |\n\
                    | one | Table 1 | 24 |  | 3 |  |  |  | full | MQ2008 |\n";
        let row = Before::read(text).row(&entry("one", "A1")).expect("a row");
        assert_eq!(row, "| one | Table 1 | 24 |  | 3 |  |  |  | full |  | MQ2008 |\n");
    }

    #[test]
    fn a_page_of_many_entries_has_every_claim_and_never_grows_beyond_what_is_read() {
        let entries: Vec<Entry> =
            (0..45).map(|i| entry(&format!("thesis-figure-5.{i}"), &format!("W{}", i / 5))).collect();
        let page = |n_claims: usize| {
            let reason = |i: usize| format!("reason {i}: {}", "runs of one rule differ as much ".repeat(8));
            let one = |i: usize| judgement(&format!("claim {i} of the paper"), Verdict::Explained, Some(&reason(i)));
            let of = |e: usize| (0..n_claims).map(|i| one(100 * e + i)).collect::<Vec<_>>();
            let judged: Vec<Judged<'_>> = entries.iter().enumerate().map(|(e, entry)| (entry, of(e))).collect();
            markdown(&judged, &[], &Before::default(), &[], &Written { date: "2026-01-02", commit: None })
        };
        let text = page(1);
        assert!(text.len() <= MOST_BYTES && text.matches(" explained: reason").count() == 45, "{}\n{text}", text.len());
        let text = page(12);
        assert!(text.len() <= MOST_BYTES && text.contains(" more in the files"), "{}", text.len());
    }
}
