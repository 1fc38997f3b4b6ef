//! Which parts of a federation's plan exclude each other, and why: one table for the lab, a server, `foltr list` and the
//! documentation.

use std::fmt;

use foltr_rank::personal::Personalisation;

/// Defines [`Part`] from one line a part: the key to blame, and how messages name it.
macro_rules! parts {
    ($($part:ident: $key:literal, $label:literal;)*) => {
        /// A part of a plan that other parts may exclude.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Part {
            $(#[doc = concat!("`", $label, "`")] $part,)*
        }

        impl Part {
            /// Every part.
            pub const ALL: &[Self] = &[$(Self::$part),*];

            /// The key of an experiment file that asks for it.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$part => $key,)*
                }
            }

            /// How messages name it.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$part => $label,)*
                }
            }
        }
    };
}

parts! {
    Evolution: "learner.kind", "learner.kind = \"evolution\"";
    PublishedStream: "learner.stream", "learner.stream = \"published\"";
    AccumulatedUpdates: "learner.updates", "learner.updates = \"accumulated\"";
    Proximal: "learner.proximal", "learner.proximal";
    LinearRanker: "ranker.kind", "ranker.kind = \"linear\"";
    Cohort: "clients.cohort", "clients.cohort";
    PoissonSampling: "clients.participation", "clients.participation";
    Dropout: "clients.dropout", "clients.dropout";
    AbsentClients: "clients.absent", "clients.absent";
    Quantities: "clients.quantities", "clients.quantities";
    Shards: "federation.shards", "federation.shards";
    AverageLast: "federation.average_last", "federation.average_last";
    OtherOptimiser: "federation.optimiser", "a server optimiser other than learning-rate 1.0";
    Asynchrony: "asynchrony", "[asynchrony]";
    NaiveAsynchrony: "asynchrony.kind", "asynchrony.kind = \"naive\"";
    Personalisation: "personalisation", "[personalisation]";
    Clusters: "personalisation.kind", "clusters in [personalisation]";
    LocalOnly: "personalisation.kind", "personalisation.kind = \"local-only\"";
    FedPer: "personalisation.kind", "personalisation.kind = \"fed-per\"";
    OwnModel: "personalisation.kind", "personalisation.kind = \"ditto\", \"interpolation\" or \"fed-per\"";
    Attack: "attack", "[attack]";
    Defence: "defence", "[defence]";
    WorkerMomentum: "defence.momentum", "defence.momentum";
    History: "history", "[history]";
    SingleUpdates: "history", "single updates in [history]";
    Unlearning: "unlearning", "[unlearning]";
    Privacy: "privacy.kind", "[privacy]";
    PrivacyOfSums: "privacy.kind", "a [privacy] mechanism other than randomised-response";
    ModelClipping: "privacy.kind", "a [privacy] mechanism that clips the model";
}

/// Two parts that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// The part to blame.
    pub part: Part,
    /// What it cannot be combined with.
    pub with: Part,
    /// Why.
    pub why: &'static str,
}

const fn excluded(part: Part, with: Part, why: &'static str) -> Combination {
    Combination { part, with, why }
}

const ROUNDS: &str = "requires synchronous rounds";
const ONE_RANKER: &str = "requires one global ranker";
const SUMS: &str = "the guarantee covers the sum of all updates, not single ones";
const PUBLISHED: &str = "the published code has nothing like it; use \"separate\"";
const STEPS: &str =
    "requires learner.kind = \"pdgd\" with updates = \"immediate\": nothing else has a ranker of its own";

/// Every pair of parts that exclude each other.
pub const COMBINATIONS: &[Combination] = &[
    excluded(Part::Asynchrony, Part::Personalisation, ROUNDS),
    excluded(Part::Privacy, Part::Asynchrony, ROUNDS),
    excluded(Part::Attack, Part::Asynchrony, ROUNDS),
    excluded(Part::Defence, Part::Asynchrony, ROUNDS),
    excluded(Part::History, Part::Asynchrony, ROUNDS),
    excluded(Part::Unlearning, Part::Asynchrony, ROUNDS),
    excluded(Part::Shards, Part::Asynchrony, ROUNDS),
    excluded(Part::AbsentClients, Part::Asynchrony, ROUNDS),
    excluded(Part::PublishedStream, Part::Asynchrony, ROUNDS),
    excluded(Part::Cohort, Part::Asynchrony, "every client takes part whenever it is ready"),
    excluded(Part::PoissonSampling, Part::Asynchrony, "every client takes part whenever it is ready"),
    excluded(Part::NaiveAsynchrony, Part::Evolution, "it mixes models, and evolution sends rewards; use \"buffered\""),
    excluded(Part::Attack, Part::Personalisation, ONE_RANKER),
    excluded(Part::Defence, Part::Personalisation, ONE_RANKER),
    excluded(Part::Shards, Part::Personalisation, ONE_RANKER),
    excluded(Part::AbsentClients, Part::Personalisation, ONE_RANKER),
    excluded(Part::History, Part::Personalisation, "rankers of clients' own never leave their devices"),
    excluded(Part::Unlearning, Part::Personalisation, "rankers of clients' own never leave their devices"),
    excluded(Part::AverageLast, Part::Personalisation, "devices use the newest models"),
    excluded(Part::Personalisation, Part::Evolution, STEPS),
    excluded(Part::Personalisation, Part::AccumulatedUpdates, STEPS),
    excluded(Part::Proximal, Part::OwnModel, "its steps do not start from the global model"),
    excluded(Part::Proximal, Part::AccumulatedUpdates, "it has no effect: weights stay at the global model"),
    excluded(Part::FedPer, Part::LinearRanker, "a linear ranker is all output layer, and nothing is shared"),
    excluded(
        Part::OtherOptimiser,
        Part::FedPer,
        "it averages layers: requires { kind = \"learning-rate\", rate = 1.0 }",
    ),
    excluded(Part::Attack, Part::PrivacyOfSums, SUMS),
    excluded(Part::Defence, Part::PrivacyOfSums, SUMS),
    excluded(Part::Shards, Part::PrivacyOfSums, "its noise is for one sum of all clients"),
    excluded(Part::Privacy, Part::Clusters, "clusters show the server which model a client's clicks fit best"),
    excluded(Part::Privacy, Part::LocalOnly, "nothing leaves a device"),
    excluded(
        Part::ModelClipping,
        Part::Personalisation,
        "it bounds a message by clipping the global model, and a ranker of one's own is another model; use \"gaussian\"",
    ),
    excluded(Part::Quantities, Part::Privacy, "guarantees are for clients of equal weight"),
    excluded(Part::Quantities, Part::Evolution, "rewards are means over equally many interactions"),
    excluded(Part::SingleUpdates, Part::Privacy, "only plain steps are stored; `checkpoints_every` works always"),
    excluded(Part::SingleUpdates, Part::Evolution, "only plain steps are stored; `checkpoints_every` works always"),
    excluded(Part::WorkerMomentum, Part::Evolution, "devices send a seed and a reward, and have no update to remember"),
    excluded(Part::PublishedStream, Part::Attack, PUBLISHED),
    excluded(Part::PublishedStream, Part::Defence, PUBLISHED),
    excluded(Part::PublishedStream, Part::History, PUBLISHED),
    excluded(Part::PublishedStream, Part::Unlearning, PUBLISHED),
    excluded(Part::PublishedStream, Part::Cohort, PUBLISHED),
    excluded(Part::PublishedStream, Part::PoissonSampling, PUBLISHED),
    excluded(Part::PublishedStream, Part::Dropout, PUBLISHED),
    excluded(Part::PublishedStream, Part::AbsentClients, PUBLISHED),
];

impl Combination {
    /// What a file's author reads beside the key of [`Self::part`].
    pub fn message(&self) -> String {
        format!("not supported with {}: {}", self.with.label(), self.why)
    }

    /// All pairs of these parts that exclude each other.
    pub fn conflicts(parts: &[Part]) -> impl Iterator<Item = &'static Self> {
        COMBINATIONS.iter().filter(|pair| parts.contains(&pair.part) && parts.contains(&pair.with))
    }

    /// Refuses parts that exclude each other.
    ///
    /// # Errors
    /// With the first pair.
    pub fn check(parts: &[Part]) -> Result<(), Self> {
        Self::conflicts(parts).next().map_or(Ok(()), |pair| Err(*pair))
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.part.label(), self.message())
    }
}

impl std::error::Error for Combination {}

impl Part {
    /// What a way to personalise brings along.
    pub fn of_personalisation(method: &Personalisation) -> Vec<Self> {
        let mut parts = vec![Self::Personalisation];
        match method {
            Personalisation::LocalOnly(_) => parts.push(Self::LocalOnly),
            Personalisation::FedPer(_) => parts.extend([Self::FedPer, Self::OwnModel]),
            // These have a pull of their own or move two models.
            Personalisation::Ditto(_) | Personalisation::Interpolation(_) => parts.push(Self::OwnModel),
            _ => {}
        }
        if method.n_clusters() > 0 {
            parts.push(Self::Clusters);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_there_once_and_every_part_is_in_one() {
        for (i, one) in COMBINATIONS.iter().enumerate() {
            let same = |other: &Combination| {
                [one.part, one.with] == [other.part, other.with] || [one.part, one.with] == [other.with, other.part]
            };
            assert_eq!(COMBINATIONS.iter().position(same), Some(i), "{one}");
        }
        for part in Part::ALL {
            assert!(COMBINATIONS.iter().any(|pair| pair.part == *part || pair.with == *part), "{part:?}");
        }
    }

    #[test]
    fn both_parts_make_a_conflict_and_one_does_not() {
        assert_eq!(Combination::check(&[Part::Attack, Part::Defence]), Ok(()));
        let refused = Combination::check(&[Part::Defence, Part::Asynchrony]).expect_err("a defence needs rounds");
        assert_eq!(refused.to_string(), "[defence] is not supported with [asynchrony]: requires synchronous rounds");
    }
}
