//! `foltr merge`: result folders of several machines into one.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::results::Answer;
use super::{End, usage};
use crate::output::{self, chat, say};
use foltr_report::merge::{MergedStudy, merge};

pub fn run(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<End> {
    if parquet {
        usage(foltr_report::parquet::ensure_available())?;
    }
    let studies = merge(folders, out, parquet)?;
    let mut answers = Vec::new();
    for MergedStudy { name, results } in &studies {
        let (finished, all) = (results.runs.len(), results.about.n_runs);
        match name {
            None => super::results::print(results, out)?,
            Some(name) => say(format_args!("study:   {}", out.join(name).display())),
        }
        say(format_args!("{finished} of {all} runs are there"));
        answers.push(Answer::of(results, out, name.as_deref())?);
    }
    chat(format_args!("Rerun the command without --shard and with --out {} to judge the whole.", out.display()));
    output::answer(&answers)?;
    Ok(End::Done)
}
