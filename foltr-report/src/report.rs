//! `report.html`: the results of a folder on one page that opens from disk without a network.
//!
//! A report is a set of tables and default figures over [`Results`]; figures are drawn like those of a study. The template
//! escapes every text by itself; what is put in as it is (style, script, figures, embedded numbers) is made in this crate.

mod by_query;
mod comparison;
mod facts;
mod figures;
mod measures;
mod page;
mod roles;
mod tables;

use std::path::Path;

use anyhow::{Context, Result};

use foltr_experiment::results::Results;

pub use by_query::QueryMeans;
pub use page::Page;
pub use roles::{ChoiceError, Choices};

pub struct Report {
    pub name: String,
    pub results: Results,
    /// The content of `resolved.toml`.
    pub resolved: String,
    pub queries: QueryMeans,
}

pub fn read(folder: &Path) -> Result<Report> {
    let results = Results::open(folder)?;
    let path = folder.join("resolved.toml");
    let resolved = std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    // A folder may be called `.`.
    let name = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let name = name.file_name().map_or_else(|| "results".into(), |name| name.to_string_lossy().into_owned());
    let queries = QueryMeans::read(&results)?;
    Ok(Report { name, results, resolved, queries })
}
