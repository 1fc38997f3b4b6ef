//! Options of `foltr scorecard`, and the card that they ask for.

use std::path::PathBuf;

use clap::Args;

use crate::scorecard::{ATTACKS, COLLECTIONS, DEFENCES, Effort, is_at_hand};

/// What goes on the card.
#[derive(Debug, Args)]
pub struct ScorecardArgs {
    /// One collection (MQ2008 if it is at hand, else a generated one), one seed, fewer rounds and 40 % attackers: about five minutes on two cores.
    #[arg(long)]
    pub quick: bool,
    /// Collections: MQ2008, MQ2007, synthetic-mslr.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub data: Vec<String>,
    /// Who clicks: perfect, navigational, informational.
    #[arg(long, value_name = "PRESET", value_delimiter = ',')]
    pub users: Vec<String>,
    /// The federation: cross-silo (10 clients), cross-device (1,000, 100 a round) or foltr-es (100 clients).
    #[arg(long, value_name = "NAME", default_value = "cross-silo")]
    pub setting: String,
    /// Shares of attackers.
    #[arg(long = "share", value_name = "SHARE", value_delimiter = ',', value_parser = share)]
    pub shares: Vec<f64>,
    /// Defences, compared with federated averaging without attackers; all when absent.
    #[arg(long = "defence", value_name = "NAME", value_delimiter = ',')]
    pub defences: Vec<String>,
    /// Attacks; all when absent.
    #[arg(long = "attack", value_name = "NAME", value_delimiter = ',')]
    pub attacks: Vec<String>,
    /// Runs behind every number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: Option<u64>,
    /// Rounds of a run.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Leave out how long every rule takes.
    #[arg(long)]
    pub no_times: bool,
    /// Folder for scorecard.json, heat maps and finished runs; made if needed. Without it only tables are printed.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Rounds of a full card and of a quick one.
const ROUNDS: (usize, usize) = (10_000, 1000);

impl ScorecardArgs {
    /// What these options ask for.
    pub fn effort(&self) -> Effort {
        let names = |given: &[String], usual: Vec<&str>| {
            if given.is_empty() { usual.into_iter().map(str::to_owned).collect() } else { given.to_vec() }
        };
        let is_cross_silo = self.setting == "cross-silo";
        let usual_shares: &[f64] = match (self.quick, is_cross_silo) {
            (true, true) => &[0.4],
            (true, false) => &[0.2],
            (false, true) => &[0.1, 0.2, 0.3, 0.4],
            (false, false) => &[0.01, 0.05, 0.1, 0.2],
        };
        let data = match (self.quick, is_at_hand("MQ2008")) {
            (true, true) => vec!["MQ2008"],
            (true, false) => vec!["synthetic-mslr"],
            (false, _) => COLLECTIONS.to_vec(),
        };
        Effort {
            data: names(&self.data, data),
            users: names(&self.users, vec!["perfect", "navigational", "informational"]),
            setting: self.setting.clone(),
            shares: if self.shares.is_empty() { usual_shares.to_vec() } else { self.shares.clone() },
            defences: names(&self.defences, DEFENCES.iter().map(|defence| defence.name).collect()),
            attacks: names(&self.attacks, ATTACKS.iter().map(|attack| attack.name).collect()),
            seeds: (1..=self.seeds.unwrap_or(if self.quick { 1 } else { 5 })).collect(),
            rounds: self.rounds.map_or(if self.quick { ROUNDS.1 } else { ROUNDS.0 }, |rounds| rounds as usize),
        }
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().map_err(|error| error.to_string())?;
    if share > 0.0 && share < 0.5 { Ok(share) } else { Err("must be above 0 and below .5".into()) }
}
