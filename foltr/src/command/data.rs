//! `foltr data`: generate, check and describe labelled data.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use foltr_simulation::dataset::{Dataset, summary};
use foltr_simulation::datasets::{Source, Synthetic, SyntheticShape};
use foltr_simulation::letor::{ReadOptions, read_letor, write_letor};

use super::{End, make_folder};
use crate::cli::DataCommand;
use crate::output::{note, say};
use foltr_experiment::data::resolve_path;
use foltr_report::distinct;
use foltr_report::table::{grouped, table};

pub fn run(command: &DataCommand) -> Result<End> {
    match command {
        DataCommand::Generate { shape, queries, seed, out } => generate(*shape, *queries, *seed, out),
        DataCommand::Check { path } => check(&resolve_path(path)?),
        DataCommand::Info { path } => info(&resolve_path(path)?),
    }?;
    Ok(End::Done)
}

fn generate(shape: SyntheticShape, queries: Option<u32>, seed: u64, out: &Path) -> Result<()> {
    let usual = Synthetic::new(shape);
    let n_train = queries.map_or(usual.n_train, |queries| queries as usize);
    let fold = Synthetic { n_train, ..usual }.generate(seed)?;
    make_folder(out)?;
    let splits = [("train.txt", Some(fold.train)), ("vali.txt", fold.validation), ("test.txt", Some(fold.test))];
    for (name, data) in splits {
        let Some(data) = data else { continue };
        let path = out.join(name);
        write_letor(&data, &path).with_context(|| format!("{} cannot be written", path.display()))?;
        say(format_args!("{}: {} queries, {} documents", path.display(), data.n_queries(), data.n_docs()));
    }
    Ok(())
}

/// Reads every file; prints all that cannot be read, and what is odd about the others.
fn check(path: &Path) -> Result<()> {
    let files = files(path)?;
    let mut n_wrong = 0;
    for file in &files {
        match read_letor(file, &ReadOptions::default()) {
            Ok(data) => say(format_args!("{}: sound{}", file.display(), oddities(&data))),
            Err(error) => {
                n_wrong += 1;
                note(error);
            }
        }
    }
    if n_wrong > 0 {
        bail!("{n_wrong} of {} files cannot be used", files.len());
    }
    Ok(())
}

fn oddities(data: &Dataset) -> String {
    let numbers = summary(data);
    let mut odd = Vec::new();
    if numbers.n_queries_without_relevant > 0 {
        odd.push(format!("{} queries without a relevant document", numbers.n_queries_without_relevant));
    }
    if !numbers.constant_features.is_empty() {
        odd.push(format!("{} constant features", numbers.constant_features.len()));
    }
    if !numbers.is_unit_range {
        let [low, high] = numbers.feature_range;
        odd.push(format!("features from {low} to {high}: consider data.normalise = \"query\""));
    }
    if odd.is_empty() { String::new() } else { format!(" ({})", odd.join("; ")) }
}

fn info(path: &Path) -> Result<()> {
    let describe = |file: &PathBuf| -> Result<Vec<String>> {
        let numbers = summary(&read_letor(file, &ReadOptions::default())?);
        let labels: Vec<String> = numbers.label_counts.iter().map(|&count| grouped(count as u64)).collect();
        let [fewest, median, most] = numbers.docs_per_query;
        let [low, high] = numbers.feature_range;
        let shown = file.strip_prefix(path).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(file);
        Ok(vec![
            shown.display().to_string(),
            grouped(numbers.n_queries as u64),
            grouped(numbers.n_queries_without_relevant as u64),
            grouped(numbers.n_docs as u64),
            format!("{fewest} / {median} / {most}"),
            numbers.n_features.to_string(),
            format!("{low} to {high}"),
            labels.join(" / "),
        ])
    };
    let rows = files(path)?.iter().map(describe).collect::<Result<Vec<_>>>()?;
    let of_queries = ["file", "queries", "none relevant", "documents", "fewest / median / most"];
    let header = [&of_queries[..], &["features", "values", "label 0 / 1 / ..."]].concat();
    say(table(&header, 1, rows));
    Ok(())
}

/// The file itself, or all files of a folder in a known layout, each once.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.into()]);
    }
    let source = Source::open(path)?;
    let of_folds = source.folds().iter().flat_map(|fold| fold.train.iter().chain(&fold.validation).chain(&fold.test));
    Ok(distinct(of_folds.cloned()))
}
