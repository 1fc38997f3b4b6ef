//! Options of `foltr tune`.

use std::path::PathBuf;

use clap::Args;

use foltr_experiment::execute::Shard;

#[derive(Debug, Args)]
pub struct TuneArgs {
    /// Experiment file that sweeps what is to be chosen.
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    /// Folder for the results; made if needed. DIR/choice has the runs of the candidates.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// An axis to choose from, such as learner.learning_rate; may be repeated. By default those of the file's section
    /// `[choose]`, else all swept numbers of learner, ranker, personalisation and server optimiser.
    #[arg(long = "choose", value_name = "AXIS")]
    pub axes: Vec<String>,
    /// What is compared, always on validation queries; by default that of `[choose]`, else the first of metrics.offline.
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// How a learning curve becomes a number: final, mean, last-fifth or last-tenth; by default that of
    /// `[choose]`, else final.
    #[arg(long, value_name = "AT")]
    pub at: Option<String>,
    /// Seeds of the candidates; must differ from those of the file, which run what was chosen. By default those of
    /// `[choose]`, else as many as the file has, from 1001 on.
    #[arg(long, value_name = "SEED,...", value_delimiter = ',')]
    pub choice_seeds: Vec<u64>,
    /// A value in place of the one in the file, such as users.preset=perfect or 'learner.learning_rate=[0.1, 0.01]'.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// With the values of the file's section `[quick]`.
    #[arg(long)]
    pub quick: bool,
    /// Do only the I-th of N shares of the candidates; in a merged folder that has all of them, of what was chosen.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}
