//! What do mechanisms with a bounded likelihood ratio guarantee, once and many times?
//!
//! `DMNS06` Dwork, McSherry, Nissim, Smith: *Calibrating Noise to Sensitivity in Private Data Analysis*, TCC 2006:
//! epsilon bounds the logarithm of the ratio, and k rounds cost k epsilon. Fewer with a small delta: no epsilon-private
//! mechanism has larger Renyi divergences than a coin with probabilities e^epsilon/(1 + e^epsilon) and the rest; those
//! are at most a epsilon^2/2 at order a (`BS16` Bun, Steinke: *Concentrated Differential Privacy*, TCC 2016, Proposition
//! 3.3).

use super::ABOVE;
use super::renyi;

/// The largest Renyi divergence of order 1 + t of an epsilon-private mechanism.
pub fn divergence(epsilon: f64, t: f64) -> f64 {
    if !epsilon.is_finite() {
        return f64::INFINITY;
    }
    // ln(p e^(t epsilon) + (1 - p) e^(-t epsilon)) / t with the first exponential taken out: nothing overflows.
    let rare = 1.0 / (1.0 + epsilon.exp());
    let tight = epsilon + (rare * (-2.0 * t * epsilon).exp_m1()).ln_1p() / t;
    // Both terms are nearly equal where epsilon is small; the bound is then as good.
    let rounding = 4.0 * f64::EPSILON * epsilon * (1.0 + 1.0 / t);
    (tight * ABOVE + rounding).min((1.0 + t) * epsilon * epsilon / 2.0 * ABOVE)
}

/// The epsilon of `k` epsilon-private messages at this delta: the smaller one of k epsilon and Renyi accounting.
pub fn composed(epsilon: f64, k: u32, delta: f64) -> f64 {
    let k = f64::from(k);
    renyi::epsilon(|t| k * divergence(epsilon, t), delta).min(k * epsilon)
}

#[cfg(test)]
mod tests {
    use super::super::zcdp;
    use super::*;

    #[test]
    fn divergences_are_those_of_a_coin() {
        for epsilon in [0.1_f64, 1.2, 4.5, 18.0] {
            let p = epsilon.exp() / (1.0 + epsilon.exp());
            for a in [1.5_f64, 2.0, 7.0] {
                let sum = p.powf(a) * (1.0 - p).powf(1.0 - a) + (1.0 - p).powf(a) * p.powf(1.0 - a);
                let (ours, exact) = (divergence(epsilon, a - 1.0), sum.ln() / (a - 1.0));
                assert!(ours >= exact * (1.0 - 1e-11) && ours <= exact * (1.0 + 1e-6), "{epsilon}, {a}");
                assert!(ours <= epsilon * (1.0 + 1e-8) && ours <= a * epsilon * epsilon / 2.0 * (1.0 + 1e-8));
            }
        }
        assert!((divergence(1e-9, 1.0) / 1e-18 - 1.0).abs() < 1e-6);
        assert_eq!(divergence(f64::INFINITY, 1.0), f64::INFINITY);
        assert_eq!(divergence(800.0, 1e4), 800.0 * ABOVE + 4.0 * f64::EPSILON * 800.0 * 1.0001);
    }

    #[test]
    fn many_messages_cost_less_than_their_sum_only_if_each_costs_little() {
        assert_eq!(composed(0.1, 10, 0.0), 1.0);
        let many = composed(0.1, 10_000, 1e-5);
        assert!(many < 1000.0 && many <= zcdp::epsilon(10_000.0 * 0.005, 1e-5) * (1.0 + 1e-8), "{many}");
        assert!(composed(1.0, 10_000, 1e-5) >= 10_000.0 * 0.5_f64.tanh());
    }
}
