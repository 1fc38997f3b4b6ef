//! `foltr data`: generate, check and describe labelled data.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use foltr_simulation::dataset::{Dataset, Summary, summary};
use foltr_simulation::datasets::{Source, Synthetic, SyntheticShape};
use foltr_simulation::letor::{LetorError, ReadOptions, USUAL_MAX_LABEL, ends_in_mid_line, read_letor, write_letor};
use serde_json::json;

use super::{End, make_folder};
use crate::cli::DataCommand;
use crate::output::{self, chat, note, say};
use foltr_experiment::data::resolve_path;
use foltr_report::distinct;
use foltr_report::table::{grouped, table};

pub fn run(command: &DataCommand) -> Result<End> {
    match command {
        DataCommand::Generate { shape, queries, seed, out } => generate(*shape, *queries, *seed, out),
        DataCommand::Check { paths, max_label } => check(&files_of_all(paths)?, *max_label),
        DataCommand::Info { paths, max_label } => info(&files_of_all(paths)?, *max_label),
    }?;
    Ok(End::Done)
}

fn generate(shape: SyntheticShape, queries: Option<u32>, seed: u64, out: &Path) -> Result<()> {
    let usual = Synthetic::new(shape);
    let n_train = queries.map_or(usual.n_train, |queries| queries as usize);
    make_folder(out)?;
    let fold = Synthetic { n_train, ..usual }.generate(seed)?;
    let splits = [("train.txt", Some(fold.train)), ("vali.txt", fold.validation), ("test.txt", Some(fold.test))];
    let mut written = Vec::new();
    for (name, data) in splits {
        let Some(data) = data else { continue };
        let path = out.join(name);
        write_letor(&data, &path).with_context(|| format!("{} cannot be written", path.display()))?;
        chat(format_args!("{}: {} queries, {} documents", path.display(), data.n_queries(), data.n_docs()));
        written.push(json!({ "file": path, "n_queries": data.n_queries(), "n_documents": data.n_docs() }));
    }
    Ok(output::answer(&written)?)
}

/// Reads every file; prints all that cannot be read, and what is odd about the others.
fn check(files: &[File], max_label: Option<u8>) -> Result<()> {
    let (mut n_wrong, mut checked) = (0, Vec::new());
    for File { path, .. } in files {
        match read(path, max_label) {
            Ok(data) => {
                let (odd, warnings) = (oddities(&data), warnings(path, &data));
                let shown = if odd.is_empty() { String::new() } else { format!(" ({})", odd.join("; ")) };
                say(format_args!("{}: sound{shown}", path.display()));
                warnings.iter().for_each(|warning| note(format_args!("warning: {}: {warning}", path.display())));
                checked.push(json!({ "file": path, "is_sound": true, "oddities": odd, "warnings": warnings }));
            }
            Err(error) => {
                n_wrong += 1;
                note(&error);
                checked.push(json!({ "file": path, "is_sound": false, "error": error.to_string() }));
            }
        }
    }
    output::answer(&checked)?;
    if n_wrong > 0 {
        bail!("{n_wrong} of {} files cannot be used", files.len());
    }
    Ok(())
}

fn read(path: &Path, max_label: Option<u8>) -> Result<Dataset, LetorError> {
    let max_label = max_label.unwrap_or(USUAL_MAX_LABEL);
    read_letor(path, &ReadOptions { max_label, ..ReadOptions::default() })
}

/// What makes a file unfit for learning, though every line of it can be read.
fn warnings(file: &Path, data: &Dataset) -> Vec<&'static str> {
    let all = [
        (
            ends_in_mid_line(file),
            "the last line has no line end; if the file was cut there, its last document is not whole",
        ),
        (data.max_label() == 0, "no document is relevant; nothing can be learned from it"),
    ];
    all.into_iter().filter_map(|(is_so, warning)| is_so.then_some(warning)).collect()
}

fn oddities(data: &Dataset) -> Vec<String> {
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
    odd
}

fn info(files: &[File], max_label: Option<u8>) -> Result<()> {
    let numbers = |file: &File| Ok(summary(&read(&file.path, max_label)?));
    let all = files.iter().map(numbers).collect::<Result<Vec<Summary>>>()?;
    let row = |(file, numbers): (&File, &Summary)| {
        let labels: Vec<String> = numbers.label_counts.iter().map(|&count| grouped(count as u64)).collect();
        let [fewest, median, most] = numbers.docs_per_query;
        let [low, high] = numbers.feature_range;
        vec![
            file.shown.display().to_string(),
            grouped(numbers.n_queries as u64),
            grouped(numbers.n_queries_without_relevant as u64),
            grouped(numbers.n_docs as u64),
            format!("{fewest} / {median} / {most}"),
            numbers.n_features.to_string(),
            format!("{low} to {high}"),
            labels.join(" / "),
        ]
    };
    let of_queries = ["file", "queries", "none relevant", "documents", "fewest / median / most"];
    let header = [&of_queries[..], &["features", "values", "label 0 / 1 / ..."]].concat();
    say(table(&header, 1, files.iter().zip(&all).map(row).collect()));
    let about = |(file, numbers): (&File, &Summary)| json!({ "file": file.path, "summary": numbers });
    Ok(output::answer(&files.iter().zip(&all).map(about).collect::<Vec<_>>())?)
}

struct File {
    path: PathBuf,
    /// Within the only folder that was asked for, or the whole path.
    shown: PathBuf,
}

fn files_of_all(paths: &[PathBuf]) -> Result<Vec<File>> {
    let paths = paths.iter().map(|path| resolve_path(path)).collect::<Result<Vec<PathBuf>>>()?;
    let mut all = Vec::new();
    for path in &paths {
        for file in files(path)? {
            let within = file.strip_prefix(path).ok().filter(|rest| paths.len() == 1 && !rest.as_os_str().is_empty());
            all.push(File { shown: within.unwrap_or(&file).to_owned(), path: file });
        }
    }
    Ok(all)
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
