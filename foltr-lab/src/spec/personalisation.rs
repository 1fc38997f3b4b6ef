//! `[personalisation]` and `learner.proximal`: what cannot be had together.

use foltr_federation::LocalPrivacy;
use foltr_rank::personal::Personalisation;

use super::check::{ANY_MODEL, Problems};
use super::{Experiment, Learner, Privacy, Ranker, ServerOptimiser, Updates};

/// With a pull of this times the learning rate, a step leads as far beyond the model it is pulled to.
const MAX_PULL: f64 = 2.0;

impl Experiment {
    pub(super) fn check_personalisation(&self, problems: &mut Problems) {
        let Some(method) = self.personalisation else { return };
        let key = "personalisation";
        if let Err(bad) = method.check() {
            problems.add(format!("{key}.{}", bad.name), format!("must be {}", bad.right));
        }
        let immediate = matches!(self.learner, Learner::Pdgd { updates: Updates::Immediate, .. });
        let only = "needs learner.kind = \"pdgd\" with updates = \"immediate\": nothing else has a ranker of its own";
        problems.when(!immediate, key, only);
        self.check_method(method, problems);
        self.check_privacy_of(method, problems);
        let waits =
            "cannot be had with [personalisation] yet: only synchronous rounds hand states out and take them back";
        problems.when(self.asynchrony.is_some(), "asynchrony", waits);
        let averaged = self.federation.as_ref().is_some_and(|federation| federation.average_last.is_some());
        let newest = "cannot be had with [personalisation]: devices use the newest models";
        problems.when(averaged, "federation.average_last", newest);
    }

    fn check_method(&self, method: Personalisation, problems: &mut Problems) {
        let Learner::Pdgd { learning_rate, proximal, .. } = self.learner else { return };
        if let Personalisation::Ditto { pull } = method {
            let message =
                format!("learning_rate x pull = {} must be below 2, or steps overshoot", learning_rate * pull);
            problems.when(learning_rate * pull >= MAX_PULL, "personalisation.pull", message);
        }
        // These have a pull of their own, move two models, or keep a part that nothing shall pull.
        let moves_otherwise = matches!(
            method,
            Personalisation::Ditto { .. } | Personalisation::Interpolation { .. } | Personalisation::FedPer
        );
        let unclear = "cannot be had with this kind of [personalisation], which does not step from the global model";
        problems.when(moves_otherwise && proximal.is_some(), "learner.proximal", unclear);
        if method == Personalisation::FedPer {
            let linear = matches!(self.ranker, Some(Ranker::Linear { .. }));
            let all_own =
                "\"fed-per\" needs ranker.kind = \"mlp\": a linear ranker is all output layer, and nothing is shared";
            problems.when(linear, "personalisation.kind", all_own);
            let plain = ServerOptimiser::LearningRate { rate: 1.0 };
            let other = self.federation.as_ref().is_some_and(|federation| federation.optimiser != plain);
            let averages = "\"fed-per\" averages layers: it needs { kind = \"learning-rate\", rate = 1.0 }";
            problems.when(other, "federation.optimiser", averages);
        }
    }

    fn check_privacy_of(&self, method: Personalisation, problems: &mut Problems) {
        if self.privacy == Privacy::None {
            return;
        }
        let public = "clusters tell the server which model a client's clicks like best, which no mechanism here covers";
        let exposed = format!("remove this section, or the clusters: {public}");
        problems.when(method.n_clusters() > 0, "privacy", exposed);
        let silent = method == Personalisation::LocalOnly;
        problems.when(silent, "privacy", "remove this section: with \"local-only\" nothing leaves a device");
        let clips_model = self.mechanism(ANY_MODEL).is_ok_and(|mechanism| mechanism.clip_radius().is_some());
        let other =
            "bounds a message by clipping the model, and a ranker of one's own is another model; use \"gaussian\"";
        problems.when(clips_model, "privacy.kind", other);
    }
}

/// FedProx diverges when a pull is longer than the way back and forth (spec section 11).
pub(super) fn check_proximal(learning_rate: f64, updates: Updates, proximal: Option<f64>, problems: &mut Problems) {
    let (Some(mu), key) = (proximal, "learner.proximal") else { return };
    problems.when(!(mu.is_finite() && mu >= 0.0), key, "must be 0 (no pull) or a positive number");
    let message = format!("learning_rate x proximal = {} must be below 2, or steps overshoot", learning_rate * mu);
    problems.when(learning_rate * mu >= MAX_PULL, key, message);
    let idle = "has no effect with updates = \"accumulated\", whose weights stay at the global model";
    problems.when(updates == Updates::Accumulated, key, idle);
}
