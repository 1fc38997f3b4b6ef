//! Every way to forget, with simulated clients: what is exact is equal bit by bit, what cannot be done says so.

use foltr_federation::history::UnknownClient;
use foltr_federation::privacy::{CentralMode, Clip, Gaussian};
use foltr_federation::receipt::{Claim, Met, Published, public_key};
use foltr_federation::unlearn::{
    Certificate, FedEraser, LedgerSubtraction, MessageCost, Need, NoisyRollback, Retrain, Sensitivity, ShardIsolation,
    Variant,
};
use foltr_federation::{
    Assurance, Defence, Fingerprint, History, HistoryError, HistoryPolicy, Mechanism, PrivacyCost, ServerOptimiser,
    UnlearnError, Unlearning, WorkerMomentum,
};
use foltr_rank::Params;
use foltr_simulation::federation_run::FederationSettings;
use foltr_simulation::unlearning::{Cost, Request, UnlearningError, UnlearningRun, unlearn};

use crate::scene::*;

const RETRAIN: Unlearning = Unlearning::Retrain(Retrain {});
const SUBTRACTION: Unlearning = Unlearning::LedgerSubtraction(LedgerSubtraction {});

const fn eraser(interval: u32, steps: u32, variant: Variant) -> Unlearning {
    Unlearning::FedEraser(FedEraser { interval, steps, variant })
}

const fn rollback(max_noise: f64, sensitivity: Sensitivity) -> NoisyRollback {
    NoisyRollback { clip_norm: 0.05, epsilon: 3.0, delta: 1e-4, max_noise, sensitivity }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn retraining_is_a_run_that_never_had_the_leavers() {
    for (name, settings) in variants() {
        let (_, history) = trained(&settings, policy_of(&settings), 8);
        let first = forget(RETRAIN, &settings, &history, &[0]).expect("nothing is needed");
        assert_eq!(first.params, without(&settings, &[0], 8), "{name}");
        assert_eq!((first.guarantee, first.history.verify()), (Assurance::Exact, Ok(())), "{name}");
        // A stream of requests, the second for two at once.
        let second = forget(RETRAIN, &settings, &first.history, &[5, 3]).expect("nothing is needed");
        assert_eq!(second.params, without(&settings, &[0, 3, 5], 8), "{name}");
        assert_eq!(second.history.n_rounds(), 8, "{name}");
        assert!([0, 3, 5].iter().all(|&client| second.history.is_forgotten(client)));
        assert!(updates_of(&second.history, 3).is_empty());
    }
}

/// Three leave at once, or one after the other in any order: what is exact ends in the ranker that never had them. Every
/// request is paid for by those who are still there, which are 9, 8 and 7 clients.
#[test]
fn exact_ways_forget_several_clients_in_any_order() {
    let noiseless = Unlearning::NoisyRollback(rollback(0.0, Sensitivity::WorstCase));
    for (method, policy) in [(RETRAIN, HistoryPolicy::default()), (noiseless, checkpoints(2))] {
        let settings = FederationSettings { defence: clipped(0.05), ..settings() };
        let (_, history) = trained(&settings, policy, 12);
        let expected = without(&settings, &[1, 4, 7], 12);
        let at_once = forget(method, &settings, &history, &[4, 1, 7]).expect("recorded");
        assert_eq!((&at_once.params, at_once.cost.messages), (&expected, 12 * 7), "{method:?}");
        for order in [[1, 4, 7], [7, 1, 4]] {
            let (mut history, mut n_messages) = (history.clone(), 0);
            for leaver in order {
                let unlearned = forget(method, &settings, &history, &[leaver]).expect("recorded");
                assert_eq!(unlearned.guarantee, Assurance::Exact);
                (history, n_messages) = (unlearned.history, n_messages + unlearned.cost.messages);
            }
            assert_eq!(latest(&history).ranker(), expected, "{method:?}, {order:?}");
            assert_eq!(n_messages, 12 * (9 + 8 + 7));
        }
    }
}

#[test]
fn costs_are_counted() {
    let settings = settings();
    let n_params = settings.initial.len() as u64;
    let (_, history) = trained(&settings, EVERYTHING, 20);
    let header = foltr_federation::protocol::HEADER_LEN as u64;
    let bytes = |messages: u64| messages * (4 * n_params + header + 4 + 4 * n_params);
    let retrained = forget(RETRAIN, &settings, &history, &[4]).expect("recorded").cost;
    assert_eq!(retrained, Cost { rounds: 20, local_steps: 20 * 9 * 5, messages: 180, bytes: bytes(180) });
    let erased = forget(eraser(4, 2, Variant::Thesis), &settings, &history, &[4]).expect("recorded").cost;
    // 5 rounds of 9 clients with 2 steps: (n / n') Delta t = 10 times less work, 4 times fewer messages (thesis 6.1.3).
    assert_eq!(erased, Cost { rounds: 5, local_steps: 5 * 9 * 2, messages: 45, bytes: bytes(45) });
    assert_eq!(retrained.local_steps / erased.local_steps, 10);
    let subtracted = forget(SUBTRACTION, &settings, &history, &[4]).expect("recorded").cost;
    assert_eq!(subtracted, Cost::default());
}

/// FedEraser, watched round by round.
fn erased(settings: &FederationSettings, history: &History) -> Vec<Params> {
    let method = &eraser(5, 2, Variant::Thesis);
    let request = request(method, settings, history, &[0]);
    let mut run = UnlearningRun::new(&request).expect("recorded");
    let mut rankers = vec![run.ranker()];
    while run.round().expect("a round").is_some() {
        rankers.push(run.ranker());
    }
    assert_eq!(rankers.len() as u32, run.n_rounds() + 1);
    assert_eq!(rankers.last(), Some(&run.finish().params));
    rankers
}

#[test]
fn fed_eraser_has_the_same_bits_on_any_number_of_threads() {
    for n_clients in [10, 150] {
        let settings = FederationSettings { n_clients, attackers: Some(marked()), ..settings() };
        let (_, history) = trained(&settings, updates(5), 30);
        let once = on_threads(1, || erased(&settings, &history));
        assert_eq!(once.len(), 7);
        assert!(once.windows(2).all(|pair| pair[0] != pair[1]), "every round moves the model");
        assert!([2, 8].into_iter().all(|n_threads| on_threads(n_threads, || erased(&settings, &history)) == once));
    }
}

#[test]
fn fed_eraser_comes_near_the_retrained_model_where_the_marked_one_is_not() {
    let settings = FederationSettings { attackers: Some(marked()), ..settings() };
    let (marked, history) = trained(&settings, EVERYTHING, 300);
    let retrained = without(&settings, &[0], 300);
    for variant in [Variant::Thesis, Variant::Released] {
        let erased = forget(eraser(5, 4, variant), &settings, &history, &[0]).expect("recorded");
        let (near, far) = (cosine(&erased.params, &retrained), cosine(&marked, &retrained));
        println!("{variant:?}: {near:.3} instead of {far:.3}");
        assert!(near > far + 0.1, "{variant:?}: {near} instead of {far}");
        assert!(matches!(erased.guarantee, Assurance::Heuristic { .. }));
    }
}

#[test]
fn unlearning_is_about_new_interactions() {
    let settings = settings();
    let (_, history) = trained(&settings, EVERYTHING, 4);
    // With all steps and every round, old interactions would give the retrained model up to lengths.
    let all = eraser(1, N_INTERACTIONS, Variant::Thesis);
    let (method, settings) = (&all, &settings);
    let request = request(method, settings, &history, &[9]);
    let mut run = UnlearningRun::new(&request).expect("recorded");
    run.round().expect("a round");
    let stored = history.records().next().expect("round 0");
    let old: Params = (0..settings.initial.len())
        .map(|index| {
            let sum: f32 = (0..9).map(|client| stored.update(client).expect("recorded")[index]).sum();
            settings.initial[index] + sum / 9.0
        })
        .collect();
    assert!(cosine(&run.ranker(), &old) < 0.9999, "interactions are those of training");
    // A second request has others than the first: the same clients stay, with the same stored lengths.
    let first = forget(all, settings, &history, &[9]).expect("recorded");
    let second = forget(all, settings, &first.history, &[8]).expect("recorded");
    let at_once = forget(all, settings, &history, &[8, 9]).expect("recorded");
    assert_ne!(second.params, at_once.params);
}

#[test]
fn fed_eraser_forgets_one_several_and_one_after_the_other() {
    let settings = settings();
    let policy = HistoryPolicy { checkpoints_every: Some(5), ..updates(5) };
    let (_, history) = trained(&settings, policy, 40);
    let leaving = [updates_of(&history, 2), updates_of(&history, 6)].concat();
    assert_eq!(leaving.len(), 16);
    for variant in [Variant::Thesis, Variant::Released] {
        // 10 and 20 are served from what is recorded every 5 rounds.
        for interval in [5, 10, 20] {
            let method = eraser(interval, 3, variant);
            let both = forget(method, &settings, &history, &[6, 2]).expect("recorded");
            let one = forget(method, &settings, &history, &[2]).expect("recorded");
            let two = forget(method, &settings, &one.history, &[6]).expect("recorded");
            assert_eq!(both.cost.rounds, 40 / interval);
            for unlearned in [&both, &two] {
                let bytes = unlearned.history.encode();
                assert!(!leaving.iter().any(|update| contains_window(&bytes, update)), "they are gone");
                assert_eq!(unlearned.history.verify(), Ok(()));
                assert_eq!(latest(&unlearned.history).ranker(), unlearned.params);
                assert!(unlearned.params.iter().all(|value| value.is_finite()));
            }
            let first = two.history.erasures().next().expect("the first request");
            assert_eq!((first.clients.as_slice(), first.fresh_rounds), (&[2][..], 40 / interval));
            let again = forget(method, &settings, &two.history, &[2]).err();
            let forgotten = UnknownClient::Forgotten { client: 2 };
            assert_eq!(again, Some(UnlearnError::Client(forgotten).into()));
        }
    }
}

#[test]
fn ledger_subtraction_takes_back_the_leavers_own_steps() {
    let settings = FederationSettings { optimiser: ServerOptimiser::LearningRate { rate: 0.5 }, ..settings() };
    let (_, history) = trained(&settings, EVERYTHING, 10);
    let mut expected = latest(&history).master.clone();
    for client in [1, 4] {
        for update in updates_of(&history, client) {
            expected.iter_mut().zip(update).for_each(|(value, step)| *value -= 0.5 * f64::from(step) / 10.0);
        }
    }
    let unlearned = forget(SUBTRACTION, &settings, &history, &[1, 4]).expect("recorded");
    for (got, expected) in unlearned.params.iter().zip(&expected) {
        assert!((f64::from(*got) - expected).abs() < 1e-6, "{got} is not {expected}");
    }
    // The same, one after the other.
    let first = forget(SUBTRACTION, &settings, &history, &[4]).expect("recorded");
    let second = forget(SUBTRACTION, &settings, &first.history, &[1]).expect("recorded");
    assert!(second.params.iter().zip(&unlearned.params).all(|(a, b)| (a - b).abs() < 1e-6));
    assert!(second.history.ledger().is_some_and(|ledger| ledger.len() == 8));
    // After a heuristic the model does not follow from the ledger any longer.
    let erased = forget(eraser(5, 2, Variant::Thesis), &settings, &history, &[4]).expect("recorded");
    let refused = forget(SUBTRACTION, &settings, &erased.history, &[1]).err();
    let need = UnlearnError::Need { method: "ledger-subtraction", need: Need::Ledger };
    assert_eq!(refused, Some(need.into()));
}

#[test]
fn no_model_is_farther_from_one_without_the_leaver_than_clipping_allows() {
    let method = rollback(1.0, Sensitivity::WorstCase);
    for (optimiser, n_clients) in [(1.0, 10), (0.3, 3)] {
        let optimiser = ServerOptimiser::LearningRate { rate: optimiser };
        let plain = FederationSettings { n_clients, optimiser, defence: clipped(0.05), ..settings() };
        for settings in [plain.clone(), FederationSettings { attackers: Some(marked()), ..plain }] {
            let (_, with) = trained(&settings, checkpoints(1), 40);
            let left = FederationSettings { absent: vec![0], ..settings.clone() };
            let (_, without) = trained(&left, checkpoints(1), 40);
            let rate = settings.optimiser.plain_rate().expect("plain");
            for (with, without) in with.checkpoints().zip(without.checkpoints()) {
                let squares = with.master.iter().zip(&without.master).map(|(a, b)| (a - b).powi(2));
                let (apart, bound) = (squares.sum::<f64>().sqrt(), method.bound(rate, 1, 0, with.round));
                assert!(apart <= bound, "round {}: {apart} is above {bound}", with.round);
            }
        }
    }
}

#[test]
fn rolling_back_without_noise_is_exact() {
    let method = Unlearning::NoisyRollback(rollback(0.0, Sensitivity::WorstCase));
    let participation = foltr_federation::Participation::PoissonSampling(0.15);
    for average_from in [None, Some(3)] {
        let settings = FederationSettings { defence: clipped(0.05), participation, average_from, ..settings() };
        let (_, mut history) = trained(&settings, checkpoints(2), 30);
        let mut left = Vec::new();
        for leaver in [3, 8, 1] {
            let first = history.first_round(leaver).unwrap_or(30);
            let unlearned = forget(method, &settings, &history, &[leaver]).expect("recorded");
            left.push(leaver);
            left.sort_unstable();
            assert_eq!(unlearned.params, without(&settings, &left, 30));
            assert_eq!(unlearned.guarantee, Assurance::Exact);
            assert_eq!(unlearned.cost.rounds, 30 - first / 2 * 2);
            assert_eq!(unlearned.history.verify(), Ok(()));
            history = unlearned.history;
        }
    }
}

#[test]
fn rolling_back_with_noise_is_certified_and_shorter() {
    let settings = FederationSettings { defence: clipped(0.05), ..settings() };
    let (ranker, history) = trained(&settings, checkpoints(1), 12);
    // Everybody comes in round 0: after t rounds the bound is .1 t.
    let worst = rollback(0.5, Sensitivity::WorstCase);
    let plan = worst.plan(&history, &[2]).expect("clipped");
    assert!(plan.round > 0 && plan.round < 12 && plan.deviation <= 0.5, "{plan:?}");
    assert!(worst.deviation(worst.bound(1.0, 1, 0, plan.round + 1)) > 0.5, "the next one would be too noisy");
    let unlearned = forget(Unlearning::NoisyRollback(worst), &settings, &history, &[2]).expect("clipped");
    assert_eq!(unlearned.guarantee, Assurance::Certified { epsilon: 3.0, delta: 1e-4 });
    assert_eq!(unlearned.cost.rounds, 12 - plan.round);
    assert_ne!(unlearned.params, ranker);
    // What is left begins with a clean state, then the noisy one.
    let states: Vec<u32> = unlearned.history.checkpoints().map(|state| state.round).collect();
    assert_eq!(states, std::iter::once(0).chain(plan.round..=12).collect::<Vec<_>>());
    let noisy = unlearned.history.before(plan.round).expect("recorded");
    let noise: Vec<f64> =
        noisy.master.iter().zip(&history.before(plan.round).expect("recorded").master).map(|(a, b)| a - b).collect();
    let variance = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
    assert!(variance > 0.2 * plan.deviation.powi(2) && variance < 3.0 * plan.deviation.powi(2), "{variance}");
    // The next request goes on from there.
    let next = forget(Unlearning::NoisyRollback(worst), &settings, &unlearned.history, &[5]).expect("recorded");
    assert_eq!((next.history.verify(), next.history.n_rounds()), (Ok(()), 12));
    let smooth = Unlearning::NoisyRollback(rollback(0.5, Sensitivity::Smooth { lipschitz: 1.0, clients: 10 }));
    let hoped = forget(smooth, &settings, &history, &[2]).expect("clipped");
    assert!(hoped.cost.rounds < unlearned.cost.rounds && !hoped.guarantee.is_proven());
    // Nothing is proven about what comes after something that is not proven.
    let refused = forget(Unlearning::NoisyRollback(worst), &settings, &hoped.history, &[5]).err();
    assert!(matches!(refused, Some(UnlearningError::Request(UnlearnError::Premise { .. }))), "{refused:?}");
}

#[test]
fn subtraction_needs_plain_means_and_noise_needs_clipping() {
    let noisy = Unlearning::NoisyRollback(rollback(1.0, Sensitivity::WorstCase));
    let plain = ServerOptimiser::LearningRate { rate: 1.0 };
    let momentum = ServerOptimiser::Momentum { rate: 1.0, momentum: 0.5 };
    let remembering = Defence { momentum: Some(WorkerMomentum::Fixed { beta: 0.5 }), ..clipped(0.05) };
    for (method, defence, optimiser) in [
        (SUBTRACTION, Defence::NONE, momentum),
        (SUBTRACTION, clipped(0.1), plain),
        (noisy, Defence::NONE, plain),
        (noisy, clipped(0.06), plain),
        (noisy, remembering, plain),
        (noisy, clipped(0.05), momentum),
    ] {
        let settings = FederationSettings { defence, optimiser, ..settings() };
        let (_, history) = trained(&settings, EVERYTHING, 3);
        let refused = forget(method, &settings, &history, &[1]).err();
        assert!(matches!(refused, Some(UnlearningError::Request(UnlearnError::Premise { .. }))), "{refused:?}");
    }
}

#[test]
fn a_certificate_changes_nothing_but_the_history() {
    let gaussian = Gaussian::new(Clip::Fixed(0.1), 20.0, CentralMode::Sealed).expect("positive");
    let cost = PrivacyCost::Gaussian { mu: 0.05 };
    let private = FederationSettings { privacy: Mechanism::Gaussian(gaussian), ..settings() };
    let (ranker, history) = trained(&private, HistoryPolicy::default(), 10);
    let epsilon = cost.after(10, 1e-5).epsilon * 1.001;
    let certificate = |epsilon| Unlearning::Certificate(Certificate { epsilon, delta: 1e-5 });
    let forget_for = |cost: PrivacyCost, epsilon: f64, settings: &FederationSettings, leavers: &[u32]| {
        let cost = MessageCost { cost, ..MessageCost::UNPROTECTED };
        unlearn(&Request { cost, ..request(&certificate(epsilon), settings, &history, leavers) })
    };
    let unlearned = forget_for(cost, epsilon, &private, &[3]).expect("certified");
    assert_eq!((unlearned.params, unlearned.cost), (ranker, Cost::default()));
    assert_eq!(unlearned.guarantee, Assurance::Certified { epsilon, delta: 1e-5 });
    assert!(unlearned.history.is_forgotten(3) && unlearned.history.head() != history.head());
    for (settings, epsilon, leavers) in
        [(&private, 0.9 * epsilon, &[3][..]), (&private, epsilon, &[3, 4]), (&settings(), epsilon, &[3])]
    {
        let refused = forget_for(cost, epsilon, settings, leavers).err();
        assert!(matches!(refused, Some(UnlearningError::Request(_))), "{refused:?}");
    }
    // The cost is that of the request, such as twice as much where somebody else would have had the leaver's place.
    let (dear, coins) =
        (PrivacyCost::Gaussian { mu: 0.1 }, PrivacyCost::Subsampled { probability: 0.5, noise_multiplier: 20.0 });
    for cost in [dear, coins] {
        let right = cost.after(10, 1e-5).epsilon;
        let confirmed = |epsilon: f64| forget_for(cost, epsilon, &private, &[3]).is_ok();
        assert!(confirmed(1.001 * right) && !confirmed(0.99 * right), "{cost:?}");
    }
}

#[test]
fn bad_requests_are_refused_and_change_nothing() {
    let settings = settings();
    let (_, history) = trained(&settings, updates(5), 20);
    let before = history.encode();
    let message =
        |method, leavers: &[u32]| forget(method, &settings, &history, leavers).expect_err("refused").to_string();
    assert_eq!(message(RETRAIN, &[10]), "client 10 is not one of the 10 of this federation, counted from 0");
    assert_eq!(message(RETRAIN, &[]), "a request to forget must name at least one client");
    assert_eq!(message(RETRAIN, &(0..10).collect::<Vec<_>>()), "all clients would be gone: nobody is left to train");
    let missing = "fed-eraser needs the updates of rounds 1, 4, 7, ... in the history; it was not stored";
    assert_eq!(message(eraser(3, 1, Variant::Thesis), &[1]), missing);
    let missing = "fed-eraser needs checkpoints before rounds 1, 6, 11, ... in the history; it was not stored";
    assert_eq!(message(eraser(5, 1, Variant::Released), &[1]), missing);
    let missing =
        "ledger-subtraction needs the ledger of all clients, of the whole run, in the history; it was not stored";
    assert_eq!(message(SUBTRACTION, &[1]), missing);
    let noisy = Unlearning::NoisyRollback(rollback(1.0, Sensitivity::WorstCase));
    assert_eq!(message(noisy, &[1]), "noisy-rollback needs checkpoints in the history; it was not stored");
    let shards = Unlearning::ShardIsolation(ShardIsolation { shards: 2 });
    assert!(message(shards, &[1]).starts_with("shard-isolation needs checkpoints"));
    assert_eq!(message(eraser(0, 1, Variant::Thesis), &[1]), "interval = 0 must be at least 1 round");
    let other = FederationSettings { initial: vec![0.02; settings.initial.len()], ..settings.clone() };
    let refused = forget(RETRAIN, &other, &history, &[1]).err();
    assert!(matches!(refused, Some(UnlearningError::OtherFederation { .. })), "{refused:?}");
    assert_eq!(history.encode(), before);
}

#[test]
fn altered_histories_are_refused_by_every_method() {
    let settings = FederationSettings { defence: clipped(0.05), ..settings() };
    let (_, history) = trained(&settings, EVERYTHING, 6);
    let bytes = history.encode();
    let update = history.records().nth(3).and_then(|record| record.update(7)).expect("recorded");
    let pattern: Vec<u8> = update.iter().flat_map(|value| value.to_le_bytes()).collect();
    let at = bytes.windows(pattern.len()).position(|window| window == pattern).expect("it is there");
    // Somebody changes one number, and the checksum as well.
    let mut altered = bytes[..bytes.len() - 32].to_vec();
    altered[at] ^= 1;
    let checksum = Fingerprint::of(&altered);
    altered.extend(checksum.as_bytes());
    let altered = History::decode(&altered).expect("a history by its form");
    let noisy = Unlearning::NoisyRollback(rollback(1.0, Sensitivity::WorstCase));
    for method in [RETRAIN, SUBTRACTION, eraser(1, 1, Variant::Thesis), noisy] {
        let refused = forget(method, &settings, &altered, &[1]).err();
        let altered = HistoryError::Altered { round: 3, client: 7 };
        assert_eq!(refused, Some(UnlearnError::History(altered).into()), "{method:?}");
    }
}

#[test]
fn receipts_follow_a_stream_of_requests() {
    let settings = settings();
    let (trained, start) = trained(&settings, EVERYTHING, 10);
    let mut before = Fingerprint::of_model(&trained);
    let secret = [3; 32];
    let (mut history, mut receipts) = (start.clone(), Vec::new());
    for (method, leaver) in [(RETRAIN, 4), (eraser(2, 2, Variant::Thesis), 1), (RETRAIN, 0)] {
        let unlearned = forget(method, &settings, &history, &[leaver]).expect("recorded");
        let published = Published { before, after: Fingerprint::of_model(&unlearned.params) };
        let (guarantee, cost) = (&unlearned.guarantee, MessageCost::UNPROTECTED);
        let (leavers, after) = (&[leaver][..], &unlearned.history);
        let met = Met { before: &history, after, leavers, method, guarantee, published, cost };
        let claim = Claim::of(&met, "today").expect("both have a newest state");
        assert_eq!(claim.to.model, published.after);
        before = published.after;
        receipts.push(claim.sign(&secret));
        history = unlearned.history;
    }
    for receipt in &receipts {
        assert_eq!((receipt.verify(&public_key(&secret)), receipt.matches(&history)), (Ok(()), Ok(())));
        assert!(receipt.matches(&start).is_err(), "nothing was forgotten there");
    }
}
