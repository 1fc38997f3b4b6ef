//! Which of two rankers users prefer: wins over many interleaved lists, the mean preference, and whether it can be chance.

use crate::bytes::{BytesError, Reader, Writer};
use crate::elementary::{exp_double, ln_double};

/// Standard normal quantile of .975.
const TWO_SIDED_95: f64 = 1.959_963_984_540_054;

/// What the clicks on many lists say about two rankers, the first and the second.
///
/// ```
/// use foltr_rank::interleave::InterleavedComparison;
///
/// let mut comparison = InterleavedComparison::default();
/// [1.0, 1.0, 0.0, 1.0, -1.0, 1.0].into_iter().for_each(|preference| comparison.add(preference));
/// assert_eq!((comparison.wins, comparison.losses, comparison.ties()), (4, 1, 1));
/// assert_eq!(comparison.mean(), 0.5);
/// // Of five tosses at most one is tails with probability 6/32, and at most one heads with the same.
/// assert!((comparison.sign_test() - 12.0 / 32.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterleavedComparison {
    pub n_lists: u64,
    /// Lists on which the first ranker was preferred.
    pub wins: u64,
    /// Lists on which the second ranker was preferred.
    pub losses: u64,
    pub(super) sum: f64,
    pub(super) squares: f64,
}

impl InterleavedComparison {
    /// Counts a list, with the [preference](super::Origins::preference) of its clicks for the first ranker.
    pub fn add(&mut self, preference: f64) {
        self.n_lists += 1;
        self.wins += u64::from(preference > 0.0);
        self.losses += u64::from(preference < 0.0);
        self.sum += preference;
        self.squares += preference * preference;
    }

    /// Lists that decide nothing: without a click, or with as many for each.
    pub const fn ties(&self) -> u64 {
        self.n_lists - self.wins - self.losses
    }

    /// The mean preference for the first ranker, from -1 to 1; 0 without lists.
    pub fn mean(&self) -> f64 {
        if self.n_lists == 0 { 0.0 } else { self.sum / self.n_lists as f64 }
    }

    /// Of the mean over independent lists; infinite with less than two.
    pub fn standard_error(&self) -> f64 {
        let n = self.n_lists as f64;
        if self.n_lists < 2 {
            return f64::INFINITY;
        }
        ((self.squares - self.sum * self.sum / n).max(0.0) / (n - 1.0) / n).sqrt()
    }

    /// The mean preference with probability .95, by the normal law.
    pub fn interval(&self) -> (f64, f64) {
        let half = TWO_SIDED_95 * self.standard_error();
        ((self.mean() - half).max(-1.0), (self.mean() + half).min(1.0))
    }

    /// The probability of wins and losses at least as uneven if users preferred neither: the exact two-sided sign test,
    /// without ties. For lists of a team draft, where each outcome is as likely as the opposite one; probabilistic lists are
    /// only fair on average, so that their mean and its interval are to be asked.
    pub fn sign_test(&self) -> f64 {
        let (n, k) = (self.wins + self.losses, self.wins.min(self.losses));
        // ln of C(n, k) / 2^n, the largest term of the tail.
        let ln_choose: f64 = (0..k).map(|i| ln_double((n - i) as f64 / (i + 1) as f64)).sum();
        let largest = exp_double(ln_choose - n as f64 * std::f64::consts::LN_2);
        let (mut term, mut sum) = (1.0, 1.0);
        for i in (1..=k).rev() {
            term *= i as f64 / (n - i + 1) as f64;
            sum += term;
        }
        (2.0 * largest * sum).min(1.0)
    }

    /// For a device that goes on counting.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.n_lists).u64(self.wins).u64(self.losses).f64(self.sum).f64(self.squares);
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BytesError> {
        let mut input = Reader::new(bytes);
        let (n_lists, wins, losses) = (input.u64()?, input.u64()?, input.u64()?);
        let (sum, squares) = (input.f64()?, input.f64()?);
        let is_sound = wins.checked_add(losses).is_some_and(|decided| decided <= n_lists);
        input.require(is_sound, "more lists decided than shown")?;
        let most = n_lists as f64;
        input.require(sum.abs() <= most && (0.0..=most).contains(&squares), "preferences beyond -1 to 1")?;
        input.finish()?;
        Ok(Self { n_lists, wins, losses, sum, squares })
    }
}
