//! Which parts of a federation's plan exclude each other, and why: one table for the lab, a server, `foltr list` and the
//! documentation.

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
            pub const ALL: &[Self] = &[$(Self::$part),*];

            /// The key of an experiment file that asks for it.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$part => $key,)*
                }
            }

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
    Dueling: "learner.kind", "learner.kind = \"dbgd\" or \"mgd\"";
    PairRank: "learner.kind", "learner.kind = \"pair-rank\"";
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
    Adoption: "adoption", "[adoption]";
    Attack: "attack", "[attack]";
    Defence: "defence", "[defence]";
    WorkerMomentum: "defence.momentum", "defence.momentum";
    History: "history", "[history]";
    SingleUpdates: "history", "single updates in [history], as fed-eraser and ledger-subtraction need them,";
    Staleness: "federation.staleness", "federation.staleness";
    Unlearning: "unlearning", "[unlearning]";
    Privacy: "privacy.kind", "[privacy]";
    PrivacyOfSums: "privacy.kind", "a [privacy] mechanism other than randomised-response";
    ModelClipping: "privacy.kind", "a [privacy] mechanism that clips the model";
}

/// Two parts that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is {}", part.label(), self.message())]
pub struct Combination {
    /// The part to blame.
    pub part: Part,
    pub with: Part,
    pub why: &'static str,
}

const ROUNDS: &str = "requires synchronous rounds";
const ROUNDS_OF_ALL: &str = "requires synchronous rounds of all clients";
const ONE_RANKER: &str = "requires one global ranker";
const PUBLISHED: &str = "the published code has nothing like it; use \"separate\"";
const MODEL_CLIPPING: &str =
    "it bounds a message by clipping the global model, and a ranker of one's own is another model; use \"gaussian\"";
const STATISTICS: &str =
    "its messages are sums of products of features, which nothing bounds and noise would make useless";
const SUMS: &str = "the server adds the statistics of a known number of clients, and does nothing else with them";
const STEPS: &str =
    "requires learner.kind = \"pdgd\" with updates = \"immediate\": nothing else has a ranker of its own";

/// Each of the first parts excludes each of the second, and why.
pub const COMBINATIONS: &[(&[Part], &[Part], &str)] = {
    use Part::*;
    &[
        (&[Asynchrony], &[Personalisation], ROUNDS),
        (&[Privacy, Attack, Defence, History, Unlearning, Shards, AbsentClients, Adoption], &[Asynchrony], ROUNDS),
        (&[PublishedStream], &[Asynchrony], ROUNDS),
        (&[Cohort, PoissonSampling], &[Asynchrony], "every client takes part whenever it is ready"),
        (&[NaiveAsynchrony], &[Evolution], "it mixes models, and evolution sends rewards; use \"buffered\""),
        (&[Attack, Defence, Shards, AbsentClients, Adoption], &[Personalisation], ONE_RANKER),
        (
            &[Adoption],
            &[Evolution, Dueling],
            "its lists are not drawn from the scores, so that nothing weighs their clicks",
        ),
        (&[Adoption], &[Staleness], "whoever is on the way to a later round has not tested its release"),
        (&[Adoption], &[Shards], "each shard has a model of its own, and devices use their mean"),
        (&[Adoption], &[History, Unlearning], "no history has the tests that decided who sent nothing"),
        (&[Adoption], &[Privacy], "whether a device sends would depend on its clicks, which no guarantee covers"),
        (&[History, Unlearning], &[Personalisation], "rankers of clients' own never leave their devices"),
        (&[AverageLast], &[Personalisation, Adoption], "devices use the newest models"),
        (&[Personalisation], &[Evolution, Dueling, PairRank, AccumulatedUpdates], STEPS),
        (&[Privacy], &[PairRank], STATISTICS),
        (&[Attack, Defence], &[PairRank], "attacks and robust rules are for steps of a model, not for statistics"),
        (&[Quantities, Dropout, PoissonSampling, AbsentClients, Staleness, Asynchrony], &[PairRank], SUMS),
        (&[Shards, AverageLast, OtherOptimiser, Adoption, History, Unlearning], &[PairRank], SUMS),
        (&[Staleness], &[Defence], "a defence counts on the clients that were drawn into the round"),
        (&[Staleness], &[Asynchrony, Shards, AbsentClients], ROUNDS_OF_ALL),
        (&[Staleness], &[History, Unlearning], "what is on its way to a later round is in no history"),
        (&[Staleness], &[Personalisation], "a ranker of one's own moves on in every round"),
        (&[Staleness], &[PublishedStream], PUBLISHED),
        (&[Proximal], &[OwnModel], "its steps do not start from the global model"),
        (&[Proximal], &[AccumulatedUpdates], "it has no effect: weights stay at the global model"),
        (&[FedPer], &[LinearRanker], "a linear ranker is all output layer, and nothing is shared"),
        (&[OtherOptimiser], &[FedPer], "it averages layers: requires { kind = \"learning-rate\", rate = 1.0 }"),
        (&[Attack, Defence], &[PrivacyOfSums], "the guarantee covers the sum of all updates, not single ones"),
        (&[Shards], &[PrivacyOfSums], "its noise is for one sum of all clients"),
        (&[Privacy], &[Clusters], "clusters show the server which model a client's clicks fit best"),
        (&[Privacy], &[LocalOnly], "nothing leaves a device"),
        (&[ModelClipping], &[Personalisation], MODEL_CLIPPING),
        (&[Quantities], &[Privacy], "guarantees are for clients of equal weight"),
        (&[Quantities], &[Evolution], "rewards are means over equally many interactions"),
        (&[SingleUpdates], &[Privacy, Evolution], "only plain steps are stored; `checkpoints_every` works always"),
        (&[WorkerMomentum], &[Evolution], "devices send a seed and a reward, and have no update to remember"),
        (&[PublishedStream], &[Attack, Defence, History, Unlearning, Cohort, PoissonSampling], PUBLISHED),
        (&[PublishedStream], &[Dropout, AbsentClients, Shards], PUBLISHED),
    ]
};

impl Combination {
    /// Every pair of parts that exclude each other.
    pub fn all() -> impl Iterator<Item = Self> {
        COMBINATIONS.iter().flat_map(|(parts, others, why)| {
            parts.iter().flat_map(move |&part| others.iter().map(move |&with| Self { part, with, why }))
        })
    }

    /// What a file's author reads beside the key of [`Self::part`].
    pub fn message(&self) -> String {
        format!("not supported with {}: {}", self.with.label(), self.why)
    }

    pub fn conflicts(parts: &[Part]) -> impl Iterator<Item = Self> {
        Self::all().filter(|pair| parts.contains(&pair.part) && parts.contains(&pair.with))
    }

    pub fn check(parts: &[Part]) -> Result<(), Self> {
        Self::conflicts(parts).next().map_or(Ok(()), Err)
    }
}

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
        for pair in Combination::all() {
            assert_eq!(Combination::conflicts(&[pair.part, pair.with]).count(), 1, "{pair}");
        }
        for part in Part::ALL {
            assert!(Combination::all().any(|pair| pair.part == *part || pair.with == *part), "{part:?}");
        }
    }

    #[test]
    fn both_parts_make_a_conflict_and_one_does_not() {
        assert_eq!(Combination::check(&[Part::Attack, Part::Defence]), Ok(()));
        let refused = Combination::check(&[Part::Defence, Part::Asynchrony]).expect_err("a defence needs rounds");
        assert_eq!(refused.to_string(), "[defence] is not supported with [asynchrony]: requires synchronous rounds");
    }
}
