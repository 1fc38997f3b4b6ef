//! Who took part in a round: a list, or everybody but a list, whichever is shorter.

use super::HistoryError;
use super::bytes::Reader;
use crate::writer::Writer;

/// Clients of a round. A round of everybody takes as little as a round of nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Participants {
    n_clients: u32,
    /// Whether those who are listed took part, or all others.
    are_listed: bool,
    /// In rising order.
    listed: Box<[u32]>,
}

impl Participants {
    /// These of so many clients, in rising order.
    pub(super) fn new(clients: &[u32], n_clients: u32) -> Self {
        let are_known = clients.is_sorted_by(|a, b| a < b) && clients.last().is_none_or(|&last| last < n_clients);
        assert!(are_known, "participants are some of the {n_clients} clients, in rising order: {clients:?}");
        let are_listed = is_short(clients.len(), n_clients);
        let listed = if are_listed { clients.into() } else { others(clients, n_clients) };
        Self { n_clients, are_listed, listed }
    }

    pub fn contains(&self, client: u32) -> bool {
        client < self.n_clients && self.are_listed == self.listed.binary_search(&client).is_ok()
    }

    pub fn count(&self) -> usize {
        let n_listed = self.listed.len();
        if self.are_listed { n_listed } else { self.n_clients as usize - n_listed }
    }

    /// Whether clients that are not [listed](Self::listed) took part, and not those that are.
    pub(super) const fn is_all_but_listed(&self) -> bool {
        !self.are_listed
    }

    pub(super) fn listed(&self) -> &[u32] {
        &self.listed
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.u8(self.are_listed.into()).u32(self.listed.len() as u32).u32s(&self.listed);
    }

    pub(super) fn read(input: &mut Reader<'_>, n_clients: u32) -> Result<Self, HistoryError> {
        let (are_listed, listed) = (input.bool()?, input.many(4, Reader::u32)?);
        input.require_clients(listed.iter().copied(), n_clients)?;
        let n = if are_listed { listed.len() } else { n_clients as usize - listed.len() };
        input.require(is_short(n, n_clients) == are_listed, "participants that are not listed in the shorter way")?;
        Ok(Self { n_clients, are_listed, listed: listed.into() })
    }
}

/// Whether a list of so many is no longer than that of the others.
fn is_short(n: usize, n_clients: u32) -> bool {
    2 * n <= n_clients as usize
}

fn others(clients: &[u32], n_clients: u32) -> Box<[u32]> {
    if clients.len() == n_clients as usize {
        return Box::default();
    }
    let mut clients = clients.iter().copied().peekable();
    (0..n_clients).filter(|client| clients.next_if_eq(client).is_none()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_list_is_stored_and_says_the_same() {
        for n_clients in 0..6_u32 {
            for bits in 0..1_u32 << n_clients {
                let clients: Vec<u32> = (0..n_clients).filter(|client| bits >> client & 1 == 1).collect();
                let all = Participants::new(&clients, n_clients);
                assert!(all.listed().len() <= n_clients as usize / 2, "{clients:?}");
                assert_eq!(all.count(), clients.len());
                (0..8).for_each(|client| assert_eq!(all.contains(client), clients.contains(&client), "{clients:?}"));
                let mut out = Writer::default();
                all.write(&mut out);
                assert_eq!(Participants::read(&mut Reader::new(&out.0), n_clients), Ok(all));
            }
        }
        // Three of four are listed as the one who did not come.
        let mut long = Writer::default();
        long.u8(1).u32(3).u32s(&[0, 1, 2]);
        assert!(Participants::read(&mut Reader::new(&long.0), 4).is_err());
    }

    #[test]
    fn a_million_clients_of_every_round_are_small() {
        let everyone: Vec<u32> = (0..1_000_000).collect();
        let all = Participants::new(&everyone, 1_000_000);
        assert_eq!((all.listed().len(), all.count()), (0, 1_000_000));
    }
}
