//! `foltr completions` and `foltr man`: what a shell and `man` want to know about the commands.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::{End, make_folder};
use crate::cli::Cli;
use crate::output::chat;

pub fn completions(shell: Shell) -> Result<End> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "foltr", &mut script);
    super::print(&String::from_utf8(script)?)
}

/// Prints the page of `foltr`, or writes that and the pages of all commands into a folder.
pub fn manual(out: Option<&Path>) -> Result<End> {
    let Some(folder) = out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        return super::print(&String::from_utf8(page)?);
    };
    make_folder(folder)?;
    let failed = || format!("manual pages cannot be written to {}", folder.display());
    clap_mangen::generate_to(Cli::command(), folder).with_context(failed)?;
    chat(format_args!("pages: {}", folder.display()));
    Ok(End::Done)
}
