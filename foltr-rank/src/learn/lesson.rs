//! What an open impression remembers for its learner, beside its documents: clicks come when the learner has moved on.

use super::dueling::Duel;
use super::evolution::Sign;
use super::pdgd::{BoundedList, ListMass};
use crate::bytes::{BytesError, Reader, Writer};

/// What the list that was ranked last will teach when its clicks are known.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lesson {
    /// PDGD: preferences between pairs of its documents.
    Pairs(ListMass),
    /// The same of a list with bounded displacement.
    BoundedPairs(BoundedList),
    /// FOLtR-ES: what users think of one side of the round's perturbation.
    Side(Sign),
    /// DBGD and MGD: which rankers competed in it.
    Duel(Duel),
    /// Nothing: it belongs to no round of FOLtR-ES, or to one that is over.
    Nothing,
}

impl Lesson {
    /// The round is over, and with it the perturbation that a list came from. Pairs of documents stay true, and so do
    /// directions.
    pub(crate) fn outlive_round(&mut self) {
        if let Self::Side(_) = self {
            *self = Self::Nothing;
        }
    }

    /// Memory behind it.
    pub(crate) fn n_bytes(&self) -> usize {
        match self {
            Self::Pairs(mass) => mass.n_bytes(),
            Self::BoundedPairs(list) => list.n_bytes(),
            Self::Duel(duel) => duel.n_bytes(),
            Self::Side(_) | Self::Nothing => 0,
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        match self {
            Self::Nothing => out.u8(0),
            Self::Side(Sign::Plus) => out.u8(1),
            Self::Side(Sign::Minus) => out.u8(2),
            Self::Pairs(mass) => {
                out.u8(3);
                mass.write(out);
                out
            }
            Self::Duel(duel) => {
                out.u8(4);
                duel.write(out);
                out
            }
            Self::BoundedPairs(list) => {
                out.u8(5);
                list.write(out);
                out
            }
        };
    }

    pub(crate) fn read(n_shown: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        match input.u8()? {
            0 => Ok(Self::Nothing),
            1 => Ok(Self::Side(Sign::Plus)),
            2 => Ok(Self::Side(Sign::Minus)),
            3 => ListMass::read(n_shown, input).map(Self::Pairs),
            4 => Duel::read(n_shown, input).map(Self::Duel),
            5 => BoundedList::read(n_shown, input).map(Self::BoundedPairs),
            _ => Err(input.wrong("a lesson that no learner has")),
        }
    }
}
