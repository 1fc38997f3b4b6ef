//! Against how many attackers is the defence of an experiment set up?

use foltr_federation::ROUND_RISK;
use serde::Serialize;

use foltr_experiment::spec::Experiment;
use foltr_report::table::grouped;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DefenceScope {
    /// Attackers in a round with which the defence reckons: m.
    pub assumed_attackers: u32,
    /// Whether a round has the clients that this takes.
    pub holds: bool,
    /// Clients of a round; of one shard where there are several.
    pub cohort: u32,
    pub clients: u32,
    pub rounds: u32,
    /// With which probability more than m may come to some round.
    pub risk: f64,
    /// The most attackers among all clients for whom m is enough.
    pub most_attackers: u32,
    /// Of `[attack]`, and the m that they need.
    pub attackers: Option<u32>,
    pub needed: Option<u32>,
}

impl DefenceScope {
    /// None without a defence that reckons with a number of attackers.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let attackers = experiment.attack.map(|attack| attack.attackers);
        let (defence, cohorts) = (experiment.defence?, experiment.plan().cohorts(attackers.unwrap_or(0)));
        let cohort = cohorts.size();
        let assumed_attackers = defence.assumed_attackers(cohort as usize)?;
        Some(Self {
            assumed_attackers,
            holds: defence.can_hold(assumed_attackers, cohort as usize),
            cohort,
            clients: cohorts.n_clients,
            rounds: cohorts.n_rounds,
            risk: ROUND_RISK,
            most_attackers: cohorts.most_attackers_held(assumed_attackers, ROUND_RISK),
            attackers,
            needed: attackers.map(|_| cohorts.attackers_to_expect(ROUND_RISK)),
        })
    }

    pub fn words(&self) -> String {
        let Self { assumed_attackers: m, holds, cohort, clients, rounds, risk, most_attackers, attackers, needed } =
            *self;
        let [cohort, clients, rounds] = [cohort, clients, rounds].map(|count| grouped(count.into()));
        let reckons = format!("the defence reckons with {m} attackers in a round of {cohort} clients");
        if !holds {
            return format!("{reckons}, which are too few for this rule to promise anything");
        }
        let enough = format!(
            "enough in all {rounds} rounds, at a risk of {risk:e}, for at most {most_attackers} attackers among {clients} clients"
        );
        let attack = attackers
            .zip(needed)
            .map_or_else(String::new, |(attackers, needed)| format!("; the {attackers} of [attack] need {needed}"));
        format!("{reckons}: {enough}{attack}")
    }
}
