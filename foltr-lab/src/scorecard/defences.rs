//! The defences of a scorecard: all rules, alone and behind mixing and momentum.

use foltr_federation::Defence;

use super::setting::Place;

/// A defence with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedDefence {
    /// What the card calls it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// `[defence].rule` as a TOML value, `{m}` being the number of attackers to reckon with; empty for averaging.
    rule: &'static str,
    mixing: bool,
    /// `[defence].momentum` as a TOML value, or empty.
    momentum: &'static str,
}

/// The momentum of the recommended default; chosen on validation queries (`specs/attacks/momentum-tuning.toml`).
const GROWING: &str = "{ kind = \"growing\", share = 0.5 }";

const fn rule(name: &'static str, rule: &'static str, about: &'static str) -> NamedDefence {
    NamedDefence { name, about, rule, mixing: false, momentum: "" }
}

const TRIMMED: &str = "{ kind = \"trimmed-mean\", attackers = {m} }";

/// The defence to use when nothing else is known.
pub const RECOMMENDED: &str = "growing-mixing-trimmed";

/// All defences of a card; the first is none.
pub const DEFENCES: &[NamedDefence] = &[
    rule("mean", "", "federated averaging: no defence"),
    rule("krum", "{ kind = \"krum\", attackers = {m} }", "the update that is nearest to its neighbours"),
    rule(
        "multi-krum",
        "{ kind = \"multi-krum\", attackers = {m} }",
        "the mean of all but the m furthest by Krum's score",
    ),
    rule("trimmed-mean", TRIMMED, "every coordinate without its m largest and smallest values"),
    rule("median", "{ kind = \"median\" }", "the median of every coordinate"),
    rule("geometric-median", "{ kind = \"geometric-median\" }", "the point with the least sum of distances"),
    rule(
        "norm-clipping",
        "{ kind = \"norm-clipping\", radius = \"median\" }",
        "the mean of updates that are cut to the median length",
    ),
    rule(
        "centred-clipping",
        "{ kind = \"centred-clipping\", radius = \"median\", iterations = 3 }",
        "differences to the last step are cut to the median length",
    ),
    rule("bulyan", "{ kind = \"bulyan\", attackers = {m} }", "Krum again and again, then a trimmed mean"),
    rule(
        "fltrust",
        "{ kind = \"fltrust\", trusted = {trusted} }",
        "updates weigh as much as they agree with a trusted client's",
    ),
    rule(
        "fldetector",
        "{ kind = \"fldetector\", window = 10 }",
        "clients whose updates are not what their history predicts are left out",
    ),
    NamedDefence {
        name: "mixing-trimmed",
        about: "nearest-neighbour mixing, then the trimmed mean",
        rule: TRIMMED,
        mixing: true,
        momentum: "",
    },
    NamedDefence {
        name: "momentum-trimmed",
        about: "worker momentum .99, then the trimmed mean",
        rule: TRIMMED,
        mixing: false,
        momentum: "{ kind = \"fixed\", beta = 0.99 }",
    },
    NamedDefence {
        name: "momentum-mixing-trimmed",
        about: "worker momentum .99, mixing, trimmed mean",
        rule: TRIMMED,
        mixing: true,
        momentum: "{ kind = \"fixed\", beta = 0.99 }",
    },
    NamedDefence {
        name: "measured-mixing-trimmed",
        about: "worker momentum as long as the signal-to-noise of the updates asks for, mixing, trimmed mean",
        rule: TRIMMED,
        mixing: true,
        momentum: "{ kind = \"measured\", target = 0.5, most = 0.999 }",
    },
    NamedDefence {
        name: RECOMMENDED,
        about: "worker momentum over a growing part of the past, mixing, trimmed mean",
        rule: TRIMMED,
        mixing: true,
        momentum: GROWING,
    },
    NamedDefence {
        name: "growing-mixing-geometric",
        about: "the same with the geometric median",
        rule: "{ kind = \"geometric-median\" }",
        mixing: true,
        momentum: GROWING,
    },
    NamedDefence {
        name: "growing-fltrust",
        about: "worker momentum over a growing part of the past, FLTrust with one trusted client",
        rule: "{ kind = \"fltrust\", trusted = {trusted} }",
        mixing: false,
        momentum: GROWING,
    },
    NamedDefence {
        name: "growing-mixing-fltrust",
        about: "the same with mixing between the two",
        rule: "{ kind = \"fltrust\", trusted = {trusted} }",
        mixing: true,
        momentum: GROWING,
    },
];

impl NamedDefence {
    /// Whether devices have a part in it.
    pub(super) const fn has_momentum(&self) -> bool {
        !self.momentum.is_empty()
    }

    /// Whether it can work with so many clients in a round.
    pub(super) fn is_possible(&self, place: &Place, assumed: u32) -> bool {
        let needed = if self.name == "bulyan" { 4 * assumed + 3 } else { 2 * assumed + 1 };
        let is_trusting = self.rule.contains("{trusted}");
        // The trusted client must come to every round.
        let lacks_trust = is_trusting && (place.cohort < place.n_clients || place.is_evolution());
        place.cohort >= needed && !lacks_trust && !(place.is_evolution() && self.has_momentum())
    }

    /// Whether the server compares rounds with earlier ones.
    pub(super) fn remembers(&self) -> bool {
        self.rule.contains("fldetector")
    }

    /// Whether a server would do the same as under another one, whatever devices do.
    pub(super) fn has_same_rule(&self, other: &Self) -> bool {
        (self.rule, self.mixing) == (other.rule, other.mixing)
    }

    /// What the server and the devices do, with so many clients of whom so many may attack.
    ///
    /// # Panics
    /// If the list of defences is not sound.
    pub fn defence(&self, n_clients: u32, assumed: u32) -> Defence {
        let Some(section) = self.section(n_clients, assumed) else { return Defence::NONE };
        let table: toml::Table = toml::from_str(&format!("defence = {section}")).expect("TOML");
        table["defence"].clone().try_into().expect("a section [defence]")
    }

    /// `[defence]` as a TOML value; none for averaging.
    pub(super) fn section(&self, n_clients: u32, assumed: u32) -> Option<String> {
        if self.rule.is_empty() {
            return None;
        }
        // The last client is never an attacker.
        let trusted = (n_clients - 1).to_string();
        let rule = self.rule.replace("{m}", &assumed.to_string()).replace("{trusted}", &trusted);
        let mixing = if self.mixing { format!(", mixing = {assumed}") } else { String::new() };
        let momentum = if self.momentum.is_empty() { String::new() } else { format!(", momentum = {}", self.momentum) };
        Some(format!("{{ rule = {rule}{mixing}{momentum} }}"))
    }
}
