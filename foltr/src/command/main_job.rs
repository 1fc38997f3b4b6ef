//! `foltr` without a command: the main job, an experiment file with a figure that is part of the program.

use std::path::Path;

use anyhow::Result;

use super::End;
use super::run::run_text;
use crate::cli::RunArgs;

const SPEC: &str = include_str!("../../../specs/main-job.toml");

/// Trains all methods under all users, with seeds 1 to `n_seeds`.
pub fn run(out: &Path, n_seeds: u64) -> Result<End> {
    let seeds: Vec<u64> = (1..=n_seeds).collect();
    let overrides = vec![format!("seeds={seeds:?}")];
    run_text(SPEC, &RunArgs { spec: "main-job.toml".into(), overrides, out: Some(out.into()), ..RunArgs::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_gets_the_same_budget() {
        let grid = foltr_experiment::grid::Grid::from_toml(SPEC, &[]).expect("a sound file");
        assert_eq!(grid.settings.len(), 12);
        for setting in &grid.settings {
            let schedule = setting.experiment.schedule().expect("all learn online");
            assert_eq!(schedule.n_interactions(), 400_000, "{}", setting.name());
        }
    }
}
