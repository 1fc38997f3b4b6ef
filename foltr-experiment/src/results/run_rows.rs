//! The rows of a run as tables and figures ask for them: one metric over rounds, read from the run's file when it is asked
//! for. Rows of all runs need not be in memory: those that were read last are kept, as far as they fit a limit.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};

use super::columns::Columns;
use crate::rows::{MetricName, Row};
use crate::store::RowFile;

/// Values of all runs that are kept, eight bytes each.
const MOST_KEPT: usize = 4 << 20;

/// Rows of a run: in its file, or in memory if they were made there.
#[derive(Clone, Debug)]
pub struct RunRows(Source);

#[derive(Clone, Debug)]
enum Source {
    Held(Vec<Row>),
    Stored(RowFile, Arc<RowCache>),
}

impl From<Vec<Row>> for RunRows {
    fn from(rows: Vec<Row>) -> Self {
        Self(Source::Held(rows))
    }
}

impl FromIterator<Row> for RunRows {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        Self(Source::Held(rows.into_iter().collect()))
    }
}

impl PartialEq for RunRows {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Source::Stored(own, _), Source::Stored(other, _)) => own.has_content_of(other),
            _ => self.to_vec().ok() == other.to_vec().ok(),
        }
    }
}

impl RunRows {
    /// Rows of a file, which is read and checked now.
    pub(super) fn open(file: RowFile, cache: &Arc<RowCache>) -> Result<Self> {
        cache.keep(&file, Arc::new(read_columns(&file)?));
        Ok(Self(Source::Stored(file, Arc::clone(cache))))
    }

    /// Rounds and values of a metric.
    pub fn course(&self, metric: MetricName) -> Vec<(usize, f64)> {
        self.columns().course(metric)
    }

    /// The value of a metric in the last round that has one.
    pub fn last(&self, metric: MetricName) -> Option<f64> {
        self.columns().last(metric)
    }

    /// Every metric that has a row, in order.
    pub fn metrics(&self) -> Vec<MetricName> {
        let mut metrics: Vec<MetricName> = self.columns().metrics().collect();
        metrics.sort_unstable();
        metrics
    }

    /// Shows every row in the order in which it was written. An error of `show` ends it.
    pub fn visit(&self, mut show: impl FnMut(Row) -> Result<()>) -> Result<()> {
        match &self.0 {
            Source::Held(rows) => rows.iter().try_for_each(|&row| show(row)),
            Source::Stored(file, _) => {
                let mut shown = Ok(());
                file.read(|row| {
                    if shown.is_ok() {
                        shown = show(row);
                    }
                })?;
                shown
            }
        }
    }

    pub fn to_vec(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.visit(|row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    pub(super) fn check_unchanged(&self) -> Result<()> {
        match &self.0 {
            Source::Held(_) => Ok(()),
            Source::Stored(_, cache) => cache.check_unchanged(),
        }
    }

    /// A file that was read before and cannot be read again has no rows; [`Self::check_unchanged`] says so.
    fn columns(&self) -> Arc<Columns> {
        match &self.0 {
            Source::Held(rows) => Arc::new(rows.iter().copied().collect()),
            Source::Stored(file, cache) => cache.columns(file),
        }
    }
}

fn read_columns(file: &RowFile) -> Result<Columns> {
    let mut columns = Columns::default();
    file.read(|row| columns.push(row))?;
    columns.shrink();
    Ok(columns)
}

/// What was read last of the runs of a result folder.
#[derive(Debug, Default)]
pub(super) struct RowCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The newest last.
    columns: VecDeque<(PathBuf, Arc<Columns>)>,
    n_values: usize,
    /// Why a file could not be read again.
    failure: Option<String>,
}

impl RowCache {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, file: &RowFile, columns: Arc<Columns>) {
        let kept = &mut *self.lock();
        kept.n_values += columns.len();
        kept.columns.push_back((file.path().to_owned(), columns));
        while kept.n_values > MOST_KEPT
            && let Some((_, oldest)) = kept.columns.pop_front()
        {
            kept.n_values -= oldest.len();
        }
    }

    fn columns(&self, file: &RowFile) -> Arc<Columns> {
        if let Some((_, columns)) = self.lock().columns.iter().rfind(|(path, _)| path == file.path()) {
            return Arc::clone(columns);
        }
        match read_columns(file) {
            Ok(columns) => {
                let columns = Arc::new(columns);
                self.keep(file, Arc::clone(&columns));
                columns
            }
            Err(failure) => {
                self.lock().failure.get_or_insert_with(|| format!("{failure:#}"));
                Arc::default()
            }
        }
    }

    /// Fails if a file changed after it was opened, so that what was made of the rows is wrong.
    fn check_unchanged(&self) -> Result<()> {
        match &self.lock().failure {
            Some(failure) => bail!("a run changed while it was read, try again: {failure}"),
            None => Ok(()),
        }
    }
}
