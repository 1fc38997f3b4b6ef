//! What do many rounds guarantee together, by the law of their privacy loss?
//!
//! The loss of an outcome is the logarithm of how much likelier it is with a client than without. Losses of rounds add
//! up, so the law of their sum is a convolution, and delta(epsilon) is the mean of (1 - e^(epsilon - loss))+. `KJH20`
//! Koskela, Jälkö, Honkela: *Computing Tight Differential Privacy Guarantees Using FFT*, AISTATS 2020; `GLW21` Gopi, Lee,
//! Wutschitz: *Numerical Composition of Differential Privacy*, NeurIPS 2021. For coins that nobody sees both directions
//! count, a client that is added and one that is removed: `ZDW22` Zhu, Dong, Wang: *Optimal Accounting of Differential
//! Privacy via Characteristic Function*, AISTATS 2022.
//!
//! Losses live on a grid, and all that is approximate errs to the high side: a loss between two points is divided
//! between them so that neither probability changes, which never lowers delta (`DGKKM22` Doroshenko, Ghazi, Kamath, Kumar,
//! Manurangsi: *Connect the Dots*, PoPETs 2022; [`law`]). Probability beyond the grid counts as delta, and so does
//! a bound on what the fast Fourier transform may have rounded away ([`composition`]).
//!
//! Deviation: laws are tilted by e^(order loss) before they are transformed, at the order that is best for the Renyi
//! bound. The rare losses that decide about delta are then the common ones, so that rounding errors are relative to
//! delta, however small it is, and the grid needs only to reach as far as the tilted law.

mod composition;
mod law;

use composition::{Composition, Part};
use law::{Direction, Loss};

use super::PrivacyCost;

/// How far above the truth the grid may put epsilon, as a share of it.
const ACCURACY: f64 = 1e-4;

/// Share of delta that may lie beyond the grid.
const BEYOND: f64 = 1e-5;

/// Points of the grid. With more, a coarser one is used.
const MOST_POINTS: f64 = (1_u32 << 20) as f64;

/// Each kind of loss is transformed: with more kinds in one ledger the Renyi bound has to do.
const MOST_KINDS: usize = 16;

/// What the Renyi bound knows already: epsilon, and at which order minus 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub epsilon: f64,
    pub order: f64,
}

/// Epsilon at this delta; infinite where a cost has no law of its loss, or nothing better is known.
pub(super) fn epsilon(costs: &[(PrivacyCost, u32)], delta: f64, known: Known) -> f64 {
    let Some((losses, slack)) = losses(costs) else { return f64::INFINITY };
    let is_gaussian = losses.iter().all(|(loss, _)| matches!(loss, Loss::Sampled { probability: 1.0, .. }));
    // Gaussian noise alone has an exact answer.
    let is_useful = !is_gaussian && losses.len() <= MOST_KINDS && known.epsilon.is_finite() && known.epsilon > 0.0;
    let delta = delta * (-slack).exp();
    if !(is_useful && delta > f64::MIN_POSITIVE) {
        return f64::INFINITY;
    }
    let is_symmetric = losses.iter().all(|(loss, _)| loss.is_symmetric());
    let directions = if is_symmetric { &[Direction::Removed][..] } else { &[Direction::Removed, Direction::Added] };
    let of = |direction: &Direction| in_direction(&losses, *direction, delta, known);
    directions.iter().map(of).fold(0.0, f64::max) + 2.0 * slack
}

/// The losses of all rounds with their number, and by how much what is sent may differ from what has these losses.
/// Gaussian losses are one loss together.
fn losses(costs: &[(PrivacyCost, u32)]) -> Option<(Vec<(Loss, u64)>, f64)> {
    let mut losses: Vec<(Loss, u64)> = Vec::new();
    let (mut squared_mu, mut total_slack) = (0.0, 0.0);
    for (cost, n) in costs.iter().filter(|(_, n)| *n > 0) {
        let times = f64::from(*n);
        let (loss, n) = match *cost {
            PrivacyCost::Gaussian { mu } => {
                squared_mu += times * mu * mu;
                continue;
            }
            PrivacyCost::DiscreteGaussian { mu, slack, .. } => {
                squared_mu += times * mu * mu;
                total_slack += times * slack;
                continue;
            }
            PrivacyCost::Subsampled { probability: 0.0, .. } => continue,
            PrivacyCost::Subsampled { probability, noise_multiplier } => {
                (Loss::Sampled { probability, mu: noise_multiplier.recip() * super::ABOVE }, u64::from(*n))
            }
            PrivacyCost::Pure { epsilon } => (Loss::of_pure(epsilon), u64::from(*n)),
            PrivacyCost::Response { probability, n_outcomes, n_answers } => {
                (Loss::of_response(probability, n_outcomes), u64::from(*n) * u64::from(n_answers))
            }
            PrivacyCost::Unbounded | PrivacyCost::Laplace { .. } => return None,
        };
        match losses.iter_mut().find(|(known, _)| *known == loss) {
            Some((_, known)) => *known = known.saturating_add(n),
            None => losses.push((loss, n)),
        }
    }
    if squared_mu > 0.0 {
        losses.push((Loss::Sampled { probability: 1.0, mu: squared_mu.sqrt() * super::ABOVE }, 1));
    }
    losses.retain(|(loss, n)| *n > 0 && !loss.is_zero());
    let is_finite = losses.iter().all(|(loss, _)| loss.is_finite()) && total_slack.is_finite();
    (is_finite && !losses.is_empty()).then_some((losses, total_slack * super::ABOVE))
}

fn in_direction(losses: &[(Loss, u64)], direction: Direction, delta: f64, known: Known) -> f64 {
    let n: f64 = losses.iter().map(|(_, n)| *n as f64).sum();
    let beyond = BEYOND * delta / n;
    let mut step = first_step(losses, n, known);
    // A few times at most: each grid is coarse enough for what the one before it has shown.
    for _ in 0..4 {
        let range = losses.iter().map(|(loss, _)| loss.range(direction, beyond)).fold(0.0, f64::max);
        step = f64::max(step, range / MOST_POINTS);
        let law = |(loss, n): &(Loss, u64)| Part { law: loss.on_grid(direction, step, beyond), n: *n };
        let composition = Composition::new(losses.iter().map(law).collect(), step, known.order);
        let window = composition.choose_window(delta, known.epsilon);
        if window.n_points as f64 <= MOST_POINTS {
            return composition.epsilon(window, delta);
        }
        step *= 1.01 * window.n_points as f64 / MOST_POINTS;
    }
    f64::INFINITY
}

/// A grid on which dividing losses raises epsilon by the share [`ACCURACY`]: it raises the divergence of order 1 + t by
/// (1 + t) step^2/12 a round. One kind of answer has its losses on the grid itself, and nothing is divided.
fn first_step(losses: &[(Loss, u64)], n: f64, known: Known) -> f64 {
    let wanted = (12.0 * ACCURACY * known.epsilon / (n * (1.0 + known.order))).sqrt();
    let mut atoms = losses.iter().filter_map(|(loss, _)| loss.largest_atom());
    let (Some(first), others) = (atoms.next(), atoms) else { return wanted };
    if { others }.any(|other| other != first) {
        return wanted;
    }
    let n_steps = if losses.len() == 1 { 1.0 } else { (first / wanted).ceil().max(1.0) };
    // Rounding must not push a loss just beyond its point.
    first / n_steps * (1.0 + f64::EPSILON)
}

#[cfg(test)]
mod tests;
