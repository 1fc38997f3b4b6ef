//! What must not grow with the number of runs: memory for their rows.

use foltr_experiment::execute::{DataCache, Plan};
use foltr_experiment::grid::Grid;
use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::Results;
use foltr_experiment::rows::{MetricName, Row};
use foltr_experiment::store::{RunRecord, RunState, RunStore};
use foltr_test::{ExperimentFile, in_own_process, peak_memory};

const N_ROUNDS: usize = 150_000;
const N_RUNS: u64 = 10;

fn value(seed: u64, round: usize) -> f64 {
    0.1 + (round * 7919 % 1000) as f64 / 2000.0 + seed as f64 / 1e6
}

/// Finished runs of two measures a round, as if they had been trained.
fn write_runs(store: &RunStore, plan: &Plan) {
    for job in &plan.jobs {
        let mut writer = store.start(&job.key).expect("started");
        for round in 1..=N_ROUNDS {
            let value = value(job.seed, round);
            writer.row(&Row { round, metric: MetricName::OnlineNdcg(10), value });
            writer.row(&Row { round, metric: MetricName::OnlineMaxRr, value: -value });
        }
        let record = RunRecord::new(serde_json::json!({}), job.fold, job.seed, "data");
        writer.finish(record).expect("finished");
    }
}

#[test]
fn rows_of_all_runs_are_not_in_memory_together() {
    in_own_process(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let seeds = (1..=N_RUNS).map(|seed| seed.to_string()).collect::<Vec<_>>().join(", ");
        let file = ExperimentFile::fpdgd().set("seeds", &format!("[{seeds}]")).to_string();
        let grid = Grid::from_toml(&file, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
        let data = DataCache::load(&grid).expect("data");
        let plan = Plan::new(grid, &data, None).expect("a plan");
        let store = RunStore::open(folder.path()).expect("opened");
        write_runs(&store, &plan);
        let Some(before) = peak_memory() else { return };
        for job in &plan.jobs {
            assert!(matches!(store.state(&job.key), RunState::Finished(_)));
        }
        let after_states = peak_memory().expect("known") - before;
        assert!(after_states < 4 << 20, "{after_states} bytes more to compare runs with their checksums");
        let study = store.study(None).expect("a folder");
        let about = Manifest::begin(&study, &plan).expect("begun");
        let results = Results::of(&study, plan.grid, &plan.jobs, about).expect("results");
        for _ in 0..2 {
            let last = results.final_values(0, MetricName::OnlineNdcg(10));
            assert_eq!(last, (1..=N_RUNS).map(|seed| value(seed, N_ROUNDS)).collect::<Vec<_>>());
            let courses = results.runs.iter().map(|run| run.rows.course(MetricName::OnlineMaxRr));
            assert!(courses.zip(1..).all(|(course, seed)| course[99] == (100, -value(seed, 100))));
        }
        results.check_unchanged().expect("nothing has changed");
        // Three million rows: 120 MB as rows, 24 MB as columns.
        let grown = (peak_memory().expect("known") - before) >> 20;
        println!("{grown} MiB");
        assert!(grown < 48, "{grown} MiB");
    });
}
