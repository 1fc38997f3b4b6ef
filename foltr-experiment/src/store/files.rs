//! Files that are on disk when the call returns.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

/// Writes a file.
///
/// # Errors
/// If it cannot be written.
pub fn put(path: &Path, content: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(content)?;
        file.sync_all()
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes a value as JSON.
///
/// # Errors
/// If it cannot be written.
pub fn put_json(path: &Path, value: &impl Serialize) -> Result<()> {
    put(path, (serde_json::to_string_pretty(value)? + "\n").as_bytes())
}

/// Replaces a file as a whole: readers see the old one or the new one.
pub(crate) fn replace(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    let write = || -> Result<()> {
        let mut file = BufWriter::new(File::create(&new)?);
        fill(&mut file)?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        Ok(std::fs::rename(&new, path)?)
    };
    write().with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path.to_owned())
}

/// The same for a value as JSON.
pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> Result<PathBuf> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    replace(path, |file| Ok(file.write_all(text.as_bytes())?))
}
