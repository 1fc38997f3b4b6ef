//! Files that are whole and on disk when the call returns, and errors that name them.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Replaces a file as a whole: readers see the old one or the new one.
pub(crate) fn replace(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    let write = || -> Result<()> {
        let mut file = BufWriter::new(File::create(&new)?);
        fill(&mut file)?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        Ok(std::fs::rename(&new, path)?)
    };
    write().with_context(|| format!("{} cannot be written", path.display()))
}

pub(crate) fn put(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, |file| Ok(file.write_all(content)?))
}

pub(crate) fn put_json(path: &Path, value: &impl Serialize) -> Result<()> {
    put(path, (serde_json::to_string_pretty(value)? + "\n").as_bytes())
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read(path)?).with_context(|| format!("{} is damaged", path.display()))
}

pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = || std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>();
    paths().with_context(|| format!("{} cannot be read", folder.display()))
}

pub(crate) fn create_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("the folder {} cannot be made", path.display()))
}

pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}
