//! `export`: everything about the owner, as one JSON document.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::reach::Reach;
use crate::home::Home;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file to write, which must not be there yet; standard output when absent.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(super) fn export(home: Home, arguments: &ExportArgs) -> Result<()> {
    let export = match Reach::of(home)? {
        Reach::Here(agent) => serde_json::to_value(agent.export()?)?,
        Reach::Running(client) => client.get("export")?,
    };
    let text = serde_json::to_string_pretty(&export)?;
    match &arguments.file {
        None => writeln!(std::io::stdout(), "{text}")?,
        Some(path) => {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
                .with_context(|| path.display().to_string())?;
            writeln!(file, "{text}").and_then(|()| file.sync_all()).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}
