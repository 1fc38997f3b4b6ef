//! What the scores of all candidates say about one list: the mass of each shown document, and of all hidden ones.
//!
//! PDGD's pair weights need e^score of the shown documents and the sum over the hidden ones, of the model that ranked the
//! list. A loop that learns from a list as soon as it was ranked goes from scores to weights at once, and only for lists
//! whose clicks say something; an impression that stays open stores the masses, and weighs its pairs when it ends. Both do
//! the same operations in the same order and give the same bits.

use super::Preferences;
use super::pair_weights::{for_each_pair, for_each_pair_log, pair_weights, pair_weights_log, unclicked_considered};
use crate::bytes::{BytesError, Reader, Writer};
use crate::elementary::{exp_parts, ln_double, scale};
use crate::plackett_luce::maximum;
use crate::query::{Clicks, LANES, MAX_SHOWN, Ranking, SHORT_LIST};
use crate::select::ScoreBuffer;
use crate::simd::two_widths;

/// Scores that spread further than this are weighed in log space: beyond e^-700 a double has no normal numbers.
const LINEAR_RANGE: f32 = 600.0;

/// The masses of one list: all that its pair weights need of the scores.
#[derive(Clone, Debug, PartialEq)]
pub struct ListMass {
    /// Of the shown documents, by position.
    shown: Vec<f64>,
    hidden: f64,
    space: Space,
}

/// What a mass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    /// e^(score - best score).
    Linear,
    /// The score, and the log-sum-exp of the hidden ones, for scores whose exponentials a double cannot hold.
    Log,
}

impl ListMass {
    /// The masses of the list that these scores ranked.
    pub(super) fn new(scores: &ScoreBuffer, exponentials: &mut Vec<f64>, ranking: &Ranking) -> Self {
        let (scores, exponentials) = (scores.padded(), room_for(scores, exponentials));
        if let Some((shown, hidden)) = linear_masses(scores, exponentials, ranking) {
            return Self { shown: shown[..ranking.len()].to_vec(), hidden, space: Space::Linear };
        }
        let (shown, hidden) = shown_and_hidden_log(scores, exponentials, ranking);
        Self { shown: shown[..ranking.len()].to_vec(), hidden, space: Space::Log }
    }

    /// The scores of the shown documents up to a common summand, and the log-sum-exp of those of the hidden ones.
    pub(crate) fn log_scores(&self) -> (Vec<f64>, f64) {
        match self.space {
            Space::Linear => (self.shown.iter().map(|&mass| ln_mass(mass)).collect(), ln_mass(self.hidden)),
            Space::Log => (self.shown.clone(), self.hidden),
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        size_of::<f64>() * self.shown.capacity()
    }

    /// What [`position_weights`] gives.
    pub(super) fn position_weights(&self, clicks: Clicks, rate: f32, weights: &mut [f32; MAX_SHOWN]) {
        let Self { shown, hidden, space } = self;
        *weights = match space {
            Space::Linear => weigh_masses(shown, *hidden, clicks),
            Space::Log => pair_weights_log(shown, *hidden, clicks),
        };
        weights.iter_mut().for_each(|weight| *weight *= rate);
    }

    /// What [`add_preferences`] adds.
    pub(super) fn add_preferences(&self, clicks: Clicks, preferences: &mut Preferences) {
        match self.space {
            Space::Linear => prefer_masses(&self.shown, self.hidden, clicks, preferences),
            Space::Log => prefer_in_log_space(&self.shown, self.hidden, clicks, preferences),
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.u8((self.space == Space::Log).into()).f64s(&self.shown).u64(self.hidden.to_bits());
    }

    pub(crate) fn read(n_shown: usize, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let space = if input.bool()? { Space::Log } else { Space::Linear };
        let shown = input.f64s(n_shown)?;
        let hidden = f64::from_bits(input.u64()?);
        let is_sound = match space {
            Space::Linear => shown.iter().all(|&mass| mass > 0.0 && mass <= 1.0) && hidden >= 0.0 && hidden.is_finite(),
            Space::Log => hidden.is_finite() || hidden == f64::NEG_INFINITY,
        };
        input.require(is_sound, "a mass that no score has")?;
        Ok(Self { shown, hidden, space })
    }
}

fn ln_mass(mass: f64) -> f64 {
    match mass {
        0.0 => f64::NEG_INFINITY,
        1.0.. => ln_double(mass),
        _ => -ln_double(1.0 / mass),
    }
}

fn room_for<'a>(scores: &ScoreBuffer, exponentials: &'a mut Vec<f64>) -> &'a mut [f64] {
    let n_padded = scores.padded().len();
    if exponentials.len() < n_padded {
        exponentials.resize(n_padded, 0.0);
    }
    &mut exponentials[..n_padded]
}

/// Sets the weight of each shown document times the rate, by position, from the scores that ranked the list.
#[inline]
pub(super) fn position_weights(
    scores: &ScoreBuffer,
    exponentials: &mut Vec<f64>,
    (ranking, clicks): (&Ranking, Clicks),
    rate: f32,
    weights: &mut [f32; MAX_SHOWN],
) {
    let (scores, exponentials) = (scores.padded(), room_for(scores, exponentials));
    if ranking.len() <= SHORT_LIST
        && let Some(short) = weigh(scores, exponentials, ranking, clicks)
    {
        weights[..SHORT_LIST].copy_from_slice(&short.map(|weight| rate * weight));
        return;
    }
    let long = if ranking.len() > SHORT_LIST { weigh_long(scores, exponentials, ranking, clicks) } else { None };
    *weights = long.unwrap_or_else(|| weigh_in_log_space(scores, exponentials, ranking, clicks));
    weights.iter_mut().for_each(|weight| *weight *= rate);
}

/// Adds the pairs that the clicks on a list suggest, with the rho of the scores that ranked it.
pub(super) fn add_preferences(
    scores: &ScoreBuffer,
    exponentials: &mut Vec<f64>,
    ranking: &Ranking,
    clicks: Clicks,
    preferences: &mut Preferences,
) {
    let (scores, exponentials) = (scores.padded(), room_for(scores, exponentials));
    if !prefer(scores, exponentials, ranking, clicks, preferences) {
        let (shown, hidden) = shown_and_hidden_log(scores, exponentials, ranking);
        prefer_in_log_space(&shown[..ranking.len()], hidden, clicks, preferences);
    }
}

two_widths! {
    /// Pair weights in linear space; nothing if the scores spread too far for it. Scores come in whole blocks.
    fn weigh(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking, clicks: Clicks) -> Option<[f32; SHORT_LIST]> {
        let (shown, hidden) = shown_and_hidden::<SHORT_LIST>(scores, exponentials, ranking)?;
        Some(pair_weights(&shown[..ranking.len()], hidden, clicks))
    }
}

two_widths! {
    /// [`weigh`] for lists of any length.
    fn weigh_long(
        scores: &[f32],
        exponentials: &mut [f64],
        ranking: &Ranking,
        clicks: Clicks,
    ) -> Option<[f32; MAX_SHOWN]> {
        let (shown, hidden) = shown_and_hidden::<MAX_SHOWN>(scores, exponentials, ranking)?;
        Some(pair_weights(&shown[..ranking.len()], hidden, clicks))
    }
}

two_widths! {
    fn linear_masses(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking) -> Option<([f64; MAX_SHOWN], f64)> {
        shown_and_hidden(scores, exponentials, ranking)
    }
}

two_widths! {
    fn weigh_masses(shown: &[f64], hidden: f64, clicks: Clicks) -> [f32; MAX_SHOWN] {
        if shown.len() > SHORT_LIST {
            return pair_weights(shown, hidden, clicks);
        }
        let mut weights = [0.0; MAX_SHOWN];
        weights[..SHORT_LIST].copy_from_slice(&pair_weights::<SHORT_LIST>(shown, hidden, clicks));
        weights
    }
}

#[cold]
fn weigh_in_log_space(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking, clicks: Clicks) -> [f32; MAX_SHOWN] {
    let (shown, hidden) = shown_and_hidden_log(scores, exponentials, ranking);
    pair_weights_log(&shown[..ranking.len()], hidden, clicks)
}

two_widths! {
    /// Collects pairs and their rho in linear space; says whether the scores allow that.
    fn prefer(
        scores: &[f32],
        exponentials: &mut [f64],
        ranking: &Ranking,
        clicks: Clicks,
        preferences: &mut Preferences,
    ) -> bool {
        let Some((shown, hidden)) = shown_and_hidden::<MAX_SHOWN>(scores, exponentials, ranking) else { return false };
        add_pairs(&shown[..ranking.len()], hidden, clicks, preferences);
        true
    }
}

two_widths! {
    fn prefer_masses(shown: &[f64], hidden: f64, clicks: Clicks, preferences: &mut Preferences) {
        add_pairs(shown, hidden, clicks, preferences);
    }
}

#[inline(always)]
fn add_pairs(shown: &[f64], hidden: f64, clicks: Clicks, preferences: &mut Preferences) {
    let mut add = |clicked: usize, unclicked: usize, inverse_rho: f64| {
        preferences.add(clicked, unclicked, 1.0 / inverse_rho);
    };
    if shown.len() <= SHORT_LIST {
        for_each_pair::<SHORT_LIST>(shown, hidden, clicks, &mut add);
    } else {
        for_each_pair::<MAX_SHOWN>(shown, hidden, clicks, &mut add);
    }
}

fn prefer_in_log_space(shown: &[f64], hidden: f64, clicks: Clicks, preferences: &mut Preferences) {
    let considered = unclicked_considered(clicks, shown.len());
    for_each_pair_log(shown, hidden, clicks, considered, |clicked, unclicked, inverse_rho| {
        preferences.add(clicked, unclicked, 1.0 / inverse_rho);
    });
}

/// e^score of every shown document, and the sum over all others; nothing if the scores spread too far for it.
#[inline(always)]
fn shown_and_hidden<const N: usize>(
    scores: &[f32],
    exponentials: &mut [f64],
    ranking: &Ranking,
) -> Option<([f64; N], f64)> {
    let best = maximum(scores);
    if best - minimum(scores) > LINEAR_RANGE {
        return None;
    }
    exponentiate(scores, best, exponentials);
    let mut shown = [0.0; N];
    for (weight, &doc) in shown.iter_mut().zip(ranking.docs()) {
        *weight = std::mem::take(&mut exponentials[doc as usize]);
    }
    // Summed without the shown documents, never subtracted: the rest may be far smaller than the whole.
    Some((shown, sum(exponentials)))
}

/// The sum of whole blocks.
#[inline(always)]
fn sum(exponentials: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for block in exponentials.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] += block[lane];
        }
    }
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}

/// The smallest of the scores, the padding's negative infinity aside.
#[inline(always)]
fn minimum(padded: &[f32]) -> f32 {
    let mut lanes = [f32::INFINITY; LANES];
    for block in padded.chunks_exact(LANES) {
        for lane in 0..LANES {
            let score = if block[lane] == f32::NEG_INFINITY { f32::INFINITY } else { block[lane] };
            lanes[lane] = if score < lanes[lane] { score } else { lanes[lane] };
        }
    }
    lanes.iter().fold(f32::INFINITY, |a, &b| if b < a { b } else { a })
}

/// e^(score - best) for whole blocks. Padding becomes e^-700, which is nothing beside any score in the linear range.
#[inline(always)]
fn exponentiate(scores: &[f32], best: f32, exponentials: &mut [f64]) {
    for (block, out) in scores.chunks_exact(LANES).zip(exponentials.chunks_exact_mut(LANES)) {
        let (mut exponents, mut fractions) = ([0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let below = block[lane] - best;
            let below = if below > -700.0 { below } else { -700.0 };
            (exponents[lane], fractions[lane]) = exp_parts(below);
        }
        for lane in 0..LANES {
            out[lane] = scale(exponents[lane], fractions[lane]);
        }
    }
}

/// The scores of the shown documents, and the log-sum-exp of all others. Scores come in whole blocks.
fn shown_and_hidden_log(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking) -> ([f64; MAX_SHOWN], f64) {
    let mut shown = [0.0; MAX_SHOWN];
    for (score, &doc) in shown.iter_mut().zip(ranking.docs()) {
        *score = f64::from(scores[doc as usize]);
    }
    (shown, hidden_log(scores, exponentials, ranking))
}

two_widths! {
    /// Relative to the best document that is not shown: what is far below it is nothing beside it. Negative infinity if
    /// everything is shown.
    fn hidden_log(scores: &[f32], exponentials: &mut [f64], ranking: &Ranking) -> f64 {
        exponentials.iter_mut().zip(scores).for_each(|(hidden, &score)| *hidden = f64::from(score));
        for &doc in ranking.docs() {
            exponentials[doc as usize] = f64::NEG_INFINITY;
        }
        let best = maximum_double(exponentials);
        if best == f64::NEG_INFINITY {
            return best;
        }
        for block in exponentials.as_chunks_mut::<LANES>().0 {
            exponentiate_double(block, best);
        }
        best + ln_double(sum(exponentials))
    }
}

/// The largest number, whole blocks at a time.
#[inline(always)]
fn maximum_double(values: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for block in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            lanes[lane] = if block[lane] > lanes[lane] { block[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a })
}

/// e^(value - best), with the digits of single precision.
#[inline(always)]
fn exponentiate_double(block: &mut [f64; LANES], best: f64) {
    let (mut exponents, mut fractions) = ([0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        let below = (block[lane] - best) as f32;
        let below = if below > -700.0 { below } else { -700.0 };
        (exponents[lane], fractions[lane]) = exp_parts(below);
    }
    for lane in 0..LANES {
        block[lane] = scale(exponents[lane], fractions[lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair_weights::log_add_exp;
    use super::*;

    #[test]
    fn what_is_hidden_is_summed_at_any_range_of_scores() {
        for spread in [0.0, 3.0, 700.0, 5e4, 1e30] {
            for n_docs in [3, 10, 11, 40, 123] {
                let mut scores = ScoreBuffer::default();
                let values: Vec<f32> =
                    (0..n_docs).map(|doc| ((doc * 37 % 101) as f32 - 50.0) * spread / 50.0).collect();
                scores.reset(n_docs).copy_from_slice(&values);
                let mut ranking = Ranking::default();
                scores.select(10, &mut ranking);
                let mut exponentials = vec![1.0; scores.padded().len()];
                let hidden = hidden_log(scores.padded(), &mut exponentials, &ranking);
                let is_hidden = |doc: &usize| !ranking.docs().contains(&(*doc as u32));
                let add = |sum, doc: usize| log_add_exp(sum, f64::from(values[doc]));
                let want = (0..n_docs).filter(is_hidden).fold(f64::NEG_INFINITY, add);
                assert!(hidden == want || (hidden - want).abs() < 1e-6, "{n_docs}, {spread}: {hidden} is not {want}");
            }
        }
    }

    /// Documents with scores that spread so far, and the list of the best of them.
    fn ranked(n_docs: usize, n_shown: usize, spread: f32) -> (ScoreBuffer, Ranking) {
        let mut scores = ScoreBuffer::default();
        for (doc, score) in scores.reset(n_docs).iter_mut().enumerate() {
            *score = ((doc * 37 % 101) as f32 - 50.0) * spread / 50.0;
        }
        let mut ranking = Ranking::default();
        scores.select(n_shown, &mut ranking);
        (scores, ranking)
    }

    #[test]
    fn stored_masses_weigh_pairs_as_the_scores_do() {
        let mut exponentials = Vec::new();
        for (n_docs, n_shown) in [(1, 10), (7, 10), (41, 10), (41, 16), (41, 17), (150, 100)] {
            for spread in [0.5, 30.0, 400.0, 1e30] {
                let (scores, ranking) = ranked(n_docs, n_shown, spread);
                let mass = ListMass::new(&scores, &mut exponentials, &ranking);
                for clicks in [0, 1, 0b10, 0b101, 1 << 9 | 1, 1 << 16 | 1 << 3, 1 << 99] {
                    let clicks = Clicks(clicks & ((1 << ranking.len()) - 1));
                    let (mut ours, mut expected) = ([0.0; MAX_SHOWN], [0.0; MAX_SHOWN]);
                    mass.position_weights(clicks, 0.3, &mut ours);
                    position_weights(&scores, &mut exponentials, (&ranking, clicks), 0.3, &mut expected);
                    assert_eq!(ours, expected, "{n_docs}, {n_shown}, {spread}, {clicks:?}");
                    let (mut ours, mut expected) = (Preferences::default(), Preferences::default());
                    mass.add_preferences(clicks, &mut ours);
                    add_preferences(&scores, &mut exponentials, &ranking, clicks, &mut expected);
                    assert_eq!(ours, expected, "{n_docs}, {n_shown}, {spread}, {clicks:?}");
                }
            }
        }
    }

    #[test]
    fn masses_are_bytes_and_back() {
        for (n_docs, spread) in [(5, 1.0), (5, 1e30), (41, 1.0), (41, 1e30)] {
            let (scores, ranking) = ranked(n_docs, 10, spread);
            let mass = ListMass::new(&scores, &mut Vec::new(), &ranking);
            let mut out = Writer::default();
            mass.write(&mut out);
            assert_eq!(ListMass::read(ranking.len(), &mut Reader::new(&out.0)), Ok(mass));
        }
        let mut no_mass = Writer::default();
        no_mass.u8(0).f64s(&[0.0, 1.0]);
        no_mass.f64(1.0);
        assert!(ListMass::read(2, &mut Reader::new(&no_mass.0)).is_err());
    }
}
