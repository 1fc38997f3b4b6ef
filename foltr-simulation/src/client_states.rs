//! What clients store from round to round: one flat vector for all of them, each client's own stretch behind another.

use foltr_rank::OnlineLearner;
use foltr_rank::rng::{Purpose, Streams};

/// The states of all clients; without personalisation they have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStates {
    values: Vec<f32>,
    len: usize,
}

/// States of consecutive clients, some of which take part in a round.
#[derive(Debug)]
pub struct StateStretch<'a> {
    first: u32,
    len: usize,
    values: &'a mut [f32],
}

/// The round whose [`Purpose::Initialisation`] streams belong to clients; the ranker of round 0 has that of 0.
const START: u32 = 1;

impl ClientStates {
    /// States of clients that have never learnt.
    pub fn start(learner: &(impl OnlineLearner + ?Sized), initial: &[f32], n_clients: u32, streams: &Streams) -> Self {
        let len = learner.state_len();
        let mut values = vec![0.0; n_clients as usize * len];
        for (client, state) in values.chunks_exact_mut(len.max(1)).enumerate() {
            let mut private = streams.open(Purpose::Initialisation, client as u32, START);
            learner.start(client as u32, initial, &mut private, state);
        }
        Self { values, len }
    }

    pub fn of(&self, client: u32) -> &[f32] {
        &self.values[client as usize * self.len..][..self.len]
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    /// One stretch for each group of clients; groups and the clients in them are in rising order.
    pub fn stretches<'a>(&'a mut self, groups: impl Iterator<Item = &'a [u32]>) -> Vec<StateStretch<'a>> {
        let len = self.len;
        let (mut rest, mut n_before) = (self.values.as_mut_slice(), 0);
        let stretch = |group: &'a [u32]| {
            let (Some(&first), Some(&last)) = (group.first(), group.last()) else { return StateStretch::none() };
            let end = last + 1;
            let (start, end) = (first as usize * len - n_before, end as usize * len - n_before);
            let (before, behind) = std::mem::take(&mut rest).split_at_mut(end);
            (rest, n_before) = (behind, n_before + end);
            StateStretch { first, len, values: &mut before[start..] }
        };
        groups.map(stretch).collect()
    }
}

impl StateStretch<'_> {
    pub fn none() -> StateStretch<'static> {
        StateStretch { first: 0, len: 0, values: &mut [] }
    }

    pub fn of(&mut self, client: u32) -> &mut [f32] {
        if self.len == 0 {
            return &mut [];
        }
        &mut self.values[(client - self.first) as usize * self.len..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_disjoint_and_cover_their_groups() {
        let mut states = ClientStates { values: (0..20).map(|i| i as f32).collect(), len: 2 };
        let groups: [&[u32]; 4] = [&[0, 2], &[3], &[], &[6, 7, 9]];
        for (stretch, group) in states.stretches(groups.into_iter()).iter_mut().zip(groups) {
            for &client in group {
                assert_eq!(stretch.of(client), [2.0 * client as f32, 2.0 * client as f32 + 1.0]);
                stretch.of(client).fill(-1.0);
            }
        }
        assert_eq!((states.of(2), states.of(4), states.of(9)), (&[-1.0, -1.0][..], &[8.0, 9.0][..], &[-1.0, -1.0][..]));
        assert_eq!(states.n_bytes(), 80);
    }
}
