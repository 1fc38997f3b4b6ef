//! Clients that lie: who they are, what they may see, and the interface of what they do.
//!
//! Attackers are the clients `0..attackers`. They collude: one [`Adversary`] writes the messages of all of them, after
//! each has done its honest work (spec section 13). It gets the honest messages, if its knowledge reaches that far, as
//! a shared slice and its own as a mutable one, so that it cannot touch what an honest client sends:
//!
//! ```compile_fail
//! use foltr_simulation::adversary::{Adversary, Own, Seen};
//! #[derive(Debug)]
//! struct Forger;
//! impl Adversary for Forger {
//!     fn corrupt(&mut self, seen: &Seen<'_>, _own: &mut Own<'_>, _stream: &mut foltr_rank::rng::Stream) {
//!         seen.honest.unwrap().row(0)[0] = 1.0;
//!     }
//! }
//! ```
//!
//! Poisoned data need no adversary: those attackers learn honestly from clicks that are not
//! ([`Attack::ClickPoisoning`], spec section 12).

mod adaptive_drift;
mod drift;
mod dyn_opt;
mod fang_krum;
mod fang_trim;
mod geometry;
mod linear;
mod little_is_enough;
mod min_max;
mod patient;
mod preparation;
mod promotion;
mod rewards;
#[cfg(test)]
mod tests;

use foltr_federation::parameter::require;
use foltr_federation::{Combined, Contributions, Defence, ParameterError};
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

pub use adaptive_drift::{AdaptiveDrift, Disguise, Shape};
pub use drift::{Drift, DriftDirection, Spread};
pub use dyn_opt::DynOpt;
pub use fang_krum::{Bound, FangKrum, Simulation};
pub use fang_trim::{Extremes, FangTrim, Space};
pub use linear::{ClickPoisoning, InnerProduct, Negation, Scaling, SignFlip};
pub use little_is_enough::{Deviation, EstimateFrom, Formula, LittleIsEnough};
pub use min_max::{MinMax, MinSum, Perturbation};
pub use patient::Patient;
pub use preparation::Preparation;
pub use promotion::{Promotion, Targets};
pub(crate) use rewards::RewardRange;
pub use rewards::Seeds;

/// Who attacks, how, and knowing what.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Attackers {
    /// How many of the clients; the first ones, without loss of generality.
    pub attackers: u32,
    /// What they see of the other clients' messages.
    #[serde(default)]
    pub knowledge: Knowledge,
    /// Which seeds they may send where messages are a seed and rewards (FOLtR-ES).
    #[serde(default)]
    pub seeds: Seeds,
    /// What they do.
    pub method: Attack,
}

/// What attackers see before they send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
    /// The messages of all clients of the round.
    #[default]
    Full,
    /// Their own.
    Partial,
}

/// Defines [`Attack`], its list and how it is an [`Adversary`] from one line an attack.
macro_rules! attacks {
    ($($name:literal: $attack:ident($method:ident), $about:literal;)*) => {
        /// An attack, as an experiment file names it.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Attack {
            $(#[doc = $about] #[serde(rename = $name)] $attack($method),)*
        }

        impl Attack {
            /// Every attack: its name in an experiment file, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            /// The one mind behind the attackers; none where they lie with their clicks alone.
            pub fn adversary(&self) -> Option<Box<dyn Adversary>> {
                match self {
                    $(Self::$attack(method) => method.changes_messages().then(|| Box::new(*method) as _),)*
                }
            }
        }

        impl std::ops::Deref for Attack {
            type Target = dyn Adversary;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$attack(method) => method,)*
                }
            }
        }
    };
}

attacks! {
    "click-poisoning": ClickPoisoning(ClickPoisoning), "Honest learning from reversed clicks";
    "lie": Lie(LittleIsEnough), "As far from the mean as honest updates scatter (a little is enough)";
    "fang-krum": FangKrum(FangKrum), "As far against the honest direction as Krum still picks";
    "fang-trim": FangTrim(FangTrim), "Just beyond the extremes, against the honest direction (trimmed mean, median)";
    "inner-product": InnerProduct(InnerProduct), "The opposite of the mean of the honest updates";
    "min-max": MinMax(MinMax), "As far from the mean as two honest updates are apart";
    "min-sum": MinSum(MinSum), "As far from the mean as the farthest honest update";
    "dyn-opt": DynOpt(DynOpt), "Against the mean, as far as the server's rule can be moved, tried on what attackers know";
    "sign-flip": SignFlip(SignFlip), "The opposite of the honest update";
    "scaling": Scaling(Scaling), "Learning from reversed clicks, boosted";
    "drift": Drift(Drift), "A step within the spread of honest updates that is the same in every round";
    "adaptive-drift": AdaptiveDrift(AdaptiveDrift), "A fixed drift, as long in every round as the real rule lets through";
    "patient": Patient(Patient), "Honest until a round comes that the rule does not defend, then one vector of great length";
    "promotion": Promotion(Promotion), "Clicks that push documents of one kind up for queries of one kind";
    "negation": Negation(Negation), "The opposite of the local model: marks a client that is to be forgotten";
}

impl Attackers {
    /// Finds the first parameter that is out of range.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.seeds.check()?;
        self.method.check()
    }
}

/// What attackers do between their honest work and the server.
pub trait Adversary: std::fmt::Debug + Send + Sync {
    /// Puts what the attackers send in place of their honest updates, which are in `own` when this is called.
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream);

    /// What attackers work out before the first round, which is then in [`Own::memory`].
    fn prepare(&self, _preparation: &Preparation<'_>) -> Vec<f64> {
        Vec::new()
    }

    /// Whether what attackers do depends on earlier rounds.
    fn remembers(&self) -> bool {
        false
    }

    /// Finds the first parameter that is out of range.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Whether attackers learn from reversed clicks, so that they need users of their own
    /// ([`Partition::with_clicks_of`](crate::client_data::ClientData::with_clicks_of)).
    fn reverses_clicks(&self) -> bool {
        false
    }

    /// Whether attackers change their messages, and do not lie with their clicks alone.
    fn changes_messages(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub round: u32,
    /// The model that everybody started from.
    pub global: &'a [f32],
    /// Clients of the round, attackers included.
    pub n_clients: usize,
    /// What the others send; nothing with partial knowledge.
    pub honest: Option<Rows<'a>>,
    pub rule: Option<Rehearsal<'a>>,
    /// What the server does with a round, which everybody may know; nothing where no server decides.
    pub defence: Option<&'a Defence>,
}

/// What the server would make of the round if attackers sent this, one message behind the other.
pub type Rehearsal<'a> = &'a dyn Fn(&[f32]) -> Option<Vec<f64>>;

impl<'a> Seen<'a> {
    /// The step that the real rule would make of the round if attackers sent these messages, one behind the other; nothing
    /// if they do not see what the others send.
    pub fn rehearse(&self, own: &[f32]) -> Option<Vec<f64>> {
        self.rule.and_then(|rule| rule(own))
    }

    /// The step that the rule would make of these messages, one behind the other, if the other clients of the round sent
    /// these updates, from the first one again after the last. The rule begins anew: what the server remembers is its own.
    pub fn simulate(&self, own: &[f32], others: Rows<'_>) -> Option<Vec<f64>> {
        let mut round = Contributions::new(others.n_params);
        let own = Rows::new(own, others.n_params);
        let rows = own.iter().chain(others.iter().cycle()).take(self.n_clients);
        (0..).zip(rows).for_each(|(client, row)| round.push(client, 1.0, row));
        let mut combined = Combined::default();
        self.defence?.start().aggregate(self.global, &round, &mut combined).ok()?;
        Some(combined.step)
    }

    /// The updates that attackers take for typical: the honest ones if they see any, else their own before the attack.
    pub fn typical<'b>(&self, own: Rows<'b>) -> Rows<'b>
    where
        'a: 'b,
    {
        self.honest.filter(|honest| !honest.is_empty()).unwrap_or(own)
    }
}

/// Updates of some clients, one behind the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    values: &'a [f32],
    n_params: usize,
}

impl<'a> Rows<'a> {
    pub const fn new(values: &'a [f32], n_params: usize) -> Self {
        Self { values, n_params }
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.n_params.max(1)
    }

    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.n_params..][..self.n_params]
    }

    pub fn iter(&self) -> std::slice::ChunksExact<'a, f32> {
        self.values.chunks_exact(self.n_params.max(1))
    }
}

/// The attackers' own messages, and what they remember of earlier rounds.
#[derive(Debug)]
pub struct Own<'a> {
    values: &'a mut [f32],
    n_params: usize,
    /// Empty before the first round; attacks that remember nothing leave it so.
    pub memory: &'a mut Vec<f64>,
}

impl<'a> Own<'a> {
    pub const fn new(values: &'a mut [f32], n_params: usize, memory: &'a mut Vec<f64>) -> Self {
        Self { values, n_params, memory }
    }

    pub const fn rows(&self) -> Rows<'_> {
        Rows { values: &*self.values, n_params: self.n_params }
    }

    pub fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.values.chunks_exact_mut(self.n_params.max(1))
    }

    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value = (factor * f64::from(*value)) as f32);
    }

    /// Sends these messages, one behind the other.
    pub fn send(&mut self, messages: &[f32]) {
        self.values.copy_from_slice(messages);
    }

    pub fn send_all(&mut self, update: &[f32]) {
        self.rows_mut().for_each(|row| row.copy_from_slice(update));
    }
}
