//! Every pair of sections that the checks accept runs, and no section changes what a mechanism guarantees but those that
//! the guarantee names.

use foltr_federation::Asynchrony;
use foltr_rank::personal::Personalisation;

use super::*;
use crate::run;

/// A section or key, and what makes it complete.
pub(super) const SECTIONS: &[(&str, Keys)] = &[
    ("clients.cohort", &[("clients.cohort", "8")]),
    ("clients.participation", &[("clients.participation", "0.5")]),
    ("clients.dropout", &[("clients.dropout", "0.2")]),
    ("clients.absent", &[("clients.absent", "[5]")]),
    ("clients.stragglers", &[("clients.stragglers", "{ share = 0.3, slowdown = 4.0 }")]),
    ("federation.shards", &[("federation.shards", "2")]),
    ("federation.average_last", &[("federation.average_last", "0.5")]),
    ("server momentum", &[("federation.optimiser", "{ kind = \"momentum\", rate = 1.0, momentum = 0.5 }")]),
    ("learner.proximal", &[("learner.proximal", "0.1")]),
    ("accumulated updates", &[("learner.updates", "\"accumulated\"")]),
    ("published stream", &[("learner.stream", "\"published\"")]),
    ("local-only", &[("personalisation.kind", "\"local-only\"")]),
    (
        "fed-per",
        &[
            ("personalisation.kind", "\"fed-per\""),
            ("ranker.kind", "\"mlp\""),
            ("ranker.hidden", "3"),
            ("ranker.activation", "\"relu\""),
            ("ranker.initialisation", "{ kind = \"fan-in\" }"),
        ],
    ),
    ("interpolation", &[("personalisation.kind", "\"interpolation\""), ("personalisation.memory", "0.99")]),
    ("ditto", &[("personalisation.kind", "\"ditto\""), ("personalisation.pull", "0.01")]),
    (
        "clusters",
        &[
            ("personalisation.kind", "\"clusters\""),
            ("personalisation.n_clusters", "2"),
            ("personalisation.memory", "0.99"),
        ],
    ),
    ("known-groups", &[("personalisation.kind", "\"known-groups\""), ("personalisation.n_groups", "2")]),
    (
        "additive",
        &[
            ("personalisation.kind", "\"additive\""),
            ("personalisation.n_clusters", "2"),
            ("personalisation.memory", "0.99"),
            ("personalisation.own_rate", "0.5"),
            ("personalisation.own_decay", "0.01"),
        ],
    ),
    (
        "buffered",
        &[
            ("asynchrony.kind", "\"buffered\""),
            ("asynchrony.buffer", "5"),
            ("asynchrony.staleness_exponent", "0.5"),
            ("asynchrony.rate_limit", "1"),
            ("asynchrony.max_staleness", "10"),
        ],
    ),
    (
        "naive",
        &[("asynchrony.kind", "\"naive\""), ("asynchrony.updates_per_round", "5"), ("asynchrony.max_staleness", "10")],
    ),
    (
        "[attack]",
        &[
            ("attack.attackers", "2"),
            ("attack.knowledge", "\"full\""),
            ("attack.method", "{ kind = \"negation\", z = 2.0 }"),
        ],
    ),
    ("[adoption]", &[("adoption.error", "0.05"), ("adoption.lists", "50")]),
    ("[defence]", &[("defence.rule", "{ kind = \"median\" }")]),
    ("[history]", &[("history.checkpoints_every", "4")]),
    ("single updates in [history]", &[("history.updates_every", "1")]),
    ("retrain", &[("unlearning.clients", "[2]"), ("unlearning.method", "{ kind = \"retrain\" }")]),
];

#[test]
fn every_section_is_in_the_list() {
    let is_listed = |name: &str| SECTIONS.iter().any(|(known, _)| *known == name);
    for (name, _) in Personalisation::LIST.iter().chain(Asynchrony::LIST) {
        assert!(is_listed(name), "{name}");
    }
}

#[test]
fn every_accepted_pair_of_sections_runs() {
    let mut n_run = 0;
    for learner in ["none", "none-response"] {
        let base = || base(learner, "kind = \"none\"").set("federation.rounds", "2");
        for (i, (first, keys)) in SECTIONS.iter().enumerate() {
            for (second, others) in &SECTIONS[i..] {
                let Some(experiment) = accepted(&with(with(base(), keys), others)) else { continue };
                run(&experiment).unwrap_or_else(|error| panic!("{first}, {second}: {error:#}"));
                n_run += 1;
            }
        }
    }
    assert!(n_run > 150, "{n_run}");
}

#[test]
fn an_accepted_section_leaves_the_guarantee_of_every_mechanism_as_it_is() {
    for (mechanism, mode, privacy) in MECHANISMS {
        let base = || base(mechanism, privacy).set("federation.rounds", "2");
        let alone = experiment(&base()).plan().guarantee(10, DELTA).expect("a plan");
        for (section, keys) in SECTIONS {
            let name = format!("{mechanism}, {mode}, {section}");
            let Some(experiment) = accepted(&with(base(), keys)) else { continue };
            let beside = experiment.plan().guarantee(10, DELTA).expect("a plan");
            run(&experiment).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            let changes = section.starts_with("clients.") || ["published stream", "retrain"].contains(section);
            assert!(changes || beside.observers == alone.observers, "{name}");
            assert!(changes || beside.adjacency == alone.adjacency, "{name}");
        }
    }
}
