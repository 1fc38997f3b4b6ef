//! FOLtR-ES: evolution strategies on any metric of the clicks.
//!
//! `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019, section 3.2;
//! spec section 4. The client perturbs the global model in a random direction, shows what the perturbed model ranks, and
//! reports the direction's seed with what the users did.
//!
//! Deviation: the seed that is transmitted generates the perturbation and nothing else. The published code also draws
//! queries and clicks from it, which biases the gradient; that stream is available in the simulation, by name.

use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::{LearnerParameters, Learning, Lesson, OnlineLearner, Scheme, Update};
use crate::bytes::{BytesError, Reader, Writer};
use crate::metric::discount;
use crate::normal::fill_standard_normal;
use crate::parameter::{ParameterError, require};
use crate::params::Shape;
use crate::query::{Clicks, Impression, PREFETCH_PARTS, QueryView, Ranking};
use crate::ranker::Ranker;
use crate::rng::Stream;
use crate::select::ScoreBuffer;

/// The longest list that a client can report about: an outcome has a bit for each document.
pub const MAX_REPORTED: usize = 16;

/// What an interaction is worth, as a function of its clicks alone.
///
/// ```
/// use foltr_rank::Clicks;
/// use foltr_rank::learn::evolution::Reward;
///
/// let outcome = Reward::MaxRr.outcome(Clicks(0b0110));
/// assert_eq!((outcome, Reward::MaxRr.value(outcome)), (2, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reward {
    /// Reciprocal rank of the first click, 0 without a click: the highest reciprocal rank of all clicks.
    MaxRr,
    /// Sum over clicks of 1/log2(position + 2).
    ClickDcg,
    /// Click DCG with every term divided by the examination probability 1/(position + 1). Assumes a position-based user
    /// with eta = 1: under other users it is biased.
    ClickDcgDebiased,
    /// Mean over the clicks of their reciprocal ranks, 0 without a click.
    ReciprocalRank,
    /// Reciprocal rank of the last click, 0 without a click.
    LastRr,
    /// Number of clicks: the clickthrough rate times the length of the list.
    Clicks,
}

impl Reward {
    /// Number of different outcomes of an interaction with `n_shown` documents, for randomised response.
    pub const fn n_outcomes(self, n_shown: usize) -> usize {
        match self {
            Self::MaxRr | Self::LastRr | Self::Clicks => n_shown + 1,
            Self::ClickDcg | Self::ClickDcgDebiased | Self::ReciprocalRank => 1 << n_shown,
        }
    }

    /// The outcome of an interaction: the first or the last click (from 1; 0 is none) for [`Self::MaxRr`] and
    /// [`Self::LastRr`], their number for [`Self::Clicks`], else all clicks.
    #[inline]
    pub fn outcome(self, clicks: Clicks) -> u16 {
        match self {
            Self::MaxRr => clicks.first().map_or(0, |position| position as u16 + 1),
            Self::LastRr => clicks.last().map_or(0, |position| position as u16 + 1),
            Self::Clicks => clicks.0.count_ones() as u16,
            Self::ClickDcg | Self::ClickDcgDebiased | Self::ReciprocalRank => clicks.0 as u16,
        }
    }

    /// What an outcome is worth.
    #[inline]
    pub fn value(self, outcome: u16) -> f64 {
        let clicked = (0..MAX_REPORTED).filter(|position| outcome >> position & 1 == 1);
        match self {
            Self::MaxRr | Self::LastRr if outcome == 0 => 0.0,
            Self::MaxRr | Self::LastRr => 1.0 / f64::from(outcome),
            Self::Clicks => f64::from(outcome),
            Self::ClickDcg => clicked.map(discount).sum(),
            Self::ClickDcgDebiased => clicked.map(|position| discount(position) * (position + 1) as f64).sum(),
            Self::ReciprocalRank if outcome == 0 => 0.0,
            Self::ReciprocalRank => {
                clicked.map(|position| 1.0 / (position + 1) as f64).sum::<f64>() / f64::from(outcome.count_ones())
            }
        }
    }
}

/// The direction that a transmitted seed generates: standard normal, one number a parameter. Part of the protocol.
pub fn fill_direction(seed: u32, direction: &mut [f32]) {
    let mut stream = Stream::seed_from_u64(u64::from(seed));
    fill_standard_normal(&mut stream, direction);
}

/// FOLtR-ES as files name it: clients try perturbed rankers, the server follows what users liked (spec section 4).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EvolutionParameters {
    /// Standard deviation of the perturbation.
    pub sigma: f64,
    /// Whether every perturbation is also tried with opposite sign.
    pub antithetic: bool,
    /// What an interaction is worth.
    pub reward: Reward,
    /// Which random numbers drive queries and clicks.
    pub stream: EvolutionStream,
}

/// Which random numbers drive the queries and clicks of an evolution client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EvolutionStream {
    /// Independent of the transmitted seed.
    Separate,
    /// The published code's single generator, bit for bit; biases the gradient (spec section 4).
    Published,
}

impl LearnerParameters for EvolutionParameters {
    const SCHEME: Scheme = Scheme::Federated;

    fn check(&self) -> Vec<ParameterError> {
        require("sigma", self.sigma, self.sigma > 0.0, "a positive number").err().into_iter().collect()
    }

    fn client(&self, n_shown: usize, n_interactions: usize, _clip_radius: Option<f32>) -> Option<Learning> {
        let Self { sigma, antithetic, reward, stream } = *self;
        Some(Learning::Evolution {
            settings: EvolutionSettings { sigma: sigma as f32, antithetic, reward, n_interactions, n_shown },
            published_stream: stream == EvolutionStream::Published,
        })
    }
}

/// FOLtR-ES's settings on the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvolutionSettings {
    pub sigma: f32,
    /// Whether the second half of the interactions uses the mirrored perturbation.
    pub antithetic: bool,
    pub reward: Reward,
    /// Interactions of a round; even when antithetic.
    pub n_interactions: usize,
    pub n_shown: usize,
}

/// One client's FOLtR-ES learner.
#[derive(Clone, Debug)]
pub struct Evolution {
    settings: EvolutionSettings,
    plus: Ranker,
    minus: Ranker,
    /// For lists beyond those of the round.
    unperturbed: Ranker,
    seed: u32,
    direction: Vec<f32>,
    perturbed: Vec<f32>,
    /// Lists of the round that were ranked, whether or not their clicks are known.
    n_ranked: usize,
    /// Where the list ranked last came from.
    side: Option<Sign>,
    plus_outcomes: Vec<u16>,
    minus_outcomes: Vec<u16>,
    scores: ScoreBuffer,
}

/// A side of the perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

impl Evolution {
    /// A learner for rankers of this shape. Begin a round before use.
    pub fn new(shape: Shape, settings: EvolutionSettings) -> Self {
        Self {
            settings,
            plus: Ranker::new(shape),
            minus: Ranker::new(shape),
            unperturbed: Ranker::new(shape),
            seed: 0,
            direction: vec![0.0; shape.n_params()],
            perturbed: vec![0.0; shape.n_params()],
            n_ranked: 0,
            side: None,
            plus_outcomes: Vec::new(),
            minus_outcomes: Vec::new(),
            scores: ScoreBuffer::default(),
        }
    }

    /// Starts a round in a direction that `fill` writes instead of the protocol's [`fill_direction`].
    pub fn begin_with(&mut self, global: &[f32], seed: u32, fill: impl FnOnce(u32, &mut [f32])) {
        self.seed = seed;
        (self.n_ranked, self.side) = (0, None);
        self.plus_outcomes.clear();
        self.minus_outcomes.clear();
        self.unperturbed.load(global);
        fill(seed, &mut self.direction);
        let Self { settings: EvolutionSettings { sigma, antithetic, .. }, direction, perturbed, .. } = self;
        perturb(global, *sigma, direction, perturbed);
        self.plus.load(perturbed);
        if *antithetic {
            perturb(global, -*sigma, direction, perturbed);
            self.minus.load(perturbed);
        }
    }

    /// Interactions with the positive perturbation; they come first.
    fn n_plus(&self) -> usize {
        if self.settings.antithetic { self.settings.n_interactions / 2 } else { self.settings.n_interactions }
    }

    fn n_minus(&self) -> usize {
        self.settings.n_interactions - self.n_plus()
    }

    /// Where the next list comes from; none beyond the lists of the round.
    fn next_side(&self) -> Option<Sign> {
        if self.n_ranked < self.n_plus() {
            Some(Sign::Plus)
        } else if self.n_ranked < self.settings.n_interactions {
            Some(Sign::Minus)
        } else {
            None
        }
    }

    fn read_outcomes(&self, most: usize, input: &mut Reader<'_>) -> Result<Vec<u16>, BytesError> {
        let n = input.len(2)?;
        input.require(n <= most, "more outcomes than the round has")?;
        let EvolutionSettings { reward, n_shown, .. } = self.settings;
        let outcomes: Vec<u16> = (0..n).map(|_| input.u16()).collect::<Result<_, _>>()?;
        let is_sound = outcomes.iter().all(|&outcome| usize::from(outcome) < reward.n_outcomes(n_shown));
        input.require(is_sound, "an outcome that no list has")?;
        Ok(outcomes)
    }
}

fn perturb(global: &[f32], sigma: f32, direction: &[f32], perturbed: &mut [f32]) {
    for ((p, &g), &v) in perturbed.iter_mut().zip(global).zip(direction) {
        *p = g + sigma * v;
    }
}

impl OnlineLearner for Evolution {
    fn begin(&mut self, global: &[f32], public: &mut dyn Rng) {
        self.begin_with(global, public.next_u32(), fill_direction);
    }

    fn rank(&mut self, query: QueryView<'_>, _private: &mut dyn Rng, ranking: &mut Ranking) {
        self.side = self.next_side();
        self.n_ranked = self.n_ranked.saturating_add(1);
        let ranker = match self.side {
            Some(Sign::Plus) => &mut self.plus,
            Some(Sign::Minus) => &mut self.minus,
            None => &mut self.unperturbed,
        };
        ranker.score(query, self.scores.reset(query.n_docs()));
        (0..2).for_each(|part| query.prefetch(part));
        self.scores.select(self.settings.n_shown, ranking);
        (2..4).for_each(|part| query.prefetch(part));
    }

    fn observe(&mut self, impression: &Impression<'_>) {
        let side = match impression.lesson {
            None => self.side,
            Some(Lesson::Side(sign)) => Some(*sign),
            Some(_) => None,
        };
        let outcome = self.settings.reward.outcome(impression.clicks);
        match side {
            Some(Sign::Plus) if self.plus_outcomes.len() < self.n_plus() => self.plus_outcomes.push(outcome),
            Some(Sign::Minus) if self.minus_outcomes.len() < self.n_minus() => self.minus_outcomes.push(outcome),
            _ => {}
        }
        (6..PREFETCH_PARTS).for_each(|part| impression.query.prefetch(part));
    }

    fn finish(&mut self) -> Update<'_> {
        Update::Evolution { seed: self.seed, plus: &self.plus_outcomes, minus: &self.minus_outcomes }
    }

    fn lesson(&mut self, _ranking: &Ranking) -> Option<Lesson> {
        if !self.scores.is_finite() {
            // It will not be shown, so the next list takes its place.
            self.n_ranked = self.n_ranked.saturating_sub(1);
            return None;
        }
        Some(self.side.map_or(Lesson::Nothing, Lesson::Side))
    }

    fn n_interactions(&self) -> u32 {
        (self.plus_outcomes.len() + self.minus_outcomes.len()) as u32
    }

    fn save(&self, out: &mut Writer) {
        out.u32(self.seed).len(self.n_ranked);
        self.unperturbed.write(out);
        for outcomes in [&self.plus_outcomes, &self.minus_outcomes] {
            outcomes.iter().fold(out.len(outcomes.len()), |out, &outcome| out.u16(outcome));
        }
    }

    fn restore(&mut self, input: &mut Reader<'_>) -> Result<(), BytesError> {
        let (seed, n_ranked) = (input.u32()?, input.u64()?);
        self.unperturbed.read(input)?;
        let mut global = vec![0.0; self.direction.len()];
        self.unperturbed.store(&mut global);
        self.begin_with(&global, seed, fill_direction);
        self.n_ranked = usize::try_from(n_ranked).unwrap_or(usize::MAX);
        self.plus_outcomes = self.read_outcomes(self.n_plus(), input)?;
        self.minus_outcomes = self.read_outcomes(self.n_minus(), input)?;
        Ok(())
    }

    fn direction(&self) -> &[f32] {
        &self.direction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_of_two_clicks() {
        let clicks = Clicks::from_flags(&[false, true, false, true]);
        let value = |reward: Reward| reward.value(reward.outcome(clicks));
        assert_eq!(value(Reward::MaxRr), 0.5);
        assert_eq!(value(Reward::ReciprocalRank), 0.375);
        assert_eq!((value(Reward::LastRr), value(Reward::Clicks)), (0.25, 2.0));
        let (second, fourth) = (1.0 / 3_f64.log2(), 1.0 / 5_f64.log2());
        assert!((value(Reward::ClickDcg) - (second + fourth)).abs() < 1e-12);
        assert!((value(Reward::ClickDcgDebiased) - (2.0 * second + 4.0 * fourth)).abs() < 1e-12);
    }

    #[test]
    fn no_click_is_worth_nothing_and_every_list_has_an_outcome() {
        use Reward::{ClickDcg, ClickDcgDebiased, LastRr, MaxRr, ReciprocalRank};
        for reward in [MaxRr, ClickDcg, ClickDcgDebiased, ReciprocalRank, LastRr, Reward::Clicks] {
            assert_eq!(reward.value(reward.outcome(Clicks::default())), 0.0);
            for clicks in 0..1 << 6 {
                let outcome = reward.outcome(Clicks(clicks));
                assert!(usize::from(outcome) < reward.n_outcomes(6), "{reward:?}, {clicks:b}");
            }
        }
    }

    #[test]
    fn eleven_outcomes_of_max_rr_sum_to_the_tenth_harmonic_number() {
        assert_eq!(Reward::MaxRr.n_outcomes(10), 11);
        let sum: f64 = (0..11).map(|outcome| Reward::MaxRr.value(outcome)).sum();
        assert!((sum - 2.928_968_253_968_254).abs() < 1e-12);
    }
}
