//! `foltr reproduce`: the papers' tables and figures again, with verdicts.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::{End, STOP, catch_interrupts};
use crate::execute::progress_bar;
use crate::reproduce::{self, ENTRIES, Entry, Interrupted, Judgement, Settled, Study, Verdict};
use crate::table::table;

/// Which entries are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// Every one.
    All,
    /// These.
    Named(&'a [String]),
}

/// All entries, one a line.
pub fn listed() -> String {
    let rows = ENTRIES.iter().map(|entry| [entry.id, entry.what, entry.paper].map(str::to_owned).to_vec()).collect();
    table(&["id", "what", "paper"], 3, rows)
}

/// Runs entries one after the other, prints their verdicts as they come, and a summary at the end.
///
/// # Errors
/// If a name is unknown, before anything is run.
pub fn run(which: Which<'_>, is_quick: bool, out: &Path) -> Result<End> {
    let entries: Vec<&Entry> = match which {
        Which::All => ENTRIES.iter().collect(),
        Which::Named(ids) => ids.iter().map(|id| reproduce::find(id)).collect::<Result<_, _>>()?,
    };
    catch_interrupts()?;
    Ok(run_entries(&entries, is_quick, out))
}

/// Runs these entries one after the other.
///
/// An entry that cannot be run is told as an error, and the others go on.
pub fn run_entries(entries: &[&Entry], is_quick: bool, out: &Path) -> End {
    let started = Instant::now();
    let mut done: Vec<(&Entry, Option<Settled>)> = Vec::new();
    for &entry in entries {
        println!("\n{}: {} ({})", entry.id, entry.what, entry.paper);
        let bar = progress_bar();
        let outcome = reproduce::run(entry, Study::new(entry, out, is_quick, &bar, &STOP));
        bar.finish_and_clear();
        match outcome {
            Ok(settled) => {
                print_entry(&settled, &out.join(entry.id));
                done.push((entry, Some(settled)));
            }
            Err(error) if error.is::<Interrupted>() => {
                eprintln!("{error}");
                print_summary(&done, started.elapsed().as_secs_f64());
                return End::Interrupted;
            }
            Err(error) => {
                eprintln!("error: {}: {error:#}", entry.id);
                done.push((entry, None));
            }
        }
    }
    print_summary(&done, started.elapsed().as_secs_f64());
    if done.iter().any(|(_, settled)| failed(settled.as_ref())) { End::Failed } else { End::Done }
}

fn failed(settled: Option<&Settled>) -> bool {
    settled.is_none_or(|settled| settled.judgements.iter().any(Judgement::is_failure))
}

fn print_entry(settled: &Settled, folder: &Path) {
    print!("{}", settled.told);
    for figure in &settled.figures {
        println!("figure:  {}", figure.display());
    }
    println!("verdict: {} ({:.1} s)", folder.join("verdict.json").display(), settled.seconds);
}

/// One line an entry.
fn print_summary(done: &[(&Entry, Option<Settled>)], seconds: f64) {
    if done.is_empty() {
        return;
    }
    let row = |(entry, settled): &(&Entry, Option<Settled>)| {
        let Some(settled) = settled else {
            return [entry.id, "error", "", "", "", ""].map(str::to_owned).to_vec();
        };
        let n_cells = |wanted: Verdict| {
            let is = |judgement: &&Judgement| matches!(judgement, Judgement::Cell(cell) if cell.verdict == wanted);
            settled.judgements.iter().filter(is).count().to_string()
        };
        let n_findings =
            |wanted: bool| settled.judgements.iter().filter(|judgement| judgement.holds() == Some(wanted)).count();
        vec![
            entry.id.to_owned(),
            n_cells(Verdict::Agrees),
            n_cells(Verdict::Differs),
            n_cells(Verdict::NotComparable),
            format!("{} / {}", n_findings(true), n_findings(true) + n_findings(false)),
            format!("{:.1}", settled.seconds),
        ]
    };
    let header = ["entry", "agree", "differ", "not comparable", "findings hold", "seconds"];
    println!("\n{}", table(&header, 1, done.iter().map(row).collect()));
    println!("{seconds:.1} seconds in all");
}
