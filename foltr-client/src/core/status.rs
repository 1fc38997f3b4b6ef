//! What a device knows, for its owner.

use std::fmt;

use foltr_federation::Guarantee;

use super::event::Consent;
use super::local::OWN_MODEL;
use super::membership::{Standing, promise};
use super::{Core, Owner};

/// All that an owner can ask about.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub is_paused: bool,
    pub model: ModelInUse,
    pub n_open: usize,
    /// Lists from which the device has learnt alone.
    pub n_learnt_alone: u64,
    pub federation: Option<FederationStatus>,
    /// Addresses of federations that have not confirmed yet that this device is forgotten.
    pub being_forgotten_by: Vec<String>,
    /// Why the last attempt to reach the federation, or to write to the disk, failed.
    pub problem: Option<String>,
    /// Everything that is on the disk.
    pub stored: Vec<StoredThing>,
}

/// What lists are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelInUse {
    /// The one that this device learnt alone.
    Own,
    Release {
        version: u32,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct FederationStatus {
    pub address: String,
    /// The id under which the server knows this device.
    pub device: String,
    pub is_member: bool,
    pub consent: Consent,
    /// The promise of the plan, in words; nothing before the plan was seen.
    pub promise: Option<String>,
    pub newest_release: Option<u32>,
    /// Whether the newest release was worse for this person, so that an older model is in use.
    pub is_newest_refused: bool,
    /// Lists that have ended in the open round, and how many it needs.
    pub n_interactions: u32,
    pub n_needed: u32,
    /// The round whose message waits to be sent.
    pub waiting_round: Option<u32>,
    pub n_messages: u64,
    pub budget: Option<BudgetStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetStatus {
    pub spent: Guarantee,
    /// An epsilon of `f64::MAX` means that nothing limits it.
    pub limit: Guarantee,
    /// Messages of plans that promise nothing.
    pub n_unprotected: u64,
    /// Whether one more message would be too much. Ranking goes on.
    pub is_exhausted: bool,
    /// Whether the server has a message of this device that the ledger does not know: then nothing is sent there any more.
    pub is_unknown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredThing {
    pub what: &'static str,
    pub count: u64,
    pub bytes: u64,
    /// When the oldest and the newest of them were written, in seconds since 1970.
    pub oldest: u64,
    pub newest: u64,
}

/// What tests look at.
#[cfg(test)]
impl Core {
    pub(crate) fn open_clicks(&self) -> std::collections::BTreeMap<u64, foltr_rank::Clicks> {
        let lists = self.open(Owner::Alone).iter().chain(self.open(Owner::Federation));
        lists.map(|list| (list.id().0, list.clicks())).collect()
    }

    pub(crate) fn n_observed(&self) -> u64 {
        self.adoption.as_ref().map_or(0, |adoption| adoption.n_observed())
    }

    pub(crate) fn ledger(&self) -> Option<foltr_federation::Ledger> {
        self.ledgers.get(self.membership.as_ref()?.address.as_str()).cloned()
    }

    pub(crate) fn ledger_task(&self) -> String {
        let membership = self.membership.as_ref().expect("a federation");
        membership.member().expect("a member").task(&membership.key.id)
    }
}

impl Core {
    /// Without what is stored, which the shell knows.
    pub fn status(&self) -> Status {
        let member = self.member();
        let version = member.map_or(OWN_MODEL, |member| member.in_use);
        Status {
            is_paused: self.is_paused,
            model: if version == OWN_MODEL { ModelInUse::Own } else { ModelInUse::Release { version } },
            n_open: self.open(Owner::Alone).len() + self.open(Owner::Federation).len(),
            n_learnt_alone: self.local.n_learnt,
            federation: self.federation_status(),
            being_forgotten_by: self.forgettings.iter().map(|it| it.address.as_str().to_owned()).collect(),
            problem: self.problem.as_ref().map(|(_, error)| error.to_string()),
            stored: Vec::new(),
        }
    }

    fn federation_status(&self) -> Option<FederationStatus> {
        let membership = self.membership.as_ref()?;
        let member = membership.member();
        let device = member.and_then(|member| member.device.as_ref());
        let words = member.and_then(|member| Some(promise(&member.plan).ok()?.1.words.summary));
        let considered = member.and_then(|member| member.considered);
        Some(FederationStatus {
            address: membership.address.as_str().to_owned(),
            device: membership.key.id.to_string(),
            is_member: matches!(membership.standing, Standing::Member(_)),
            consent: membership.consent,
            promise: words,
            newest_release: member.and_then(|member| member.chain.newest()).map(|id| id.version),
            is_newest_refused: member.is_some_and(|member| considered.is_some_and(|newest| newest != member.in_use)),
            n_interactions: device.map_or(0, |device| device.session().n_interactions()),
            n_needed: device.map_or(0, |device| device.n_interactions()),
            waiting_round: member.and_then(|member| member.outbox.as_ref()).map(|outbox| outbox.round),
            n_messages: member.map_or(0, |member| member.progress.n_messages),
            budget: self.budget_status(),
        })
    }

    fn budget_status(&self) -> Option<BudgetStatus> {
        let membership = self.membership.as_ref()?;
        let (member, address) = (membership.member()?, membership.address.as_str());
        let ledger = self.ledgers.get(address)?;
        let name = member.task(&membership.key.id);
        let next = if member.has_rounds() { member.progress.next_round } else { u32::MAX };
        Some(BudgetStatus {
            spent: ledger.spent(),
            limit: ledger.budget(),
            n_unprotected: ledger.n_unprotected(),
            is_exhausted: !self.ledgers.affords(address, &name, next, member.cost),
            is_unknown: self.ledgers.is_stopped(address),
        })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.model {
            ModelInUse::Own => writeln!(f, "Ranks with its own model, learnt from {} lists.", self.n_learnt_alone)?,
            ModelInUse::Release { version } => writeln!(f, "Ranks with release {version} of the federation.")?,
        }
        if self.is_paused {
            writeln!(f, "Paused: nothing is recorded, learnt or sent.")?;
        }
        writeln!(f, "Open lists: {}.", self.n_open)?;
        if let Some(federation) = &self.federation {
            write!(f, "{federation}")?;
        }
        for address in &self.being_forgotten_by {
            writeln!(f, "Waits for {address} to forget this device.")?;
        }
        if let Some(problem) = &self.problem {
            writeln!(f, "Problem: {problem}.")?;
        }
        writeln!(f, "On the disk:")?;
        for StoredThing { what, count, bytes, .. } in &self.stored {
            writeln!(f, "  {bytes:>9} bytes in {count:>4}: {what}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FederationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Federation: {} (this device is {}).", self.address, self.device)?;
        if !self.is_member {
            return writeln!(f, "Not a member yet.");
        }
        if let Some(promise) = &self.promise {
            writeln!(f, "Its plan: {promise}")?;
        }
        if self.is_newest_refused {
            writeln!(f, "The newest release ranks worse for you and is not in use.")?;
        }
        writeln!(
            f,
            "This round: {} of {} lists. Messages so far: {}.",
            self.n_interactions, self.n_needed, self.n_messages
        )?;
        if let Some(round) = self.waiting_round {
            writeln!(f, "The message of round {round} waits to be sent.")?;
        }
        self.budget.iter().try_for_each(|budget| write!(f, "{budget}"))
    }
}

impl fmt::Display for BudgetStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spent, limit, n_unprotected, is_exhausted, is_unknown } = self;
        if *n_unprotected > 0 {
            writeln!(f, "{n_unprotected} messages were sent without any promise.")?;
        } else if limit.epsilon < f64::MAX {
            let Guarantee { epsilon, delta } = spent;
            writeln!(f, "Privacy spent: epsilon {epsilon:.3} of {} (delta {delta:e}).", limit.epsilon)?;
        } else {
            writeln!(f, "Privacy spent: epsilon {:.3} (delta {:e}), without a limit.", spent.epsilon, spent.delta)?;
        }
        match () {
            () if *is_unknown => writeln!(
                f,
                "The server has another message of this device, so that nobody knows what was spent: nothing is sent any more. \
                 Ranking goes on."
            ),
            () if *is_exhausted => writeln!(f, "The budget is spent: nothing is sent any more. Ranking goes on."),
            () => Ok(()),
        }
    }
}
