//! Options of `foltr mimic`, `foltr index` and `foltr search`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use foltr_experiment::execute::Shard;

#[derive(Debug, Subcommand)]
pub enum MimicCommand {
    /// All steps: teachers, labels, students, evaluation.
    Run(MimicArgs),
    /// Train the teachers on private queries.
    TrainTeacher(MimicArgs),
    /// Label the public queries with the teachers, with the noise that the file asks for.
    Label(MimicArgs),
    /// Train the students on the labels.
    TrainStudent(MimicArgs),
    /// Write the queries that rankers from outside should score, with their candidates: a file each, and the documents.
    Queries(MimicArgs),
    /// Evaluate BM25, teachers, aggregates and students on the test queries.
    Evaluate(MimicArgs),
}

#[derive(Clone, Debug, Args)]
pub struct MimicArgs {
    /// Experiment file; specs/mimic has examples.
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    /// Folder for networks, labels and results; made if needed. What is there is not done again.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// A value in place of the one in the file, such as teacher.steps=500.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Do only the I-th of N shares of the runs, which are pairs of a fold and a seed; `foltr merge` joins the folders.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

#[derive(Debug, Args)]
pub struct IndexArgs {
    /// A folder: TREC, BEIR or NFCorpus files, or files of text.
    #[arg(value_name = "COLLECTION")]
    pub collection: PathBuf,
    /// File for the index. An existing file is not replaced.
    #[arg(long, value_name = "INDEX")]
    pub out: PathBuf,
    /// Keep the commonest English words.
    #[arg(long)]
    pub keep_stop_words: bool,
    /// Keep the endings of words.
    #[arg(long)]
    pub keep_endings: bool,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// An index of `foltr index`.
    #[arg(value_name = "INDEX")]
    pub index: PathBuf,
    /// What to search for; queries are read from standard input, one per line, when absent.
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// A network of `foltr mimic`, which ranks BM25's best documents again.
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The network's weight beside BM25; 1 is the network alone.
    #[arg(long, value_name = "W", default_value_t = 1.0, requires = "model", value_parser = weight)]
    pub weight: f32,
    /// Documents of BM25 that the network ranks.
    #[arg(long, value_name = "N", default_value_t = 100, requires = "model", value_parser = at_least_one)]
    pub depth: usize,
    /// Documents to show.
    #[arg(short = 'n', long = "results", value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    pub n_results: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or_else(|| "expected a whole number, 1 or more".to_owned())
}

fn weight(text: &str) -> Result<f32, String> {
    let weight: f32 = text.parse().map_err(|_| "expected a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&weight) { Ok(weight) } else { Err("expected a number from 0 to 1".to_owned()) }
}
