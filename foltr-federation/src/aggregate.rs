//! Many payloads in, one ascent step out: the chunked fold of mean-like rules, and the interface of rules that see all.
//!
//! The clients of a round that are present are cut into chunks of [`CHUNK`], in the order of their numbers. A chunk is
//! summed in that order into a [`PartialSum`], and partials are merged in chunk order, so a sum has the same bits for any
//! number of threads and any order of arrival (`docs/adr/0002-chunked-folding.md`).
//!
//! FOLtR-ES payloads become steps here: `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution
//! Strategies*, WSDM 2019, section 3.2, Eq. 6; spec section 4. FedAvg: spec section 8.

mod bound;
mod bulyan;
mod centred_clipping;
mod contributions;
mod fldetector;
mod fltrust;
mod geometric_median;
mod geometry;
mod krum;
mod mean;
mod mixing;
mod norm_clipping;
mod order;
mod spectral_filter;
mod trimmed_mean;

use std::fmt::{self, Debug};

use foltr_rank::bytes::{BytesError, Reader, Writer};
use foltr_rank::learn::evolution::fill_direction;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use bound::Bound;
pub use bulyan::Bulyan;
pub use centred_clipping::CentredClipping;
pub use contributions::Contributions;
pub use fldetector::FlDetector;
pub use fltrust::FlTrust;
pub use geometric_median::GeometricMedian;
pub use krum::{Counted, Krum, MultiKrum, Neighbours};
pub use mean::Mean;
pub use mixing::Mixing;
pub use norm_clipping::{NormClipping, Radius};
pub use spectral_filter::SpectralFilter;
pub use trimmed_mean::{Median, TrimmedMean};

use crate::message::{Kind, Payload};
use crate::privacy::LEVELS;
use foltr_rank::parameter::ParameterError;

/// Clients in a chunk. Part of the result: another size adds in another order and gives other last bits.
pub const CHUNK: usize = 64;

/// Which payload a round takes, and how it becomes a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PayloadSemantics {
    /// Steps, weighted by their interactions (FedAvg).
    Averaging,
    /// Rewards of models perturbed by `sigma` times a direction, or by both signs of it (FOLtR-ES).
    Evolution { sigma: f64, antithetic: bool },
    /// Clipped steps, each counting as 1; their sum is divided by a number that no client can change, usually the
    /// expected size of the cohort.
    Summing { divisor: f64 },
    /// Clipped steps, cut to integers of this unit; the mechanism makes a step of their sum, with its noise.
    Integers { unit: f64 },
    /// Sealed shares: the same in integers of this unit. With fewer survivors the sum is not opened.
    Shares { unit: f64, divisor: f64, min_survivors: u32 },
}

impl PayloadSemantics {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Averaging => Kind::Step,
            Self::Evolution { antithetic: false, .. } => Kind::Evolution,
            Self::Evolution { antithetic: true, .. } => Kind::EvolutionAntithetic,
            Self::Summing { .. } | Self::Integers { .. } => Kind::Clipped,
            Self::Shares { .. } => Kind::Share,
        }
    }

    /// What in this rule needs single updates, if anything does.
    pub const fn needs_single_updates(&self) -> Option<&'static str> {
        match self {
            Self::Evolution { .. } => Some("FOLtR-ES, whose server reads the seed and reward of every message,"),
            Self::Averaging | Self::Summing { .. } | Self::Integers { .. } | Self::Shares { .. } => None,
        }
    }

    /// Whether the noise of a mechanism belongs on the sum: no rule may choose among its summands.
    pub const fn is_protected_sum(&self) -> bool {
        matches!(self, Self::Summing { .. } | Self::Integers { .. } | Self::Shares { .. })
    }

    /// Whether nobody may see how many are in the sum.
    pub const fn hides_who(&self) -> bool {
        matches!(self, Self::Summing { .. } | Self::Integers { .. })
    }

    /// Refuses a clipped step that is too long in integers, and says how long it is in clip norms.
    pub fn check_bound(&self, delta: &[f32]) -> Result<(), f64> {
        let Self::Integers { unit } = *self else { return Ok(()) };
        let square = |&value: &f32| i128::from(on_grid(value, unit)).pow(2);
        let squared_norm = delta.iter().map(square).fold(0_i128, i128::saturating_add);
        let longest = i128::from(LEVELS).pow(2);
        if squared_norm <= longest { Ok(()) } else { Err((squared_norm as f64).sqrt() / f64::from(LEVELS)) }
    }
}

/// A value in grid units, cut towards zero.
fn on_grid(value: f32, unit: f64) -> i64 {
    (f64::from(value) / unit).trunc() as i64
}

/// How much a client's direction enters the ascent gradient: the summand of spec section 4 without 1/C and v.
pub fn evolution_coefficient(plus: f32, minus: Option<f32>, sigma: f64) -> f64 {
    match minus {
        None => f64::from(plus) / sigma,
        Some(minus) => (f64::from(plus) - f64::from(minus)) / (2.0 * sigma),
    }
}

/// A weighted sum of client steps. What a mechanism protects as a sum is opened by the coordinator only, with its noise.
#[derive(Clone, PartialEq)]
pub struct PartialSum {
    sum: Vec<f64>,
    weight: f64,
    n_contributions: u32,
    n_within: u32,
    /// Whether clipped steps or shares are in it.
    is_protected: bool,
}

impl PartialSum {
    pub fn new(n_params: usize) -> Self {
        Self { sum: vec![0.0; n_params], weight: 0.0, n_contributions: 0, n_within: 0, is_protected: false }
    }

    /// Empties the sum and keeps its memory.
    pub fn clear(&mut self) {
        self.sum.fill(0.0);
        (self.weight, self.n_contributions, self.n_within, self.is_protected) = (0.0, 0, 0, false);
    }

    pub fn n_params(&self) -> usize {
        self.sum.len()
    }

    pub const fn n_contributions(&self) -> u32 {
        self.n_contributions
    }

    /// How many of them sent a step that was within the clip norm.
    pub(crate) const fn n_within(&self) -> u32 {
        self.n_within
    }

    pub const fn weight(&self) -> f64 {
        self.weight
    }

    #[inline]
    pub fn add_step(&mut self, delta: &[f32], weight: f64) {
        self.add(delta, weight, |value| f64::from(value) * weight);
    }

    #[inline]
    fn add<T: Copy>(&mut self, values: &[T], weight: f64, term: impl Fn(T) -> f64) {
        assert_eq!(values.len(), self.sum.len(), "a contribution must be as long as the model");
        for (sum, &value) in self.sum.iter_mut().zip(values) {
            *sum += term(value);
        }
        self.weight += weight;
        self.n_contributions += 1;
    }

    /// Adds what a client sent; a reward counts as much as `scale` says. `direction` is scratch memory as long as the model.
    /// Panics if the payload is not of the rule's kind and length: [`Expected::check`](crate::Expected::check) comes first.
    #[inline]
    pub fn add_payload(&mut self, payload: &Payload, rule: &PayloadSemantics, scale: f64, direction: &mut [f32]) {
        if let Payload::Evolution { seed, .. } = payload {
            fill_direction(*seed, direction);
        }
        self.add_payload_with(payload, rule, scale, direction);
    }

    /// Adds what a client sent, where the simulation still has the direction that the payload's seed generates.
    #[inline]
    pub fn add_payload_with(&mut self, payload: &Payload, rule: &PayloadSemantics, scale: f64, direction: &[f32]) {
        match (payload, *rule) {
            (Payload::Step { n_interactions, delta }, PayloadSemantics::Averaging) => {
                self.add_step(delta, f64::from(*n_interactions));
            }
            (&Payload::Evolution { plus, minus, .. }, PayloadSemantics::Evolution { sigma, antithetic })
                if antithetic == minus.is_some() =>
            {
                let coefficient = evolution_coefficient(plus, minus, sigma) * scale;
                self.add(direction, 1.0, |value| f64::from(value) * coefficient);
            }
            (Payload::Clipped { within, delta }, PayloadSemantics::Summing { .. }) => {
                self.add_step(delta, 1.0);
                self.n_within += u32::from(*within);
                self.is_protected = true;
            }
            (Payload::Clipped { within, delta }, PayloadSemantics::Integers { unit }) => {
                self.add(delta, 1.0, |value| on_grid(value, unit) as f64);
                self.n_within += u32::from(*within);
                self.is_protected = true;
            }
            // Integers: exact while the sum is below 2^53 units, far beyond what honest shares add up to.
            (Payload::Share(share), PayloadSemantics::Shares { .. }) => {
                self.add(share.values(), 1.0, |value| value as f64);
                self.is_protected = true;
            }
            _ => panic!("a payload of kind {:?} cannot enter a sum of kind {:?}", payload.kind(), rule.kind()),
        }
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        out.f64s(&self.sum).f64(self.weight).u32(self.n_contributions).u32(self.n_within);
        out.u8(self.is_protected.into());
    }

    pub(crate) fn load(input: &mut Reader<'_>, n_params: usize) -> Result<Self, BytesError> {
        let sum = Self {
            sum: input.f64s(n_params)?,
            weight: input.f64()?,
            n_contributions: input.u32()?,
            n_within: input.u32()?,
            is_protected: input.bool()?,
        };
        let is_sound = match sum.n_contributions {
            0 => sum.weight == 0.0 && sum.n_within == 0 && sum.sum.iter().all(|&value| value == 0.0),
            n => sum.weight > 0.0 && sum.n_within <= n,
        };
        input.require(is_sound, "a sum that nobody's messages have")?;
        Ok(sum)
    }

    /// Makes everything in the sum weigh so many times as much.
    pub fn scale(&mut self, factor: f64) {
        self.sum.iter_mut().for_each(|sum| *sum *= factor);
        self.weight *= factor;
    }

    pub fn merge(&mut self, other: &Self) {
        assert_eq!(other.sum.len(), self.sum.len(), "partial sums must be of one model");
        for (sum, value) in self.sum.iter_mut().zip(&other.sum) {
            *sum += value;
        }
        self.weight += other.weight;
        self.n_contributions += other.n_contributions;
        self.n_within += other.n_within;
        self.is_protected |= other.is_protected;
    }

    /// The ascent step that a rule makes of this sum; nothing when too few clients are in it.
    pub(crate) fn step(&self, rule: &PayloadSemantics) -> Option<Vec<f64>> {
        let scaled = |factor: f64| self.sum.iter().map(|sum| sum * factor).collect();
        match *rule {
            PayloadSemantics::Averaging | PayloadSemantics::Evolution { .. } => self.mean(),
            // Nobody is an answer like any other here: whether anyone came must not be seen.
            PayloadSemantics::Summing { divisor } => Some(scaled(1.0 / divisor)),
            PayloadSemantics::Integers { .. } => Some(self.sum.clone()),
            PayloadSemantics::Shares { unit, divisor, min_survivors } => {
                (self.n_contributions >= min_survivors).then(|| scaled(unit / divisor))
            }
        }
    }

    /// The weighted mean: the ascent step. Nothing when no client is in the sum, or when it is for the coordinator to open.
    pub fn mean(&self) -> Option<Vec<f64>> {
        let is_open = self.n_contributions > 0 && !self.is_protected;
        is_open.then(|| self.sum.iter().map(|sum| sum / self.weight).collect())
    }
}

impl Debug for PartialSum {
    /// Says nothing of the sum, which may have no noise yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartialSum({} contributions of {} values)", self.n_contributions, self.sum.len())
    }
}

/// A rule in the course of a run: contributions in, one ascent step out.
pub trait Aggregator: Debug + Send + Sync {
    /// Combines the contributions, which are finite and in client order, into the step from `global`.
    /// On an error nothing is remembered, and `combined` means nothing.
    fn aggregate(&mut self, global: &[f32], round: &Contributions, combined: &mut Combined) -> Result<(), EmptyRound>;

    /// The same rule with the same memory, to try something on.
    fn copy(&self) -> Box<dyn Aggregator>;

    /// Writes what later rounds depend on; nothing for a rule that does not [remember](Aggregation::remembers).
    fn save(&self, out: &mut Writer);

    /// Goes on from what a rule with the same parameters saved, for a model of so many parameters. Nothing changes on an
    /// error.
    fn restore(&mut self, input: &mut Reader<'_>, n_params: usize) -> Result<(), BytesError>;
}

/// What an aggregator makes of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combined {
    /// The ascent step, one value a parameter.
    pub step: Vec<f64>,
    /// How much of each contribution is in the step, adding up to at most 1; empty where a rule takes different
    /// coordinates from different clients.
    pub shares: Vec<f64>,
}

/// No rule makes a step of nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("nobody contributed")]
pub struct EmptyRound;

/// One rule: its parameters, and what it does.
pub trait AggregationRule: Copy + Debug + Send + Sync + 'static {
    /// What stays from round to round: reused memory, and what the rule remembers.
    type Memory: Clone + Debug + Default + Send + Sync + 'static;

    /// Whether later rounds depend on earlier ones. Then [`Self::save`] and [`Self::restore`] are the rule's own.
    const REMEMBERS: bool = false;

    /// Writes what later rounds depend on, without reused memory.
    fn save(&self, _memory: &Self::Memory, _out: &mut Writer) {}

    fn restore(&self, _input: &mut Reader<'_>, _n_params: usize) -> Result<Self::Memory, BytesError> {
        Ok(Self::Memory::default())
    }

    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// The least number of contributions with which it can decide.
    fn least_clients(&self) -> usize {
        1
    }

    /// Combines at least one contribution. `combined` has a step of zeros and no shares.
    fn combine(&self, memory: &mut Self::Memory, global: &[f32], round: &Contributions, combined: &mut Combined);

    fn start(self) -> Running<Self> {
        Running { rule: self, memory: Self::Memory::default() }
    }
}

#[derive(Clone, Debug)]
pub struct Running<R: AggregationRule> {
    rule: R,
    memory: R::Memory,
}

impl<R: AggregationRule> Aggregator for Running<R> {
    fn aggregate(&mut self, global: &[f32], round: &Contributions, combined: &mut Combined) -> Result<(), EmptyRound> {
        if round.is_empty() {
            return Err(EmptyRound);
        }
        combined.shares.clear();
        combined.step.clear();
        combined.step.resize(round.n_params(), 0.0);
        self.rule.combine(&mut self.memory, global, round, combined);
        Ok(())
    }

    fn copy(&self) -> Box<dyn Aggregator> {
        Box::new(self.clone())
    }

    fn save(&self, out: &mut Writer) {
        self.rule.save(&self.memory, out);
    }

    fn restore(&mut self, input: &mut Reader<'_>, n_params: usize) -> Result<(), BytesError> {
        self.memory = self.rule.restore(input, n_params)?;
        Ok(())
    }
}

/// Defines [`Aggregation`], its list and its delegation from one line a rule: its name, an example, and what it does.
macro_rules! rules {
    ($($name:literal: $rule:ident $example:tt, $about:literal;)*) => {
        /// How contributions are combined.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Aggregation {
            $(#[doc = $about] #[serde(rename = $name)] $rule($rule),)*
        }

        impl Aggregation {
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            pub fn examples() -> Vec<Self> {
                vec![$(Self::$rule($rule $example)),*]
            }

            pub fn check(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$rule(rule) => AggregationRule::check(rule),)*
                }
            }

            /// The least number of contributions with which it can decide.
            pub fn least_clients(&self) -> usize {
                match self {
                    $(Self::$rule(rule) => AggregationRule::least_clients(rule),)*
                }
            }

            pub const fn remembers(&self) -> bool {
                match self {
                    $(Self::$rule(_) => <$rule as AggregationRule>::REMEMBERS,)*
                }
            }

            pub fn start(&self) -> Box<dyn Aggregator> {
                match self {
                    $(Self::$rule(rule) => Box::new(AggregationRule::start(*rule)),)*
                }
            }
        }
    };
}

rules! {
    "mean": Mean {}, "The weighted mean (FedAvg)";
    "krum": Krum { attackers: 2, squared: true, neighbours: None }, "The update that is closest to its neighbours";
    "multi-krum": MultiKrum(Krum { attackers: 2, squared: false, neighbours: Some(Neighbours::Fixed(3)) }),
        "The mean of the n - m updates that are closest to their neighbours";
    "trimmed-mean": TrimmedMean { attackers: 2 },
        "The mean of every coordinate without its largest and smallest values";
    "median": Median {}, "The median of every coordinate";
    "geometric-median": GeometricMedian {}, "The point with the smallest sum of distances from all updates";
    "norm-clipping": NormClipping { radius: Radius::Fixed(3.0) },
        "The mean of updates that are shortened to a fixed or the median length";
    "centred-clipping": CentredClipping { radius: Radius::Median, iterations: 3 },
        "The mean of updates that are clipped to a ball around the last step";
    "bulyan": Bulyan { attackers: 1 },
        "Updates picked by Krum, then the mean around the median of every coordinate";
    "spectral-filter": SpectralFilter { attackers: 2 },
        "The mean without the weight of those that pull together most";
    "fltrust": FlTrust { trusted: 4 }, "Updates weighted by their agreement with that of a trusted client";
    "fldetector": FlDetector { window: 2 },
        "The mean without clients whose updates are not what their last ones let expect";
}

impl Aggregation {
    /// What in this rule needs single updates, if anything does.
    pub const fn needs_single_updates(&self) -> Option<&'static str> {
        match self {
            Self::Mean(_) => None,
            _ => Some("a robust rule, which compares the clients' updates,"),
        }
    }

    /// With how many attackers in a round of so many clients it reckons; none where no number is assumed.
    pub const fn assumed_attackers(&self, n_clients: usize) -> Option<u32> {
        match self {
            Self::Krum(Krum { attackers, .. })
            | Self::MultiKrum(MultiKrum(Krum { attackers, .. }))
            | Self::TrimmedMean(TrimmedMean { attackers })
            | Self::SpectralFilter(SpectralFilter { attackers })
            | Self::Bulyan(Bulyan { attackers }) => Some(*attackers),
            Self::Median(_) | Self::GeometricMedian(_) => Some((n_clients.saturating_sub(1) / 2) as u32),
            Self::Mean(_)
            | Self::NormClipping(_)
            | Self::CentredClipping(_)
            | Self::FlTrust(_)
            | Self::FlDetector(_) => None,
        }
    }

    /// The least number of clients of a round of which m may be attackers, however far away, without moving the step far
    /// from the honest updates; none for a rule that does not promise that.
    pub const fn clients_to_hold(&self, m: u32) -> Option<usize> {
        let m = m as usize;
        match self {
            Self::TrimmedMean(_) | Self::Median(_) | Self::GeometricMedian(_) => {
                Some(m.saturating_mul(2).saturating_add(1))
            }
            Self::Krum(_) | Self::MultiKrum(_) => Some(m.saturating_mul(2).saturating_add(3)),
            // All but the trusted one, in length.
            Self::FlTrust(_) => Some(m.saturating_add(1)),
            Self::Bulyan(_) => Some(m.saturating_mul(4).saturating_add(3)),
            // The spectral filter takes some of the weight of honest clients as long as attackers pull its centre.
            Self::Mean(_)
            | Self::NormClipping(_)
            | Self::CentredClipping(_)
            | Self::SpectralFilter(_)
            | Self::FlDetector(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
