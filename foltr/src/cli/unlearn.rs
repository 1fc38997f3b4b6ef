//! Options of `foltr unlearn` and `foltr receipt`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct UnlearnArgs {
    /// Result folder of `foltr run`, of an experiment with `[history]`.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Clients that leave, from 0.
    #[arg(long = "client", value_name = "N", value_delimiter = ',', required = true)]
    pub clients: Vec<u32>,
    /// How they are forgotten; `foltr list` names the methods.
    #[arg(long, value_name = "NAME")]
    pub method: String,
    /// A parameter of the method, such as interval=5.
    #[arg(long = "with", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Only runs whose name below DIR/runs begins so; all when absent.
    #[arg(long = "run", value_name = "KEY")]
    pub run: Option<String>,
    /// Secret key for receipts; made if there is none [default: DIR/receipt.key].
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ReceiptCommand {
    /// Check that a receipt was signed with a key and not altered since and, with a history, that its chain says the same.
    Verify {
        /// The receipt.
        #[arg(value_name = "FILE")]
        receipt: PathBuf,
        /// The federation's public key: 64 hexadecimal digits, or a file with them.
        #[arg(long, value_name = "KEY")]
        key: String,
        /// The history that it belongs to: history.bin of the run.
        #[arg(long, value_name = "FILE")]
        history: Option<PathBuf>,
        /// A model that must be the one after forgetting: model.safetensors of the run.
        #[arg(long, value_name = "FILE")]
        model: Option<PathBuf>,
    },
}
