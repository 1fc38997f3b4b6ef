//! Known numbers of all mechanisms, and the sentences that must stand beside them.

use foltr_federation::privacy::Unit;
use foltr_test::ExperimentFile;

use super::*;

const LAPLACE: &str = "kind = \"distributed-laplace\"\nepsilon = 4.5\nsensitivity = 5.0\nclip = \"paper\"";

/// A thousand clients, 1,000 rounds, a ranker with 46 parameters.
fn large(file: ExperimentFile) -> ExperimentFile {
    let file = file.set("data.shape", "\"mq2007\"").section("clients", "n_clients = 1000\ninteractions = 4");
    file.set("users.preset", "[\"perfect\", \"navigational\"]").set("federation.rounds", "1000")
}

fn pdgd(privacy: &str) -> ExperimentFile {
    large(ExperimentFile::fpdgd()).section("privacy", privacy)
}

fn evolution(privacy: &str) -> ExperimentFile {
    large(ExperimentFile::evolution()).section("privacy", privacy)
}

/// The explanation of an experiment whose settings all have the same one.
fn only(file: &ExperimentFile) -> Explanation {
    let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
    let mut explained = Explained::of(&grid, None).expect("generated data");
    assert_eq!(explained.explanations.len(), 1, "{}", explained.render());
    explained.explanations.remove(0)
}

fn guarantee(explanation: &Explanation, against: Observer) -> ObserverGuarantee {
    *explanation.guarantees.iter().find(|it| it.against == against).expect("every observer")
}

fn assert_near(guarantee: Option<Guarantee>, epsilon: f64, delta: f64, share: f64) {
    let guarantee = guarantee.expect("a guarantee");
    assert!((guarantee.epsilon / epsilon - 1.0).abs() < share, "{guarantee:?}, not {epsilon}");
    assert_eq!(guarantee.delta, delta);
}

#[test]
fn fpdgd_is_explained_in_words() {
    let explained = only(&pdgd(LAPLACE));
    let server = guarantee(&explained, Observer::Server);
    assert_eq!((server.interaction, server.message, server.run, server.run_without_delta), (None, None, None, None));
    let [others, clients] = [Observer::SumsAndModels, Observer::OtherClients].map(|it| guarantee(&explained, it));
    assert_eq!((others.message, others.run), (clients.message, clients.run));
    let claim = explained.claim.as_ref().expect("the paper has one");
    assert_eq!((claim.epsilon, claim.unit, explained.settings.len()), (4.5, Unit::Message, 2));
    let text = Explained { version: 1, explanations: vec![explained] }.render();
    for words in [
        "Against the server that sees single messages: none",
        "if half of the clients or fewer survive, the central guarantee is gone",
        "weighting by a client-reported count makes the sensitivity",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let lost = only(&pdgd(LAPLACE).set("clients.dropout", "0.1"));
    assert_eq!(guarantee(&lost, Observer::SumsAndModels).run, None);
}

#[test]
fn randomised_response_adds_up_over_interactions_and_messages() {
    let explained = only(&evolution("kind = \"randomised-response\"\nprobability = 0.5"));
    let one = 10.0_f64.ln();
    for observer in [Observer::Server, Observer::SumsAndModels, Observer::OtherClients] {
        let holds = guarantee(&explained, observer);
        assert_near(holds.interaction, one, 0.0, 1e-6);
        assert_near(holds.message, 4.0 * one, 0.0, 1e-6);
        assert!((holds.run_without_delta.expect("pure") / (4000.0 * one) - 1.0).abs() < 1e-6);
        let run = holds.run.expect("bounded");
        // Above the mean loss k (p - q) epsilon, and far below that of coins with the same epsilon: k epsilon tanh(epsilon/2).
        let (mean, of_coins) = (4000.0 * 0.45 * one, 4000.0 * one * (one / 2.0).tanh());
        assert!(run.delta == 1e-5 && run.epsilon > mean && run.epsilon < 0.7 * of_coins, "{run:?}");
    }
    assert!(explained.words.remarks.iter().any(|remark| remark.starts_with("Not comparable with FPDGD's epsilon")));
    let truth = only(&evolution("kind = \"randomised-response\"\nprobability = 1.0"));
    assert_eq!((truth.claim, guarantee(&truth, Observer::Server).interaction), (None, None));
    let drawn = only(&evolution("kind = \"sampled-response\"\nprobability = 0.5"));
    assert_near(guarantee(&drawn, Observer::Server).message, one, 0.0, 1e-6);
}

#[test]
fn without_privacy_it_is_said_plainly() {
    let none = "kind = \"none\"";
    for (file, words) in
        [(pdgd(none), "A single update gives the clicks away"), (evolution(none), "A single message gives")]
    {
        let explained = only(&file);
        assert!(explained.guarantees.len() == 3 && explained.guarantees.iter().all(|it| it.message.is_none()));
        assert!(explained.words.remarks[0].starts_with(words));
    }
}

const GAUSSIAN: &str = "kind = \"gaussian\"\nclip = 0.1\nnoise_multiplier = 44.7\nmode = \"sealed\"";

#[test]
fn gaussian_noise_holds_against_the_server_only_under_seal() {
    let file = pdgd(GAUSSIAN).set("federation.rounds", "200");
    let sealed = only(&file);
    for observer in [Observer::Server, Observer::SumsAndModels, Observer::OtherClients] {
        assert_near(guarantee(&sealed, observer).run, 1.2, 1e-5, 0.01);
        assert_eq!(guarantee(&sealed, observer).run_without_delta, None);
    }
    let clear = only(&file.set("privacy.mode", "\"clear\""));
    assert_eq!(guarantee(&clear, Observer::Server).run, None);
    assert_near(guarantee(&clear, Observer::SumsAndModels).run, 1.2, 1e-5, 0.01);
    assert!(clear.words.assumptions[0].starts_with("The server is trusted"));
}

#[test]
fn coins_amplify_only_against_those_who_cannot_see_them() {
    let coins = pdgd(GAUSSIAN).set("privacy.noise_multiplier", "0.747").set("clients.participation", "0.01");
    let explained = only(&coins);
    assert_near(guarantee(&explained, Observer::SumsAndModels).run, 3.8125, 1e-5, 0.001);
    let seen = guarantee(&explained, Observer::Server).run.expect("bounded").epsilon;
    let exact = accountant::gaussian::epsilon(1000.0_f64.sqrt() / 0.747, 1e-5);
    assert!((seen / exact - 1.0).abs() < 1e-6, "{seen}, not {exact}");
    assert!(explained.words.assumptions[1].contains("nobody sees who took part"));
    // A cohort that the server draws amplifies nothing.
    let drawn = only(&pdgd(GAUSSIAN).set("clients.cohort", "10"));
    assert_eq!(drawn.guarantees, only(&pdgd(GAUSSIAN)).guarantees);
    assert!(drawn.words.remarks[0].starts_with("The server draws 10 of 1 000 clients"));
}

#[test]
fn discrete_and_local_mechanisms_are_explained() {
    let shares = "kind = \"discrete-gaussian\"\nclip = 0.1\nepsilon = 4.5\ndelta = 1e-6\nmin_survivors = 900";
    let explained = only(&pdgd(shares));
    assert_near(guarantee(&explained, Observer::Server).run, 4.5, 1e-6, 0.001);
    assert_eq!(explained.claim.as_ref().map(|claim| (claim.epsilon, claim.delta)), Some((4.5, 1e-6)));
    for privacy in ["kind = \"duchi\"\nbound = 0.1", "kind = \"priv-unit\"\nnorm = 0.1"] {
        let explained = only(&pdgd(privacy).set("privacy.epsilon", "1.0"));
        assert_near(guarantee(&explained, Observer::Server).message, 1.0, 0.0, 0.001);
        let [server, clients] = [Observer::Server, Observer::OtherClients].map(|it| guarantee(&explained, it).run);
        assert_eq!(server, clients);
    }
    let bounded = only(&pdgd(GAUSSIAN).section("budget", "epsilon = 1.2\ndelta = 1e-5"));
    assert!((199..=201).contains(&bounded.messages), "{}", bounded.messages);
}

#[test]
fn settings_with_different_numbers_share_a_section() {
    let file = evolution("kind = \"randomised-response\"\nprobability = [0.5, 0.9]");
    let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
    let explained = Explained::of(&grid, Some(1e-6)).expect("no data is needed");
    assert_eq!(explained.explanations.iter().map(|one| one.settings.len()).collect::<Vec<_>>(), [2, 2]);
    let text = explained.render();
    assert_eq!(text.matches("(randomised-response)").count(), 1, "{text}");
    assert!(text.contains("  privacy.probability = 0.9\n") && !text.contains("users.preset"), "{text}");
    assert!(Explained::of(&grid, Some(1.0)).is_err());
}
