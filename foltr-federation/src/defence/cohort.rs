//! How many attackers come to a round, where rounds are samples of all clients: the m that a rule has to reckon with.
//!
//! The attackers in a sample without replacement have a hypergeometric law. Patient attackers wait for the one round in
//! which more than m of them are drawn, so that m must hold in all rounds: by the union bound, more than m come to some
//! round with at most the number of rounds times the tail of one round.

use serde::{Deserialize, Serialize};
use statrs::distribution::{DiscreteCDF, Hypergeometric};

use super::Defence;
use crate::Participation;
use crate::aggregate::{Aggregation, Radius};

/// The probability, over a whole run, with which more attackers may come than a rule reckons with. A single such round
/// can ruin a ranker, so that it must stay rare even over many federations: of a thousand, one in a thousand meets it.
pub const ROUND_RISK: f64 = 1e-6;

/// Attackers among the clients of a federation, and how its rounds are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cohorts {
    pub n_clients: u32,
    /// Among all clients, drawn or not.
    pub attackers: u32,
    pub participation: Participation,
    pub n_rounds: u32,
}

impl Cohorts {
    /// The number m of attackers for which a rule has to be set up: with at most this probability (such as
    /// [`ROUND_RISK`]) does any round have more. All attackers, where everyone takes part.
    pub fn attackers_to_expect(&self, risk: f64) -> u32 {
        let (mut low, mut high) = (0, self.attackers.min(self.size()));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.bound(middle) <= risk {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The probability that more than m attackers come to some round. Rounds are drawn independently.
    pub fn more_than(&self, m: u32) -> f64 {
        // 1 - (1 - p)^rounds, without losing a small p.
        -(f64::from(self.n_rounds) * (-self.more_than_in_one_round(m)).ln_1p()).exp_m1()
    }

    /// The union bound on the same.
    fn bound(&self, m: u32) -> f64 {
        (f64::from(self.n_rounds) * self.more_than_in_one_round(m)).min(1.0)
    }

    fn more_than_in_one_round(&self, m: u32) -> f64 {
        let attackers = self.attackers.min(self.n_clients);
        match self.participation {
            Participation::Sample(size) => {
                let draws = size.min(self.n_clients);
                // A sum of positive terms from the far end: small tails keep their digits.
                let law = Hypergeometric::new(self.n_clients.into(), attackers.into(), draws.into());
                law.map_or(1.0, |law| law.sf(m.into()))
            }
            // Coins are the clients' own: attackers come when they like.
            Participation::Everyone | Participation::PoissonSampling(_) => f64::from(u8::from(attackers > m)),
        }
    }

    /// The most attackers among all clients for whom m holds in every round, but for this risk.
    pub fn most_attackers_held(&self, m: u32, risk: f64) -> u32 {
        let holds = |attackers: u32| Self { attackers, ..*self }.bound(m) <= risk;
        let (mut low, mut high) = (0, self.n_clients);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if holds(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// The most clients that a round can have.
    pub fn size(&self) -> u32 {
        self.participation.most(self.n_clients)
    }
}

impl Defence {
    /// The least number of clients of a round in which a rule of this kind, and mixing where there is some, can hold
    /// against m attackers. None for a rule that promises nothing for any number of attackers.
    pub fn clients_to_hold(&self, m: u32) -> Option<usize> {
        let to_mix = self.mixing.map_or(0, |_| clients_to_mix(m));
        let of_rule = match (self.rule, self.bound) {
            // A mean of messages that are no longer than an honest one, as long as most are honest.
            (Aggregation::SpectralFilter(_), Some(Radius::Median)) => {
                Some((m as usize).saturating_mul(2).saturating_add(1))
            }
            (rule, _) => rule.clients_to_hold(m),
        };
        of_rule.map(|least| least.max(to_mix))
    }

    pub fn can_hold(&self, m: u32, n_clients: usize) -> bool {
        self.clients_to_hold(m).is_some_and(|least| least <= n_clients)
    }

    /// The number of attackers in a round of so many clients with which this defence reckons: the least number of its
    /// parts. None if no part reckons with any.
    pub fn assumed_attackers(&self, n_clients: usize) -> Option<u32> {
        self.rule.assumed_attackers(n_clients).into_iter().chain(self.mixing).min()
    }
}

/// Mixing over the n - m nearest bounds anything only if most of them are honest.
pub(crate) const fn clients_to_mix(m: u32) -> usize {
    (m as usize).saturating_mul(2).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Bulyan, FlTrust, Krum, Median, SpectralFilter, TrimmedMean};

    /// A fifth of 1,000 clients attacks, 100 are drawn for a round.
    const CROSS_DEVICE: Cohorts =
        Cohorts { n_clients: 1000, attackers: 200, participation: Participation::Sample(100), n_rounds: 3000 };

    fn assert_near(ours: f64, reference: f64) {
        assert!((ours / reference - 1.0).abs() < 1e-9, "{ours:e} instead of {reference:e}");
    }

    /// Attack: behave until more attackers than the rule cuts off are drawn, then send whatever is wanted. "Three standard
    /// deviations more than expected" is 32 here, and more come to some round of nearly every run.
    #[test]
    fn three_deviations_fail_in_nearly_every_run_and_the_union_bound_holds() {
        // References: fractions of whole binomial coefficients (Python).
        assert_near(CROSS_DEVICE.more_than(32), 0.923_272_713_680_997_5);
        assert_eq!(CROSS_DEVICE.attackers_to_expect(ROUND_RISK), 46);
        assert_near(CROSS_DEVICE.bound(46), 2.698_736_258_854_183e-7);
        assert_near(CROSS_DEVICE.bound(45), 1.155_246_638_943_633_2e-6);
        assert_eq!(Cohorts { n_rounds: 1000, ..CROSS_DEVICE }.attackers_to_expect(ROUND_RISK), 45);
        assert_eq!(Cohorts { attackers: 400, ..CROSS_DEVICE }.attackers_to_expect(ROUND_RISK), 69);
    }

    #[test]
    fn far_tails_keep_their_digits() {
        for (m, tail) in [
            (46, 8.995_787_529_513_943e-11),
            (51, 3.099_082_028_409_410_6e-14),
            (60, 9.075_339_204_401_907e-22),
            (99, 1.418_132_947_165_911_6e-81),
        ] {
            assert_near(CROSS_DEVICE.more_than_in_one_round(m), tail);
            assert_near(CROSS_DEVICE.bound(m), 3000.0 * tail);
            // The union bound is above, by less than its square.
            let below = 1.0 - CROSS_DEVICE.more_than(m) / CROSS_DEVICE.bound(m);
            assert!(below > -1e-12 && below < 3000.0 * tail + 1e-12, "{below:e}");
        }
    }

    /// Every sample of a small federation, counted.
    #[test]
    fn small_federations_by_counting_all_samples() {
        for (n_clients, attackers, size) in [(7_u32, 3_u32, 4_u32), (10, 4, 9), (12, 6, 5), (5, 5, 3), (9, 1, 2)] {
            let cohorts = Cohorts { n_clients, attackers, participation: Participation::Sample(size), n_rounds: 1 };
            let samples: Vec<u32> = (0..1_u32 << n_clients).filter(|sample| sample.count_ones() == size).collect();
            let is_attacker = (1_u32 << attackers) - 1;
            for m in 0..=size {
                let n_more = samples.iter().filter(|&&sample| (sample & is_attacker).count_ones() > m).count();
                let share = n_more as f64 / samples.len() as f64;
                assert!((cohorts.more_than(m) - share).abs() < 1e-12, "{cohorts:?}, {m}: not {share}");
                // The least m whose share is within the risk is m itself, where one fewer is beyond it.
                if m > 0 && cohorts.more_than(m - 1) > share {
                    assert_eq!(cohorts.attackers_to_expect(share * (1.0 + 1e-9)), m, "{cohorts:?}");
                }
            }
        }
    }

    #[test]
    fn where_everyone_comes_all_attackers_come() {
        for participation in [Participation::Everyone, Participation::PoissonSampling(0.1)] {
            let cohorts = Cohorts { n_clients: 10, attackers: 4, participation, n_rounds: 3000 };
            assert_eq!(cohorts.attackers_to_expect(ROUND_RISK), 4);
            assert_eq!((cohorts.more_than(3), cohorts.more_than(4)), (1.0, 0.0));
            assert_eq!(cohorts.most_attackers_held(4, ROUND_RISK), 4);
        }
        let few = Cohorts { attackers: 2, ..CROSS_DEVICE };
        assert_eq!(few.attackers_to_expect(ROUND_RISK), 2, "two may come together");
    }

    #[test]
    fn how_many_attackers_an_m_is_enough_for() {
        // References as above.
        assert_eq!(CROSS_DEVICE.most_attackers_held(32, ROUND_RISK), 111);
        assert_eq!(CROSS_DEVICE.most_attackers_held(49, ROUND_RISK), 229);
        assert_eq!(CROSS_DEVICE.most_attackers_held(100, ROUND_RISK), 1000);
    }

    #[test]
    fn rules_hold_up_to_their_breakdown_point() {
        let alone = |rule| Defence { rule, ..Defence::NONE };
        let trimmed = alone(Aggregation::TrimmedMean(TrimmedMean { attackers: 4 }));
        assert!(trimmed.can_hold(49, 99) && !trimmed.can_hold(49, 98));
        let krum = alone(Aggregation::Krum(Krum { attackers: 4, squared: false, neighbours: None }));
        assert!(krum.can_hold(4, 11) && !krum.can_hold(4, 10));
        let bulyan = alone(Aggregation::Bulyan(Bulyan { attackers: 2 }));
        assert!(bulyan.can_hold(2, 11) && !bulyan.can_hold(2, 10));
        let median = alone(Aggregation::Median(Median {}));
        assert!(median.can_hold(4, 9) && !median.can_hold(5, 10));
        assert_eq!((median.assumed_attackers(10), median.assumed_attackers(9)), (Some(4), Some(4)));
        let mixed = Defence { mixing: Some(3), ..trimmed };
        assert_eq!((trimmed.assumed_attackers(10), mixed.assumed_attackers(10)), (Some(4), Some(3)));
        // Attack: five of eight collude, and most of the neighbours of every update are theirs.
        assert_eq!(Defence { mixing: Some(4), ..median }.least_clients(), 9);
        // Attack: without a bound, four of ten go far enough away to take a filter with them.
        let filter = alone(Aggregation::SpectralFilter(SpectralFilter { attackers: 4 }));
        let bounded = Defence { bound: Some(Radius::Median), ..filter };
        assert!(!filter.can_hold(4, 10) && bounded.can_hold(4, 9) && !bounded.can_hold(5, 10));
        assert_eq!(bounded.assumed_attackers(10), Some(4));
        let trusted = alone(Aggregation::FlTrust(FlTrust { trusted: 9 }));
        assert_eq!((Defence::NONE.assumed_attackers(10), trusted.assumed_attackers(10)), (None, None));
        assert!(trusted.can_hold(9, 10) && !trusted.can_hold(10, 10));
        assert!(!Defence { mixing: Some(4), ..trusted }.can_hold(5, 10), "mixing needs most to be honest");
        assert!(!Defence::NONE.can_hold(0, 10));
    }
}
