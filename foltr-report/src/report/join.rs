//! Several result folders as one: the folder becomes an axis.

use super::by_query::QueryMeans;
use super::{Report, Results};
use foltr_experiment::grid::{Grid, Setting};
use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::Run;

pub const FOLDER_AXIS: &str = "folder";

/// Every setting gets the label of its report.
pub fn join(reports: Vec<(String, Report)>) -> Report {
    let mut joined = Joined::default();
    for (label, report) in reports {
        joined.add(&label, report);
    }
    let Joined { names, settings, runs, about, resolved, queries, data, root } = joined;
    let results = Results { grid: Grid::of_settings(settings), runs, about, root };
    Report { name: names.join(", "), results, resolved, queries, data }
}

#[derive(Default)]
struct Joined {
    names: Vec<String>,
    settings: Vec<Setting>,
    runs: Vec<Run>,
    about: Manifest,
    resolved: Vec<(String, String)>,
    queries: QueryMeans,
    data: Vec<String>,
    root: std::path::PathBuf,
}

impl Joined {
    fn add(&mut self, label: &str, report: Report) {
        let Report { results, resolved, queries, data, .. } = report;
        let n_before = self.settings.len();
        self.settings.extend(results.grid.settings.into_iter().map(|mut setting| {
            setting.labels.insert(0, (FOLDER_AXIS.into(), label.into()));
            setting
        }));
        self.runs.extend(results.runs.into_iter().map(|run| Run { setting: run.setting + n_before, ..run }));
        self.add_manifest(label, results.about);
        self.resolved.extend(resolved.into_iter().map(|(_, text)| (label.to_owned(), text)));
        self.queries.extend(queries);
        self.data.extend(data);
        self.names.push(label.into());
        if self.names.len() == 1 {
            self.root = results.root;
        }
    }

    fn add_manifest(&mut self, label: &str, other: Manifest) {
        let about = &mut self.about;
        about.n_runs += other.n_runs;
        about.n_finished += other.n_finished;
        about.n_interactions += other.n_interactions;
        about.training_seconds += other.training_seconds;
        about.starts.extend(other.starts);
        for (text, other) in [(&mut about.version, &other.version), (&mut about.code_hash, &other.code_hash)] {
            if !text.split(", ").any(|known| known == other) {
                *text = [text.as_str(), other].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ");
            }
        }
        for (name, hash) in other.data {
            let is_other = about.data.get(&name).is_some_and(|known| *known != hash);
            let name = if is_other { format!("{name}, {label}") } else { name };
            about.data.insert(name, hash);
        }
    }
}
