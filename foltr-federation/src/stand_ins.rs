//! The last message of every client, which stands in for it in a round in which none comes.
//!
//! `GHZH21` Gu, Huang, Zhang, Huang: *Fast Federated Learning in the Presence of Arbitrary Device Unavailability*, NeurIPS
//! 2021 (MIFA): the server keeps the newest update of every device, and averages it again while the device is away.
//!
//! Here it is for a robust rule, which reckons with m attackers among n messages. With fewer messages it would have to
//! reckon with fewer attackers: those who wait for a round in which honest messages are lost are then too many for it.
//! A server that skips such rounds is stopped by clients that stay away. With stand-ins n and m are what they were.
//!
//! Deviations: only clients that were drawn into the round have a stand-in, and a round in which nobody sends anything
//! moves nothing. A message that is too old, or that never came, is the zero vector, as heavy as the heaviest message of
//! the round. Messages that are too old are forgotten, so that memory follows the clients of the last rounds and not all.

use std::collections::BTreeMap;

/// The messages that may still stand in for later ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StandIns {
    by_client: BTreeMap<u32, LastMessage>,
}

/// What a client sent last, as the rule saw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastMessage {
    pub round: u32,
    pub weight: f64,
    pub values: Vec<f32>,
}

impl StandIns {
    pub fn len(&self) -> usize {
        self.by_client.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_client.is_empty()
    }

    pub fn of(&self, client: u32) -> Option<&LastMessage> {
        self.by_client.get(&client)
    }

    #[cfg(test)]
    pub(crate) fn of_mut(&mut self, client: u32) -> Option<&mut LastMessage> {
        self.by_client.get_mut(&client)
    }

    /// Clients and their last messages, in client order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &LastMessage)> {
        self.by_client.iter().map(|(&client, last)| (client, last))
    }

    pub fn erase(&mut self, clients: &[u32]) {
        for client in clients {
            self.by_client.remove(client);
        }
    }

    /// Remembers a message. Memory for it is taken from `spare` where there is some.
    pub(crate) fn remember(&mut self, client: u32, head: (u32, f64), values: &[f32], spare: &mut Vec<Vec<f32>>) {
        let new = || LastMessage { values: spare.pop().unwrap_or_default(), ..LastMessage::default() };
        let last = self.by_client.entry(client).or_insert_with(new);
        (last.round, last.weight) = head;
        last.values.clear();
        last.values.extend_from_slice(values);
    }

    /// Forgets what came before a round, and leaves its memory in `spare`.
    pub(crate) fn forget_before(&mut self, round: u32, spare: &mut Vec<Vec<f32>>) {
        self.by_client.retain(|_, last| {
            let is_kept = last.round >= round;
            if !is_kept {
                spare.push(std::mem::take(&mut last.values));
            }
            is_kept
        });
    }
}

impl FromIterator<(u32, LastMessage)> for StandIns {
    fn from_iter<I: IntoIterator<Item = (u32, LastMessage)>>(messages: I) -> Self {
        Self { by_client: messages.into_iter().collect() }
    }
}
