//! Who is forgotten cannot be seen by comparing models before and after: what protects is drawn anew, everything else is
//! not; what is drawn again is paid for; and erased salts do not come back.

use foltr_federation::privacy::{
    AdaptiveClip, Budget, CentralMode, Clip, ClipRadius, DiscreteGaussian, DistributedLaplace, Duchi, Gaussian,
    PrivUnit, RandomisedResponse,
};
use foltr_federation::unlearn::{MessageCost, Retrain, ShardIsolation};
use foltr_federation::{
    History, HistoryPolicy, Mechanism, Participation, Payload, PrivacyCost, ServerOptimiser, UnlearnError, Unlearning,
};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::PdgdSettings;
use foltr_rank::rng::Lineage;
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_simulation::sharded_run::ShardedRun;
use foltr_simulation::unlearning::{Request, UnlearningError, unlearn};

use crate::scene::*;

const RETRAIN: Unlearning = Unlearning::Retrain(Retrain {});

fn length(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// 100 clients, one round, noise of epsilon 1. The server retrains without a client; whoever knows both models subtracts
/// them. With the noise of training in both, the difference was the leaver's clipped update, to five decimals.
#[test]
fn models_before_and_after_do_not_give_away_the_leaver() {
    const CLIP: f64 = 0.1;
    const NOISE: f64 = 3.73;
    let plain = FederationSettings { n_clients: 100, ..settings() };
    let gaussian = Gaussian::new(Clip::Fixed(CLIP), NOISE, CentralMode::Clear).expect("positive");
    let private = FederationSettings { privacy: Mechanism::Gaussian(gaussian), ..plain.clone() };
    let (leaver, n) = (7, 100.0);
    let (_, history) = trained(&private, HistoryPolicy::default(), 1);
    let forgotten = forget(RETRAIN, &private, &history, &[leaver]).expect("nothing is needed");
    let (before, after) = (&latest(&history).master, &latest(&forgotten.history).master);
    let Payload::Step { delta, .. } = &messages(&plain, partition()).0[leaver as usize].payload else {
        panic!("PDGD sends steps")
    };
    let scale = (CLIP / length(delta.iter().map(|&value| value.into()))).min(1.0);
    let guess = before.iter().zip(after).map(|(before, after)| n * (before - after));
    let error = length(guess.zip(delta).map(|(guess, &value)| guess - scale * f64::from(value)));
    // Two independent noises in every coordinate. Half of it is below all but one in 10,000 draws.
    let expected = (2.0 * delta.len() as f64).sqrt() * NOISE * CLIP;
    assert!(error > 0.5 * expected, "off by {error}, where noise is {expected}");
}

/// Federations with every mechanism that protects.
fn private_federations() -> Vec<(&'static str, FederationSettings)> {
    let clip = Clip::Adaptive(AdaptiveClip { initial: 0.1, quantile: 0.5, rate: 0.2, count_noise: 10.0 });
    let gaussian = |clip| Mechanism::Gaussian(Gaussian::new(clip, 2.0, CentralMode::Sealed).expect("positive"));
    let shares = Mechanism::DiscreteGaussian(DiscreteGaussian::new(0.1, 2.0, 6, 1).expect("sound"));
    let laplace =
        Mechanism::DistributedLaplace(DistributedLaplace::new(5.0, 4.5, ClipRadius::Paper).expect("positive"));
    let response = Mechanism::RandomisedResponse(RandomisedResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n"));
    let private = |privacy| FederationSettings { privacy, ..settings() };
    let clipped = Learning::Pdgd(PdgdSettings { clip_radius: Some(2.5), ..PDGD });
    let momentum = ServerOptimiser::Momentum { rate: 0.7, momentum: 0.9 };
    let coins = Participation::PoissonSampling(0.6);
    vec![
        ("gaussian", FederationSettings { optimiser: momentum, ..private(gaussian(Clip::Fixed(0.1))) }),
        ("adaptive clip", FederationSettings { participation: coins, ..private(gaussian(clip)) }),
        ("discrete gaussian", private(shares)),
        ("distributed laplace", FederationSettings { learning: clipped, ..private(laplace) }),
        ("randomised response", FederationSettings { privacy: response, ..single_rewards(false) }),
        ("duchi", private(Mechanism::Duchi(Duchi::new(4.0, 0.1).expect("positive")))),
        ("priv-unit", private(Mechanism::PrivUnit(PrivUnit::new(4.0, 0.1, N_FEATURES).expect("two coordinates")))),
    ]
}

#[test]
fn a_replay_is_a_run_without_the_leaver_that_has_the_same_lineage() {
    for (name, settings) in private_federations() {
        let (_, history) = trained(&settings, checkpoints(3), 6);
        assert_eq!(history.lineage(), Lineage::TRAINING);
        let first = forget(RETRAIN, &settings, &history, &[0]).expect("nothing is needed");
        let second = forget(RETRAIN, &settings, &first.history, &[5, 3]).expect("nothing is needed");
        let lineages = [&history, &first.history, &second.history].map(History::lineage);
        assert!(lineages[0] != lineages[1] && lineages[1] != lineages[2], "{name}: every request has its own");
        for (unlearned, absent) in [(&first, &[0][..]), (&second, &[0, 3, 5])] {
            let lineage = unlearned.history.lineage();
            let same = FederationSettings { lineage, ..settings.clone() };
            assert_eq!(unlearned.params, without(&same, absent, 6), "{name}");
            assert_ne!(unlearned.params, without(&settings, absent, 6), "{name}: the noise of training");
            for other in lineages.into_iter().filter(|other| *other != lineage) {
                let other = FederationSettings { lineage: other, ..settings.clone() };
                assert_ne!(unlearned.params, without(&other, absent, 6), "{name}: the noise of another request");
            }
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_with_its_own_noise() {
    for (name, settings) in private_federations() {
        let whole = run(&settings, 6);
        let (_, history) = trained(&settings, checkpoints(3), 3);
        let state = latest(&history).clone();
        let resumed = FederationRun::resume(settings.clone(), partition(), &state, Some(history));
        let mut resumed = resumed.expect("a good state");
        advance(&mut resumed, 3);
        assert_eq!(resumed.checkpoint(), whole.checkpoint(), "{name}");
        // Also after a request, without anybody saying of which lineage it is.
        let (_, history) = trained(&settings, checkpoints(3), 4);
        let forgotten = forget(RETRAIN, &settings, &history, &[2]).expect("nothing is needed").history;
        let (lineage, state) = (forgotten.lineage(), latest(&forgotten).clone());
        let resumed = FederationRun::resume(settings.clone(), partition(), &state, Some(forgotten));
        let mut resumed = resumed.expect("a good state");
        advance(&mut resumed, 2);
        let same = FederationSettings { lineage, absent: vec![2], ..settings };
        assert_eq!(resumed.checkpoint(), run(&same, 6).checkpoint(), "{name}");
    }
}

#[test]
fn a_shard_replays_with_new_coins_and_leaves_earlier_rounds_as_they_were() {
    const SHARDS: ShardIsolation = ShardIsolation { shards: 2 };
    let response = Mechanism::RandomisedResponse(RandomisedResponse::new(0.9, Reward::MaxRr, 10).expect("p > 1/n"));
    let participation = Participation::PoissonSampling(0.3);
    let settings = FederationSettings { privacy: response, participation, ..single_rewards(false) };
    let new = ShardedRun::new(settings.clone(), SHARDS, partition(), checkpoints(1), fingerprint());
    let mut run = new.expect("sound settings");
    for _ in 0..12 {
        run.round().expect("a round");
    }
    let history = run.shards()[1].history().expect("recorded").clone();
    let leaver = (0..10).filter(|client| client % 2 == 1).max_by_key(|&client| history.first_round(client));
    let leaver = leaver.expect("a client");
    let first = history.first_round(leaver).expect("it came");
    assert!(first > 0 && first < 12);
    run.forget(&[leaver], MessageCost::UNPROTECTED).expect("a client");
    let forgotten = run.shards()[1].history().expect("recorded");
    assert_ne!(forgotten.lineage(), Lineage::TRAINING);
    assert_eq!(run.shards()[0].history().expect("recorded").lineage(), Lineage::TRAINING, "another shard");
    let absent: Vec<u32> = (0..10).filter(|client| client % 2 == 0 || *client == leaver).collect();
    let state = history.before(first).expect("every state is recorded");
    let replayed = |lineage| {
        let own = FederationSettings { lineage, absent: absent.clone(), ..settings.clone() };
        let mut run = FederationRun::resume(own, partition(), state, None).expect("a good state");
        advance(&mut run, 12 - first);
        run.ranker()
    };
    assert_eq!(run.shards()[1].ranker(), replayed(forgotten.lineage()));
    assert_ne!(run.shards()[1].ranker(), replayed(Lineage::TRAINING), "the coins of training");
}

fn forget_within(
    cost: MessageCost,
    settings: &FederationSettings,
    history: &History,
    leaver: u32,
) -> Result<History, UnlearningError> {
    let leavers = &[leaver];
    unlearn(&Request { cost, ..request(&RETRAIN, settings, history, leavers) }).map(|unlearned| unlearned.history)
}

/// Every client trains for 20 rounds and has a budget of 20 messages. Two requests later it had sent 60, with the coins of
/// training three times.
#[test]
fn replays_spend_the_budget_or_are_refused() {
    let cost = PrivacyCost::Gaussian { mu: 0.05 };
    let budget = |messages| Budget { epsilon: cost.after(messages, 1e-5).epsilon * (1.0 + 1e-9), delta: 1e-5 };
    let within = |messages| MessageCost { cost, delta: 1e-5, budget: Some(budget(messages)) };
    let gaussian = Gaussian::new(Clip::Fixed(0.1), 20.0, CentralMode::Clear).expect("positive");
    let settings = FederationSettings { privacy: Mechanism::Gaussian(gaussian), ..settings() };
    let (_, history) = trained(&settings, HistoryPolicy::default(), 20);
    let refused = forget_within(within(20), &settings, &history, 1).err();
    let Some(UnlearningError::Request(UnlearnError::Budget { affordable, n_messages, n_more, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((affordable, n_messages, n_more), (20, 20, 20));
    assert!(forget_within(within(39), &settings, &history, 1).is_err());
    // Sixty messages are two requests, and not a third.
    let first = forget_within(within(60), &settings, &history, 1).expect("40 messages");
    let second = forget_within(within(60), &settings, &first, 2).expect("60 messages");
    let spent = within(60).account(&first, &second, &[2]);
    assert_eq!((spent.leavers.messages, spent.stayers.messages), (40, 60));
    let message = forget_within(within(60), &settings, &second, 3).expect_err("80 messages").to_string();
    assert!(
        message.contains("affords 60 messages") && message.contains("has sent 60 and would send up to 20"),
        "{message}"
    );
    // Without a budget nothing is refused, and the receipt says what it cost.
    assert!(forget_within(MessageCost { budget: None, ..within(20) }, &settings, &second, 3).is_ok());
}

#[test]
fn who_comes_by_coins_pays_for_every_coin_and_lost_shares_have_no_price() {
    let gaussian = Gaussian::new(Clip::Fixed(0.1), 2.0, CentralMode::Clear).expect("positive");
    let participation = Participation::PoissonSampling(0.1);
    let settings = FederationSettings { privacy: Mechanism::Gaussian(gaussian), participation, ..settings() };
    let (_, history) = trained(&settings, HistoryPolicy::default(), 20);
    assert!((0..10).all(|client| history.messages(client).total() < 10), "nobody came in half of the rounds");
    let coins = PrivacyCost::Subsampled { probability: 0.1, noise_multiplier: 2.0 };
    let within = |cost: PrivacyCost, n| {
        let budget = Some(Budget { epsilon: 1.0001 * cost.after(n, 1e-5).epsilon, delta: 1e-5 });
        forget_within(MessageCost { cost, delta: 1e-5, budget }, &settings, &history, 1)
    };
    assert!(within(coins, 40).is_ok());
    assert!(matches!(within(coins, 38), Err(UnlearningError::Request(UnlearnError::Budget { .. }))));
    let laplace = PrivacyCost::Laplace { scale: 1.0, shift: 0.1, n_params: N_FEATURES };
    assert!(matches!(within(laplace, 1000), Err(UnlearningError::Request(UnlearnError::Budget { .. }))));
}

/// A replay began the stream of salts anew, so that an erased salt stood beside another client's update, and a guessed
/// update of the leaver could be confirmed with it.
#[test]
fn erased_salts_are_nowhere_after_a_replay() {
    let settings = settings();
    let salts_of = |history: &History, client: u32| -> Vec<[u8; 16]> {
        let entries = history.records().flat_map(|record| record.entries.clone());
        entries.filter(|entry| entry.client == client).filter_map(|entry| Some(entry.update?.salt)).collect()
    };
    let (_, history) = trained(&settings, EVERYTHING, 4);
    let (_, again) = trained(&settings, EVERYTHING, 4);
    let erased = salts_of(&history, 3);
    assert_eq!(erased.len(), 4);
    assert!(salts_of(&again, 3).iter().all(|salt| !erased.contains(salt)), "no seed decides them");
    let forgotten = forget(RETRAIN, &settings, &history, &[3]).expect("nothing is needed").history;
    let bytes = forgotten.encode();
    assert!(erased.iter().all(|salt| !bytes.windows(16).any(|window| window == salt)));
    assert!(!salts_of(&forgotten, 2).is_empty());
    // But for salts and what follows from them the histories are the same.
    assert_eq!(latest(&history), latest(&again));
    assert_ne!(history.head(), again.head());
}
