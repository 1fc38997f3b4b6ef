//! The messages of an open round for a rule that must see all of them.

use foltr_rank::learn::evolution::fill_direction;

use crate::aggregate::{Aggregator, Combined, Contributions, PayloadSemantics, evolution_coefficient};
use crate::coordinator::Rejected;
use crate::message::{Payload, PayloadError};

/// All messages of a round, and the rule that will combine them.
#[derive(Debug)]
pub(super) struct RoundBuffer {
    rule: PayloadSemantics,
    aggregator: Box<dyn Aggregator>,
    contributions: Contributions,
    has_come: Vec<bool>,
    combined: Combined,
    /// Clients of the last round, and how much of the step came from each.
    pub(super) shares: Vec<(u32, f64)>,
    direction: Vec<f32>,
}

impl RoundBuffer {
    pub(super) fn new(
        rule: PayloadSemantics,
        aggregator: Box<dyn Aggregator>,
        n_clients: u32,
        n_params: usize,
    ) -> Self {
        Self {
            rule,
            aggregator,
            contributions: Contributions::new(n_params),
            has_come: vec![false; n_clients as usize],
            combined: Combined::default(),
            shares: Vec::new(),
            direction: vec![0.0; n_params],
        }
    }

    pub(super) fn clear(&mut self) {
        self.contributions.clear();
        self.has_come.fill(false);
    }

    pub(super) fn len(&self) -> usize {
        self.contributions.len()
    }

    /// Takes a checked payload of a known client: a step, or the perturbation that a reward is for, as long as it says.
    pub(super) fn receive(&mut self, client: u32, payload: &Payload) -> Result<(), Rejected> {
        match (payload, self.rule) {
            (Payload::Step { n_interactions, delta }, _) => {
                self.receive_step(client, f64::from(*n_interactions), delta)
            }
            (Payload::Clipped { delta, .. }, _) => self.receive_step(client, 1.0, delta),
            (&Payload::Evolution { seed, plus, minus }, PayloadSemantics::Evolution { sigma, .. }) => {
                fill_direction(seed, &mut self.direction);
                let coefficient = evolution_coefficient(plus, minus, sigma);
                self.direction.iter_mut().for_each(|value| *value = (f64::from(*value) * coefficient) as f32);
                // A finite reward can be too large for this.
                if let Some(index) = self.direction.iter().position(|value| !value.is_finite()) {
                    return Err(PayloadError::NotFinite { index }.into());
                }
                self.refuse_second(client)?;
                self.contributions.push(client, 1.0, &self.direction);
                Ok(())
            }
            _ => Err(Rejected::Sealed),
        }
    }

    /// Takes a checked step of a known client.
    pub(super) fn receive_step(&mut self, client: u32, weight: f64, delta: &[f32]) -> Result<(), Rejected> {
        self.refuse_second(client)?;
        self.contributions.push(client, weight, delta);
        Ok(())
    }

    fn refuse_second(&mut self, client: u32) -> Result<(), Rejected> {
        let has_come = &mut self.has_come[client as usize];
        if std::mem::replace(has_come, true) { Err(Rejected::Duplicate { client }) } else { Ok(()) }
    }

    /// The step that the rule would make of these contributions.
    pub(super) fn rehearse(&self, global: &[f32], round: &Contributions) -> Option<Vec<f64>> {
        let mut combined = Combined::default();
        self.aggregator.copy().aggregate(global, round, &mut combined).ok()?;
        Some(combined.step)
    }

    /// How many have come and the step that the rule makes of them, who are forgotten; nothing if nobody came.
    pub(super) fn combine(&mut self, global: &[f32]) -> Option<(u32, Vec<f64>)> {
        self.contributions.sort();
        self.shares.clear();
        self.aggregator.aggregate(global, &self.contributions, &mut self.combined).ok()?;
        let clients = self.contributions.clients().iter().copied();
        self.shares.extend(clients.zip(self.combined.shares.iter().copied()));
        let n_contributions = self.len() as u32;
        self.clear();
        Some((n_contributions, std::mem::take(&mut self.combined.step)))
    }
}
