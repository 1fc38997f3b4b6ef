//! One run on its way to the disk.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::finished::{CLIENTS_FILE, CLIENTS_HEADER, ROWS_FILE, ROWS_HEADER};
use super::record::RunRecord;
use super::remove;
use crate::rows::{ClientValue, Row};

/// Marks an unfinished run whose files can be gone on with.
pub(super) const RESUMABLE: &str = ".resumable";

/// How long a row may wait before it reaches the file.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// One run on its way to the disk.
#[derive(Debug)]
pub struct RunWriter {
    partial: PathBuf,
    finished: PathBuf,
    rows: BufWriter<File>,
    flushed: Instant,
    /// The first row that could not be written ends the run.
    failure: Option<std::io::Error>,
}

impl RunWriter {
    pub(super) fn start(runs: &Path, key: &str) -> Result<Self> {
        let partial = runs.join(format!("{key}.partial"));
        remove(&partial)?;
        std::fs::create_dir_all(&partial).with_context(|| format!("{} cannot be made", partial.display()))?;
        Self::open(runs, key, partial)
    }

    pub(super) fn resume(runs: &Path, key: &str) -> Result<Self> {
        let partial = runs.join(format!("{key}.partial"));
        std::fs::create_dir_all(&partial).with_context(|| format!("{} cannot be made", partial.display()))?;
        super::put(&partial.join(RESUMABLE), b"")?;
        Self::open(runs, key, partial)
    }

    fn open(runs: &Path, key: &str, partial: PathBuf) -> Result<Self> {
        let make = || -> std::io::Result<BufWriter<File>> {
            let mut rows = BufWriter::new(File::create(partial.join(ROWS_FILE))?);
            writeln!(rows, "{ROWS_HEADER}")?;
            Ok(rows)
        };
        let rows = make().with_context(|| format!("{} cannot be written", partial.display()))?;
        Ok(Self { finished: runs.join(key), partial, rows, flushed: Instant::now(), failure: None })
    }

    /// Writes a row; a failure is reported by [`Self::finish`].
    pub fn row(&mut self, row: &Row) {
        if self.failure.is_none() {
            self.failure = self.write_row(row).err();
        }
    }

    fn write_row(&mut self, row: &Row) -> std::io::Result<()> {
        // `{}` of a float is the shortest text that reads back as the same float.
        writeln!(self.rows, "{},{},{}", row.round, row.metric, row.value)?;
        if self.flushed.elapsed() > FLUSH_AFTER {
            self.flushed = Instant::now();
            self.rows.flush()?;
        }
        Ok(())
    }

    /// Writes what the final rankers are worth to every client, if that is known.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn clients(&self, clients: &[ClientValue]) -> Result<()> {
        if clients.is_empty() {
            return Ok(());
        }
        let mut text = format!("{CLIENTS_HEADER}\n").into_bytes();
        for ClientValue { client, group, metric, value } in clients {
            writeln!(text, "{client},{group},{metric},{value}")?;
        }
        super::put(&self.partial.join(CLIENTS_FILE), &text)
    }

    #[cfg(test)]
    pub(super) fn write_rows_to(&mut self, path: &Path) {
        self.rows = BufWriter::new(File::options().write(true).open(path).expect("a file"));
    }

    /// The folder of the unfinished run, for more files.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Copies a file of another run.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub fn copy(&self, from: &Path, name: &str) -> Result<()> {
        let (from, to) = (from.join(name), self.partial.join(name));
        let copy = || -> std::io::Result<()> {
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::copy(&from, &to)?;
            File::open(&to)?.sync_all()
        };
        copy().with_context(|| format!("{} cannot be copied to {}", from.display(), to.display()))
    }

    /// Takes checksums and gives the run its name: after this it is finished, also after a loss of power.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(self, record: RunRecord) -> Result<()> {
        let Self { partial, finished, rows, failure, .. } = self;
        let end = || -> Result<()> {
            failure.map_or(Ok(()), Err)?;
            rows.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
            remove(&partial.join(RESUMABLE))?;
            record.write(&partial)?;
            File::open(&partial)?.sync_all()?;
            std::fs::rename(&partial, &finished)?;
            if let Some(runs) = finished.parent() {
                File::open(runs)?.sync_all()?;
            }
            Ok(())
        };
        end().with_context(|| format!("{} cannot be written", partial.display()))
    }

    /// The run was interrupted: nothing of it stays.
    pub fn discard(self) {
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}
