//! `foltr reproduce`: the papers' tables and figures again, with verdicts.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::{End, catch_interrupts};
use crate::catalogue::{Item, items};
use crate::estimate::{self, Estimate};
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
    /// Why nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

impl<'a> Answer<'a> {
    fn of(entry: &'a Entry) -> Self {
        let Entry { id, title, paper, item, .. } = entry;
        Self { id, title, paper, item, judged: None, share: None, error: None, left_out: entry.missing() }
    }

    /// How many judgements have each verdict.
    fn line(&self) -> Vec<String> {
        let Some(judged) = &self.judged else {
            let why = if self.left_out.is_some() { "left out" } else { "error" };
            return vec![self.id.into(), why.into()];
        };
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
pub fn run(asked: &Asked<'_>, out: &Path, shard: Option<Shard>, summary: Option<(&Path, Option<&str>)>) -> Result<End> {
    let items = items()?;
    let folder = summary.and_then(|(file, _)| file.parent());
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        ensure!(folder.is_dir(), "--write-summary: {} is no folder", folder.display());
    }
    let asked = asked.entries(&items)?;
    let end = if asked.is_empty() { End::Done } else { run_all(&asked, out, shard)? };
    if let Some((file, commit)) = summary.filter(|_| end != End::Interrupted) {
        summary::write(out, items.iter().map(|item| &item.entry), file, commit)?;
        chat(format_args!("summary: {}", file.display()));
        if asked.is_empty() {
            output::answer(&serde_json::json!({ "summary": file }))?;
        }
    }
    Ok(end)
}

type AskedEntry<'a> = (Option<(Study, Criteria)>, &'a Entry);

/// Which entries are asked for, and with which values.
pub struct Asked<'a> {
    /// All but the scorecards if absent.
    pub ids: Option<&'a [String]>,
    pub is_quick: bool,
    pub overrides: &'a [String],
}

impl Asked<'_> {
    /// An error if a name is unknown or a file wrong.
    fn entries<'a>(&self, items: &'a [Item]) -> Result<Vec<AskedEntry<'a>>> {
        for id in self.ids.into_iter().flatten() {
            find(items, id)?;
        }
        let is_asked = |item: &&Item| {
            let id = &item.entry.id;
            self.ids.map_or_else(|| !id.starts_with(SCORECARD), |ids| ids.contains(id))
        };
        let checked = |item: &'a Item| Ok((item.checked(self.is_quick, self.overrides)?, &item.entry));
        items.iter().filter(is_asked).map(checked).collect()
    }
}

/// `foltr reproduce --dry-run`: the hours that entries have left, as a table and in a file for the summary.
pub fn estimate(asked: &Asked<'_>, out: &Path) -> Result<End> {
    let items = items()?;
    let asked = asked.entries(&items)?;
    let store = RunStore::open(out)?;
    let mut estimates = Vec::new();
    for (study, entry) in asked.iter().filter(|(_, entry)| entry.missing().is_none()) {
        let study = study.as_ref().map(|(study, _)| study);
        let estimate = Estimate::of(&entry.id, study, &store).with_context(|| format!("entry {}", entry.id))?;
        chat(format_args!("{}: {:.2} hours of one core", estimate.id, estimate.core_hours));
        estimates.push(estimate);
    }
    let row = |it: &Estimate| {
        vec![it.id.clone(), it.n_runs.to_string(), it.n_finished.to_string(), format!("{:.2}", it.core_hours)]
    };
    say(table(&["entry", "runs", "finished", "hours of one core"], 1, estimates.iter().map(row).collect()));
    estimate::write(&estimates, out)?;
    output::answer(&estimates)?;
    Ok(End::Done)
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
fn run_all(entries: &[AskedEntry<'_>], out: &Path, shard: Option<Shard>) -> Result<End> {
    let store = RunStore::open(out)?;
    catch_interrupts()?;
    let (mut end, mut answers) = (End::Done, Vec::new());
    for (study, entry) in entries {
        let Entry { id, paper, item, title, .. } = entry;
        let mut answer = Answer::of(entry);
        say(format_args!("\n{id}: {title} ({paper}, {item})"));
        if let Some(reason) = &answer.left_out {
            say(format_args!("{id}: {reason}"));
            answers.push(answer);
            continue;
        }
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
