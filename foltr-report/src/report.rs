//! `report.html`: the results of a folder, or of several, on one page that opens from disk without a network.
//!
//! A report is a set of tables and default figures over [`Results`]; figures are drawn like those of a study. The template
//! escapes every text by itself; what is put in as it is (style, script, figures, embedded numbers) is made in this crate.

mod by_query;
mod comparison;
mod export;
mod facts;
mod figures;
mod join;
pub(crate) mod latex;
mod measures;
mod page;
mod paper;
mod roles;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use foltr_experiment::results::Results;

pub use by_query::QueryMeans;
pub use page::Page;
pub use roles::{ChoiceError, Choices};

pub struct Report {
    pub name: String,
    pub results: Results,
    /// By folder, the content of `resolved.toml`.
    pub resolved: Vec<(String, String)>,
    pub queries: QueryMeans,
    /// By setting, what tells its data apart: hashes of its queries.
    pub data: Vec<String>,
}

pub fn read(folder: &Path) -> Result<Report> {
    let results = Results::open(folder)?;
    let path = folder.join("resolved.toml");
    let resolved = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    // A folder may be called `.`.
    let name = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let name = name.file_name().map_or_else(|| "results".into(), |name| name.to_string_lossy().into_owned());
    let queries = QueryMeans::read(&results)?;
    let data = (0..results.grid.settings.len()).map(|setting| data_of(&results, setting)).collect();
    Ok(Report { resolved: vec![(name.clone(), resolved)], name, results, queries, data })
}

/// Several folders as one report, in which the folder is an axis. Labels are those of the folders in their order, or
/// their names.
pub fn read_all(folders: &[PathBuf], labels: &[String]) -> Result<Report> {
    if !labels.is_empty() && labels.len() != folders.len() {
        let (n_labels, n_folders) = (labels.len(), folders.len());
        return Err(ChoiceError::FolderLabels { n_labels, n_folders }.into());
    }
    let reports = folders.iter().map(|folder| read(folder)).collect::<Result<Vec<Report>>>()?;
    let label =
        |(idx, report): (usize, Report)| (labels.get(idx).cloned().unwrap_or_else(|| report.name.clone()), report);
    let mut labelled: Vec<(String, Report)> = reports.into_iter().enumerate().map(label).collect();
    for (idx, (label, _)) in labelled.iter().enumerate() {
        if labelled[..idx].iter().any(|(known, _)| known == label) {
            return Err(ChoiceError::SameLabel(label.clone()).into());
        }
    }
    match labelled.len() {
        1 if labels.is_empty() => Ok(labelled.remove(0).1),
        _ => Ok(join::join(labelled)),
    }
}

fn data_of(results: &Results, setting: usize) -> String {
    let start = format!("{} fold ", results.grid.settings[setting].experiment.data_name());
    let folds = results.about.data.iter().filter(|(name, _)| name.starts_with(&start));
    folds.map(|(name, hash)| format!("{name}: {hash}")).collect::<Vec<_>>().join("; ")
}
