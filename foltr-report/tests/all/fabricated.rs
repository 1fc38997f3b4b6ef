//! Made-up results with known numbers: 2 data sets x 3 kinds of users x 4 methods, 5 seeds each.

use std::path::PathBuf;

use foltr_experiment::grid::{AnyExperiment, Grid, Setting};
use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::Row;
use foltr_report::report::{QueryMeans, Report};
use foltr_test::ExperimentFile;

/// A label that would run, were it not escaped.
pub const HOSTILE: &str = r#"<script>window.hostile=1</script>"'&</title>"#;

/// Methods from the best to the worst; the first is the baseline.
pub const METHODS: [&str; 4] = ["Centralised PDGD", "FPDGD + server momentum", "FPDGD", HOSTILE];
pub const USERS: [&str; 3] = ["perfect", "navigational", "informational"];
pub const DATA: [&str; 2] = ["MQ2007", "MSLR-WEB10K"];
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// A number between -0.5 and 0.5 that looks drawn, the same everywhere.
fn noise(key: usize) -> f64 {
    let mixed = (key as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

/// Final value of a method (0 the best) with a seed: methods are 0.05 apart, seeds shift all methods alike.
fn final_value(data: usize, users: usize, method: usize, seed: u64) -> f64 {
    let level = 0.78 - 0.05 * method as f64 - 0.03 * users as f64 - 0.2 * data as f64;
    level + 0.02 * noise(seed as usize) + 0.002 * noise(31 * method + seed as usize)
}

/// All of it; `n_rounds` points a curve.
pub fn report(n_rounds: usize) -> Report {
    let file = ExperimentFile::fpdgd().set("seeds", &format!("{SEEDS:?}")).set("clients.n_clients", "1000");
    let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
    let experiment = grid.settings[0].experiment.clone();
    let (mut settings, mut runs) = (Vec::new(), Vec::new());
    for (data, users) in (0..DATA.len()).flat_map(|data| (0..USERS.len()).map(move |users| (data, users))) {
        for (method, name) in METHODS.into_iter().enumerate() {
            let run = |seed| run(settings.len(), seed, rows(final_value(data, users, method, seed), method, n_rounds));
            runs.extend(SEEDS.map(run));
            let labels = [("data.folder", DATA[data]), ("users.preset", USERS[users]), ("method", name)];
            settings.push(setting(&experiment, &labels));
        }
    }
    let data = [(format!("{} fold 1", experiment.data_name()), "0123456789abcdef".to_owned())];
    let about = Manifest { n_runs: runs.len(), data: data.into(), ..Manifest::default() };
    let results = Results { grid: Grid::of_settings(settings), runs, about, root: PathBuf::new() };
    Report {
        name: "fabricated".into(),
        results,
        resolved: resolved("fabricated", format!("# {HOSTILE}\nseeds = {SEEDS:?}\n")),
        data: Vec::new(),
        queries: QueryMeans::default(),
    }
}

pub fn setting(experiment: &AnyExperiment, labels: &[(&str, &str)]) -> Setting {
    let labels = labels.iter().map(|(axis, label)| ((*axis).to_owned(), (*label).to_owned()));
    Setting { labels: labels.collect(), experiment: experiment.clone() }
}

pub fn run(setting: usize, seed: u64, rows: Vec<Row>) -> Run {
    let clients = Vec::new();
    Run {
        setting,
        fold: 1,
        seed,
        key: String::new(),
        rows: rows.into(),
        n_interactions: 0,
        training_seconds: 0.0,
        clients,
    }
}

fn rows(last: f64, method: usize, n_rounds: usize) -> Vec<Row> {
    let row = |metric: &str, round: usize, ceiling: f64| {
        let share = 1.0 - (-5.0 * round as f64 / n_rounds as f64).exp();
        let value = 0.3 + (last * ceiling - 0.3) * share + 0.004 * noise(round + 1000 * method);
        Row { round, metric: metric.parse().expect("a metric"), value }
    };
    let learned = (1..=n_rounds).flat_map(|round| [row("test-ndcg@10", round, 1.0), row("online-ndcg@10", round, 0.9)]);
    [row("test-ndcg@10", 0, 1.0)].into_iter().chain(learned).collect()
}

/// All settings of a file with made-up rows, by setting and seed.
pub fn report_of(file: &ExperimentFile, rows: impl Fn(usize, u64) -> Vec<Row>) -> Report {
    let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
    let seeds = |setting: usize| grid.settings[setting].experiment.seeds().to_vec();
    let n_interactions = |it: usize| grid.settings[it].experiment.schedule().map_or(0, |it| it.n_interactions() as u64);
    let all = (0..grid.settings.len()).flat_map(|it| seeds(it).into_iter().map(move |seed| (it, seed)));
    let runs: Vec<Run> =
        all.map(|(it, seed)| Run { n_interactions: n_interactions(it), ..run(it, seed, rows(it, seed)) }).collect();
    let about = Manifest { n_runs: runs.len(), ..Manifest::default() };
    let results = Results { grid, runs, about, root: PathBuf::new() };
    Report {
        name: "made up".into(),
        results,
        resolved: resolved("made up", file.to_string()),
        queries: QueryMeans::default(),
        data: vec![],
    }
}

/// A metric in rounds `from` to `to`, with one value for all.
pub fn level(metric: &str, (from, to): (usize, usize), value: f64) -> Vec<Row> {
    let metric = metric.parse().expect("a metric");
    (from..=to).map(|round| Row { round, metric, value }).collect()
}

fn resolved(name: &str, text: String) -> Vec<(String, String)> {
    vec![(name.into(), text)]
}
