//! Attackers against whom a defence was not set up.

use foltr_federation::{Cohorts, Defence, Participation, ROUND_RISK};

use crate::spec::Experiment;

pub(super) fn warnings(experiment: &Experiment) -> Vec<String> {
    let Some(defence) = experiment.defence else { return Vec::new() };
    too_many_attackers(experiment, &defence).into_iter().chain(unequal_numbers(experiment, &defence)).collect()
}

/// More attackers come to a round than the defence reckons with; one such round can be enough.
fn too_many_attackers(experiment: &Experiment, defence: &Defence) -> Option<String> {
    let cohorts = experiment.plan().cohorts(experiment.attack?.attackers);
    let size = cohorts.size() as usize;
    let assumed = defence.assumed_attackers(size)?;
    let needed = cohorts.attackers_to_expect(ROUND_RISK);
    (needed > assumed).then(|| {
        let (key, right) = (key_of(defence, assumed), advice(defence, needed, size));
        match cohorts.participation {
            Participation::Sample(_) => sampled(&cohorts, key, assumed, &right),
            Participation::Everyone | Participation::PoissonSampling(_) => format!(
                "attack.attackers = {} may all come to a round, and {key} reckons with {assumed}; {right}",
                cohorts.attackers
            ),
        }
    })
}

fn sampled(cohorts: &Cohorts, key: &str, assumed: u32, right: &str) -> String {
    let Cohorts { n_clients, attackers, n_rounds, .. } = cohorts;
    format!(
        "more than the {assumed} attackers that {key} reckons with come to some of the {n_rounds} rounds with probability \
         {} (attack.attackers = {attackers} of {n_clients} clients, clients.cohort = {}), and one such round can be enough; \
         at a risk of {ROUND_RISK:e} {right}",
        probability(cohorts.more_than(assumed)),
        cohorts.size(),
    )
}

/// The key that says with how many attackers the defence reckons.
fn key_of(defence: &Defence, assumed: u32) -> &'static str {
    match defence.mixing {
        Some(mixing) if mixing == assumed && defence.rule.assumed_attackers(0) != Some(assumed) => "defence.mixing",
        _ if names_attackers(defence) => "defence.rule.attackers",
        _ => "defence.rule",
    }
}

/// Whether the rule has a number of attackers as a parameter, and does not take it from the number of clients.
fn names_attackers(defence: &Defence) -> bool {
    let of = |n_clients: usize| defence.rule.assumed_attackers(n_clients);
    of(0).is_some() && of(0) == of(usize::MAX)
}

/// What would be right, if anything is.
fn advice(defence: &Defence, needed: u32, size: usize) -> String {
    match defence.clients_to_hold(needed) {
        Some(least) if least <= size => {
            let keys = [
                names_attackers(defence).then_some("defence.rule.attackers"),
                defence.mixing.map(|_| "defence.mixing"),
            ];
            let keys: Vec<&str> = keys.into_iter().flatten().collect();
            format!("{} should be {needed}", keys.join(" and "))
        }
        Some(least) => {
            format!("no number is right: {needed} attackers need at least {least} clients in a round, there are {size}")
        }
        None => "no number is right: this rule holds against none".into(),
    }
}

/// Mixing and the rule behind it reckon with different numbers of attackers.
fn unequal_numbers(experiment: &Experiment, defence: &Defence) -> Option<String> {
    let size = experiment.plan().cohorts(0).size() as usize;
    let (mixing, rule) = (defence.mixing?, defence.rule.assumed_attackers(size)?);
    // A median reckons with as many as there can be, whatever mixing does.
    (names_attackers(defence) && mixing != rule).then(|| {
        format!(
            "defence.mixing = {mixing} is not defence.rule.attackers = {rule}, and the defence holds against the \
             smaller number only; give both the number of attackers to expect in a round"
        )
    })
}

/// Enough digits to tell "nearly always" from "always".
fn probability(probability: f64) -> String {
    if probability < 0.01 { format!("{probability:.1e}") } else { format!("{probability:.2}") }
}

#[cfg(test)]
mod tests {
    use foltr_test::ExperimentFile;

    use super::*;

    fn warned(defence: &str, attackers: u32, clients: &str) -> Vec<String> {
        let attack = format!("attackers = {attackers}\nmethod = {{ kind = \"sign-flip\", scale = 1.0 }}");
        let file = ExperimentFile::fpdgd()
            .set("data.queries", "3")
            .section("clients", &format!("interactions = 1\n{clients}"));
        let file = file.set("federation.rounds", "3000").section("attack", &attack).section("defence", defence);
        let file = if attackers == 0 { file.without("attack") } else { file };
        warnings(&Experiment::from_toml(&file.to_string()).expect("a sound file"))
    }

    fn trimmed(attackers: u32, mixing: u32) -> String {
        format!("rule = {{ kind = \"trimmed-mean\", attackers = {attackers} }}\nmixing = {mixing}")
    }

    const TEN: &str = "n_clients = 10";
    const CROSS_DEVICE: &str = "n_clients = 1000\ncohort = 100";

    /// Attack: one client more than the rule cuts off, in every round.
    #[test]
    fn more_attackers_than_a_rule_cuts_off_are_named() {
        assert_eq!(warned(&trimmed(4, 4), 4, TEN), [""; 0]);
        assert_eq!(warned(&trimmed(3, 3), 0, TEN), [""; 0]);
        assert_eq!(
            warned(&trimmed(3, 3), 4, TEN),
            ["attack.attackers = 4 may all come to a round, and defence.rule.attackers reckons with 3; \
              defence.rule.attackers and defence.mixing should be 4"]
        );
        let beyond = warned("rule = { kind = \"median\" }", 5, TEN);
        assert_eq!(
            beyond,
            ["attack.attackers = 5 may all come to a round, and defence.rule reckons with 4; no number is right: 5 \
              attackers need at least 11 clients in a round, there are 10"]
        );
        assert_eq!(warned("rule = { kind = \"mean\" }", 5, TEN), [""; 0], "it claims nothing");
    }

    /// Attack: wait for the round to which more attackers are drawn than the rule cuts off.
    #[test]
    fn the_tail_over_all_rounds_is_compared_with_the_rule() {
        let warnings = warned(&trimmed(32, 32), 200, CROSS_DEVICE);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for words in
            ["with probability 0.92 (attack.attackers = 200 of 1000 clients", "defence.mixing should be 46", "1e-6"]
        {
            assert!(warnings[0].contains(words), "{words} is not in {}", warnings[0]);
        }
        assert_eq!(warned(&trimmed(45, 45), 200, CROSS_DEVICE).len(), 1);
        assert_eq!(warned(&trimmed(46, 46), 200, CROSS_DEVICE), [""; 0]);
        let hopeless = warned(&trimmed(49, 49), 300, CROSS_DEVICE);
        assert!(
            hopeless[0].contains("58 attackers need at least 117 clients in a round, there are 100"),
            "{hopeless:?}"
        );
    }

    #[test]
    fn mixing_and_rule_must_reckon_with_the_same_number() {
        let warnings = warned(&trimmed(4, 3), 3, TEN);
        assert!(warnings.len() == 1 && warnings[0].starts_with("defence.mixing = 3 is not defence.rule.attackers = 4"));
        let warnings = warned(&trimmed(4, 3), 4, TEN);
        assert!(warnings[0].contains("defence.mixing reckons with 3"), "{warnings:?}");
        let geometric = "rule = { kind = \"geometric-median\" }\nmixing = 3";
        assert_eq!(warned(geometric, 3, TEN), [""; 0]);
        let warnings = warned(geometric, 4, TEN);
        assert!(warnings[0].ends_with("defence.mixing reckons with 3; defence.mixing should be 4"), "{warnings:?}");
    }
}
