//! Numbers of the algorithm spec, sections 4, 5, 8, 9 and 14.

use crate::noise::seeded;
use foltr_federation::aggregate::{Bulyan, Counted, Krum, Mean, Median, MultiKrum, Neighbours, TrimmedMean};
use foltr_federation::privacy::{ClipRadius, DistributedLaplace, certain_outcomes, privatise_distribution};
use foltr_federation::{
    Aggregation, Combined, Contributions, Coordinator, LocalPrivacy, PartialSum, Payload, PayloadSemantics,
    ServerOptimiser, Setup,
};
use foltr_rank::learn::evolution::{Reward, fill_direction};
use foltr_rank::params::clip_to_radius;
use foltr_rank::rng::Purpose;
use rand_mt::Mt;
use serde_json::Value;

use crate::vectors::{assert_close, floats, items, number, numbers, vectors};

const ADAM: ServerOptimiser = ServerOptimiser::Adam { rate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

#[test]
fn evolution_gradient_and_adam_steps() {
    let golden = vectors(include_str!("../vectors/es_vectors.json"));
    let (plus, minus) = (floats(&golden["metric_plus"]), floats(&golden["metric_minus"]));
    let sigma = number(&golden["sigma"]);
    let (mut plain, mut antithetic) = (PartialSum::new(3), PartialSum::new(3));
    for ((noise, plus), minus) in items(&golden["unit_noise_per_client"]).iter().zip(plus).zip(minus) {
        for (sum, minus) in [(&mut plain, None), (&mut antithetic, Some(minus))] {
            let rule = PayloadSemantics::Evolution { sigma, antithetic: minus.is_some() };
            sum.add_payload_with(&Payload::Evolution { seed: 0, plus, minus }, &rule, 1.0, &floats(noise));
        }
    }
    let gradient = antithetic.mean().expect("two clients");
    // Directions cross no wire here but are f32 in memory: -.3 and .4 are only 1e-8 exact, times 100.
    assert_close(&plain.mean().expect("two clients"), &numbers(&golden["ascent_gradient_plain"]), 5e-6, "plain");
    assert_close(&gradient, &numbers(&golden["ascent_gradient_antithetic"]), 2e-6, "antithetic");

    let gradient = numbers(&golden["ascent_gradient_antithetic"]);
    let (mut state, mut params) = (ADAM.start(3), vec![0.0; 3]);
    let after = items(&golden["adam_theta_after_steps_minimising_negated_antithetic_gradient"]);
    // The vector's three steps feed the gradient, twice the gradient, and the gradient negated.
    for (factor, want) in [1.0, 2.0, -1.0].into_iter().zip(after) {
        let step: Vec<f64> = gradient.iter().map(|g| factor * g).collect();
        ADAM.climb(&mut state, &mut params, &step);
        assert_close(&params, &numbers(want), 1e-9, "Adam");
    }
    assert_eq!(after.len(), 3);
}

#[test]
fn the_direction_of_a_seed_is_that_of_the_protocol() {
    // Computed from the words of docs/protocol.md alone, in f64, by another program.
    let want = [1.788_019_14, -1.545_698_19, 0.689_637_41, -1.198_168_65];
    let last = [-1.377_200_14, -1.408_148_27, 0.948_535_53, -0.006_515_99];
    let mut direction = vec![0.0; 20];
    fill_direction(7, &mut direction);
    let got: Vec<f64> = direction.iter().map(|&value| f64::from(value)).collect();
    assert_close(&got[..4], &want, 1e-6, "first block");
    assert_close(&got[16..], &last, 1e-6, "second block");
    // The bits themselves are part of the protocol.
    let bits: Vec<u32> = direction[..4].iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, [0x3FE4_DDCF, 0xBFC5_D970, 0x3F30_8C13, 0xBF99_5D97]);
}

/// The published perturbation: the polar method on 53-bit uniforms of MT19937 (spec section 4).
fn published_direction(seed: u32, n_params: usize) -> Vec<f32> {
    let mut generator = Mt::new(seed);
    let mut uniform = move || {
        let (a, b) = (generator.next_u32() >> 5, generator.next_u32() >> 6);
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    };
    let mut normals = Vec::new();
    while normals.len() < n_params {
        let (x1, x2) = (2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0);
        let square = x1 * x1 + x2 * x2;
        if square > 0.0 && square < 1.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            normals.extend([(factor * x2) as f32, (factor * x1) as f32]);
        }
    }
    normals.truncate(n_params);
    normals
}

#[test]
fn the_reference_run_of_foltr_es_from_messages_to_weights() {
    let golden = vectors(include_str!("../vectors/foltr_es_reference_run.json"));
    for run in items(&golden["runs"]) {
        let flatten = |weights: &Value| {
            let tensors = ["fc.weight", "fc1.weight", "fc1.bias", "fc2.weight"];
            tensors.iter().filter_map(|name| weights.get(name)).flat_map(numbers).collect::<Vec<_>>()
        };
        let rounds = items(&run["rounds"]);
        let n_params = flatten(&rounds[0]["weights"]).len();
        let rule = PayloadSemantics::Evolution { sigma: 0.01, antithetic: true };
        let setup = Setup { rule, optimiser: ADAM, ..Setup::averaging(vec![0.0; n_params], 4, 4) };
        let mut coordinator = Coordinator::new(setup).expect("a good setup");
        for round in rounds {
            let mut partial = PartialSum::new(n_params);
            for message in items(&round["messages"]) {
                let seed = message["seed"].as_u64().and_then(|seed| u32::try_from(seed).ok()).expect("a 32-bit seed");
                let (plus, minus) = (number(&message["plus"]) as f32, Some(number(&message["minus"]) as f32));
                let payload = Payload::Evolution { seed, plus, minus };
                partial.add_payload_with(&payload, &rule, 1.0, &published_direction(seed, n_params));
            }
            coordinator.receive_partial(0, &partial).expect("the only chunk");
            coordinator.close(&mut seeded(1, Purpose::Noise, 0, 0)).expect("four clients");
            let published: Vec<f64> = coordinator.task().global.iter().map(|&value| f64::from(value)).collect();
            assert_close(&published, &flatten(&round["weights"]), 1e-6, "weights");
        }
        assert_eq!(coordinator.task().round, 4);
    }
}

#[test]
fn randomised_response() {
    let golden = vectors(include_str!("../vectors/foltr_es_privacy.json"));
    let values: Vec<f64> = (0..11).map(|outcome| Reward::MaxRr.value(outcome)).collect();
    assert_close(&values, &numbers(&golden["metric_values"]), 1e-15, "values");
    for case in items(&golden["privatized_expectation"]) {
        let p = number(&case["p"]);
        let truth = values.iter().position(|&value| value == number(&case["true"])).expect("a value");
        let answers = privatise_distribution(&certain_outcomes(11)[truth], p);
        let expected: f64 = answers.iter().zip(&values).map(|(share, value)| share * value).sum();
        let linear = number(&case["scale"]) * values[truth] + number(&case["offset"]);
        let want = [linear, number(&case["expected_privatized"])];
        assert_close(&[expected; 2], &want, 1e-12, &format!("p = {p}"));
    }
    let case = &golden["privatize_distribution"];
    let got = privatise_distribution(&numbers(&case["input"]), number(&case["p"]));
    assert_close(&got, &numbers(&case["output"]), 1e-12, "distribution");
}

#[test]
fn clipping_noise_and_averaging() {
    let golden = vectors(include_str!("../vectors/dp_fedavg_vectors.json"));
    for case in items(&golden["clip"]) {
        for (clip, want) in [
            (ClipRadius::Paper, &case["paper_bound_delta_over_2"]),
            (ClipRadius::ReleasedCode, &case["released_code_bound_delta"]),
        ] {
            let mechanism = DistributedLaplace::new(number(&case["delta"]), 4.5, clip).expect("positive");
            let mut theta = floats(&case["theta"]);
            clip_to_radius(&mut theta, mechanism.clip_radius().expect("a radius"));
            assert_eq!(theta, floats(want), "{case}");
        }
    }
    for case in items(&golden["noise"]) {
        let (delta, epsilon) = (number(&case["delta"]), number(&case["epsilon"]));
        let mechanism = DistributedLaplace::new(delta, epsilon, ClipRadius::Paper).expect("positive");
        // Gamma(1/C) - Gamma(1/C) of scale lambda has the variance 2 lambda^2 / C. That this is the law of what is drawn is
        // tested beside the mechanism.
        let (scale, n_clients) = (mechanism.laplace_scale(), number(&case["clients"]));
        let variance = 2.0 * scale * scale / n_clients;
        let ours = [scale, 1.0 / n_clients, variance, n_clients * variance, (variance / n_clients).sqrt()];
        let keys = ["laplace_scale", "gamma_shape", "per_client_coord_variance", "sum_over_clients_variance"];
        let want = [&keys[..], &["averaged_global_coord_std"]].concat();
        assert_close(&ours, &want.iter().map(|key| number(&case[*key])).collect::<Vec<_>>(), 1e-9, "noise");
    }
    let case = &golden["fedavg"];
    let models = items(&case["models"]).iter().zip(numbers(&case["n_c"])).zip(0..);
    let mut contributions = Contributions::new(numbers(&case["result"]).len());
    models.for_each(|((model, weight), client)| contributions.push(client, weight, &floats(model)));
    let mut combined = Combined::default();
    Aggregation::Mean(Mean {}).start().aggregate(&[], &contributions, &mut combined).expect("three clients");
    assert_close(&combined.step, &numbers(&case["result"]), 1e-12, "FedAvg");
    let (weights, total) = (numbers(&case["n_c"]), numbers(&case["n_c"]).iter().sum::<f64>());
    assert_close(&combined.shares, &weights.iter().map(|weight| weight / total).collect::<Vec<_>>(), 1e-12, "shares");
}

/// What a rule makes of the points of a case, with the shares of each.
fn combine(rule: Aggregation, case: &Value) -> Combined {
    let points: Vec<Vec<f32>> = items(&case["points"]).iter().map(floats).collect();
    let mut combined = Combined::default();
    rule.start().aggregate(&[], &Contributions::of_rows(&points), &mut combined).expect("enough clients");
    combined
}

/// The contributions that are in a step.
fn chosen(combined: &Combined) -> Vec<usize> {
    combined.shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(|(row, _)| row).collect()
}

#[test]
fn robust_aggregation() {
    let golden = vectors(include_str!("../vectors/robust_vectors.json"));
    let (with_krum, with_bulyan): (Vec<_>, Vec<_>) =
        items(&golden["aggregation"]).iter().partition(|case| case.get("krum_pick_thesis").is_some());
    assert_eq!((with_krum.len(), with_bulyan.len()), (4, 1));
    let mut n_differing = 0;
    for case in with_krum {
        let (name, attackers) = (case["name"].as_str().expect("a name"), number(&case["m"]) as u32);
        let indices = |key: &str| numbers(&case[key]).into_iter().map(|row| row as usize).collect::<Vec<_>>();
        let krum = |squared, neighbours| Krum { attackers, squared, neighbours };
        let points = items(&case["points"]);
        for (squared, key) in [(false, "krum_pick_thesis"), (true, "krum_pick_squared")] {
            for neighbours in [None, Some(Neighbours::Fixed(number(&case["neighbours"]) as u32))] {
                let picked = combine(Aggregation::Krum(krum(squared, neighbours)), case);
                assert_eq!(chosen(&picked), indices(key), "{name}");
                assert_close(&picked.step, &numbers(&points[indices(key)[0]]), 1e-6, name);
            }
        }
        n_differing += usize::from(indices("krum_pick_thesis") != indices("krum_pick_squared"));
        let with_all = combine(Aggregation::Krum(krum(false, Some(Neighbours::Counted(Counted::All)))), case);
        assert_close(&with_all.step, &numbers(&case["krum_result_baruch_code_n_minus_m_neighbours"]), 1e-6, name);

        let many = combine(Aggregation::MultiKrum(MultiKrum(krum(false, None))), case);
        assert_eq!(chosen(&many), indices("multikrum_selected"), "{name}");
        assert_close(&many.step, &numbers(&case["multikrum_result"]), 1e-6, name);
        let trimmed = combine(Aggregation::TrimmedMean(TrimmedMean { attackers }), case).step;
        assert_close(&trimmed, &numbers(&case["trimmed_mean_beta_m"]), 1e-6, name);
        assert_close(&combine(Aggregation::Median(Median {}), case).step, &numbers(&case["median"]), 1e-6, name);
        assert_close(&combine(Aggregation::Mean(Mean {}), case).step, &numbers(&case["mean"]), 1e-6, name);
    }
    assert_eq!(n_differing, 1, "squared and plain distances choose differently in one case");
    for case in with_bulyan {
        let bulyan = combine(Aggregation::Bulyan(Bulyan { attackers: number(&case["m"]) as u32 }), case);
        assert_close(&bulyan.step, &numbers(&case["bulyan_result"]), 1e-6, "Bulyan");
    }
}
