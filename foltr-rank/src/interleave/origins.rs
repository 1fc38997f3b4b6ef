//! Whose documents are in an interleaved list, and what clicks on it say about two rankers.

use super::MAX_RANKERS;
use crate::bytes::{BytesError, Reader, Writer};
use crate::query::{Clicks, MAX_SHOWN};

/// For each position of a list, the probability of each ranker to have contributed its document, given the list. After a
/// team draft that is known: 1 for one ranker and 0 for the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origins {
    n_rankers: usize,
    /// Position after position, a number for each ranker.
    shares: Vec<f32>,
}

impl Origins {
    pub(super) fn reset(&mut self, n_rankers: usize, n_shown: usize) -> &mut [f32] {
        self.n_rankers = n_rankers;
        self.shares.resize(n_rankers * n_shown, 0.0);
        &mut self.shares
    }

    pub const fn n_rankers(&self) -> usize {
        self.n_rankers
    }

    /// Length of the list.
    pub fn n_shown(&self) -> usize {
        self.shares.len().checked_div(self.n_rankers).unwrap_or(0)
    }

    /// How likely it is that the document at a position came from a ranker.
    ///
    /// # Panics
    /// If there is no such position or ranker.
    pub fn share(&self, position: usize, ranker: usize) -> f32 {
        assert!(ranker < self.n_rankers, "ranker {ranker} is none of {}", self.n_rankers);
        self.shares[position * self.n_rankers + ranker]
    }

    /// The probability that more of the clicked documents came from `one` than from `other`, minus the probability of the
    /// opposite: from -1 to 1, and 0 for a tie (HWR11 Eqs. 4 and 5, without enumerating assignments).
    ///
    /// # Panics
    /// If there is no such ranker.
    pub fn preference(&self, clicks: Clicks, one: usize, other: usize) -> f64 {
        // At `centre + d` the probability that `one` has d clicks more than `other`.
        const CENTRE: usize = MAX_SHOWN + 1;
        let mut law = [0.0_f64; 2 * CENTRE + 1];
        law[CENTRE] = 1.0;
        let mut n_clicks = 0;
        for position in (0..self.n_shown()).filter(|&position| clicks.at(position)) {
            n_clicks += 1;
            let (up, down) = (f64::from(self.share(position, one)), f64::from(self.share(position, other)));
            let stay = (1.0 - (up + down)).max(0.0);
            let mut below = 0.0;
            for i in CENTRE - n_clicks..=CENTRE + n_clicks {
                let here = law[i];
                // In this order of additions a law of equals stays symmetric to the last bit, so that equals tie.
                law[i] = here * stay + (below * up + law[i + 1] * down);
                below = here;
            }
        }
        (1..=n_clicks).map(|d| law[CENTRE + d] - law[CENTRE - d]).sum()
    }

    pub(crate) fn n_bytes(&self) -> usize {
        size_of::<f32>() * self.shares.capacity()
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u8(self.n_rankers as u8).f32s(&self.shares);
    }

    /// Of a list of `n_shown` documents.
    pub(crate) fn read(n_shown: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let n_rankers = usize::from(input.u8()?);
        input.require((1..=MAX_RANKERS).contains(&n_rankers), "a list of no ranker, or of too many")?;
        let shares = input.f32s(n_shown * n_rankers)?;
        let is_sound = shares.iter().all(|share| (0.0..=1.0).contains(share));
        input.require(is_sound, "a document that came from nowhere")?;
        Ok(Self { n_rankers, shares })
    }
}
