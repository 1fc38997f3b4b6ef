//! `foltr merge`: result folders of several machines into one.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::End;
use crate::output::say;
use foltr_report::merge::{MergedStudy, merge};

pub fn run(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<End> {
    if parquet {
        foltr_report::parquet::ensure_available()?;
    }
    for MergedStudy { name, results } in merge(folders, out, parquet)? {
        let (finished, all) = (results.runs.len(), results.about.n_runs);
        match name {
            None => super::results::print(&results, out)?,
            Some(name) => say(format_args!("study:   {}", out.join(name).display())),
        }
        say(format_args!("{finished} of {all} runs are there"));
    }
    say(format_args!("Rerun the command without --shard and with --out {} to judge the whole.", out.display()));
    Ok(End::Done)
}
