//! The FOLtR-ES gradient against its analytic value (spec section 4).
//!
//! For a quadratic reward f the expected estimate is exactly the gradient of f at the centre, with and without mirrored
//! perturbations: the even terms vanish by symmetry.

use foltr_federation::{PartialSum, Payload, PayloadSemantics};
use foltr_rank::learn::evolution::fill_direction;

const CENTRE: [f64; 4] = [0.3, -0.2, 0.0, 1.0];
const SLOPE: [f64; 4] = [0.5, -1.0, 0.25, 0.0];
const CURVATURE: [f64; 4] = [1.0, 0.5, 2.0, 0.1];
const SIGMA: f64 = 0.5;

fn reward(offset: f64, direction: &[f32], sigma: f64) -> f32 {
    let terms = (0..4).map(|i| {
        let x = CENTRE[i] + sigma * f64::from(direction[i]);
        SLOPE[i] * x - 0.5 * CURVATURE[i] * x * x
    });
    (offset + terms.sum::<f64>()) as f32
}

fn estimate(n_clients: u32, antithetic: bool, offset: f64) -> Vec<f64> {
    let rule = PayloadSemantics::Evolution { sigma: SIGMA, antithetic };
    let (mut partial, mut direction) = (PartialSum::new(4), [0.0; 4]);
    for seed in 0..n_clients {
        fill_direction(seed, &mut direction);
        let plus = reward(offset, &direction, SIGMA);
        let minus = antithetic.then(|| reward(offset, &direction, -SIGMA));
        partial.add_payload(&Payload::Evolution { seed, plus, minus }, &rule, 1.0, &mut [0.0; 4]);
    }
    partial.mean().expect("clients")
}

#[test]
fn the_estimate_is_the_gradient_and_has_less_noise_if_mirrored() {
    // The deviation of a mirrored summand is about 1, so five standard errors of 200,000 are .011.
    for (antithetic, tolerance) in [(true, 0.012), (false, 0.03)] {
        let estimate = estimate(200_000, antithetic, 0.0);
        for i in 0..4 {
            let exact = SLOPE[i] - CURVATURE[i] * CENTRE[i];
            assert!((estimate[i] - exact).abs() < tolerance, "coordinate {i}: {} instead of {exact}", estimate[i]);
        }
    }
}

#[test]
fn a_constant_reward_changes_only_the_plain_estimate() {
    let (mirrored, shifted) = (estimate(1_000, true, 0.0), estimate(1_000, true, 4.0));
    // Rewards are sent in single precision, which a shift by 4 makes a little coarser.
    mirrored.iter().zip(&shifted).for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
    let (plain, shifted) = (estimate(1_000, false, 0.0), estimate(1_000, false, 4.0));
    assert!(plain.iter().zip(&shifted).any(|(a, b)| (a - b).abs() > 0.01));
}
