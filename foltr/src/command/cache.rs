//! `foltr cache`: where parsed data is kept, what is there, and how to empty it.

use std::path::Path;

use anyhow::{Context, Result};
use foltr_simulation::cache::{CACHE_VARIABLE, Cache, CachedFiles, SourceState, clear, contents};
use serde_json::json;

use super::End;
use crate::cli::CacheCommand;
use crate::output::{self, say};
use foltr_report::table::{grouped, table};

pub fn run(command: &CacheCommand) -> Result<End> {
    let cache = Cache::from_environment();
    match command {
        CacheCommand::Info => info(cache.folder()),
        CacheCommand::Clear => empty(cache.folder()),
    }?;
    Ok(End::Done)
}

fn info(folder: Option<&Path>) -> Result<()> {
    let found = match folder {
        Some(folder) => contents(folder).with_context(|| format!("{} cannot be read", folder.display()))?,
        None => Vec::new(),
    };
    let (n_files, n_bytes) = found.iter().fold((0, 0), |(files, bytes), it| (files + it.n_files, bytes + it.n_bytes));
    if !found.is_empty() {
        say(table(&["data file", "since it was read", "files", "size"], 2, found.iter().map(row).collect()));
    }
    say(place(folder, &format!("{} files, {}", grouped(n_files as u64), megabytes(n_bytes))));
    Ok(output::answer(&json!({ "folder": folder, "n_files": n_files, "n_bytes": n_bytes, "sources": found }))?)
}

fn row(found: &CachedFiles) -> Vec<String> {
    let source = found.source.as_ref().map_or_else(|| "not known any more".into(), |path| path.display().to_string());
    let state = if found.state == SourceState::Unknown { "-" } else { found.state.name() };
    vec![source, state.into(), grouped(found.n_files as u64), megabytes(found.n_bytes)]
}

fn empty(folder: Option<&Path>) -> Result<()> {
    let (n_files, n_bytes) = match folder {
        Some(folder) => clear(folder).with_context(|| format!("{} cannot be emptied", folder.display()))?,
        None => (0, 0),
    };
    say(place(folder, &format!("removed {} files, {}", grouped(n_files as u64), megabytes(n_bytes))));
    Ok(output::answer(&json!({ "folder": folder, "n_files": n_files, "n_bytes": n_bytes }))?)
}

fn place(folder: Option<&Path>, words: &str) -> String {
    match folder {
        Some(folder) => format!("{}: {words}", folder.display()),
        None => format!("nothing is kept: {CACHE_VARIABLE} is off, or there is no cache folder of the user"),
    }
}

fn megabytes(n_bytes: u64) -> String {
    format!("{:.1} MB", n_bytes as f64 / 1e6)
}
