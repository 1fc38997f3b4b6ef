//! Parameters with which a mechanism's whole run has a given epsilon, by halving.

use foltr_federation::accountant::PrivacyCost;

use super::DELTA;

/// The largest x between two numbers for which the run costs at most `epsilon`; costs rise with x.
fn largest(low: f64, high: f64, epsilon: f64, cost: impl Fn(f64) -> PrivacyCost, n_rounds: u32) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        let fits = cost(middle).after(n_rounds, DELTA).epsilon <= epsilon;
        *(if fits { &mut low } else { &mut high }) = middle;
    }
    low
}

/// The epsilon of each message.
pub fn per_message(epsilon: f64, n_rounds: u32) -> f64 {
    let cost = |per_message| PrivacyCost::Pure { per_interaction: None, per_message };
    largest(0.0, epsilon, epsilon, cost, n_rounds)
}

/// The epsilon of each answer where a message has `n_answers` of them.
pub fn per_answer(epsilon: f64, n_rounds: u32, n_answers: u32) -> f64 {
    let cost = |each| PrivacyCost::Pure { per_interaction: Some(each), per_message: each * f64::from(n_answers) };
    largest(0.0, epsilon, epsilon, cost, n_rounds)
}

/// The probability of the truth, among `n_outcomes`, with which an answer costs `epsilon`.
pub fn probability(epsilon: f64, n_outcomes: usize) -> f64 {
    let odds = epsilon.exp() / (n_outcomes as f64 - 1.0);
    odds / (1.0 + odds)
}

/// The `epsilon` to write down for distributed Laplace noise with this sensitivity and clip radius Delta/2.
pub fn laplace_label(epsilon: f64, sensitivity: f64, n_params: usize, n_rounds: u32) -> f64 {
    let cost = |label: f64| PrivacyCost::Laplace { scale: sensitivity / label, shift: sensitivity, n_params };
    largest(0.0, epsilon, epsilon, cost, n_rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_costs_what_was_asked_for() {
        for epsilon in [0.5, 4.5, 50.0] {
            let cost = PrivacyCost::Pure { per_interaction: None, per_message: per_message(epsilon, 50) };
            let spent = cost.after(50, DELTA).epsilon;
            assert!(spent <= epsilon && spent > 0.999 * epsilon, "{spent}");
            let each = per_answer(epsilon, 50, 8);
            let cost = PrivacyCost::Pure { per_interaction: Some(each), per_message: 8.0 * each };
            let spent = cost.after(50, DELTA).epsilon;
            assert!(spent <= epsilon && spent > 0.99 * epsilon, "{spent}");
            assert!(each >= per_message(epsilon, 50) / 8.0, "answers one by one cost less than all at once");
            let label = laplace_label(epsilon, 5.0, 46, 200);
            let cost = PrivacyCost::Laplace { scale: 5.0 / label, shift: 5.0, n_params: 46 };
            let spent = cost.after(200, DELTA).epsilon;
            assert!(spent <= epsilon && spent > 0.999 * epsilon, "{spent}");
        }
        // ln(.9 * 10/.1) = ln 90.
        assert!((probability(90.0_f64.ln(), 11) - 0.9).abs() < 1e-12);
    }
}
