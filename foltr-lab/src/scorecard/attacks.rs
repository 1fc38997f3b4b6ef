//! The attacks of a scorecard.
//!
//! Attackers collude and see everything unless the name says otherwise. The drifts are tuned against momentum: what they
//! add is the same in every round, so no averaging over time takes it away, and small enough to stay among the honest
//! updates. `specs/attacks/drift-tuning.toml` tries many of them against the recommended default itself, on validation
//! queries and with other seeds than the card's; the worst on two collections are `drift-tuned` and `drift-tuned-mslr`.

use foltr_simulation::adversary::Promotion;

/// An attack with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedAttack {
    /// What the card calls it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// `[attack].method` as a TOML value.
    method: &'static str,
    knowledge: &'static str,
}

const fn full(name: &'static str, method: &'static str, about: &'static str) -> NamedAttack {
    NamedAttack { name, about, method, knowledge: "full" }
}

const fn partial(name: &'static str, method: &'static str, about: &'static str) -> NamedAttack {
    NamedAttack { name, about, method, knowledge: "partial" }
}

/// What the promotion attack promotes: documents with much of a feature.
pub(super) const fn promotion(feature: u32) -> Promotion {
    Promotion { feature, quantile: 0.9, query_feature: None, boost: 2.0 }
}

/// All attacks of a card.
pub const ATTACKS: &[NamedAttack] = &[
    full("click-poisoning", "{ kind = \"click-poisoning\" }", "honest learning from reversed clicks"),
    partial("lie", "{ kind = \"lie\" }", "little is enough, z as in the thesis, seen from the attackers' own updates"),
    full(
        "lie-1.5",
        "{ kind = \"lie\", z = 1.5, estimate_from = \"seen\" }",
        "little is enough, z = 1.5, seen from all updates",
    ),
    full("fang-krum", "{ kind = \"fang-krum\" }", "Fang against Krum"),
    partial("fang-krum-partial", "{ kind = \"fang-krum\" }", "the same with partial knowledge"),
    full("fang-trim", "{ kind = \"fang-trim\" }", "Fang against trimmed mean and median, on models"),
    full("fang-trim-updates", "{ kind = \"fang-trim\", space = \"updates\" }", "the same on updates"),
    partial("fang-trim-partial", "{ kind = \"fang-trim\" }", "the same with partial knowledge"),
    full("inner-product", "{ kind = \"inner-product\", scale = 1.0 }", "minus the honest mean"),
    full("inner-product-0.5", "{ kind = \"inner-product\", scale = 0.5 }", "minus half the honest mean"),
    full("min-max", "{ kind = \"min-max\" }", "against the mean, as far as two honest updates are apart"),
    full("min-sum", "{ kind = \"min-sum\" }", "against the mean, as far as the farthest honest update"),
    full("min-sum-deviation", "{ kind = \"min-sum\", direction = \"deviation\" }", "the same along the deviations"),
    full("sign-flip", "{ kind = \"sign-flip\", scale = 1.0 }", "minus the own update"),
    full(
        "refused",
        "{ kind = \"scaling\", factor = 1e300, reversed_clicks = false }",
        "infinite numbers, which the server refuses: as good as silence",
    ),
    full("scaling", "{ kind = \"scaling\", factor = 10.0 }", "learning from reversed clicks, ten times as long"),
    full(
        "drift-mean",
        "{ kind = \"drift\", reach = 1.0, direction = \"against-mean\" }",
        "a slow drift against progress",
    ),
    full(
        "drift-tuned",
        "{ kind = \"drift\", reach = 2.0, direction = \"against-mean\", memory = 30.0 }",
        "the drift that hurts the recommended default most on validation queries of MQ2007",
    ),
    full(
        "drift-tuned-mslr",
        "{ kind = \"drift\", reach = 1.3, direction = \"against-mean\", memory = 30.0 }",
        "the same on validation queries of synthetic mslr",
    ),
    full("drift-mean-0.7", "{ kind = \"drift\", reach = 0.7, direction = \"against-mean\" }", "the same, shorter"),
    full(
        "drift-model",
        "{ kind = \"drift\", reach = 1.0, direction = \"against-model\" }",
        "a slow drift against the model",
    ),
    full("drift-fixed", "{ kind = \"drift\", reach = 1.0, direction = \"fixed\" }", "a slow drift in one direction"),
    full(
        "promotion",
        "{ kind = \"promotion\", feature = {feature}, boost = 2.0 }",
        "clicks on documents of one kind (much of a feature), updates twice as long; judged by their place",
    ),
];

impl NamedAttack {
    /// `[attack]` as a TOML value.
    pub(super) fn section(&self, attackers: u32, promoted_feature: u32) -> String {
        let (method, knowledge) = (self.method.replace("{feature}", &promoted_feature.to_string()), self.knowledge);
        format!("{{ attackers = {attackers}, knowledge = \"{knowledge}\", method = {method} }}")
    }

    /// Whether it is judged by ranks.
    pub(super) fn is_promotion(&self) -> bool {
        self.name == "promotion"
    }
}
