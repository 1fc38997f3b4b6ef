//! What the command line says.

use clap::{Parser, ValueEnum};

/// A federation on this machine: a server, devices, and simulated people who search and click.
#[derive(Clone, Debug, Parser)]
#[command(name = "foltr-demo", version)]
pub struct Arguments {
    /// How many devices there are.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub devices: u32,
    /// Take part in a federation that is served already, with documents of 46 features called 1, 2, ...
    #[arg(long, value_name = "INVITATION", conflicts_with_all = ["rounds", "privacy"])]
    pub join: Option<String>,
    /// How many rounds they learn.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,
    /// What protects the people.
    #[arg(long, value_name = "KIND", default_value = "none")]
    pub privacy: PrivacyChoice,
    /// Do not delete the folder at the end.
    #[arg(long)]
    pub keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrivacyChoice {
    /// Nothing: the server sees every update.
    None,
    /// The server sees every update and adds noise to their sum.
    Central,
    /// Devices add noise to every update.
    Local,
}
