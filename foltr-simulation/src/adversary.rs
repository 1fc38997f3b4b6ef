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

mod click_poisoning;
mod drift;
mod fang_krum;
mod fang_trim;
mod geometry;
mod inner_product;
mod little_is_enough;
mod min_max;
mod min_sum;
mod negation;
mod promotion;
mod rewards;
mod scaling;
mod sign_flip;
#[cfg(test)]
mod tests;

use foltr_federation::ParameterError;
use foltr_federation::parameter::require;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

pub use click_poisoning::ClickPoisoning;
pub use drift::{Drift, DriftDirection, Spread};
pub use fang_krum::{Bound, FangKrum, Simulation};
pub use fang_trim::{Extremes, FangTrim, Space};
pub use inner_product::InnerProduct;
pub use little_is_enough::{Deviation, EstimateFrom, Formula, LittleIsEnough};
pub use min_max::{MinMax, Perturbation};
pub use min_sum::MinSum;
pub use negation::Negation;
pub use promotion::{Promoted, Promotion, Targets};
pub use rewards::Seeds;
pub(crate) use rewards::{Fitted, RewardRange};
pub use scaling::Scaling;
pub use sign_flip::SignFlip;

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

/// The parameters of one attack.
pub trait AttackMethod: Copy {
    /// Whether what attackers do depends on earlier rounds.
    const REMEMBERS: bool = false;

    /// Parameters with which every conformance test runs.
    fn example() -> Self;

    /// Checks every parameter.
    ///
    /// # Errors
    /// With the first one that is out of range.
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Whether attackers learn from reversed clicks, so that they need users of their own
    /// ([`Partition::with_clicks_of`](crate::client_data::ClientData::with_clicks_of)).
    fn reverses_clicks(&self) -> bool {
        false
    }

    /// The one mind behind the attackers; none where they lie with their clicks alone.
    fn begin(&self) -> Option<Box<dyn Adversary>>;
}

/// Defines [`Attack`], its list and its delegation from one line an attack.
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

            /// One of each kind, for conformance tests.
            pub fn examples() -> Vec<Self> {
                vec![$(Self::$attack(<$method as AttackMethod>::example())),*]
            }

            /// Whether attackers learn from reversed clicks.
            pub fn reverses_clicks(&self) -> bool {
                match self {
                    $(Self::$attack(method) => method.reverses_clicks(),)*
                }
            }

            /// Whether what attackers do depends on earlier rounds.
            pub const fn remembers(&self) -> bool {
                match self {
                    $(Self::$attack(_) => <$method as AttackMethod>::REMEMBERS,)*
                }
            }

            fn check(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$attack(method) => AttackMethod::check(method),)*
                }
            }

            fn begin(&self) -> Option<Box<dyn Adversary>> {
                match self {
                    $(Self::$attack(method) => method.begin(),)*
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
    "sign-flip": SignFlip(SignFlip), "The opposite of the honest update";
    "scaling": Scaling(Scaling), "Learning from reversed clicks, boosted";
    "drift": Drift(Drift), "A step within the spread of honest updates that is the same in every round";
    "promotion": Promotion(Promotion), "Clicks that push documents of one kind up for queries of one kind";
    "negation": Negation(Negation), "The opposite of the local model: marks a client that is to be forgotten";
}

impl Attackers {
    /// Checks every parameter.
    ///
    /// # Errors
    /// With the first one that is out of range.
    pub fn check(&self) -> Result<(), ParameterError> {
        self.seeds.check()?;
        self.method.check()
    }

    /// The one mind behind the attackers; none where they lie with their clicks alone.
    pub fn start(&self) -> Option<Box<dyn Adversary>> {
        self.method.begin()
    }
}

/// What attackers do between their honest work and the server.
pub trait Adversary: std::fmt::Debug + Send + Sync {
    /// Puts what the attackers send in place of their honest updates, which are in `own` when this is called.
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, stream: &mut Stream);
}

/// What attackers see of a round.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The round, from 0.
    pub round: u32,
    /// The model that everybody started from.
    pub global: &'a [f32],
    /// Clients of the round, attackers included.
    pub n_clients: usize,
    /// What the others send; nothing with partial knowledge.
    pub honest: Option<Rows<'a>>,
}

impl<'a> Seen<'a> {
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
    /// Rows of this length.
    pub const fn new(values: &'a [f32], n_params: usize) -> Self {
        Self { values, n_params }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.values.len() / self.n_params.max(1)
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// One of them.
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.n_params..][..self.n_params]
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, f32> {
        self.values.chunks_exact(self.n_params.max(1))
    }
}

/// The attackers' own messages.
#[derive(Debug)]
pub struct Own<'a> {
    values: &'a mut [f32],
    n_params: usize,
}

impl<'a> Own<'a> {
    /// Rows of this length.
    pub const fn new(values: &'a mut [f32], n_params: usize) -> Self {
        Self { values, n_params }
    }

    /// As they are now.
    pub const fn rows(&self) -> Rows<'_> {
        Rows { values: &*self.values, n_params: self.n_params }
    }

    /// To be written.
    pub fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, f32> {
        self.values.chunks_exact_mut(self.n_params.max(1))
    }

    /// Makes all attackers send the same.
    pub fn send_all(&mut self, update: &[f32]) {
        self.rows_mut().for_each(|row| row.copy_from_slice(update));
    }
}
