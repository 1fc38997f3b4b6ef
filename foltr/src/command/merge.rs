//! `foltr merge`: result folders of several machines into one.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::results::Answer;
use super::{End, usage};
use crate::output::{self, chat};
use foltr_report::assemble::merge;

pub fn run(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<End> {
    if parquet {
        usage(foltr_report::parquet::ensure_available())?;
    }
    let results = merge(folders, out, parquet)?;
    super::results::print(&results, out)?;
    let (finished, all) = (results.runs.len(), results.about.n_runs);
    chat(format_args!("{finished} of {all} runs are there"));
    output::answer(&Answer::of(&results, out)?)?;
    Ok(End::Done)
}
