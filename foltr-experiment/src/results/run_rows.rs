//! The rows of a run as tables and figures ask for them: one metric over rounds, read from the run's file when it is asked
//! for. Rows of all runs need not be in memory: those that were read last are cached, up to a limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anyhow::{Result, bail};

use super::columns::Columns;
use crate::rows::{MetricName, Row};
use crate::store::RowFile;

/// Values of all runs in the cache, eight bytes each.
const MOST_CACHED: usize = 8 << 20;
/// Runs read last, which leave the cache last: those of a setting are asked for several things in a row.
const RECENT: usize = 64;

/// Rows of a run: in its file, or in memory if they were made there.
#[derive(Clone, Debug)]
pub struct RunRows(Source);

#[derive(Clone, Debug)]
enum Source {
    InMemory(Vec<Row>),
    Stored(Arc<StoredRows>),
}

#[derive(Debug)]
struct StoredRows {
    file: RowFile,
    cache: Arc<RowCache>,
    /// While they are in the cache.
    columns: Mutex<Weak<Columns>>,
}

impl From<Vec<Row>> for RunRows {
    fn from(rows: Vec<Row>) -> Self {
        Self(Source::InMemory(rows))
    }
}

impl FromIterator<Row> for RunRows {
    fn from_iter<I: IntoIterator<Item = Row>>(rows: I) -> Self {
        Self(Source::InMemory(rows.into_iter().collect()))
    }
}

impl PartialEq for RunRows {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Source::Stored(own), Source::Stored(other)) => own.file.has_content_of(&other.file),
            _ => self.to_vec().ok() == other.to_vec().ok(),
        }
    }
}

impl RunRows {
    /// Rows of a file, which is read and checked now.
    pub(super) fn open(file: RowFile, cache: &Arc<RowCache>) -> Result<Self> {
        let stored = StoredRows { file, cache: Arc::clone(cache), columns: Mutex::default() };
        stored.read()?;
        Ok(Self(Source::Stored(Arc::new(stored))))
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
            Source::InMemory(rows) => rows.iter().try_for_each(|&row| show(row)),
            Source::Stored(stored) => {
                let mut shown = Ok(());
                stored.file.read(|row| {
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
            Source::InMemory(_) => Ok(()),
            Source::Stored(stored) => stored.cache.check_unchanged(),
        }
    }

    /// A file that was read before and cannot be read again has no rows; [`Self::check_unchanged`] says so.
    fn columns(&self) -> Arc<Columns> {
        match &self.0 {
            Source::InMemory(rows) => Arc::new(rows.iter().copied().collect()),
            Source::Stored(stored) => stored.columns(),
        }
    }
}

impl StoredRows {
    fn read(&self) -> Result<Arc<Columns>> {
        let mut columns = Columns::default();
        self.file.read(|row| columns.push(row))?;
        columns.shrink();
        let columns = Arc::new(columns);
        *lock(&self.columns) = Arc::downgrade(&columns);
        self.cache.insert(Arc::clone(&columns));
        Ok(columns)
    }

    fn columns(&self) -> Arc<Columns> {
        let known = lock(&self.columns).upgrade();
        known.unwrap_or_else(|| {
            self.read().unwrap_or_else(|failure| {
                lock(&self.cache.cached).failure.get_or_insert_with(|| format!("{failure:#}"));
                Arc::default()
            })
        })
    }
}

/// Rows of the runs of a result folder that are in memory.
#[derive(Debug)]
pub(super) struct RowCache {
    most_values: usize,
    cached: Mutex<CachedColumns>,
}

#[derive(Debug, Default)]
struct CachedColumns {
    /// In the order in which they were read.
    columns: Vec<Arc<Columns>>,
    n_values: usize,
    /// Why a file could not be read again.
    failure: Option<String>,
}

impl Default for RowCache {
    fn default() -> Self {
        Self { most_values: MOST_CACHED, cached: Mutex::default() }
    }
}

impl RowCache {
    /// Adds what was read. Above the limit the newest but [`RECENT`] leave first: whoever asks for all runs again and again
    /// then finds the first ones.
    fn insert(&self, columns: Arc<Columns>) {
        let cached = &mut *lock(&self.cached);
        cached.n_values += columns.len();
        cached.columns.push(columns);
        while cached.n_values > self.most_values && cached.columns.len() > 1 {
            let oldest = cached.columns.remove(cached.columns.len().saturating_sub(RECENT + 1));
            cached.n_values -= oldest.len();
        }
    }

    /// Fails if a file changed after it was opened, so that what was made of the rows is wrong.
    fn check_unchanged(&self) -> Result<()> {
        match &lock(&self.cached).failure {
            Some(failure) => bail!("a run changed while it was read, try again: {failure}"),
            None => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{RunRecord, RunStore, run_folder};

    #[test]
    fn no_more_values_are_cached_than_allowed() {
        const METRIC: MetricName = MetricName::OnlineMaxRr;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = RunStore::open(folder.path()).expect("opened");
        let cache = Arc::new(RowCache { most_values: 1000, cached: Mutex::default() });
        let course = |run: usize| (0..200).map(|round| (round, (round * run) as f64)).collect::<Vec<_>>();
        let open = |run: usize| {
            let mut writer = store.start(&run.to_string()).expect("started");
            course(run).into_iter().for_each(|(round, value)| writer.row(&Row { round, metric: METRIC, value }));
            writer.finish(RunRecord::default()).expect("finished");
            let path = run_folder(folder.path(), &run.to_string());
            let record = RunRecord::read(&path).expect("read");
            RunRows::open(record.rows(&path).expect("rows"), &cache).expect("opened")
        };
        let runs: Vec<RunRows> = (0..100).map(open).collect();
        for _ in 0..2 {
            for (run, rows) in runs.iter().enumerate() {
                assert_eq!((rows.course(METRIC), rows.metrics()), (course(run), vec![METRIC]));
                assert_eq!(lock(&cache.cached).n_values, 1000);
            }
        }
        assert!(runs[99] == runs[99].clone() && runs[98] != runs[99]);
        runs[0].check_unchanged().expect("nothing has changed");
    }
}
