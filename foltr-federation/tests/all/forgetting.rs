//! Forgetting as a server does it: rounds, requests, returns, new rounds and receipts, through what a server calls.

mod refusals;
mod server;

use foltr_federation::aggregate::{NormClipping, Radius};
use foltr_federation::privacy::CentralDiscreteGaussianParameters;
use foltr_federation::unlearn::{Certificate, LedgerSubtraction, NoisyRollback, Sensitivity, ShardIsolation};
use foltr_federation::{Aggregation, Assurance, Defence, FederationPlan, HistoryPolicy, Payload, Privacy, Unlearning};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::rng::Purpose;
use foltr_rank::{Initialisation, Learner, RankerShape};

use crate::noise::seeded;
use server::{Coordinators, Server};

const N_CLIENTS: u32 = 8;
/// Comes from this round on, where others are there from the beginning.
const LATE: u32 = 3;
const FIRST: u32 = 4;

fn plain() -> FederationPlan {
    let pdgd =
        PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    let history = HistoryPolicy { checkpoints_every: Some(3), ..HistoryPolicy::default() };
    FederationPlan {
        history: Some(history),
        ..FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, N_CLIENTS as usize, 4, 50)
    }
}

fn subtracting() -> FederationPlan {
    let history = HistoryPolicy { ledger: true, updates_every: Some(2), ..HistoryPolicy::default() };
    let unlearning = Some(Unlearning::LedgerSubtraction(LedgerSubtraction {}));
    FederationPlan { history: Some(history), unlearning, ..plain() }
}

fn sharded() -> FederationPlan {
    let unlearning = Some(Unlearning::ShardIsolation(ShardIsolation { shards: 2 }));
    FederationPlan { shards: Some(2), unlearning, ..plain() }
}

fn clipped(max_noise: f64) -> FederationPlan {
    let rule = Aggregation::NormClipping(NormClipping { radius: Radius::Fixed(0.5) });
    let sensitivity = Sensitivity::WorstCase;
    let rollback = NoisyRollback { clip_norm: 0.5, epsilon: 2.0, delta: 1e-6, max_noise, sensitivity };
    FederationPlan {
        defence: Some(Defence::of_rule(rule)),
        unlearning: Some(Unlearning::NoisyRollback(rollback)),
        history: Some(HistoryPolicy { checkpoints_every: Some(1), ..HistoryPolicy::default() }),
        ..plain()
    }
}

fn private(epsilon: f64) -> FederationPlan {
    let parameters: CentralDiscreteGaussianParameters =
        serde_json::from_str(r#"{"clip": 0.5, "noise_multiplier": 4.0}"#).expect("parameters");
    FederationPlan {
        privacy: Privacy::CentralDiscreteGaussian(parameters),
        unlearning: Some(Unlearning::Certificate(Certificate { epsilon, delta: 1e-6 })),
        ..plain()
    }
}

#[test]
fn a_shard_returns_and_goes_on_as_if_the_leavers_had_never_been_there() {
    let mut server = Server::new(sharded());
    server.play(FIRST, false);
    server.play(4, true);
    let (before, round) = (server.models(), server.all()[1].task().round);
    assert_eq!(server.histories[1].first_round(LATE), Some(FIRST));
    let receipts = server.forget(&[LATE]).expect("a checkpoint is before its first round");
    assert_eq!(receipts.len(), 1);
    server.check(&receipts[0], &Assurance::Exact);
    // Rounds 3 to 7 of the shard are gone, and none comes again.
    let after = server.models();
    assert_eq!((&after[0], server.histories[1].n_rounds()), (&before[0], 3));
    assert_ne!(after[1], before[1]);
    assert!(server.all().iter().all(|shard| shard.task().round == round));
    assert_eq!(server.histories[1].first_round(LATE), None);
    // The newest model is that of a federation without the leaver, with as many rounds: bit by bit.
    let mut without = Server::new(sharded());
    without.play(3, false);
    assert_eq!(after[1], without.models()[1]);
    server.play(5, true);
    without.play(5, false);
    assert_eq!(server.models()[1], without.models()[1]);
    server.check(&receipts[0], &Assurance::Exact);
    // Another one leaves who was there from the beginning, with one of the other shard.
    let more = server.forget(&[1, 2]).expect("the first state is there");
    assert_eq!((more.len(), server.models()), (2, vec![vec![0.5, -0.5]; 2]));
    more.iter().chain(&receipts).for_each(|receipt| server.check(receipt, &Assurance::Exact));
    server.play(4, true);
    assert_ne!(server.models(), vec![vec![0.5, -0.5]; 2]);
    more.iter().chain(&receipts).for_each(|receipt| server.check(receipt, &Assurance::Exact));
}

#[test]
fn the_leavers_own_steps_are_taken_back() {
    let mut server = Server::new(subtracting());
    server.play(FIRST, false);
    server.play(3, true);
    let before = server.models()[0].clone();
    let account = server.histories[0].ledger().expect("stored")[&LATE].clone();
    assert!(account.iter().any(|step| step.abs() > 1e-3), "{account:?}");
    let receipts = server.forget(&[LATE]).expect("there is a ledger");
    let guarantee = server.plan.unlearning.expect("a method").guarantee();
    server.check(&receipts[0], &guarantee);
    let after = server.models()[0].clone();
    assert!(after.iter().zip(before.iter().zip(&account)).all(|(after, (before, step))| *after == before - step));
    assert_eq!(server.histories[0].n_rounds(), FIRST + 3, "nothing is undone");
    server.play(3, true);
    let more = server.forget(&[0, 5, 5]).expect("the ledger goes on");
    assert_eq!(more[0].claim.leavers, [0, 5]);
    server.play(2, true);
    receipts.iter().chain(&more).for_each(|receipt| server.check(receipt, &guarantee));
    assert!(server.histories[0].records().all(|record| record.update(LATE).is_none()));
    let twice = server.forget(&[1, LATE]).expect_err("it is gone");
    assert_eq!(twice.to_string(), "client 3 is already forgotten");
}

#[test]
fn noise_hides_what_is_left_of_the_leavers() {
    // Noise of about 2.2 for every round.
    for (max_noise, to) in [(0.0, FIRST), (3.0, FIRST + 1), (5.0, FIRST + 2), (1e3, FIRST + 3)] {
        let plan = clipped(max_noise);
        let guarantee = match (max_noise, plan.unlearning) {
            (0.0, _) => Assurance::Exact,
            (_, method) => method.expect("a method").guarantee(),
        };
        let mut server = Server::new(plan);
        server.play(FIRST, false);
        let mut models = vec![server.models()];
        for _ in 0..3 {
            server.play(1, true);
            models.push(server.models());
        }
        let receipts = server.forget(&[LATE]).expect("checkpoints are there");
        assert_eq!(server.histories[0].n_rounds(), to);
        let stored = &models[(to - FIRST) as usize];
        assert_eq!(server.models() == *stored, max_noise == 0.0, "noise, where something is left");
        assert_ne!(server.models(), models[3]);
        server.check(&receipts[0], &guarantee);
        server.play(3, true);
        let more = server.forget(&[6]).expect("checkpoints are there");
        server.play(1, true);
        receipts.iter().chain(&more).for_each(|receipt| server.check(receipt, &receipt.claim.guarantee.clone()));
        assert!(more[0].claim.guarantee.is_proven());
    }
}

#[test]
fn who_never_took_part_is_forgotten_without_a_return() {
    for plan in [sharded(), clipped(3.0)] {
        let mut server = Server::new(plan);
        server.play(7, false);
        let (before, shard) = (server.models(), server.shard_of(LATE));
        let forgotten = server.request(&[LATE], shard).expect("nothing to undo");
        assert_eq!((forgotten.state, forgotten.guarantee), (None, Assurance::Exact));
        let receipts = server.forget(&[LATE]).expect("nothing to undo");
        assert_eq!((server.models(), server.histories[shard].n_rounds()), (before, 7));
        server.play(2, true);
        server.check(&receipts[0], &Assurance::Exact);
    }
}

#[test]
fn privacy_is_guarantee_enough() {
    let mut server = Server::new(private(8.0));
    assert!(server.all()[0].hides_who());
    server.play(FIRST, false);
    server.play(3, true);
    let before = server.models();
    let receipts = server.forget(&[LATE]).expect("three messages behind much noise");
    let guarantee = Assurance::Certified { epsilon: 8.0, delta: 1e-6 };
    server.check(&receipts[0], &guarantee);
    assert_eq!((server.models(), server.histories[0].n_rounds()), (before, FIRST + 3));
    assert_eq!(receipts[0].claim.privacy.leavers.messages, 3);
    server.play(2, true);
    let more = server.forget(&[0]).expect("nine messages");
    server.play(1, true);
    receipts.iter().chain(&more).for_each(|receipt| server.check(receipt, &guarantee));
    // A round of nobody is a round like any other.
    let rounds = server.histories[0].n_rounds();
    server.close(Vec::new());
    assert_eq!(server.histories[0].n_rounds(), rounds + 1);
}

#[test]
fn without_old_checkpoints_a_shard_returns_to_its_beginning() {
    let retention = HistoryPolicy { checkpoints_every: Some(3), retention: Some(2), ..HistoryPolicy::default() };
    let mut server = Server::new(FederationPlan { history: Some(retention), ..sharded() });
    server.play(FIRST, false);
    server.play(5, true);
    assert!(server.histories[1].before(FIRST).is_none(), "it was dropped");
    let receipts = server.forget(&[LATE]).expect("the first model is in the header");
    assert_eq!((server.models()[1].as_slice(), server.histories[1].n_rounds()), (&[0.5, -0.5][..], 0));
    server.play(4, true);
    server.check(&receipts[0], &Assurance::Exact);
}

#[test]
fn a_round_without_a_step_has_nobody_in_it() {
    let mut server = Server::new(plain());
    server.play(1, true);
    let history = server.histories[0].clone();
    server.close(Vec::new());
    assert_eq!(server.histories[0], history, "it is still open");
    let mut message = server.message(1);
    message.payload = Payload::Step { n_interactions: 1, delta: vec![f32::MAX, f32::MAX] };
    server.close(vec![message.clone()]);
    message.round += 1;
    message.start += 1;
    server.close(vec![message]);
    assert_eq!(server.histories[0].n_rounds(), 3);
    assert_eq!(server.histories[0].messages(1).total(), 2, "the model was at its limit in the last round");
}

#[test]
fn a_forgotten_client_is_refused_by_the_history() {
    let mut server = Server::new(clipped(3.0));
    server.play(6, true);
    server.forget(&[LATE]).expect("checkpoints are there");
    // Nobody said who was drawn: zeros stand in for everybody, also for who is gone.
    let (message, mut salts) = (server.message(0), server.salts());
    let Coordinators::One(one) = &mut server.coordinators else { unreachable!("one federation") };
    one.receive(message).expect("a good message");
    let open = one.open_round(false);
    let closed = one.close(&mut seeded(5, Purpose::Noise, 0, 99));
    let (state, history) = (one.checkpoint(), server.histories[0].clone());
    let refused = server.histories[0].record_round(&open, &closed, state, &mut salts);
    assert_eq!(refused.expect_err("it is gone").to_string(), "client 3 is already forgotten");
    assert_eq!(server.histories[0], history);
}
