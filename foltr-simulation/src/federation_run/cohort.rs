//! Who starts in a round, who joins it with a message, and whose message arrives.

use foltr_federation::participation::survivors;

use super::FederationRun;

#[derive(Debug)]
pub(super) struct Cohort {
    /// Clients that work, in rising order, each with the round that it will join.
    pub(super) starting: Vec<(u32, u32)>,
    /// Clients whose message is for this round, in rising order.
    pub(super) joining: Vec<u32>,
    /// Those of them whose message is not lost.
    pub(super) arrived: Vec<u32>,
}

impl Cohort {
    /// Clients (in rising order) that were drawn and do no work. The server waits for them all the same.
    pub(super) fn leave_out(&mut self, clients: &[u32]) {
        let is_in = |client: u32| clients.binary_search(&client).is_err();
        self.starting.retain(|&(client, _)| is_in(client));
        self.arrived.retain(|&client| is_in(client));
    }
}

impl FederationRun<'_> {
    /// The absent are taken out of what is drawn for all, so that everybody else draws the same numbers as with them.
    pub(super) fn cohort_of(&mut self, round: u32) -> Cohort {
        let settings = &self.settings;
        let mut drawn = settings.participation.draw(&self.streams, round, settings.n_clients);
        if settings.staleness.most > 0 {
            return self.stale_cohort(round, drawn);
        }
        let mut arrived = survivors(drawn.clone(), settings.dropout, &self.streams, round);
        if !settings.absent.is_empty() {
            for clients in [&mut drawn, &mut arrived] {
                clients.retain(|client| settings.absent.binary_search(client).is_err());
            }
        }
        // A device whose message is lost has moved its memory on all the same; without any nothing of it is left.
        let remembers = self.personal.is_some() || settings.defence.momentum.is_some();
        let works = if remembers { &drawn } else { &arrived };
        let starting = works.iter().map(|&client| (client, round)).collect();
        Cohort { starting, joining: drawn, arrived }
    }

    /// A slow client joins as many rounds later as it takes longer than a round. One that would be too late joins none,
    /// and is busy all the same.
    fn stale_cohort(&mut self, round: u32, drawn: Vec<u32>) -> Cohort {
        self.busy_until.resize(self.settings.n_clients as usize, None);
        let most = self.settings.staleness.most;
        let (mut starting, mut joining) = (Vec::new(), Vec::new());
        for client in drawn {
            let until = &mut self.busy_until[client as usize];
            if until.is_some_and(|until| until >= round) {
                continue;
            }
            let delay = self.clock.as_ref().map_or(0, |(speeds, _)| speeds.rounds_late(client, round));
            *until = Some(round.saturating_add(delay));
            if delay <= most {
                starting.push((client, round + delay));
            }
            if delay == 0 {
                joining.push(client);
            }
        }
        joining.extend(self.per_message.as_ref().map(|messages| messages.joining(round)).unwrap_or_default());
        joining.sort_unstable();
        let arrived = survivors(joining.clone(), self.settings.dropout, &self.streams, round);
        Cohort { starting, joining, arrived }
    }
}
