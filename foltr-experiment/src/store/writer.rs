//! One run on its way to the disk.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use foltr_federation::protocol::Deployment;

use super::files::{copy, create_folder, put, remove, replace};
use super::record::RunRecord;
use super::{CLIENTS_FILE, DEPLOYMENT_FILE, QUERIES_FILE, ROWS_FILE};
use crate::rows::{ClientValue, QueryValue, Row};

pub(super) const RESUMABLE: &str = ".resumable";

/// How long a row may wait before it reaches the file.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

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
    pub(super) fn open(finished: PathBuf, is_resumable: bool) -> Result<Self> {
        let partial = finished.with_extension("partial");
        create_folder(&partial)?;
        if is_resumable {
            put(&partial.join(RESUMABLE), b"")?;
        }
        let create = || -> std::io::Result<BufWriter<File>> {
            let mut rows = BufWriter::new(File::create(partial.join(ROWS_FILE))?);
            writeln!(rows, "round,metric,value")?;
            Ok(rows)
        };
        let rows = create().with_context(|| format!("{} cannot be written", partial.display()))?;
        Ok(Self { finished, partial, rows, flushed: Instant::now(), failure: None })
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

    pub(crate) fn clients(&self, clients: &[ClientValue]) -> Result<()> {
        if clients.is_empty() {
            return Ok(());
        }
        replace(&self.partial.join(CLIENTS_FILE), |file| {
            writeln!(file, "client,group,metric,value")?;
            for ClientValue { client, group, metric, value } in clients {
                writeln!(file, "{client},{group},{metric},{value}")?;
            }
            Ok(())
        })
    }

    pub(crate) fn queries(&self, queries: &[QueryValue]) -> Result<()> {
        if queries.is_empty() {
            return Ok(());
        }
        let mut text = b"query,metric,value\n".to_vec();
        queries.iter().try_for_each(|value| writeln!(text, "{}", value.line()))?;
        put(&self.partial.join(QUERIES_FILE), &text)
    }

    pub(crate) fn deployment(&self, deployment: &Deployment) -> Result<()> {
        put(&self.partial.join(DEPLOYMENT_FILE), &deployment.to_json()?)
    }

    #[cfg(test)]
    pub(super) fn write_rows_to(&mut self, path: &Path) {
        self.rows = BufWriter::new(File::options().write(true).open(path).expect("a file"));
    }

    pub fn path(&self) -> &Path {
        &self.partial
    }

    pub(crate) fn copy(&self, from: &Path, name: &str) -> Result<()> {
        let to = self.partial.join(name);
        to.parent().map_or(Ok(()), create_folder)?;
        copy(&from.join(name), &to)
    }

    /// Takes checksums and gives the run its name: after this it is finished, also after a loss of power.
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
    pub(crate) fn discard(self) {
        let _ = std::fs::remove_dir_all(&self.partial);
    }
}
