//! Which plans can be deployed: every refusal, and what a device checks.

use foltr_federation::aggregate::{CentredClipping, FlTrust, Radius};
use foltr_federation::asynchronous::{Buffered, Naive};
use foltr_federation::protocol::{
    CanonicalError, DEPLOYABLE_MECHANISMS, Document, FeatureSchema, LAB_ONLY_MECHANISMS, Normalisation, Plan, PlanError,
};
use foltr_federation::{
    Aggregation, Asynchrony, Defence, FederationPlan, Kind, Participation, Privacy, Staleness, Unlearning,
};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, LeastSquares, PdgdParameters};
use foltr_rank::personal::Personalisation;
use foltr_rank::{EvolutionStream, Initialisation, Learner, Learning, RankerShape};

const PDGD: PdgdParameters =
    PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
const LINEAR: RankerShape = RankerShape::Linear { initialisation: Initialisation::Zero };

fn plain() -> FederationPlan {
    FederationPlan::averaging(Learner::Pdgd(PDGD), LINEAR, 100, 4, 50)
}

fn evolution(stream: EvolutionStream) -> FederationPlan {
    let learner = EvolutionParameters { sigma: 0.01, antithetic: false, reward: Reward::MaxRr, stream };
    FederationPlan { learner: Learner::Evolution(learner), ..plain() }
}

fn features() -> FeatureSchema {
    FeatureSchema::numbered(46, Normalisation::Query)
}

/// What is wrong with a plan, as a list of keys with reasons.
fn problems(plan: FederationPlan) -> Vec<(String, String)> {
    match Plan::new(plan, &features(), false) {
        Ok(_) => Vec::new(),
        Err(PlanError::Problems(problems)) => problems.into_iter().map(|it| (it.key, it.message)).collect(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_part_that_only_a_simulation_knows_is_refused_with_its_reason() {
    let personal = |name: &str| {
        let named = |method: &Personalisation| serde_json::to_value(method).expect("JSON")["kind"] == name;
        let personalisation = Personalisation::examples().into_iter().find(named);
        assert!(personalisation.is_some(), "{name}");
        FederationPlan { personalisation, ..plain() }
    };
    let unlearning = |name: &str| {
        let unlearning = Unlearning::examples().into_iter().find(|method| method.name() == name);
        assert!(unlearning.is_some(), "{name}");
        FederationPlan { unlearning, ..plain() }
    };
    let naive = Naive { updates_per_round: 10, max_staleness: 3 };
    let trusted = Defence::of_rule(Aggregation::FlTrust(FlTrust { trusted: 4 }));
    for (plan, key, why) in [
        (FederationPlan { learner: Learner::LeastSquares(LeastSquares {}), ..plain() }, "learner.kind", "no devices"),
        (evolution(EvolutionStream::Published), "learner.stream", "replay its lists and clicks"),
        (FederationPlan { ranker: None, ..plain() }, "ranker", "is needed"),
        (FederationPlan { dropout: 0.2, ..plain() }, "clients.dropout", "known to simulations only"),
        (FederationPlan { n_absent: 1, ..plain() }, "clients.absent", "known to simulations only"),
        (personal("clusters"), "personalisation.kind", "public knowledge"),
        (personal("known-groups"), "personalisation.kind", "public knowledge"),
        (personal("additive"), "personalisation.kind", "public knowledge"),
        (personal("local-only"), "personalisation.kind", "nothing leaves a device"),
        (
            FederationPlan { asynchrony: Some(Asynchrony::Naive(naive)), ..plain() },
            "asynchrony.kind",
            "what one device sent",
        ),
        (FederationPlan { defence: Some(trusted), ..plain() }, "defence.rule", "enrolment"),
        (unlearning("retrain"), "unlearning.method", "cannot run again"),
        (unlearning("fed-eraser"), "unlearning.method", "cannot run again"),
        (FederationPlan { list_length: 101, ..plain() }, "metrics.list_length", "1 to 100, not 101"),
        (FederationPlan { n_clients: usize::MAX, ..plain() }, "clients.n_clients", "must be 1 to"),
        (FederationPlan { n_interactions: 0, ..plain() }, "clients.interactions", "must be 1 to"),
        (FederationPlan { n_rounds: 0, ..plain() }, "federation.rounds", "must be 1 to"),
        (
            FederationPlan { learner: Learner::Pdgd(PdgdParameters { learning_rate: 0.0, ..PDGD }), ..plain() },
            "learner.learning_rate",
            "positive",
        ),
    ] {
        let problems = problems(plan.clone());
        assert!(problems.iter().any(|(at, text)| at == key && text.contains(why)), "{key}: {problems:?}");
    }
}

/// Plans without a bound keep the bytes, and so the hash, that they had before there was one.
#[test]
fn a_bound_on_displacement_is_in_the_plan_only_where_there_is_one() {
    let bounded = |max_displacement| FederationPlan {
        learner: Learner::Pdgd(PdgdParameters { max_displacement, ..PDGD }),
        ..plain()
    };
    let bytes = |plan: &Plan| String::from_utf8(plan.encode().expect("sound")).expect("JSON");
    let without = Plan::new(bounded(None), &features(), false).expect("deployable");
    assert!(!bytes(&without).contains("displacement"));
    let with = Plan::new(bounded(Some(2)), &features(), false).expect("deployable");
    assert!(bytes(&with).contains("\"max_displacement\":2"));
    assert_eq!(Plan::decode(bytes(&with).as_bytes()).expect("its own bytes"), with);
    let Learning::Pdgd(settings) = with.learning().expect("a client learner") else { panic!("PDGD") };
    assert_eq!(settings.max_displacement, Some(2));
    for displacement in [0, 101] {
        let problems = problems(bounded(Some(displacement)));
        assert!(problems.iter().any(|(key, why)| key == "learner.max_displacement" && why.contains("1 to 100")));
    }
}

/// A plan is taken only if a device and a server can work by it.
#[test]
fn what_no_device_or_server_could_run_is_no_plan() {
    let mirrored =
        EvolutionParameters { sigma: 0.01, antithetic: true, reward: Reward::MaxRr, stream: EvolutionStream::Separate };
    let wide = RankerShape::Mlp {
        hidden: 1 << 30,
        activation: foltr_rank::Activation::Logistic,
        initialisation: Initialisation::FanIn,
    };
    let buffered =
        Asynchrony::Buffered(Buffered { buffer: 2, staleness_exponent: 0.5, rate_limit: 1, max_staleness: 4 });
    let shards = Unlearning::ShardIsolation(foltr_federation::unlearn::ShardIsolation { shards: 4 });
    for (plan, why) in [
        (FederationPlan { list_length: 17, ..evolution(EvolutionStream::Separate) }, "1 to 16"),
        (
            FederationPlan { learner: Learner::Evolution(mirrored), n_interactions: 3, ..plain() },
            "even where antithetic",
        ),
        (FederationPlan { participation: Participation::Sample(0), ..plain() }, "divisor"),
        (FederationPlan { shards: Some(0), ..plain() }, "federation.shards: must be 1 to 100, not 0"),
        (FederationPlan { shards: Some(101), ..plain() }, "federation.shards: must be 1 to 100, not 101"),
        (FederationPlan { shards: Some(3), unlearning: Some(shards), ..plain() }, "must be `federation.shards`"),
        (FederationPlan { average_last: Some(0.0), ..plain() }, "must be above 0 and at most 1"),
        (FederationPlan { average_last: Some(0.5), asynchrony: Some(buffered), ..plain() }, "of rounds"),
        (FederationPlan { ranker: Some(wide), ..plain() }, "ranker.hidden"),
    ] {
        let refused = Plan::new(plan, &features(), false).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn every_mechanism_is_deployable_or_for_the_lab_with_a_reason() {
    for privacy in Privacy::examples() {
        let name = privacy.name();
        let why = LAB_ONLY_MECHANISMS.iter().find(|(lab, _)| *lab == name).map(|(_, why)| (*why).to_owned());
        assert_ne!(why.is_some(), DEPLOYABLE_MECHANISMS.contains(&name), "{name} must be in one of the two lists");
        let of_steps = FederationPlan { privacy, ..plain() };
        let plan = if name.ends_with("response") || name == "reward-laplace" {
            FederationPlan { privacy, ..evolution(EvolutionStream::Separate) }
        } else {
            of_steps
        };
        let blamed = problems(plan).into_iter().find(|(key, _)| key == "privacy.kind").map(|(_, text)| text);
        assert_eq!(blamed, why, "{name}");
    }
}

#[test]
fn what_can_be_deployed_is() {
    let centred = Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 3 });
    let buffered = Buffered { buffer: 10, staleness_exponent: 0.5, rate_limit: 2, max_staleness: 5 };
    let central = Privacy::examples().into_iter().find(|it| it.name() == "central-discrete-gaussian").expect("listed");
    let plans = [
        (plain(), Kind::Step),
        (evolution(EvolutionStream::Separate), Kind::Evolution),
        (FederationPlan { defence: Some(Defence::recommended(10)), ..plain() }, Kind::Step),
        (FederationPlan { defence: Some(Defence::of_rule(centred)), ..plain() }, Kind::Step),
        (FederationPlan { participation: Participation::Sample(10), ..plain() }, Kind::Step),
        (FederationPlan { asynchrony: Some(Asynchrony::Buffered(buffered)), ..plain() }, Kind::Step),
        (FederationPlan { shards: Some(4), average_last: Some(0.5), ..plain() }, Kind::Step),
        (FederationPlan { staleness: Some(Staleness { most: 3, exponent: 0.5 }), ..plain() }, Kind::Step),
        (FederationPlan { privacy: central, ..plain() }, Kind::Clipped),
    ];
    for (federation, kind) in plans {
        let plan = Plan::new(federation.clone(), &features(), false).expect("deployable");
        assert_eq!(plan.admit(&features()), Ok(()), "{federation:?}");
        let (rounds, shards) = (federation.asynchrony.is_none(), federation.shards.is_some());
        let initial = || vec![0.0; 46];
        assert_eq!(plan.coordinator(initial()).is_ok(), rounds && !shards);
        assert_eq!(plan.sharded_coordinator(initial()).is_ok(), shards);
        assert_eq!(plan.asynchronous_coordinator(initial()).is_ok(), !rounds);
        let expected = plan.expected().expect("devices send something");
        assert_eq!((expected.kind, expected.n_params, expected.max_interactions), (kind, 46, 4));
        let again = Plan::decode(&plan.encode().expect("exact")).expect("its own bytes");
        assert_eq!((again.hash(), &again), (plan.hash(), &plan));
    }
}

#[test]
fn a_device_refuses_other_features_and_plans_of_simulations() {
    let plan = Plan::new(plain(), &features(), false).expect("deployable");
    let own = FeatureSchema::numbered(46, Normalisation::None);
    let error = PlanError::Features { plan: plan.features(), own: own.hash().expect("exact") };
    assert_eq!(plan.admit(&own), Err(error));
    let simulated = Plan::new(plain(), &features(), true).expect("deployable but for its mark");
    assert_eq!(simulated.admit(&features()), Err(PlanError::Simulated));
    assert_ne!(simulated.hash(), plan.hash());
    let none = Plan::new(plain(), &FeatureSchema::numbered(0, Normalisation::None), false);
    assert!(matches!(none, Err(PlanError::Problems(problems)) if problems[0].key == "features"));
}

#[test]
fn a_plan_with_another_protocol_or_form_is_refused() {
    let bytes = Plan::new(plain(), &features(), false).and_then(|plan| plan.encode()).expect("deployable");
    let text = String::from_utf8(bytes).expect("JSON");
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        Plan::decode(text.replace(from, to).as_bytes())
    };
    assert_eq!(with("\"protocol\":2", "\"protocol\":3"), Err(PlanError::Protocol { got: 3 }));
    let wide = with("\"n_features\":46", "\"n_features\":100000");
    assert!(matches!(wide, Err(PlanError::Problems(problems)) if problems[0].key == "features"));
    assert_eq!(with("\"protocol\":2", "\"protocol\": 2"), Err(CanonicalError::NotCanonical.into()));
    assert!(matches!(with("\"protocol\":2", "\"protokoll\":2"), Err(PlanError::Canonical(CanonicalError::Json(_)))));
}
