//! `[personalisation]` and `learner.proximal`: pulls that overshoot.

use foltr_rank::personal::Personalisation;

use super::check::Problems;
use super::{Experiment, Learner};

/// With a pull of this times the learning rate, a step leads as far beyond the model it is pulled to.
const MAX_PULL: f64 = 2.0;

impl Experiment {
    pub(super) fn check_pulls(&self, problems: &mut Problems) {
        let Learner::Pdgd { learning_rate, proximal, .. } = self.learner else { return };
        if let Some(mu) = proximal {
            problems.when(
                !(mu.is_finite() && mu >= 0.0),
                "learner.proximal",
                "must be 0 (no pull) or a positive number",
            );
        }
        let own = match self.personalisation {
            Some(Personalisation::Ditto { pull }) => Some(("personalisation.pull", "pull", pull)),
            _ => None,
        };
        let pulls = [proximal.map(|mu| ("learner.proximal", "proximal", mu)), own];
        for (key, name, pull) in pulls.into_iter().flatten() {
            let product = learning_rate * pull;
            let message = format!("learning_rate x {name} = {product} must be below 2, or steps overshoot");
            problems.when(product >= MAX_PULL, key, message);
        }
    }
}
