//! `foltr reproduce`: the papers' tables and figures again, with verdicts.

use std::path::Path;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::{End, catch_interrupts};
use crate::catalogue::{Item, items};
use crate::judged_study::{self, JudgedStudy, Outcome};
use crate::output::{self, chat, note, say};
use crate::summary;
use foltr_experiment::execute::{Interrupted, Shard};
use foltr_experiment::store::RunStore;
use foltr_experiment::study::{Entry, Study};
use foltr_report::expect::{Criteria, Verdict};
use foltr_report::table::table;

/// What all scorecards' ids begin with. They are far larger than all other entries together: they have their own command.
const SCORECARD: &str = "scorecard";

#[derive(Debug, thiserror::Error)]
#[error("there is no entry `{id}`; did you mean `{nearest}`? (foltr reproduce --list names all of them)")]
pub struct UnknownEntry {
    id: String,
    nearest: String,
}

/// An entry, and what became of it if it was run.
#[derive(Serialize)]
struct Answer<'a> {
    id: &'a str,
    title: &'a str,
    paper: &'a str,
    item: &'a str,
    #[serde(flatten)]
    judged: Option<JudgedStudy>,
    /// What was done of it, with `--shard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> Answer<'a> {
    fn of(Entry { id, title, paper, item, .. }: &'a Entry) -> Self {
        Self { id, title, paper, item, judged: None, share: None, error: None }
    }

    /// How many judgements have each verdict.
    fn line(&self) -> Vec<String> {
        let Some(judged) = &self.judged else { return vec![self.id.into(), "error".into()] };
        let n = |wanted| judged.judgements.iter().filter(|judgement| judgement.verdict == wanted).count().to_string();
        let counts = Verdict::ALL.map(|(_, verdict)| n(verdict));
        [vec![self.id.to_owned()], counts.to_vec()].concat()
    }
}

pub fn list() -> Result<End> {
    let items = items()?;
    let row = |Item { entry, .. }: &Item| [&entry.id, &entry.title, &entry.paper, &entry.item].map(Clone::clone).into();
    say(table(&["id", "what", "paper", "item"], 4, items.iter().map(row).collect()));
    output::answer(&items.iter().map(|item| Answer::of(&item.entry)).collect::<Vec<_>>())?;
    Ok(End::Done)
}

/// Runs all entries, or those named, one after the other; prints their verdicts as they come, and a table at the end.
/// Nothing is run if a name is unknown or a file wrong.
pub fn run(
    ids: Option<&[String]>,
    is_quick: bool,
    out: &Path,
    shard: Option<Shard>,
    summary: Option<&Path>,
) -> Result<End> {
    let items = items()?;
    for id in ids.into_iter().flatten() {
        find(&items, id)?;
    }
    let is_asked = |item: &&Item| {
        let id = &item.entry.id;
        ids.map_or_else(|| !id.starts_with(SCORECARD), |ids| ids.contains(id))
    };
    if let Some(folder) = summary.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty()) {
        ensure!(folder.is_dir(), "--write-summary: {} is no folder", folder.display());
    }
    let mut asked = Vec::new();
    for item in items.iter().filter(is_asked) {
        asked.push((item.checked(is_quick, &[])?, &item.entry));
    }
    let end = if asked.is_empty() { End::Done } else { run_all(&asked, out, shard)? };
    if let Some(file) = summary.filter(|_| end != End::Interrupted) {
        summary::write(out, items.iter().map(|item| &item.entry), file)?;
        chat(format_args!("summary: {}", file.display()));
        if asked.is_empty() {
            output::answer(&serde_json::json!({ "summary": file }))?;
        }
    }
    Ok(end)
}

/// `foltr scorecard`: the study of every attack against every defence, in one of its settings.
pub fn scorecard(
    setting: Option<&str>,
    is_quick: bool,
    overrides: &[String],
    out: &Path,
    shard: Option<Shard>,
) -> Result<End> {
    let items = items()?;
    let id = setting.map_or_else(|| SCORECARD.to_owned(), |setting| format!("{SCORECARD}-{setting}"));
    let item = find(&items, &id)?;
    run_all(&[(item.checked(is_quick, overrides)?, &item.entry)], out, shard)
}

fn find<'a>(items: &'a [Item], id: &str) -> Result<&'a Item, UnknownEntry> {
    let nearness = |item: &&Item| strsim::normalized_damerau_levenshtein(id, &item.entry.id);
    let nearest = items.iter().max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    let unknown =
        || UnknownEntry { id: id.into(), nearest: nearest.map_or_else(String::new, |it| it.entry.id.clone()) };
    items.iter().find(|item| item.entry.id == id).ok_or_else(unknown)
}

/// An entry that cannot be run is an error, and the others follow.
fn run_all(entries: &[(Option<(Study, Criteria)>, &Entry)], out: &Path, shard: Option<Shard>) -> Result<End> {
    let store = RunStore::open(out)?;
    catch_interrupts()?;
    let (mut end, mut answers) = (End::Done, Vec::new());
    for (study, entry) in entries {
        let Entry { id, paper, item, title, .. } = entry;
        let mut answer = Answer::of(entry);
        say(format_args!("\n{id}: {title} ({paper}, {item})"));
        match judged_study::run(study.as_ref(), id, &store, shard) {
            Ok(Outcome::Judged(judged)) => {
                judged.print(&out.join(id));
                if judged.is_failure() {
                    end = End::Failed;
                }
                answer.judged = Some(judged);
            }
            Ok(Outcome::Share(done)) => {
                say(format_args!("{id}: {done}"));
                answer.share = Some(done);
            }
            Ok(Outcome::Interrupted) => {
                note(Interrupted);
                return Ok(End::Interrupted);
            }
            Err(error) => {
                note(format_args!("error: {id}: {error:#}"));
                answer.error = Some(format!("{error:#}"));
                end = End::Failed;
            }
        }
        answers.push(answer);
    }
    let names = Verdict::ALL.map(|(name, _)| name);
    let header: Vec<&str> = ["entry"].into_iter().chain(names).collect();
    say(format_args!("\n{}", table(&header, 1, answers.iter().map(Answer::line).collect())));
    output::answer(&answers)?;
    Ok(end)
}
