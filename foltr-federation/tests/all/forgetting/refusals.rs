//! What a server cannot do is refused with its reason.

use foltr_federation::aggregate::CentredClipping;
use foltr_federation::asynchronous::Buffered;
use foltr_federation::unlearn::{FedEraser, Retrain, ServerRequest, Variant, forget_on_server};
use foltr_federation::{Asynchrony, ServerOptimiser, WorkerMomentum};
use foltr_rank::personal::Personalisation;

use super::*;
use crate::noise::as_if_real;

/// Why a server of one plan, whose history is that of another, does not forget.
fn refusal(plan: FederationPlan, run: FederationPlan) -> String {
    let mut server = Server::new(run);
    server.play(5, true);
    let history = server.histories[0].clone();
    server.plan = plan;
    let refused = server.request(&[0], 0).expect_err("a reason not to");
    assert_eq!(server.histories[0], history);
    refused.to_string()
}

#[test]
fn plans_that_no_server_can_forget_by() {
    let with = |unlearning: Unlearning| FederationPlan { unlearning: Some(unlearning), ..plain() };
    let replays = "it replays past rounds, which devices cannot run again";
    let eraser = FedEraser { interval: 3, steps: 2, variant: Variant::Thesis };
    let momentum = Defence { momentum: Some(WorkerMomentum::Fixed { beta: 0.9 }), ..Defence::NONE };
    let centred = CentredClipping { radius: Radius::Median, iterations: 1 };
    let remembering = Defence::of_rule(Aggregation::CentredClipping(centred));
    let buffered = Buffered { buffer: 3, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 2 };
    let personalisation = Personalisation::examples().into_iter().next();
    let momentum_of_clipped = Defence { momentum: momentum.momentum, ..clipped(3.0).defence.expect("norm clipping") };
    for (plan, why) in [
        (with(Unlearning::Retrain(Retrain {})), replays),
        (with(Unlearning::FedEraser(eraser)), replays),
        (FederationPlan { defence: Some(momentum), ..sharded() }, "what devices remember for their momentum"),
        (FederationPlan { defence: Some(momentum_of_clipped), history: plain().history, ..clipped(3.0) }, "momentum"),
        (FederationPlan { defence: Some(remembering), ..sharded() }, "what the aggregation rule remembers"),
        (FederationPlan { personalisation, ..sharded() }, "their own rankers cannot be undone"),
        (FederationPlan { asynchrony: Some(Asynchrony::Buffered(buffered)), ..sharded() }, "without rounds"),
        (FederationPlan { shards: Some(3), ..sharded() }, "shards forget by shard-isolation"),
        (FederationPlan { shards: Some(2), ..subtracting() }, "another federation"),
        (FederationPlan { unlearning: None, ..plain() }, "names no way to forget"),
        (FederationPlan { optimiser: None, ..with(Unlearning::Retrain(Retrain {})) }, replays),
    ] {
        let refused = refusal(plan, plain());
        assert!(refused.contains(why), "{refused}, not {why}");
    }
}

#[test]
fn premises_and_needs_are_named() {
    let other_rate = ServerOptimiser::LearningRate { rate: 0.5 };
    let certified = FederationPlan { unlearning: private(8.0).unlearning, ..plain() };
    let unclipped = FederationPlan { defence: None, history: plain().history, ..clipped(3.0) };
    let no_ledger = FederationPlan { history: plain().history, ..subtracting() };
    let no_checkpoints = FederationPlan { history: None, ..sharded() };
    for (plan, run, why) in [
        (FederationPlan { optimiser: Some(other_rate), ..sharded() }, sharded(), "another federation"),
        (certified, plain(), "a sum with a fixed divisor"),
        (unclipped, plain(), "norm-clipping"),
        (no_ledger, plain(), "needs the ledger"),
        (no_checkpoints.clone(), no_checkpoints, "needs checkpoints"),
        (private(0.01), private(0.01), "not by 0.01"),
    ] {
        let refused = refusal(plan, run);
        assert!(refused.contains(why), "{refused}, not {why}");
    }
}

#[test]
fn requests_that_make_no_sense() {
    let mut server = Server::new(sharded());
    server.play(5, true);
    let mut reason =
        |leavers: &[u32], shard: usize| server.request(leavers, shard).expect_err("a reason not to").to_string();
    assert!(reason(&[], 0).contains("at least one client"));
    let other = "the history of the one shard that all leavers belong to";
    assert!(reason(&[1], 0).contains(other) && reason(&[0, 1], 0).contains(other) && reason(&[0], 1).contains(other));
}

#[test]
fn noise_of_a_seed_hides_nothing_from_people() {
    let mut server = Server::new(clipped(3.0));
    server.play(FIRST, false);
    server.play(3, true);
    let salts = &mut server.salts();
    let (state, history) = (&server.all()[0].checkpoint(), &server.histories[0]);
    let request = ServerRequest { plan: &server.plan, is_simulated: false, history, state, leavers: &[LATE] };
    let refused = forget_on_server(&request, &mut seeded(1, Purpose::Noise, 0, 0), salts).expect_err("a seed");
    assert!(refused.to_string().contains("noise that does not follow from a seed"), "{refused}");
    let forgotten = forget_on_server(&request, &mut as_if_real(), salts).expect("as good as any");
    assert!(forgotten.state.is_some());
}
