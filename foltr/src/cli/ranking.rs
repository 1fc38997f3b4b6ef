//! Options of the commands that use a trained ranker, or write labels for other tools.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use foltr_rank::interleave::Interleaving;
use foltr_rank::metric::WithoutRelevant;
use foltr_simulation::click::Preset;

use foltr_experiment::selection::Selection;
use foltr_experiment::spec::{Metric, Split, choice};
use foltr_report::trec::{Gain, Scores};

#[derive(Clone, Debug, Args)]
pub struct SelectionArgs {
    /// Which queries of a folder: train, validation or test; can be repeated [default: test; for a result folder those
    /// that the run measured].
    #[arg(long = "split", value_name = "SPLIT", value_parser = choice::<Split>)]
    splits: Vec<Split>,
    /// Which fold of a folder, from 1; can be repeated [default: all].
    #[arg(long = "fold", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    folds: Vec<u16>,
    /// The largest label of DATA, where it is above 4.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=31))]
    max_label: Option<u8>,
}

impl SelectionArgs {
    pub fn selection(&self) -> Selection {
        Selection {
            folds: self.folds.iter().map(|&fold| usize::from(fold)).collect(),
            splits: self.splits.clone(),
            max_label: self.max_label,
            with_names: false,
        }
    }
}

/// What documents are called in files for other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ids {
    /// As the comments of the data call them (`#docid = GX...`), by place where they do not.
    Original,
    /// By query and place: 18219-000007.
    Place,
}

#[derive(Clone, Debug, Args)]
pub struct EvaluateArgs {
    /// A result folder, the folder of one of its runs, or the file model.safetensors of a run.
    #[arg(value_name = "DIR|MODEL")]
    pub model: PathBuf,
    /// For a file: a LETOR file, or a folder in LETOR layout. Looked up here, then below FOLTR_DATA.
    #[arg(value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// What to measure, in our words or those of ir-measures; can be repeated. By default what the run measured; for a file
    /// ndcg@10, mrr@10, p@10 and map.
    #[arg(long = "metric", value_name = "NAME", value_parser = metric_by_labels)]
    pub metrics: Vec<Metric>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// What a query without any relevant document counts: skip (left out of the mean), zero or one [default: as in the
    /// run; for a file skip].
    #[arg(long, value_name = "CHOICE", value_parser = choice::<WithoutRelevant>)]
    pub queries_without_relevant: Option<WithoutRelevant>,
    /// The values of every query as well.
    #[arg(long)]
    pub per_query: bool,
}

impl EvaluateArgs {
    /// What is wrong about the arguments together, if anything.
    pub fn problem(&self) -> Option<(ErrorKind, &'static str)> {
        match &self.data {
            None if self.model.is_file() => Some((
                ErrorKind::MissingRequiredArgument,
                "a model file needs DATA to be measured on; without DATA give the result folder or the run's folder",
            )),
            None if self.selection.max_label.is_some() => Some((
                ErrorKind::ArgumentConflict,
                "--max-label is for DATA; the runs of a result folder have the one of their experiment",
            )),
            Some(_) if self.model.is_dir() => Some((
                ErrorKind::ArgumentConflict,
                "a result folder knows its own data; leave DATA out, or give one file model.safetensors",
            )),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Args)]
pub struct InterleaveArgs {
    /// The first ranker: a file model.safetensors.
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// The second ranker.
    #[arg(value_name = "SECOND")]
    pub second: PathBuf,
    /// A LETOR file, or a folder in LETOR layout. Looked up here, then below FOLTR_DATA.
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Who clicks: perfect, navigational or informational.
    #[arg(long, value_name = "WHO", value_parser = choice::<Preset>, default_value = "navigational")]
    pub users: Preset,
    /// How lists are made: team-draft or probabilistic.
    #[arg(long, value_name = "HOW", value_parser = choice::<Interleaving>, default_value = "team-draft")]
    pub method: Interleaving,
    /// Lists on the queries of each split of each fold.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub lists: u64,
    /// Documents of a list.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub list_length: u8,
    /// Of queries, lists and clicks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Clone, Debug, Args)]
pub struct ModelsArgs {
    /// A result folder, the folder of one of its runs, or a file model.safetensors.
    #[arg(value_name = "DIR")]
    pub path: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub struct RankArgs {
    /// The file model.safetensors of a run.
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A LETOR file, or a folder in LETOR layout. Looked up here, then below FOLTR_DATA.
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// The run file; standard output when absent.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Documents of a query at most; all when absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// What documents are called; the same in `foltr qrels`.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Ids::Original)]
    pub ids: Ids,
    /// What stands in the score column.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Scores::Model)]
    pub scores: Scores,
    /// Name of the run in its last column.
    #[arg(long, value_name = "TAG", default_value = "foltr", value_parser = tag)]
    pub tag: String,
}

#[derive(Clone, Debug, Args)]
pub struct QrelsArgs {
    /// A LETOR file, or a folder in LETOR layout. Looked up here, then below FOLTR_DATA.
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// The qrels file; standard output when absent.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// What documents are called; the same in `foltr rank`.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Ids::Original)]
    pub ids: Ids,
    /// What stands in the relevance column.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Gain::Label)]
    pub gain: Gain,
}

fn metric_by_labels(text: &str) -> Result<Metric, String> {
    match text.parse() {
        Ok(Metric::ExpectedMaxRr) => {
            Err("it is about the clicks of an experiment's users, and a model has none; choose a metric by labels"
                .into())
        }
        Ok(metric) => Ok(metric),
        Err(error) => Err(error.to_string()),
    }
}

fn tag(text: &str) -> Result<String, String> {
    let is_one_word = !text.is_empty() && !text.contains(char::is_whitespace);
    if is_one_word { Ok(text.into()) } else { Err("must be one word: columns of a run file end at blanks".into()) }
}
