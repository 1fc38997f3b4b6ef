//! `foltr reproduce`: the papers' tables and figures again, with verdicts.

use std::path::Path;

use anyhow::{Context, Result};

use super::{End, catch_interrupts};
use crate::judge::Judged;
use crate::reproduce::{self, Checked, Item, UnknownEntry, items};
use crate::summary::{self, Described};
use foltr_experiment::execute::Interrupted;
use foltr_experiment::store::RunStore;
use foltr_report::expect::Verdict;
use foltr_report::table::table;

/// Which entries are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    All,
    Named(&'a [String]),
}

const SCORECARD: &str = "scorecard";

/// All entries, one a line.
///
/// # Errors
/// If a file of `specs/` is wrong.
pub fn listed() -> Result<String> {
    let row = |Described { id, paper, item, title }: Described| vec![id, title, paper, item];
    Ok(table(&["id", "what", "paper", "item"], 4, items()?.iter().map(|item| row(item.described())).collect()))
}

/// Runs entries one after the other, prints their verdicts as they come, and a table at the end.
///
/// # Errors
/// If a name is unknown or a file wrong, before anything is run.
pub fn run(which: Which<'_>, is_quick: bool, out: &Path, summary: Option<&Path>) -> Result<End> {
    let items = items()?;
    let described: Vec<Described> = items.iter().map(Item::described).collect();
    if let Which::Named(ids) = which
        && let Some(unknown) = ids.iter().find(|id| !described.iter().any(|entry| entry.id == **id))
    {
        return Err(UnknownEntry::new(unknown, &described).into());
    }
    let is_asked = |entry: &Described| match which {
        // The scorecard is far larger than all others together: it has its own command.
        Which::All => entry.id != SCORECARD,
        Which::Named(ids) => ids.contains(&entry.id),
    };
    let mut checked = Vec::new();
    for (item, entry) in items.iter().zip(&described).filter(|(_, entry)| is_asked(entry)) {
        checked.push((item.checked(is_quick, &[])?, entry));
    }
    let end = if checked.is_empty() { End::Done } else { run_all(&checked, out)? };
    if let Some(file) = summary.filter(|_| end != End::Interrupted) {
        summary::write(out, &described, file)?;
        println!("summary: {}", file.display());
    }
    Ok(end)
}

/// `foltr scorecard`: the study of every attack against every defence.
///
/// # Errors
/// If a value is wrong, before anything is run.
pub fn scorecard(is_quick: bool, overrides: &[String], out: &Path) -> Result<End> {
    let items = items()?;
    let card = items.iter().map(|item| (item, item.described())).find(|(_, entry)| entry.id == SCORECARD);
    let (item, entry) = card.context("no scorecard")?;
    run_all(&[(item.checked(is_quick, overrides)?, &entry)], out)
}

/// An entry that cannot be run is an error, and the others follow.
fn run_all(entries: &[(Checked, &Described)], out: &Path) -> Result<End> {
    let store = RunStore::open(out)?;
    catch_interrupts()?;
    let (mut end, mut lines) = (End::Done, Vec::new());
    for (checked, Described { id, paper, item, title }) in entries {
        println!("\n{id}: {title} ({paper}, {item})");
        match reproduce::run(checked, id, &store) {
            Ok(Some(judged)) => {
                judged.print(&out.join(id));
                lines.push(line(id, &judged));
                if judged.is_failure() {
                    end = End::Failed;
                }
            }
            Ok(None) => {
                eprintln!("{Interrupted}");
                return Ok(End::Interrupted);
            }
            Err(error) => {
                eprintln!("error: {id}: {error:#}");
                lines.push(vec![id.clone(), "error".into()]);
                end = End::Failed;
            }
        }
    }
    let names = Verdict::ALL.map(|(name, _)| name);
    let header: Vec<&str> = ["entry"].into_iter().chain(names).collect();
    println!("\n{}", table(&header, 1, lines));
    Ok(end)
}

/// How many judgements have each verdict.
fn line(id: &str, judged: &Judged) -> Vec<String> {
    let count = |wanted| judged.judgements.iter().filter(|judgement| judgement.verdict == wanted).count().to_string();
    let counts = Verdict::ALL.map(|(_, verdict)| count(verdict));
    [vec![id.to_owned()], counts.to_vec()].concat()
}
