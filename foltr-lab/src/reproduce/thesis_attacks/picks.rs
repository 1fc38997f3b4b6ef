//! How often does Krum pick an attacker? What an attack under Krum achieves rests on it.

use anyhow::Result;

use super::{ATTACKERS, Rule};
use crate::reproduce::Study;
use crate::reproduce::course::{USERS, WHOLE, over, select};
use crate::reproduce::study::mean;
use crate::results::Results;
use crate::rows::MetricName;
use crate::table::table;

/// Runs under Krum in a file.
#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// Of data poisoning, which has other rules too.
    Clicks,
    /// Of Fang's attack, with this knowledge.
    Fang(&'static str),
}

impl Attack {
    fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Clicks => ("rule", Rule::Krum.label()),
            Self::Fang(knowledge) => ("attack.knowledge", knowledge),
        }
    }
}

/// The share of rounds in which Krum took an attacker's update, over all runs.
fn share(results: &Results, attack: Attack, users: &str, n_attackers: &str) -> Result<f64> {
    let number = [("attack.attackers", n_attackers), ("defence.rule.attackers", n_attackers)];
    let labels = [&[attack.label(), ("users.preset", users)][..], &number].concat();
    Ok(mean(&over(results, select(results, &labels)?, MetricName::AttackerShare, WHOLE)))
}

/// A table of attacks and users; by chance it would be the share of attackers.
pub fn tell(study: &mut Study<'_>, attacks: &[(&str, &Results, Attack)]) -> Result<()> {
    let mut lines = Vec::new();
    for (name, results, attack) in attacks {
        for users in USERS {
            let mut line = vec![(*name).to_owned(), users.to_owned()];
            for n_attackers in ATTACKERS {
                line.push(format!("{:.1} %", 100.0 * share(results, *attack, users, n_attackers)?));
            }
            lines.push(line);
        }
    }
    let header = ["attack", "users", "10 %", "20 %", "30 %", "40 %"];
    study.table("rounds in which Krum picked an attacker, by the share of attackers", &table(&header, 2, lines));
    Ok(())
}
