//! `foltr` without a command: the main job.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};

use super::{End, STOP, catch_interrupts, make_folder, write_file};
use crate::demo::{self, Entry, METHODS, USERS};
use crate::execute::{Job, execute, progress_bar};
use crate::spec::in_words;
use crate::summary::{RunRecord, Summary};
use crate::table::{grouped, table, with_interval};
use crate::{data, plot};

/// Trains all methods under all users; prints the table and the path of the figure.
///
/// # Errors
/// If a run fails or results cannot be written.
pub fn run(out: &Path, n_seeds: u64) -> Result<End> {
    let entries = demo::experiments(n_seeds, demo::BUDGET);
    let folds = data::load(&demo::data())?;
    // Not before: only runs look at STOP, and loading must end at once.
    catch_interrupts()?;
    make_folder(out)?;
    let jobs: Vec<Job<'_>> = entries
        .iter()
        .flat_map(|Entry { experiment, .. }| experiment.seeds.iter().map(move |&seed| (experiment, seed)))
        .flat_map(|(experiment, seed)| {
            folds.iter().map(move |(fold_number, fold)| Job { experiment, fold, fold_number: *fold_number, seed })
        })
        .collect();
    println!(
        "{} runs: {} methods x {} kinds of users x {n_seeds} seeds, {} interactions each",
        jobs.len(),
        METHODS.len(),
        USERS.len(),
        grouped(demo::BUDGET as u64)
    );
    let rows_path = out.join("rows.csv");
    let rows = File::create(&rows_path).with_context(|| format!("{} cannot be written", rows_path.display()))?;
    let bar = progress_bar("training");
    let mut records = execute(&jobs, rows, &bar, &STOP)?.into_iter();
    bar.finish_and_clear();
    let n_runs = n_seeds as usize * folds.len();
    let done: Vec<(Entry, Vec<RunRecord>)> =
        entries.into_iter().map(|entry| (entry, records.by_ref().take(n_runs).collect())).collect();
    if STOP.load(Ordering::Relaxed) {
        eprintln!("interrupted: rows so far are in {}", rows_path.display());
        return Ok(End::Interrupted);
    }
    finish(out, &done, n_seeds)
}

/// Table, summary and figure.
fn finish(out: &Path, done: &[(Entry, Vec<RunRecord>)], n_seeds: u64) -> Result<End> {
    let summaries: Vec<Summary<'_>> = done.iter().map(|(entry, runs)| Summary::of(&entry.experiment, runs)).collect();
    write_file(&out.join("summary.json"), &serde_json::to_vec_pretty(&summaries)?)?;
    println!("{}", told(done, &summaries));
    let (svg, png) = plot::write(&demo::figure(done, n_seeds).svg(), &out.join("learning-curves"))?;
    println!("figure: {}\n        {}", svg.display(), png.display());
    Ok(End::Done)
}

fn told(done: &[(Entry, Vec<RunRecord>)], summaries: &[Summary<'_>]) -> String {
    let row = |(entry, summary): (&Entry, &Summary<'_>)| {
        // The name of the users once, on the first line of their block.
        let users = if entry.method == 0 { in_words(&USERS[entry.users]) } else { String::new() };
        vec![
            users,
            METHODS[entry.method].to_owned(),
            summary.final_values.get("test-ndcg@10").map(with_interval).unwrap_or_default(),
            summary.online.map(|online| with_interval(&online.mean_ndcg)).unwrap_or_default(),
            summary.interactions_per_second.map(|rate| grouped(rate as u64)).unwrap_or_default(),
        ]
    };
    let rows = done.iter().map(|(entry, _)| entry).zip(summaries).map(row).collect();
    table(&["users", "method", "offline nDCG@10", "online nDCG@10", "interactions/s"], 2, rows)
}
