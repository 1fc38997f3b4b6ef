//! Files that are whole and on disk when the call returns, and errors that name them.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of a file that are in memory at a time.
const BLOCK: usize = 1 << 16;

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

/// The checksum of a file, of which a block at a time is in memory.
pub(super) fn checksum_of(path: &Path) -> Result<String> {
    let sum = || -> std::io::Result<String> {
        let (mut file, mut block, mut hash) = (File::open(path)?, vec![0; BLOCK], Xxh3::new());
        loop {
            match file.read(&mut block) {
                Ok(0) => return Ok(format!("{:032x}", hash.digest128())),
                Ok(n) => hash.update(&block[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    sum().with_context(|| format!("{} cannot be read", path.display()))
}

/// Shows every line of a file with its number, from 1, and returns the checksum of the file.
pub(super) fn lines_of(path: &Path, mut show: impl FnMut(usize, &str)) -> Result<String> {
    let mut read = || -> Result<String> {
        let (mut file, mut line, mut hash) =
            (BufReader::with_capacity(BLOCK, File::open(path)?), Vec::new(), Xxh3::new());
        for number in 1.. {
            line.clear();
            if file.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            hash.update(&line);
            show(number, String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']));
        }
        Ok(format!("{:032x}", hash.digest128()))
    };
    read().with_context(|| format!("{} cannot be read", path.display()))
}

/// Copies a file without all of it in memory.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).with_context(|| format!("{} cannot be read", from.display()))?;
    replace(to, |file| Ok(std::io::copy(&mut source, file).map(drop)?))
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
