//! The messages of an open round for a rule that must see all of them, and those of earlier rounds that stand in for what
//! does not come.

use foltr_rank::learn::evolution::fill_direction;

use crate::aggregate::{Aggregator, Combined, Contributions, PayloadSemantics, evolution_coefficient};
use crate::coordinator::Rejected;
use crate::message::{Payload, PayloadError, RoundTask};
use crate::stand_ins::StandIns;

/// All messages of a round, and the rule that will combine them.
#[derive(Debug)]
pub(super) struct RoundBuffer {
    rule: PayloadSemantics,
    pub(super) aggregator: Box<dyn Aggregator>,
    contributions: Contributions,
    has_come: Vec<bool>,
    combined: Combined,
    /// Clients of the last round, and how much of the step came from each.
    pub(super) shares: Vec<(u32, f64)>,
    direction: Vec<f32>,
    zero: Vec<f32>,
    pub(super) stand_ins: StandIns,
    /// The most rounds that a stand-in may be old.
    most_age: u32,
    /// Memory of messages that are forgotten, for those to come.
    spare: Vec<Vec<f32>>,
}

/// What the rule makes of a round.
#[derive(Debug)]
pub(super) struct CombinedRound {
    pub(super) n_fresh: u32,
    pub(super) n_stand_ins: u32,
    pub(super) step: Vec<f64>,
}

impl RoundBuffer {
    pub(super) fn new(
        rule: PayloadSemantics,
        aggregator: Box<dyn Aggregator>,
        n_clients: u32,
        n_params: usize,
        most_age: u32,
    ) -> Self {
        Self {
            rule,
            aggregator,
            contributions: Contributions::new(n_params),
            has_come: vec![false; n_clients as usize],
            combined: Combined::default(),
            shares: Vec::new(),
            direction: vec![0.0; n_params],
            zero: vec![0.0; n_params],
            stand_ins: StandIns::default(),
            most_age,
            spare: Vec::new(),
        }
    }

    /// Makes room for clients that are numbered below this.
    pub(super) fn enrol(&mut self, n_clients: u32) {
        self.has_come.resize(self.has_come.len().max(n_clients as usize), false);
    }

    pub(super) fn clear(&mut self) {
        // Whoever has come has a row; all others would cost a round of few clients the time of the whole population.
        self.contributions.clients().iter().for_each(|&client| self.has_come[client as usize] = false);
        self.contributions.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.contributions.len()
    }

    /// The messages of the round so far.
    pub(super) const fn contributions(&self) -> &Contributions {
        &self.contributions
    }

    /// Takes a checked payload of a known client.
    pub(super) fn receive(&mut self, client: u32, payload: &Payload, scale: f64, longest: f64) -> Result<(), Rejected> {
        let mut direction = std::mem::take(&mut self.direction);
        let taken = self
            .read(payload, scale, &mut direction)
            .and_then(|(weight, update)| self.receive_step(client, weight, update, longest));
        self.direction = direction;
        taken
    }

    /// Refuses what [`Self::receive`] refuses, but for a second message of a client.
    pub(super) fn check(&self, client: u32, payload: &Payload, scale: f64, longest: f64) -> Result<(), Rejected> {
        let mut direction = vec![0.0; self.zero.len()];
        let (_, update) = self.read(payload, scale, &mut direction)?;
        Rejected::check_length(client, update, longest)
    }

    /// The weight and the update of a checked payload: a step, or the perturbation that a reward is for, as long as it says
    /// times `scale`.
    fn read<'a>(
        &self,
        payload: &'a Payload,
        scale: f64,
        direction: &'a mut [f32],
    ) -> Result<(f64, &'a [f32]), Rejected> {
        match (payload, self.rule) {
            (Payload::Step { n_interactions, delta }, _) => Ok((f64::from(*n_interactions), delta)),
            (Payload::Clipped { delta, .. }, _) => Ok((1.0, delta)),
            (&Payload::Evolution { seed, plus, minus }, PayloadSemantics::Evolution { sigma, .. }) => {
                fill_direction(seed, direction);
                let coefficient = evolution_coefficient(plus, minus, sigma) * scale;
                direction.iter_mut().for_each(|value| *value = (f64::from(*value) * coefficient) as f32);
                // A finite reward can be too large for this.
                match direction.iter().position(|value| !value.is_finite()) {
                    Some(index) => Err(PayloadError::NotFinite { index }.into()),
                    None => Ok((1.0, direction)),
                }
            }
            _ => Err(Rejected::Sealed),
        }
    }

    /// Takes a checked step of a known client.
    pub(super) fn receive_step(
        &mut self,
        client: u32,
        weight: f64,
        delta: &[f32],
        longest: f64,
    ) -> Result<(), Rejected> {
        Rejected::check_length(client, delta, longest)?;
        self.refuse_second(client)?;
        self.contributions.push(client, weight, delta);
        Ok(())
    }

    fn refuse_second(&mut self, client: u32) -> Result<(), Rejected> {
        let has_come = &mut self.has_come[client as usize];
        if std::mem::replace(has_come, true) { Err(Rejected::Duplicate { client }) } else { Ok(()) }
    }

    /// The step that the rule makes of what has come and of stand-ins for all others who were drawn; nothing if nobody
    /// came. The round is to be [remembered](Self::remember) or cleared afterwards.
    pub(super) fn combine(&mut self, global: &[f32], round: u32, drawn: Option<&[u32]>) -> Option<CombinedRound> {
        let n_fresh = self.len();
        self.shares.clear();
        if n_fresh == 0 {
            return None;
        }
        let heaviest = heaviest(&self.contributions);
        match drawn {
            Some(drawn) => drawn.iter().for_each(|&client| self.push_stand_in(client, round, heaviest)),
            None => (0..self.has_come.len() as u32).for_each(|client| self.push_stand_in(client, round, heaviest)),
        }
        let n_stand_ins = self.len() - n_fresh;
        self.contributions.sort();
        self.aggregator.aggregate(global, &self.contributions, &mut self.combined).ok()?;
        let clients = self.contributions.clients().iter().copied();
        self.shares.extend(clients.zip(self.combined.shares.iter().copied()));
        let step = std::mem::take(&mut self.combined.step);
        Some(CombinedRound { n_fresh: n_fresh as u32, n_stand_ins: n_stand_ins as u32, step })
    }

    /// The step that the rule would make of these messages, and of stand-ins for all others who were drawn.
    pub(super) fn rehearse(&self, task: &RoundTask, mut all: Contributions, drawn: Option<&[u32]>) -> Option<Vec<f64>> {
        let mut came = all.clients().to_vec();
        came.sort_unstable();
        let heaviest = heaviest(&all);
        if came.is_empty() {
            return None;
        }
        let everyone = 0..self.has_come.len() as u32;
        let drawn = drawn.map_or_else(|| everyone.collect(), <[u32]>::to_vec);
        for client in drawn.into_iter().filter(|client| came.binary_search(client).is_err()) {
            let (weight, row) = stand_in(&self.stand_ins, client, task.round, self.most_age, (heaviest, &self.zero));
            all.push(client, weight, row);
        }
        all.sort();
        let mut combined = Combined::default();
        self.aggregator.copy().aggregate(&task.global, &all, &mut combined).ok()?;
        Some(combined.step)
    }

    /// Puts the stand-in of a client that has sent nothing into the round.
    fn push_stand_in(&mut self, client: u32, round: u32, heaviest: f64) {
        if !self.has_come[client as usize] {
            let (weight, row) = stand_in(&self.stand_ins, client, round, self.most_age, (heaviest, &self.zero));
            self.contributions.push(client, weight, row);
        }
    }

    /// Remembers what came in a round, for rounds in which it does not, and forgets what none of them may use.
    pub(super) fn remember(&mut self, round: u32) {
        self.stand_ins.forget_before(round.saturating_add(1).saturating_sub(self.most_age), &mut self.spare);
        if self.most_age == 0 {
            return;
        }
        for (client, weight, row) in self.contributions.iter() {
            if self.has_come[client as usize] {
                self.stand_ins.remember(client, (round, weight), row, &mut self.spare);
            }
        }
    }
}

fn heaviest(round: &Contributions) -> f64 {
    round.weights().iter().copied().fold(0.0, f64::max)
}

/// The last message of a client, with its weight; `otherwise` where there is none that is young enough.
fn stand_in<'a>(
    last: &'a StandIns,
    client: u32,
    round: u32,
    most_age: u32,
    otherwise: (f64, &'a [f32]),
) -> (f64, &'a [f32]) {
    let last = last.of(client).filter(|last| round.saturating_sub(last.round) <= most_age);
    last.map_or(otherwise, |last| (last.weight, &last.values))
}
