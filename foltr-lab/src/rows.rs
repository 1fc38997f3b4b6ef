//! Rows: what a run reports while it runs, and the tidy table (one number a line) they are written to.

pub mod parquet;

use std::fmt;
use std::io::Write;

use foltr_rank::Params;

use crate::spec::{Experiment, Metric, Split, Users, in_words};

/// What a number measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricName {
    /// A metric of the deterministic ranking of held-out queries.
    Offline(Split, Metric),
    /// Mean nDCG of the lists shown to users during a round, at the cut-off.
    OnlineNdcg(usize),
    /// Mean MaxRR of the clicks on the lists shown to users during a round, before any privatisation (spec section 4).
    OnlineMaxRr,
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline(split, metric) => write!(f, "{}-{metric}", split.name()),
            Self::OnlineNdcg(cutoff) => write!(f, "online-ndcg@{cutoff}"),
            Self::OnlineMaxRr => f.write_str("online-maxrr"),
        }
    }
}

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Fold of the data, from 1.
    pub fold: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Offline: the ranker after this many rounds. Online: the round in which lists were shown, from 1.
    pub round: usize,
    /// What was measured.
    pub metric: MetricName,
    /// Its value.
    pub value: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundProgress {
    /// Rounds done.
    pub round: usize,
    /// Rounds to do.
    pub n_rounds: usize,
    /// The newest value of the first metric, if there is one yet.
    pub value: Option<f64>,
}

/// What remains of a run besides its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The final ranker.
    pub params: Params,
    /// Interactions that were simulated.
    pub n_interactions: u64,
    /// Time spent training, without evaluation.
    pub training_seconds: f64,
    /// Whether the run was stopped before its last round.
    pub interrupted: bool,
}

/// The columns that tell one setting from another, the same for all rows of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(Vec<(&'static str, String)>);

impl Settings {
    /// The settings of an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let schedule = experiment.schedule();
        let optional = |text: Option<String>| text.unwrap_or_default();
        let federation = experiment.federation.as_ref();
        let data = &experiment.data;
        Self(vec![
            ("data", data.name()),
            ("queries", optional(data.generated().map(|[train, _, _]| train.to_string()))),
            ("validation_queries", optional(data.generated().map(|[_, validation, _]| validation.to_string()))),
            ("test_queries", optional(data.generated().map(|[_, _, test]| test.to_string()))),
            ("data_seed", optional(data.seed().map(|seed| seed.to_string()))),
            ("normalise", in_words(&data.normalise())),
            ("users", optional(experiment.users.as_ref().map(Users::name))),
            ("ranker", optional(experiment.ranker.as_ref().map(in_words))),
            ("learner", in_words(&experiment.learner)),
            ("list_length", experiment.metrics.list_length.to_string()),
            ("n_clients", optional(schedule.map(|schedule| schedule.n_clients.to_string()))),
            ("cohort", optional(schedule.map(|schedule| schedule.cohort.to_string()))),
            ("interactions", optional(schedule.map(|schedule| schedule.interactions.to_string()))),
            ("rounds", optional(schedule.map(|schedule| schedule.n_rounds.to_string()))),
            ("optimiser", optional(federation.map(|federation| in_words(&federation.optimiser)))),
            ("privacy", in_words(&experiment.privacy)),
        ])
    }
}

/// Writes rows as CSV. The rows of several runs may come at the same time; they are written run after run, so that a
/// file does not depend on the number of threads. The rows of the first unfinished run reach the disk at once.
#[derive(Debug)]
pub struct RowWriter<W: Write> {
    csv: csv::Writer<W>,
    /// One row of setting columns a run.
    settings: Vec<Vec<String>>,
    /// Rows of each run that wait for runs before it.
    waiting: Vec<Vec<Row>>,
    finished: Vec<bool>,
    current: usize,
}

impl<W: Write> RowWriter<W> {
    /// Writes the header. One run will follow for each element of `runs`, which has its settings.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: W, runs: &[Settings]) -> csv::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        let names = runs.iter().take(1).flat_map(|settings| settings.0.iter().map(|(name, _)| *name));
        csv.write_record(names.chain(["seed", "fold", "round", "metric", "value"]))?;
        csv.flush()?;
        let settings = runs.iter().map(|run| run.0.iter().map(|(_, value)| value.clone()).collect()).collect();
        Ok(Self { csv, settings, waiting: vec![Vec::new(); runs.len()], finished: vec![false; runs.len()], current: 0 })
    }

    /// Writes a row of run `run_idx`, or keeps it until the runs before it are finished.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, run_idx: usize, row: Row) -> csv::Result<()> {
        if run_idx != self.current {
            self.waiting[run_idx].push(row);
            return Ok(());
        }
        self.put(run_idx, &row)?;
        Ok(self.csv.flush()?)
    }

    /// Says that run `run_idx` will write no more.
    ///
    /// # Errors
    /// If rows that waited for it cannot be written.
    pub fn finish_run(&mut self, run_idx: usize) -> csv::Result<()> {
        self.finished[run_idx] = true;
        while self.finished.get(self.current) == Some(&true) {
            self.current += 1;
            self.put_waiting(self.current)?;
        }
        Ok(self.csv.flush()?)
    }

    /// Writes all rows that still wait: the end, also of an interrupted experiment.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(mut self) -> csv::Result<()> {
        for run_idx in self.current..self.waiting.len() {
            self.put_waiting(run_idx)?;
        }
        Ok(self.csv.flush()?)
    }

    fn put_waiting(&mut self, run_idx: usize) -> csv::Result<()> {
        let waiting = self.waiting.get_mut(run_idx).map(std::mem::take).unwrap_or_default();
        waiting.iter().try_for_each(|row| self.put(run_idx, row))
    }

    fn put(&mut self, run_idx: usize, row: &Row) -> csv::Result<()> {
        self.settings[run_idx].iter().try_for_each(|value| self.csv.write_field(value))?;
        // `{}` of a float is the shortest text that reads back as the same float.
        let numbers = [row.seed.to_string(), row.fold.to_string(), row.round.to_string()];
        numbers.iter().try_for_each(|number| self.csv.write_field(number))?;
        self.csv.write_field(row.metric.to_string())?;
        self.csv.write_field(row.value.to_string())?;
        self.csv.write_record(None::<&[u8]>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u64, round: usize) -> Row {
        Row { fold: 1, seed, round, metric: MetricName::OnlineNdcg(10), value: 0.1 + 0.2 }
    }

    /// An experiment on generated data, in which `from` is replaced by `to`.
    fn settings(from: &str, to: &str) -> Settings {
        let text = r#"
            seeds = [1]
            data = { kind = "synthetic", shape = "tiny", queries = 50, test_queries = 20, seed = 1, normalise = "none" }
            clients = { n_clients = 10, interactions = 2, cohort = 5 }
            users = { kind = "cascade", preset = "perfect" }
            ranker = { kind = "linear", initialisation = { kind = "zero" } }
            learner = { kind = "pdgd", learning_rate = 0.1, updates = "immediate" }
            federation = { rounds = 4, optimiser = { kind = "learning-rate", rate = 1.0 } }
            metrics = { list_length = 10 }
        "#;
        assert!(text.contains(from), "{from}");
        Settings::of(&Experiment::from_toml(&text.replacen(from, to, 1)).expect("a good experiment"))
    }

    #[test]
    fn different_settings_have_different_columns() {
        let first = settings("seeds = [1]", "seeds = [2]");
        let value = |name: &str| first.0.iter().find(|column| column.0 == name).map(|column| column.1.as_str());
        let values =
            ["queries", "test_queries", "data_seed", "normalise", "list_length", "cohort", "rounds"].map(value);
        assert_eq!(values, ["50", "20", "1", "none", "10", "5", "4"].map(Some));
        for (from, to) in [
            ("queries = 50", "queries = 51"),
            ("test_queries = 20", "test_queries = 21"),
            ("seed = 1,", "seed = 2,"),
            ("normalise = \"none\"", "normalise = \"query\""),
            ("cohort = 5", "cohort = 6"),
            ("rounds = 4", "rounds = 5"),
            ("list_length = 10", "list_length = 9"),
        ] {
            assert_ne!(settings(from, to), first, "{to}");
        }
    }

    #[test]
    fn rows_come_out_run_after_run_however_they_came_in() {
        let mut file = Vec::new();
        let settings = Settings(vec![("data", "a,b".into())]);
        let mut writer = RowWriter::new(&mut file, &vec![settings; 3]).expect("memory");
        for (run_idx, row) in [(2, row(9, 1)), (1, row(8, 1)), (0, row(7, 1)), (1, row(8, 2)), (0, row(7, 2))] {
            writer.write(run_idx, row).expect("memory");
        }
        writer.finish_run(1).expect("memory");
        writer.finish_run(0).expect("memory");
        writer.finish().expect("memory");
        let lines: Vec<String> = String::from_utf8(file).expect("text").lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "data,seed,fold,round,metric,value");
        assert_eq!(lines[1], "\"a,b\",7,1,1,online-ndcg@10,0.30000000000000004");
        let order: Vec<&str> = lines[1..].iter().map(|line| &line[6..11]).collect();
        assert_eq!(order, ["7,1,1", "7,1,2", "8,1,1", "8,1,2", "9,1,1"]);
    }
}
