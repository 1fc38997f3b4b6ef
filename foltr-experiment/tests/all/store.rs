//! Jobs in a store: which runs are done, reused, done again and shared, and what forgetting clients does to them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foltr_experiment::execute::{DataCache, Event, Executed, Execution, Plan, run_jobs};
use foltr_experiment::grid::Grid;
use foltr_experiment::manifest::Manifest;
use foltr_experiment::mimic::Step;
use foltr_experiment::model::Model;
use foltr_experiment::results::Results;
use foltr_experiment::rows::MetricName;
use foltr_experiment::spec::{LeavingOrder, UnlearningRequest};
use foltr_experiment::store::{DEPLOYMENT_FILE, RunRecord, RunState, RunStore};
use foltr_experiment::unlearn::{Signer, journal::Journal, method};
use foltr_federation::protocol::{Deployment, Document};
use foltr_test::ExperimentFile;

static NEVER: AtomicBool = AtomicBool::new(false);

/// Runs a file as a study of a folder.
fn run(out: &Path, name: Option<&str>, file: &str) -> (Results, Executed) {
    let store = RunStore::open(out).expect("opened");
    run_in(&store, name, file, &Execution::new(&|_| {}, &NEVER)).expect("runs")
}

fn run_in(
    store: &RunStore,
    name: Option<&str>,
    file: &str,
    how: &Execution<'_>,
) -> anyhow::Result<(Results, Executed)> {
    let grid = Grid::from_toml(file, &[]).unwrap_or_else(|problems| panic!("{problems:?}"));
    let data = DataCache::load(&grid)?;
    let plan = Plan::new(grid, &data, None)?;
    let study = store.study(name)?;
    let about = Manifest::begin(&study, &plan)?;
    let mut executed = run_jobs(&plan, &data, store, how)?;
    std::mem::replace(&mut executed.ran, Ok(()))?;
    Ok((Results::of(&study, plan.grid, &plan.jobs, about)?, executed))
}

fn runs(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out.join("runs")).expect("runs");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    all.retain(|path| path.extension().is_none());
    all.sort();
    all
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn an_edited_run_is_named_and_done_again() {
    let folder = folder();
    let file = ExperimentFile::fpdgd().to_string();
    let (before, _) = run(folder.path(), None, &file);
    let rows = runs(folder.path())[0].join("rows.csv");
    let text = std::fs::read_to_string(&rows).expect("rows");
    let cut: String = text.lines().take(3).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(&rows, cut).expect("edited");
    // Nobody reads it meanwhile.
    let message = format!("{:#}", Results::open(folder.path()).expect_err("damaged"));
    assert!(message.contains("rows.csv is damaged") && message.contains("rerun"), "{message}");
    let (after, executed) = run(folder.path(), None, &file);
    assert_eq!((executed.n_finished_before, executed.n_requested), (1, 2));
    assert!(executed.notes[0].contains(&rows.display().to_string()), "{:?}", executed.notes);
    assert_eq!(after.runs[0].rows, before.runs[0].rows);
    assert_eq!(std::fs::read_to_string(&rows).expect("rows"), text);
    assert_eq!(run(folder.path(), None, &file).1.n_finished_before, 2);
}

fn deployment(run: &Path) -> Deployment {
    let record = RunRecord::verify(run).expect("whole");
    let written = record.content(run, DEPLOYMENT_FILE).expect("with a checksum");
    Deployment::from_json(&written).expect("readable")
}

#[test]
fn a_run_can_be_deployed() {
    let folder = folder();
    let file = ExperimentFile::fpdgd();
    let (results, _) = run(folder.path(), None, &file.to_string());
    let experiment = results.grid.settings[0].training().expect("no mimic learning");
    for run in runs(folder.path()) {
        let Deployment { plan, features, problems } = deployment(&run);
        assert!(problems.is_empty(), "{problems:?}");
        let plan = plan.expect("deployable");
        assert_eq!(plan.hash(), experiment.deployable_plan(&features, false).expect("deployable").hash());
        let model = Model::read(&run.join("model.safetensors")).expect("a model");
        assert_eq!((plan.shape(), features.normalise), (model.shape, model.normalise));
        assert!(plan.coordinator(model.params).is_ok());
    }
}

#[test]
fn a_run_says_what_is_in_the_way_of_its_deployment() {
    let file = ExperimentFile::fpdgd().set("seeds", "[1]");
    let attack = "attackers = 1\nknowledge = \"full\"\nmethod = { kind = \"sign-flip\", scale = 2.0 }";
    let gaussian = "kind = \"gaussian\"\nclip = 0.3\nnoise_multiplier = 2.0\nmode = \"clear\"";
    for (file, keys) in [
        (file.clone().section("attack", attack), vec!["attack"]),
        (file.clone().section("privacy", gaussian), vec!["privacy.kind"]),
        (file.section("personalisation", "kind = \"local-only\""), vec!["personalisation.kind", "model"]),
    ] {
        let folder = folder();
        run(folder.path(), None, &file.to_string());
        let Deployment { plan, problems, .. } = deployment(&runs(folder.path())[0]);
        assert_eq!(plan, None);
        assert_eq!(problems.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), keys, "{problems:?}");
    }
}

#[test]
fn the_published_ranker_of_shards_can_be_deployed() {
    let folder = folder();
    let file = ExperimentFile::fpdgd().set("seeds", "[1]").set("federation.shards", "2").section("history", "");
    run(folder.path(), None, &file.to_string());
    let run = &runs(folder.path())[0];
    let plan = deployment(run).plan.expect("deployable");
    let model = Model::read(&run.join("model.safetensors")).expect("a model");
    assert!(plan.sharded_coordinator(model.params).is_ok());
}

#[test]
fn studies_of_one_folder_share_runs() {
    let folder = folder();
    let file = ExperimentFile::fpdgd();
    run(folder.path(), Some("one"), &file.to_string());
    let swept = file.set("learner.learning_rate", "[0.1, 0.2]");
    let (_, executed) = run(folder.path(), Some("two"), &swept.to_string());
    assert_eq!((executed.n_finished_before, executed.n_requested), (2, 4));
    for (study, n_runs) in [("one", 2), ("two", 4)] {
        let results = Results::open(&folder.path().join(study)).expect("opened");
        assert_eq!(results.runs.len(), n_runs, "{study}");
    }
    assert_eq!(runs(folder.path()).len(), 4);
}

/// Three ways to forget client 0, each with two numbers of steps.
fn forgetting() -> ExperimentFile {
    ExperimentFile::fpdgd()
        .set("seeds", "[1]")
        .section("history", "updates_every = 1")
        .set("unlearning.clients", "[0]")
        .set("unlearning.method", "{ kind = \"fed-eraser\", interval = [1, 2, 5], steps = [1, 2] }")
}

#[test]
fn all_methods_start_from_one_training() {
    let folder = folder();
    let (results, executed) = run(folder.path(), None, &forgetting().to_string());
    assert_eq!((executed.n_requested, results.runs.len()), (6, 6));
    assert_eq!(runs(folder.path()).len(), 7);
    let records: Vec<RunRecord> =
        runs(folder.path()).iter().map(|run| RunRecord::verify(run).expect("whole")).collect();
    let trainings: Vec<&RunRecord> = records.iter().filter(|record| record.parent.is_none()).collect();
    assert_eq!(trainings.len(), 1);
    assert!(trainings[0].settings["unlearning"].is_null());
    // The same experiment by itself finds it.
    let alone = forgetting().without("unlearning").to_string();
    let (training, executed) = run(folder.path(), None, &alone);
    assert_eq!((executed.n_finished_before, executed.n_requested), (1, 1));
    // Every method has the rows of the training first, and its own after them.
    for run in &results.runs {
        let (rows, trained) = (run.rows.to_vec().expect("rows"), training.runs[0].rows.to_vec().expect("rows"));
        let (first, own) = rows.split_at(trained.len());
        assert_eq!(first, trained);
        let is_own =
            |metric: MetricName| matches!(metric, MetricName::Unlearning(..) | MetricName::UnlearningOnline(_));
        assert!(!own.is_empty() && own.iter().all(|row| is_own(row.metric)));
    }
}

fn request(client: u32) -> UnlearningRequest {
    let parameters = ["interval=1".to_owned(), "steps=1".to_owned()];
    let method = method("fed-eraser", &parameters).expect("a method");
    UnlearningRequest { clients: vec![client], method, order: LeavingOrder::AtOnce }
}

/// Meets a request as `foltr unlearn` does; `stop` after so many events of progress.
fn forget(out: &Path, client: u32, stop_after: usize) -> anyhow::Result<Executed> {
    let store = RunStore::open(out)?;
    let results = Results::open(out)?;
    let mut journal = Journal::read(out)?;
    let entry = journal.begin(&store, (out, &results), &request(client), None, "now")?;
    let (n_events, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let progress = |event: Event| {
        let is_step = matches!(event, Event::Advanced { .. });
        if is_step && n_events.fetch_add(1, Ordering::Relaxed) + 1 >= stop_after {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let signer = Signer { secret: [7; 32], time: entry.time.clone() };
    let how = Execution { signer: Some(&signer), ..Execution::new(&progress, &stop) };
    let data = DataCache::load(&results.grid)?;
    let mut executed = run_jobs(&entry.plan(&results, &store)?, &data, &store, &how)?;
    std::mem::replace(&mut executed.ran, Ok(()))?;
    if !executed.interrupted {
        journal.settle(&store)?;
    }
    Ok(executed)
}

#[test]
fn a_request_that_was_interrupted_is_resumed_and_says_who_holds_the_client() {
    let folder = folder();
    let out = folder.path();
    let file = forgetting().without("unlearning").set("seeds", "[1, 2, 3]").to_string();
    let (before, _) = run(out, None, &file);
    // The first run of three is ready, the second was stopped.
    let executed = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let executed = executed.install(|| forget(out, 2, 7)).expect("interrupted");
    assert!(executed.interrupted);
    let journal = Journal::read(out).expect("a journal");
    let open = journal.open_request().expect("not met");
    assert_eq!(open.n_holding(), 3, "nothing is swapped before all are ready");
    assert_eq!(Results::open(out).expect("opened").runs, before.runs);
    // Whoever runs the study meanwhile hears of it, and another request has to wait.
    let (_, executed) = run(out, None, &file);
    assert!(executed.notes[0].contains("3 runs still hold them"), "{:?}", executed.notes);
    let message = forget(out, 4, usize::MAX).expect_err("another request").to_string();
    assert!(message.contains("request 1 to forget clients [2] by fed-eraser is not met"), "{message}");

    let executed = forget(out, 2, usize::MAX).expect("resumed");
    assert_eq!((executed.n_finished_before, executed.n_requested), (1, 3));
    assert!(Journal::read(out).expect("a journal").open_request().is_none());
    let after = Results::open(out).expect("opened");
    for (old, new) in before.runs.iter().zip(&after.runs) {
        assert_eq!((new.fold, new.seed), (old.fold, old.seed));
        assert_ne!(new.key, old.key);
        assert!(!out.join("runs").join(&old.key).exists(), "nothing is left of the run with the client");
        let record = RunRecord::verify(&out.join("runs").join(&new.key)).expect("whole");
        assert!(record.files.contains_key("receipt-0001.json"));
        assert_eq!(record.lineage[0].from, old.key);
    }
}

#[test]
fn a_forgotten_run_is_no_parent_and_is_trained_again_only_on_request() {
    let folder = folder();
    let out = folder.path();
    let alone = forgetting().without("unlearning").to_string();
    let (trained, _) = run(out, None, &alone);
    forget(out, 2, usize::MAX).expect("met");
    let (results, executed) = run(out, None, &alone);
    assert_eq!((executed.n_finished_before, executed.n_requested), (1, 1));
    assert!(executed.notes[0].contains("--retrain-forgotten"), "{:?}", executed.notes);
    assert_ne!(results.runs[0].key, trained.runs[0].key, "the run after forgetting");
    // Methods would start from a training that is gone.
    let store = RunStore::open(out).expect("opened");
    let how = Execution::new(&|_| {}, &NEVER);
    let message = run_in(&store, None, &forgetting().to_string(), &how).expect_err("no parent").to_string();
    assert!(message.contains("--retrain-forgotten"), "{message}");
    assert!(matches!(store.state(&trained.runs[0].key), RunState::Forgotten(_)));
    let again = Execution { retrain_forgotten: true, ..how };
    let (results, _) = run_in(&store, None, &alone, &again).expect("trained again");
    assert_eq!(
        (results.runs[0].key.as_str(), &results.runs[0].rows),
        (trained.runs[0].key.as_str(), &trained.runs[0].rows)
    );
}

#[test]
fn forgetting_reaches_the_training_that_runs_started_from() {
    let folder = folder();
    let out = folder.path();
    run(out, None, &forgetting().to_string());
    assert_eq!(runs(out).len(), 7);
    let executed = forget(out, 3, usize::MAX).expect("met");
    assert_eq!(executed.n_requested, 7);
    // Client 0 is forgotten in the six runs that asked for it, and still in their training.
    let executed = forget(out, 0, usize::MAX).expect("met");
    assert_eq!(executed.n_requested, 1);
    let message = forget(out, 0, usize::MAX).expect_err("nobody holds it").to_string();
    assert!(message.contains("forgotten in all runs before"), "{message}");
}

#[test]
fn a_mimic_run_resumes_after_a_step_and_a_changed_file_runs_only_what_changed() {
    let folder = folder();
    let out = folder.path();
    let file = "seeds = [1]\n[data]\nkind = \"synthetic\"\nshape = \"tiny\"\nqueries = 40\nseed = 1\n\
                [supervision]\nkind = \"full\"\nteachers = 2\n\
                [teacher]\nhidden = [8]\nbatch = 16\nsteps = 10\nvalidate_every = 5\n\
                [student]\nhidden = [8]\nbatch = 16\nsteps = STEPS\nvalidate_every = 5\n";
    let (short, both) = (file.replace("STEPS", "10"), file.replace("STEPS", "[10, 20]"));
    let store = RunStore::open(out).expect("opened");
    let how = Execution::new(&|_| {}, &NEVER);
    let modified = |path: PathBuf| std::fs::metadata(path).and_then(|file| file.modified()).expect("there");
    let only_teachers = Execution { steps: &[Step::TrainTeachers], ..how };
    let (results, _) = run_in(&store, None, &short, &only_teachers).expect("a step");
    assert_eq!((results.runs.len(), runs(out).len()), (0, 0), "not finished");
    let partial = std::fs::read_dir(out.join("runs")).expect("runs").next().expect("one").expect("an entry").path();
    let trained = modified(partial.join("teacher-2.safetensors"));
    let (results, _) = run_in(&store, None, &short, &how).expect("the other steps");
    let finished = runs(out)[0].clone();
    assert_eq!(modified(finished.join("teacher-2.safetensors")), trained, "teachers are not trained again");
    let metrics: Vec<String> = results.metrics(0).iter().map(ToString::to_string).collect();
    assert!(metrics.contains(&"student-mimic/ndcg@20".to_owned()), "{metrics:?}");
    let student = modified(finished.join("mimic/student.safetensors"));
    for (file, n_finished_before, n_runs) in [(&short, 1, 1), (&both, 1, 2), (&both, 2, 2)] {
        let (again, executed) = run_in(&store, None, file, &how).expect("runs");
        assert_eq!((executed.n_finished_before, runs(out).len()), (n_finished_before, n_runs));
        assert_eq!(again.runs[0], results.runs[0]);
    }
    assert_eq!(modified(finished.join("mimic/student.safetensors")), student, "what is finished is not touched");
}
