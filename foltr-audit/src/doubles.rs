//! Mechanisms that are broken where no parameter can break them: doubles of the real ones, for controls only.

use std::sync::Arc;

use foltr_federation::privacy::{Circumstances, ClosingSum, Explanation, Noise, RoundCost};
use foltr_federation::{Kind, LocalPrivacy, Mode, NoiseSource, Payload, PayloadSemantics, RoundTask};
use foltr_rank::Update;

use rand::RngExt;

/// What a double does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// The server adds nothing to the sum.
    ForgetsTheNoise,
    /// The server draws once and adds that to all coordinates.
    OneDrawForAll,
    /// The device sends a bit about its largest coordinate, with this probability, instead of any.
    PrefersLarge(f64),
    /// The device answers for the interaction with the best outcome, instead of any.
    SamplesTheBest,
}

#[derive(Debug)]
pub(super) struct Double {
    pub(super) inner: Arc<dyn LocalPrivacy>,
    pub(super) fault: Fault,
}

impl Double {
    pub(super) fn of(inner: impl Into<Arc<dyn LocalPrivacy>>, fault: Fault) -> Arc<dyn LocalPrivacy> {
        Arc::new(Self { inner: inner.into(), fault })
    }

    fn largest(&self, delta: &[f32], task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let is_larger = |best: usize, j: usize| if delta[j].abs() > delta[best].abs() { j } else { best };
        let largest = (0..delta.len()).fold(0, is_larger);
        let update = Update::Step { delta: &delta[largest..=largest], n_interactions: 1 };
        self.inner.protect(update, task, noise, payload);
        let Payload::Step { delta: bit, .. } = payload else { unreachable!("a step stays a step") };
        let size = bit[0] * delta.len() as f32;
        bit.clear();
        bit.resize(delta.len(), 0.0);
        bit[largest] = size;
    }

    fn best(&self, plus: &[u16], minus: &[u16], task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        let outcomes = plus.iter().chain(minus).enumerate();
        // No click is the worst outcome, the first rank the best.
        let best = outcomes.min_by_key(|(_, outcome)| outcome.wrapping_sub(1)).map_or(0, |(place, _)| place);
        let truth = if best < plus.len() { plus[best] } else { minus[best - plus.len()] };
        self.inner.protect(Update::Evolution { seed: 0, plus: &[truth], minus: &[] }, task, noise, payload);
        let Payload::Evolution { plus: answer, .. } = *payload else { unreachable!("outcomes stay outcomes") };
        let sides = if best < plus.len() { (answer, 0.0) } else { (0.0, answer) };
        *payload = Payload::Evolution { seed: 0, plus: sides.0, minus: Some(sides.1) };
    }
}

impl LocalPrivacy for Double {
    fn protect(&self, update: Update<'_>, task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload) {
        match (self.fault, update) {
            (Fault::PrefersLarge(probability), Update::Step { delta, .. }) if noise.random::<f64>() < probability => {
                self.largest(delta, task, noise, payload);
            }
            (Fault::SamplesTheBest, Update::Evolution { plus, minus, .. }) => {
                self.best(plus, minus, task, noise, payload);
            }
            _ => self.inner.protect(update, task, noise, payload),
        }
    }

    fn protect_without_share(
        &self,
        update: Update<'_>,
        task: &RoundTask,
        noise: &mut dyn NoiseSource,
        payload: &mut Payload,
    ) {
        self.inner.protect_without_share(update, task, noise, payload);
    }

    fn finish(&self, sum: &ClosingSum, noise: &mut dyn NoiseSource, step: &mut [f64]) -> Option<f32> {
        match self.fault {
            Fault::ForgetsTheNoise => sum.clip_norm,
            Fault::OneDrawForAll => {
                let mut one = [0.0];
                let norm = self.inner.finish(sum, noise, &mut one);
                step.iter_mut().for_each(|value| *value += one[0]);
                norm
            }
            Fault::PrefersLarge(_) | Fault::SamplesTheBest => self.inner.finish(sum, noise, step),
        }
    }

    fn accepts(&self, kind: Kind) -> bool {
        self.inner.accepts(kind)
    }

    fn mode(&self) -> Mode {
        self.inner.mode()
    }

    fn cost(&self, circumstances: &Circumstances) -> RoundCost {
        self.inner.cost(circumstances)
    }

    fn noise(&self, n_params: usize) -> Noise {
        self.inner.noise(n_params)
    }

    fn rule(&self, usual: PayloadSemantics, divisor: f64, clip_norm: Option<f32>) -> PayloadSemantics {
        self.inner.rule(usual, divisor, clip_norm)
    }

    fn clip_radius(&self) -> Option<f32> {
        self.inner.clip_radius()
    }

    fn explain(&self, circumstances: &Circumstances) -> Explanation {
        self.inner.explain(circumstances)
    }
}
