//! Known numbers of all mechanisms, and the sentences that must stand beside them.

use foltr_federation::Guarantee;
use foltr_federation::accountant;
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
        "what is left of a Laplace law without some of them is not known",
        "weighting by a client-reported count makes the sensitivity",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    // Attack: subtract the mean of what those who are there would have sent. Their noise is not a whole Laplace law.
    for (key, value) in [("clients.dropout", "0.1"), ("clients.absent", "[7]")] {
        let lost = only(&pdgd(LAPLACE).set(key, value));
        assert_eq!(guarantee(&lost, Observer::SumsAndModels).run, None, "{key}");
        assert!(lost.words.remarks.iter().any(|it| it.contains("Nothing is proven here")), "{:?}", lost.words);
        assert_eq!((lost.adjacency, lost.neighbours), (None, ""));
    }
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
    let noisy = only(&evolution("kind = \"reward-laplace\"\nepsilon = 2.0"));
    assert_near(guarantee(&noisy, Observer::Server).message, 2.0, 0.0, 1e-6);
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
    assert!(explained.words.assumptions.iter().any(|it| it.contains("nobody sees who took part")));
    // A cohort that the server draws amplifies nothing, and somebody else takes the place of who is not there.
    let drawn = only(&pdgd(GAUSSIAN).set("clients.cohort", "10"));
    let half = only(&pdgd(GAUSSIAN).set("privacy.noise_multiplier", "22.35"));
    let runs =
        |explained: &Explanation| explained.guarantees[1..].iter().map(|it| (it.message, it.run)).collect::<Vec<_>>();
    assert_eq!(runs(&drawn), runs(&half));
    // Who draws the cohort knows who is in it: what a client sends is hidden, by all of the noise.
    assert_eq!(drawn.guarantees[0], only(&pdgd(GAUSSIAN)).guarantees[0]);
    assert_eq!([drawn.adjacency, half.adjacency], [Some(Adjacency::Replaced), Some(Adjacency::Removed)]);
    assert!(drawn.words.remarks[0].starts_with("The server draws 10 of 1000 clients"));
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
fn seeds_of_the_published_stream_leave_nothing_of_the_answers() {
    // Attack: the seed of a message is the next number of the generator from which the clicks before it were drawn, so
    // that it tells how many numbers they took, and with that where the user clicked.
    let file = |keys: &str| evolution(&format!("kind = {keys}"));
    for kind in [
        "\"randomised-response\"\nprobability = 0.5",
        "\"sampled-response\"\nprobability = 0.5",
        "\"reward-laplace\"\nepsilon = 2.0",
    ] {
        let published = file(kind).set("learner.stream", "\"published\"");
        let explained = only(&published);
        assert!(explained.guarantees.iter().all(|it| it.interaction.is_none() && it.run.is_none()), "{kind}");
        assert!(explained.words.remarks.iter().any(|it| it.contains("how many numbers the clicks took")), "{kind}");
        let budget = published.section("budget", "epsilon = 100\ndelta = 1e-5");
        let refused = format!("{:?}", Grid::from_toml(&budget.to_string(), &[]).expect_err("no budget is enough"));
        assert!(refused.contains("budget") && refused.contains("no budget is enough"), "{refused}");
        assert!(Grid::from_toml(&budget.set("learner.stream", "\"separate\"").to_string(), &[]).is_ok());
    }
}

#[test]
fn replays_cost_those_who_stay_as_much_again() {
    // Attack: a client that stays answers every round a second time while another one is forgotten.
    let retrain = |file: ExperimentFile| file.section("unlearning", "clients = [0]\nmethod = { kind = \"retrain\" }");
    let gaussian = pdgd(GAUSSIAN).set("federation.rounds", "200");
    let (once, twice) = (only(&gaussian), only(&gaussian.clone().set("federation.rounds", "400")));
    let replayed = only(&retrain(gaussian.clone()));
    assert_eq!((replayed.messages, replayed.replayed), (200, 200));
    let [alone, long, both] = [&once, &twice, &replayed].map(|it| guarantee(it, Observer::SumsAndModels));
    assert_eq!((both.run, both.run_of_leavers, alone.run_of_leavers), (long.run, alone.run, None));
    let certificate = "clients = [0]\nmethod = { kind = \"certificate\", epsilon = 1.3, delta = 1e-5 }";
    let certified = only(&gaussian.clone().section("unlearning", certificate));
    assert_eq!((certified.replayed, guarantee(&certified, Observer::Server).run), (0, alone.run));
    // The shares of those who leave are missing in a replay.
    let lost = guarantee(&only(&retrain(pdgd(LAPLACE))), Observer::SumsAndModels);
    assert!(lost.run.is_none() && lost.run_of_leavers.is_some());
    // A budget that is enough for training is not enough to train again.
    let bounded = retrain(gaussian).section("budget", "epsilon = 1.3\ndelta = 1e-5");
    let refused = format!("{:?}", Grid::from_toml(&bounded.to_string(), &[]).expect_err("it is spent"));
    assert!(refused.contains("replays up to 200 rounds"), "{refused}");
    assert!(Grid::from_toml(&bounded.set("budget.epsilon", "1.9").to_string(), &[]).is_ok());
}

#[test]
fn nothing_is_promised_to_who_knows_the_seed() {
    for file in [pdgd(LAPLACE), pdgd(GAUSSIAN), evolution("kind = \"randomised-response\"\nprobability = 0.5")] {
        let assumptions = only(&file).words.assumptions;
        for sentence in ["from its seed", "One training of a seed is published"] {
            assert!(assumptions.iter().any(|it| it.contains(sentence)), "{assumptions:?}");
        }
    }
    let nothing = only(&pdgd("kind = \"none\"")).words.assumptions;
    assert!(nothing.is_empty(), "{nothing:?}");
}

#[test]
fn a_budget_without_a_round_prints_no_negative_zero() {
    let text = Explained {
        version: 1,
        explanations: vec![only(&pdgd(GAUSSIAN).section("budget", "epsilon = 1e-6\ndelta = 1e-9"))],
    }
    .render();
    assert!(text.contains("The run cannot start") && !text.contains("-0"), "{text}");
}

#[test]
fn settings_with_different_numbers_share_a_section() {
    let file = evolution("kind = \"randomised-response\"\nprobability = [0.5, 0.9]");
    let grid = Grid::from_toml(&file.to_string(), &[]).expect("a sound file");
    let explained = Explained::of(&grid, Some(1e-6)).expect("no data is needed");
    assert_eq!(explained.explanations.iter().map(|one| one.settings.len()).collect::<Vec<_>>(), [2, 2]);
    let text = explained.render();
    assert_eq!(text.matches("(randomised-response)").count(), 1, "{text}");
    assert!(
        text.contains("  privacy.probability = 0.9: true answers with probability 0.900\n")
            && !text.contains("users.preset"),
        "{text}"
    );
    assert!(Explained::of(&grid, Some(1.0)).is_err());
}

/// Mistake: m is set to what is expected in a round and three deviations more; nobody says for how many attackers that is.
#[test]
fn a_defence_says_for_how_many_attackers_it_is_enough() {
    let file = |m: u32| {
        let file = pdgd("kind = \"none\"").set("clients.cohort", "100").set("federation.rounds", "3000");
        let rule = format!("rule = {{ kind = \"trimmed-mean\", attackers = {m} }}");
        file.section("defence", &rule)
            .section("attack", "attackers = 200\nmethod = { kind = \"sign-flip\", scale = 1.0 }")
    };
    let explained = only(&file(32));
    let scope = explained.defence.expect("a robust rule");
    assert_eq!((scope.assumed_attackers, scope.cohort, scope.most_attackers), (32, 100, 111));
    assert_eq!((scope.attackers, scope.needed), (Some(200), Some(46)));
    let text = Explained { version: 1, explanations: vec![explained] }.render().replace("\n  ", " ");
    let words = "reckons with 32 attackers in a round of 100 clients: enough in all 3 000 rounds, at a risk of 1e-6, for at \
                 most 111 attackers among 1 000 clients; the 200 of [attack] need 46";
    assert!(text.contains(words), "{text}");
    assert_eq!(only(&file(46)).defence.map(|scope| scope.most_attackers), Some(206));
    let few = file(3).without("attack").section("clients", "n_clients = 8\ninteractions = 4");
    let krum =
        only(&few.section("defence", "rule = { kind = \"krum\", attackers = 3 }")).defence.expect("a robust rule");
    assert!(!krum.holds && krum.words().contains("too few for this rule to promise anything"), "{krum:?}");
    assert_eq!(only(&pdgd("kind = \"none\"")).defence, None);
}
