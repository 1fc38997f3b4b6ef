//! Work on every fold and seed that is more than one run: what it yields is kept as JSON and not done again.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use foltr_simulation::datasets::Fold;
use rayon::ThreadPoolBuilder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Interrupted;
use super::study::Study;
use crate::execute::{Collections, Job, Plan};
use crate::grid::{Grid, Setting};
use crate::kept::put_json;

/// One fold and seed of a setting.
pub struct Task<'a> {
    pub setting: &'a Setting,
    pub fold: &'a Fold,
    pub seed: u64,
    pub stop: &'a AtomicBool,
}

/// What became of a task.
pub struct Done<T> {
    /// Of the setting it belongs to.
    pub labels: Vec<(String, String)>,
    pub value: T,
}

impl<T> Done<T> {
    /// Whether its setting has this label.
    pub fn is(&self, axis: &str, label: &str) -> bool {
        self.labels.iter().any(|(name, found)| name == axis && found == label)
    }
}

impl Study<'_> {
    /// Does the work for every fold and seed of every setting, in their order, with one thread each: times that it
    /// takes are those of one thread. What was done before is read from `out/shared/<name>`.
    ///
    /// # Errors
    /// If the experiment is wrong, some work fails, or Ctrl-C came ([`Interrupted`]).
    pub fn each<T: Serialize + DeserializeOwned + Send>(
        &mut self,
        name: &str,
        spec: &str,
        overrides: &[String],
        work: impl Fn(&Task<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<Done<T>>> {
        let folder = self.shared_folder(name);
        let grid = Grid::from_toml(spec, overrides).map_err(|problems| super::study::wrong(&folder, &problems))?;
        let collections = Collections::load(&grid)?;
        let plan = Plan::new(grid, &collections, None)?;
        std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let (bar, stop) = self.watchers();
        bar.reset();
        bar.set_length(plan.jobs.iter().map(|job| job.n_interactions).sum());
        let one = |job: &Job| -> Result<Done<T>> {
            let setting = &plan.grid.settings[job.setting];
            let (fold, _) = collections.fold(&setting.experiment.data, job.fold)?;
            let task = Task { setting, fold, seed: job.seed, stop };
            let told = || format!("{} on fold {} with seed {} failed", setting.name(), job.fold, job.seed);
            let value = remembered(&folder.join(format!("{}.json", job.key)), || work(&task)).with_context(told)?;
            bar.inc(job.n_interactions);
            Ok(Done { labels: setting.labels.clone(), value })
        };
        let done = side_by_side(&plan.jobs, stop, one);
        bar.finish_and_clear();
        done
    }
}

/// The value of a file, or of the work, which then is in the file.
fn remembered<T: Serialize + DeserializeOwned>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    if let Ok(text) = std::fs::read_to_string(path) {
        return serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()));
    }
    let value = work()?;
    let new = path.with_extension("partial");
    put_json(&new, &value)?;
    std::fs::rename(&new, path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(value)
}

/// Does all jobs, one thread each, and keeps their order. The first failure ends it.
fn side_by_side<J: Sync, T: Send>(
    jobs: &[J],
    stop: &AtomicBool,
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Vec<Mutex<Option<Result<T>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let all = || -> Result<()> {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().context("threads cannot be started")?;
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else { break };
            let result = pool.install(|| work(job));
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *done[place].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
        }
        Ok(())
    };
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..rayon::current_num_threads()).map(|_| scope.spawn(all)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    ended.into_iter().collect::<Result<()>>()?;
    let results: Vec<Option<Result<T>>> =
        done.into_iter().map(|one| one.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)).collect();
    let n_results = results.iter().flatten().count();
    let values: Vec<T> = results.into_iter().flatten().collect::<Result<_>>()?;
    if n_results < jobs.len() { Err(Interrupted.into()) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_jobs_and_a_failure_is_told() {
        let jobs: Vec<u32> = (0..50).collect();
        let never = AtomicBool::new(false);
        let doubled = side_by_side(&jobs, &never, |job| Ok(2 * job)).expect("nothing fails");
        assert_eq!(doubled, (0..50).map(|job| 2 * job).collect::<Vec<u32>>());
        let odd = |job: &u32| if *job == 7 { Err(anyhow::anyhow!("seven")) } else { Ok(()) };
        assert_eq!(side_by_side(&jobs, &never, odd).expect_err("seven").to_string(), "seven");
        let stopped = side_by_side(&jobs, &AtomicBool::new(true), |job| Ok(*job)).expect_err("nothing was done");
        assert!(stopped.is::<Interrupted>());
    }

    #[test]
    fn what_was_done_is_not_done_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.json");
        assert_eq!(remembered(&path, || Ok(vec![0.1, 2.0])).expect("done"), [0.1, 2.0]);
        let again: Vec<f64> = remembered(&path, || anyhow::bail!("asked again")).expect("remembered");
        assert_eq!(again, [0.1, 2.0]);
    }
}
