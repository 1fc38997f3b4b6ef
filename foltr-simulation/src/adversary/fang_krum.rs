//! Fang's attack on Krum: as far against the honest direction as Krum still picks.
//!
//! `FCJG20` Fang, Cao, Jia, Gong: *Local Model Poisoning Attacks to Byzantine-Robust Federated Learning*, USENIX
//! Security 2020, section 4.2; spec section 13.2. All attackers send lambda s, with s the opposite of the signs of the
//! mean update and lambda halved from an upper bound until Krum, simulated by the attackers, picks them. If it never
//! does they send their honest updates. Multi-Krum is attacked in the same way.
//!
//! With full knowledge the simulation has the honest updates. With partial knowledge the attackers' own honest updates
//! stand in for them, against a growing number of copies, or a number in proportion (`SH21`'s code). The growing
//! simulation is easily too hopeful: copies that fill the neighbours of each other "win" at any distance.
//! A single attacker with partial knowledge cannot simulate anything and sends its honest update.
//!
//! Deviation: attackers send exact copies; the paper puts the others into a tiny ball around the first. Distances of
//! honest updates are computed once for all lambda, so that the search costs little more than one Krum.

use foltr_federation::ParameterError;
use foltr_federation::aggregate::Neighbours;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{mean_of, mean_of_both, sign, squared_distance, squared_distances, to_f32};
use crate::adversary::{Adversary, Own, Rows, Seen, require};

/// How Krum is simulated, and where the search begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FangKrum {
    /// Whether the simulated Krum adds squared distances.
    pub squared: bool,
    /// Neighbours in the simulated Krum, as that of the server counts them; "n-m-2" when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// Copies in the simulation with partial knowledge.
    pub simulation: Simulation,
    /// Upper bound with full knowledge.
    pub bound: Bound,
    /// The first lambda, instead of a bound from the updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// Where the search gives up.
    pub threshold: f64,
}

/// How attackers simulate Krum when they see only their own updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Simulation {
    /// One copy against all of the own updates, then two, up to one less than there are attackers.
    #[default]
    Growing,
    /// As many copies as keep the share of attackers, at least one.
    RatioKept,
}

/// The distances in the upper bound of lambda.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Root of the mean of squared distances.
    #[default]
    SquaredSum,
    /// Mean of distances.
    UnsquaredSum,
}

impl Default for FangKrum {
    /// The thesis's Krum; the search of the paper.
    fn default() -> Self {
        Self {
            squared: false,
            neighbours: None,
            simulation: Simulation::default(),
            bound: Bound::default(),
            start: None,
            threshold: 1e-5,
        }
    }
}

impl FangKrum {
    /// A squared distance as the simulated Krum counts it.
    fn counted(&self, square: f64) -> f64 {
        if self.squared { square } else { square.sqrt() }
    }

    /// Krum as the attackers can simulate it: on the honest updates if they see any, else on their own.
    pub(super) fn search<'a>(&self, seen: &Seen<'a>, own: Rows<'a>) -> Search<'a> {
        match seen.honest {
            Some(honest) if !honest.is_empty() => Search::new(self, honest, against(&mean_of_both(own, honest))),
            _ => Search::new(self, own, against(&mean_of(own))),
        }
    }
}

impl Adversary for FangKrum {
    fn check(&self) -> Result<(), ParameterError> {
        self.neighbours.map_or(Ok(()), Neighbours::check)?;
        require("threshold", self.threshold, self.threshold > 0.0, "positive and finite")?;
        let start = self.start.unwrap_or(1.0);
        require("start", start, start > 0.0, "positive and finite")
    }

    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let search = self.search(seen, own.rows());
        let lambda = match seen.honest {
            Some(honest) if !honest.is_empty() => search.with_full_knowledge(own.rows().len()),
            _ => search.with_partial_knowledge(seen.n_clients),
        };
        if let Some(malicious) = lambda.map(|lambda| to_f32(search.crafted(lambda))) {
            own.send_all(&malicious);
        }
    }
}

/// Minus the signs of a mean update; 0 where the mean says nothing.
pub(super) fn against(mean: &[f64]) -> Vec<f64> {
    mean.iter().map(|&mean| -sign(mean)).collect()
}

/// Krum on some updates and copies of one crafted update, for many lengths of that one.
pub(super) struct Search<'a> {
    settings: FangKrum,
    pub(super) rows: Rows<'a>,
    pub(super) direction: Vec<f64>,
    /// For every row, its squared distances to the others, from the nearest on.
    nearest: Vec<f64>,
    /// For every row, sums of the first 0, 1, 2, ... of these distances, squared or not as Krum counts them.
    sums: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(settings: &FangKrum, rows: Rows<'a>, direction: Vec<f64>) -> Self {
        let squares = squared_distances(rows);
        let (mut nearest, mut sums) = (Vec::with_capacity(squares.len()), Vec::with_capacity(squares.len()));
        for (row, line) in squares.chunks_exact(rows.len().max(1)).enumerate() {
            let start = nearest.len();
            nearest.extend(line.iter().enumerate().filter(|(other, _)| *other != row).map(|(_, square)| square));
            nearest[start..].sort_unstable_by(f64::total_cmp);
            let mut sum = 0.0;
            sums.push(sum);
            for &square in &nearest[start..] {
                sum += settings.counted(square);
                sums.push(sum);
            }
        }
        Self { settings: *settings, rows, direction, nearest, sums }
    }

    /// Squared distances of a row to the others, from the nearest on.
    fn nearest(&self, row: usize) -> &[f64] {
        let n_others = self.rows.len() - 1;
        &self.nearest[row * n_others..][..n_others]
    }

    fn crafted(&self, lambda: f64) -> impl Iterator<Item = f64> {
        self.direction.iter().map(move |sign| lambda * sign)
    }

    /// The rows are what honest clients send.
    pub(super) fn with_full_knowledge(&self, n_attackers: usize) -> Option<f64> {
        self.halve(self.settings.start.unwrap_or_else(|| self.upper_bound(n_attackers)), n_attackers)
    }

    /// The rows are what the attackers would send if they were honest.
    pub(super) fn with_partial_knowledge(&self, n_clients: usize) -> Option<f64> {
        let n_attackers = self.rows.len();
        if n_attackers < 2 {
            return None;
        }
        let start = self.settings.start.unwrap_or_else(|| self.reach());
        match self.settings.simulation {
            Simulation::Growing => (1..n_attackers).find_map(|n_copies| self.halve(start, n_copies)),
            Simulation::RatioKept => self.halve(start, (n_attackers * n_attackers / n_clients.max(1)).max(1)),
        }
    }

    /// The first of lambda, lambda/2, lambda/4, ... above the threshold for which Krum picks a copy.
    pub(super) fn halve(&self, start: f64, n_copies: usize) -> Option<f64> {
        let lambdas = std::iter::successors(Some(start), |lambda| Some(lambda / 2.0));
        let mut tried = lambdas.take_while(|&lambda| lambda > self.settings.threshold);
        tried.find(|&lambda| self.pick(lambda, n_copies) < n_copies)
    }

    /// Whom Krum picks: copies come first, then the rows; of equals the first.
    pub(super) fn pick(&self, lambda: f64, n_copies: usize) -> usize {
        let n_rows = self.rows.len();
        let neighbours = self.settings.neighbours.unwrap_or(Neighbours::OF_THE_PAPER);
        let n_neighbours = neighbours.of(n_rows + n_copies, n_copies);
        let crafted: Vec<f64> = self.crafted(lambda).collect();
        let squares: Vec<f64> = self.rows.iter().map(|row| squared_distance(row, &crafted)).collect();
        let mut sorted = squares.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        // Copies are at distance 0 of each other.
        let nearest = sorted.iter().take((n_neighbours + 1).saturating_sub(n_copies));
        let (mut pick, mut least) = (0, nearest.map(|&square| self.settings.counted(square)).sum::<f64>());
        for (row, &square) in squares.iter().enumerate() {
            let score = self.score(row, square, n_copies, n_neighbours);
            if score < least {
                (pick, least) = (n_copies + row, score);
            }
        }
        pick
    }

    /// Krum's score of a row at this squared distance from each of the copies.
    fn score(&self, row: usize, square: f64, n_copies: usize, n_neighbours: usize) -> f64 {
        let n_nearer = self.nearest(row).partition_point(|&other| other <= square).min(n_neighbours);
        let n_copies_near = n_copies.min(n_neighbours - n_nearer);
        let others = self.sums[row * self.rows.len() + n_neighbours - n_copies_near];
        others + n_copies_near as f64 * self.settings.counted(square)
    }

    /// No larger lambda can be picked: spec section 13.2.
    pub(super) fn upper_bound(&self, n_attackers: usize) -> f64 {
        let (n_rows, n_params) = (self.rows.len(), self.direction.len() as f64);
        let n_near = n_rows.saturating_sub(2).max(1);
        let divisor = n_rows.saturating_sub(n_attackers + 1).max(1) as f64;
        let near = |row, counted: fn(f64) -> f64| {
            self.nearest(row).iter().take(n_near).map(|&square| counted(square)).sum::<f64>()
        };
        let least = |counted| (0..n_rows).map(|row| near(row, counted)).fold(f64::INFINITY, f64::min);
        let spread = match self.settings.bound {
            Bound::SquaredSum => (least(|square| square) / (divisor * n_params)).sqrt(),
            Bound::UnsquaredSum => least(f64::sqrt) / (divisor * n_params.sqrt()),
        };
        spread + self.longest() / n_params.sqrt()
    }

    /// Where the search begins with partial knowledge: (longest update + largest distance) / sqrt(d).
    pub(super) fn reach(&self) -> f64 {
        let apart = self.nearest.iter().copied().fold(0.0, f64::max).sqrt();
        (self.longest() + apart) / (self.direction.len() as f64).sqrt()
    }

    fn longest(&self) -> f64 {
        let origin = vec![0.0; self.direction.len()];
        self.rows.iter().map(|row| squared_distance(row, &origin)).fold(0.0, f64::max).sqrt()
    }
}
