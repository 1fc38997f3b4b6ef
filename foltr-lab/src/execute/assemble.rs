//! From finished runs to the tables of a result folder, and from several folders to one.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::about::About;
use crate::folder::ResultFolder;
use crate::results::{Results, Run};
use crate::rows::parquet::write_parquet;
use crate::spec::Users;
use crate::summary::Summary;

/// Writes `rows.csv`, `summary.json` and `run.json` from the finished runs of a folder.
///
/// # Errors
/// If something cannot be read or written.
pub fn assemble(folder: &ResultFolder, mut about: About, parquet: bool) -> Result<Results> {
    folder.write("run.json", &serde_json::to_vec_pretty(&about)?)?;
    let mut results = Results::open(folder.path())?;
    about.n_finished = results.runs.len();
    about.n_interactions = results.runs.iter().map(|run| run.n_interactions).sum();
    about.training_seconds = results.runs.iter().map(|run| run.training_seconds).sum();
    folder.write_with("rows.csv", |file| write_rows(&results, file))?;
    folder.write("summary.json", &serde_json::to_vec_pretty(&Summary::of(&results))?)?;
    folder.write("run.json", &serde_json::to_vec_pretty(&about)?)?;
    if parquet {
        let (rows, new) = (folder.path().join("rows.csv"), folder.path().join(".rows.parquet.new"));
        write_parquet(&rows, &new)?;
        std::fs::rename(&new, folder.path().join("rows.parquet"))?;
    }
    results.about = about;
    Ok(results)
}

/// All rows of all runs, tidy: setting columns, seed, fold, round, metric, value.
fn write_rows(results: &Results, out: &mut impl Write) -> Result<()> {
    let axes = results.grid.axes();
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(["data", "users", "learner"].into_iter().chain(axes.iter().map(String::as_str)).chain(COLUMNS))?;
    out.write_all(&csv.into_inner()?)?;
    for run in &results.runs {
        let start = line_start(results, run, &axes)?;
        for row in &run.rows {
            writeln!(out, "{start},{},{},{}", row.round, row.metric, row.value)?;
        }
    }
    Ok(())
}

/// The columns that are not about the setting.
const COLUMNS: [&str; 5] = ["seed", "fold", "round", "metric", "value"];

/// What all rows of a run begin with.
fn line_start(results: &Results, run: &Run, axes: &[String]) -> Result<String> {
    let setting = &results.grid.settings[run.setting];
    let experiment = &setting.experiment;
    let mut fields = vec![
        experiment.data.name(),
        experiment.users.as_ref().map(Users::name).unwrap_or_default(),
        experiment.learner.name().to_owned(),
    ];
    fields.extend(axes.iter().map(|axis| setting.label(axis).unwrap_or_default().to_owned()));
    fields.extend([run.seed.to_string(), run.fold.to_string()]);
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(&fields)?;
    Ok(String::from_utf8(csv.into_inner()?)?.trim_end().to_owned())
}

/// Joins result folders of the same experiment, such as shards, into one.
///
/// # Errors
/// If they are not of the same experiment, data and code, or something cannot be read or written.
pub fn merge(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<Results> {
    let parts: Result<Vec<Results>> = folders.iter().map(|folder| Results::open(folder)).collect();
    let parts = parts?;
    let (first, _) = parts.split_first().context("at least one result folder is needed")?;
    let mut about = About { keys: Vec::new(), starts: Vec::new(), ..first.about.clone() };
    for (part, folder) in parts.iter().zip(folders) {
        let (one, other) = (folders[0].display(), folder.display());
        ensure!(part.grid == first.grid, "{one} and {other} are of different experiments: see their resolved.toml");
        ensure!(
            part.about.code_hash == first.about.code_hash,
            "{one} and {other} were made by different versions of foltr: see code_hash in their run.json"
        );
        for (name, hash) in &part.about.data {
            let known = about.data.entry(name.clone()).or_insert_with(|| hash.clone());
            ensure!(known == hash, "{one} and {other} were made from different data: {name}");
        }
        about.keys.extend(part.about.keys.iter().cloned());
        about.starts.extend(part.about.starts.iter().cloned());
    }
    about.keys.sort();
    about.keys.dedup();
    let target = ResultFolder::open(out)?;
    target.write("resolved.toml", first.grid.to_toml()?.as_bytes())?;
    for (part, folder) in parts.iter().zip(folders) {
        for run in part.runs.iter().filter(|run| !target.has(&run.key)) {
            copy_run(&folder.join("runs").join(&run.key), &out.join("runs").join(&run.key))?;
        }
    }
    assemble(&target, about, parquet)
}

/// Copies a finished run; it gets its name when it is complete.
fn copy_run(from: &Path, to: &Path) -> Result<()> {
    let partial = to.with_extension("partial");
    let copy = || -> std::io::Result<()> {
        std::fs::create_dir_all(&partial)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            std::fs::copy(entry.path(), partial.join(entry.file_name()))?;
        }
        std::fs::rename(&partial, to)
    };
    copy().with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))
}
