//! The decoders of canonical JSON against arbitrary bytes, damaged documents and their corpus. Much of the damage leaves
//! a plan JSON in its canonical form, so that its content is looked at.

use foltr_federation::asynchronous::{Buffered, Naive};
use foltr_federation::privacy::ResponseParameters;
use foltr_federation::protocol::{Document, FeatureSchema, Normalisation, Plan};
use foltr_federation::{
    Aggregation, Asynchrony, Defence, FederationPlan, HistoryPolicy, Participation, Privacy, ServerOptimiser,
    Staleness, Unlearning,
};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, LeastSquares, PdgdParameters};
use foltr_rank::personal::Personalisation;
use foltr_rank::{Activation, EvolutionStream, Initialisation, Learner, RankerShape};
use foltr_test::fuzzing::{Form, Json, Target, label};
use serde::Serialize;

use crate::protocol_fuzz::{check_signed, signed};

const PDGD: PdgdParameters =
    PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
const INITIALISATION: Initialisation = Initialisation::RandomNorm { norm: 0.01 };
const LINEAR: RankerShape = RankerShape::Linear { initialisation: INITIALISATION };
const MLP: RankerShape = RankerShape::Mlp { hidden: 10, activation: Activation::Relu, initialisation: INITIALISATION };

fn evolution(stream: EvolutionStream) -> Learner {
    Learner::Evolution(EvolutionParameters { sigma: 0.01, antithetic: true, reward: Reward::ClickDcg, stream })
}

fn features() -> FeatureSchema {
    FeatureSchema::numbered(46, Normalisation::Query)
}

fn plans() -> Vec<Plan> {
    let plain = FederationPlan::averaging(Learner::Pdgd(PDGD), LINEAR, 100, 4, 50);
    let response = ResponseParameters { probability: Some(0.9), whole_run: None };
    let private = FederationPlan {
        privacy: Privacy::RandomisedResponse(response),
        ..FederationPlan::averaging(evolution(EvolutionStream::Separate), MLP, 1000, 8, 200)
    };
    let history = HistoryPolicy { checkpoints_every: Some(10), ..HistoryPolicy::default() };
    let defended = FederationPlan {
        defence: Some(Defence::recommended(20)),
        history: Some(history),
        average_last: Some(0.25),
        ..plain.clone()
    };
    [plain, private, defended].map(|plan| Plan::new(plan, &features(), false).expect("deployable")).into()
}

fn canonical(value: impl Serialize) -> String {
    serde_json_canonicalizer::to_string(&value).expect("JSON")
}

/// Sections as other plans have them, deployable or not.
fn sections() -> Vec<String> {
    let buffered = Buffered { buffer: 10, staleness_exponent: 0.5, rate_limit: 2, max_staleness: 5 };
    let naive = Naive { updates_per_round: 10, max_staleness: 3 };
    let mut values: Vec<String> = Privacy::examples().iter().map(canonical).collect();
    values.extend(Aggregation::examples().into_iter().map(Defence::of_rule).map(canonical));
    values.extend(Personalisation::examples().iter().map(canonical));
    values.extend(Unlearning::examples().iter().map(canonical));
    values.extend([Asynchrony::Buffered(buffered), Asynchrony::Naive(naive)].map(canonical));
    values.extend([Learner::LeastSquares(LeastSquares {}), evolution(EvolutionStream::Published)].map(canonical));
    values.extend([Participation::Sample(10), Participation::PoissonSampling(0.1)].map(canonical));
    values.extend([LINEAR, MLP].map(canonical));
    values.push(canonical(ServerOptimiser::Adam { rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 }));
    values.push(canonical(Staleness { most: 3, exponent: 0.5 }));
    values
}

#[test]
fn plans_survive_fuzzing() {
    let features = features();
    let decode = |_: usize, bytes: &[u8]| {
        let signed = check_signed::<Plan>(bytes)?;
        // What comes after the signature: whether a device may work by the plan, and what it then sends.
        let plan = signed.unverified();
        plan.admit(&features).map_err(|error| format!("admit:{}", label(&error)))?;
        plan.learning().expect("admitted");
        plan.expected().expect("admitted");
        Ok(())
    };
    let valid = plans().into_iter().map(signed).collect();
    let form = Form::Json(Json::new(64, &sections()));
    let corpus = Some(env!("CARGO_MANIFEST_DIR"));
    Target { name: "plan", corpus, form, valid, has_valid_damage: true, decode: &decode }.run(20_000);
}

#[test]
fn feature_schemas_survive_fuzzing() {
    let valid = [0, 2].map(|n| FeatureSchema::numbered(n, Normalisation::None).encode().expect("sound")).into();
    let decode = |_: usize, bytes: &[u8]| {
        let schema = FeatureSchema::decode(bytes).map_err(|error| label(&error))?;
        assert_eq!(schema.encode().as_deref(), Ok(bytes));
        Ok(())
    };
    let form = Form::Json(Json::new(0, &["\"query\"".into(), "\"number\"".into()]));
    let corpus = Some(env!("CARGO_MANIFEST_DIR"));
    Target { name: "feature-schema", corpus, form, valid, has_valid_damage: true, decode: &decode }.run(20_000);
}
