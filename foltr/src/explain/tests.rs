//! Known numbers of all mechanisms, and the sentences that must stand beside them.

use foltr_federation::privacy::Unit;

use super::*;

const FEDERATION: &str = r#"seeds = [1]
[data]
kind = "synthetic"
shape = "mq2007"
queries = 100
seed = 1
[clients]
n_clients = 1000
interactions = 4
[users]
kind = "cascade"
preset = ["perfect", "navigational"]
[ranker]
kind = "linear"
initialisation = { kind = "zero" }
[federation]
rounds = 1000
optimiser = { kind = "learning-rate", rate = 1.0 }
"#;

const PDGD: &str = "[learner]\nkind = \"pdgd\"\nlearning_rate = 0.1\nupdates = \"immediate\"\n";
const EVOLUTION: &str =
    "[learner]\nkind = \"evolution\"\nsigma = 0.01\nantithetic = true\nreward = \"max-rr\"\nstream = \"separate\"\n";

/// The explanation of an experiment whose settings all have the same one.
fn only(learner: &str, rest: &str, overrides: &[&str]) -> Explanation {
    let overrides: Vec<String> = overrides.iter().map(|&one| one.to_owned()).collect();
    let grid = Grid::from_toml(&format!("{FEDERATION}{learner}{rest}"), &overrides).expect("a sound file");
    let mut explained = Explained::of(&grid, None).expect("generated data");
    assert_eq!(explained.explanations.len(), 1, "{}", explained.told());
    explained.explanations.remove(0)
}

fn held(explanation: &Explanation, against: Observer) -> ObserverGuarantee {
    *explanation.guarantees.iter().find(|held| held.against == against).expect("every observer")
}

fn assert_near(guarantee: Option<Guarantee>, epsilon: f64, delta: f64, share: f64) {
    let guarantee = guarantee.expect("a guarantee");
    assert!((guarantee.epsilon / epsilon - 1.0).abs() < share, "{guarantee:?}, not {epsilon}");
    assert_eq!(guarantee.delta, delta);
}

#[test]
fn fpdgd_is_explained_with_the_known_numbers() {
    for (clip, round, run) in [("paper", 30.5, 8806.0), ("released-code", 61.0, 28_267.0)] {
        let privacy = "[privacy]\nkind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"\n";
        let told = only(PDGD, privacy, &[&format!("privacy.clip={clip}")]);
        let server = held(&told, Observer::Server);
        assert_eq!(
            (server.interaction, server.message, server.run, server.run_without_delta),
            (None, None, None, None)
        );
        for observer in [Observer::SumsAndModels, Observer::OtherClients] {
            assert_near(held(&told, observer).message, round, 0.0, 0.002);
            assert_near(held(&told, observer).run, run, 1e-5, 0.01);
        }
        let claim = told.claim.as_ref().expect("the paper has one");
        assert_eq!((claim.epsilon, claim.unit, told.n_params, told.settings.len()), (4.5, Unit::Message, Some(46), 2));
        let text = Explained { version: 1, explanations: vec![told] }.told();
        for words in [
            "Against the server that sees single messages: none",
            "if half of the clients or fewer survive, the central guarantee is gone",
            "weighting by a client-reported count makes the sensitivity",
        ] {
            assert!(text.contains(words), "{words} is not in\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
    let lost = only(
        PDGD,
        "[privacy]\nkind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"\n",
        &["clients.dropout=0.1"],
    );
    assert_eq!(held(&lost, Observer::SumsAndModels).run, None);
}

#[test]
fn randomised_response_adds_up_over_interactions_and_messages() {
    let told = only(EVOLUTION, "[privacy]\nkind = \"randomised-response\"\nprobability = 0.5\n", &[]);
    let one = 10.0_f64.ln();
    for observer in [Observer::Server, Observer::SumsAndModels, Observer::OtherClients] {
        let held = held(&told, observer);
        assert_near(held.interaction, one, 0.0, 1e-6);
        assert_near(held.message, 4.0 * one, 0.0, 1e-6);
        assert!((held.run_without_delta.expect("pure") / (4000.0 * one) - 1.0).abs() < 1e-6);
        let run = held.run.expect("bounded");
        // Advanced composition: between its leading term k epsilon tanh(epsilon / 2) and k epsilon.
        assert!(run.delta == 1e-5 && run.epsilon < 4000.0 * one && run.epsilon > 4000.0 * one * (one / 2.0).tanh());
    }
    assert!(told.words.remarks.iter().any(|remark| remark.starts_with("Not comparable with FPDGD's epsilon")));
    let truth = only(EVOLUTION, "[privacy]\nkind = \"randomised-response\"\nprobability = 1.0\n", &[]);
    assert_eq!((truth.claim, held(&truth, Observer::Server).interaction), (None, None));
    let drawn = only(EVOLUTION, "[privacy]\nkind = \"sampled-response\"\nprobability = 0.5\n", &[]);
    assert_near(held(&drawn, Observer::Server).message, one, 0.0, 1e-6);
}

#[test]
fn without_privacy_it_is_said_plainly() {
    for (learner, words) in [(PDGD, "A single update gives the clicks away"), (EVOLUTION, "A single message gives")] {
        let told = only(learner, "", &[]);
        assert!(told.guarantees.len() == 3 && told.guarantees.iter().all(|held| held.message.is_none()));
        assert!(told.words.remarks[0].starts_with(words));
    }
}

const GAUSSIAN: &str = "[privacy]\nkind = \"gaussian\"\nclip = 0.1\nnoise_multiplier = 44.7\nmode = \"sealed\"\n";

#[test]
fn gaussian_noise_holds_against_the_server_only_under_seal() {
    let sealed = only(PDGD, GAUSSIAN, &["federation.rounds=200"]);
    for observer in [Observer::Server, Observer::SumsAndModels, Observer::OtherClients] {
        assert_near(held(&sealed, observer).run, 1.2, 1e-5, 0.01);
        assert_eq!(held(&sealed, observer).run_without_delta, None);
    }
    let clear = only(PDGD, GAUSSIAN, &["federation.rounds=200", "privacy.mode=clear"]);
    assert_eq!(held(&clear, Observer::Server).run, None);
    assert_near(held(&clear, Observer::SumsAndModels).run, 1.2, 1e-5, 0.01);
    assert!(clear.words.assumptions[0].starts_with("The server is trusted"));
}

#[test]
fn coins_amplify_only_against_those_who_cannot_see_them() {
    let coins = ["privacy.noise_multiplier=0.747", "clients.participation=0.01"];
    let told = only(PDGD, GAUSSIAN, &coins);
    assert_near(held(&told, Observer::SumsAndModels).run, 4.4827, 1e-5, 0.001);
    let seen = held(&told, Observer::Server).run.expect("bounded").epsilon;
    let exact = accountant::gaussian::epsilon(1000.0_f64.sqrt() / 0.747, 1e-5);
    assert!((seen / exact - 1.0).abs() < 1e-6, "{seen}, not {exact}");
    assert!(told.words.assumptions[1].contains("nobody sees who took part"));
    // A cohort that the server draws amplifies nothing.
    let drawn = only(PDGD, GAUSSIAN, &["clients.cohort=10"]);
    let all = only(PDGD, GAUSSIAN, &[]);
    assert_eq!(drawn.guarantees, all.guarantees);
    assert!(drawn.words.remarks[0].starts_with("The server draws 10 of 1 000 clients"));
}

#[test]
fn discrete_and_local_mechanisms_are_explained() {
    let shares =
        "[privacy]\nkind = \"discrete-gaussian\"\nclip = 0.1\nepsilon = 4.5\ndelta = 1e-6\nmin_survivors = 900\n";
    let told = only(PDGD, shares, &[]);
    assert_near(held(&told, Observer::Server).run, 4.5, 1e-6, 0.001);
    assert_eq!(told.claim.as_ref().map(|claim| (claim.epsilon, claim.delta)), Some((4.5, 1e-6)));
    for privacy in ["kind = \"duchi\"\nbound = 0.1", "kind = \"priv-unit\"\nnorm = 0.1"] {
        let told = only(PDGD, &format!("[privacy]\n{privacy}\nepsilon = 1.0\n"), &[]);
        assert_near(held(&told, Observer::Server).message, 1.0, 0.0, 0.001);
        assert_eq!(held(&told, Observer::Server).run, held(&told, Observer::OtherClients).run);
    }
    let bounded = only(PDGD, &format!("{GAUSSIAN}[budget]\nepsilon = 1.2\ndelta = 1e-5\n"), &[]);
    assert!((199..=201).contains(&bounded.messages), "{}", bounded.messages);
}

#[test]
fn settings_with_different_numbers_share_a_section() {
    let privacy = "[privacy]\nkind = \"randomised-response\"\nprobability = [0.5, 0.9]\n";
    let grid = Grid::from_toml(&format!("{FEDERATION}{EVOLUTION}{privacy}"), &[]).expect("a sound file");
    let explained = Explained::of(&grid, Some(1e-6)).expect("no data is needed");
    assert_eq!(explained.explanations.iter().map(|one| one.settings.len()).collect::<Vec<_>>(), [2, 2]);
    let text = explained.told();
    assert_eq!(text.matches("(randomised-response)").count(), 1, "{text}");
    assert!(text.contains("  privacy.probability = 0.9\n") && !text.contains("users.preset"), "{text}");
    assert!(Explained::of(&grid, Some(1.0)).is_err());
}
