//! When to try again, and how old things are, with a clock that may jump.

use rand::{Rng, RngExt};

/// The longest wait that is believed: with more a clock was wrong, or a server wants to be rid of a device.
pub(super) const LONGEST_WAIT: u64 = DAY;
pub(super) const DAY: u64 = 24 * 60 * 60;
const FIRST_WAIT: u64 = 30;
const LAST_WAIT: u64 = 6 * 60 * 60;

/// The most that one reading of the clock adds to the age of what is stored: a device that was away for longer, or whose
/// clock has jumped, does not lose everything at once.
const LONGEST_STEP: u64 = 30 * DAY;

/// Time that has passed for the device, in seconds: a clock that is set back stops it for one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Age {
    pub elapsed: u64,
    /// What the clock showed last.
    pub shown: u64,
}

impl Age {
    pub fn advance(&mut self, now: u64) -> u64 {
        let step = now.saturating_sub(self.shown).min(LONGEST_STEP);
        self.elapsed = self.elapsed.saturating_add(step);
        self.shown = now;
        self.elapsed
    }
}

/// When the server may be asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    pub next_try: u64,
    pub n_failures: u32,
}

impl Schedule {
    /// Seconds until the next attempt; a clock that was set back does not make it later than [`LONGEST_WAIT`].
    pub const fn wait(&self, now: u64) -> u64 {
        match self.next_try.saturating_sub(now) {
            wait if wait > LONGEST_WAIT => 0,
            wait => wait,
        }
    }

    pub const fn succeed(&mut self) {
        *self = Self { next_try: 0, n_failures: 0 };
    }

    /// Doubles the wait, spread at random over its second half; a wait that the server asks for is a lower bound. Says how
    /// many seconds it will be.
    pub fn fail(&mut self, now: u64, asked: Option<u64>, random: &mut dyn Rng) -> u64 {
        let longest = FIRST_WAIT.saturating_mul(1 << self.n_failures.min(20)).min(LAST_WAIT);
        let wait = random.random_range(longest / 2..=longest).max(asked.unwrap_or(0)).min(LONGEST_WAIT);
        self.n_failures = self.n_failures.saturating_add(1);
        self.next_try = now.saturating_add(wait);
        wait
    }

    /// The server said when to come again.
    pub fn later(&mut self, now: u64, seconds: u64) {
        *self = Self { next_try: now.saturating_add(seconds.min(LONGEST_WAIT)), n_failures: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    #[test]
    fn waits_double_up_to_six_hours_and_never_end() {
        let (mut schedule, mut random) = (Schedule::default(), ChaCha8Rng::from_seed([1; 32]));
        let mut now = 1_000;
        for attempt in 0..100_u32 {
            let longest = (30_u64 << attempt.min(20)).min(LAST_WAIT);
            let wait = schedule.fail(now, None, &mut random);
            assert!((longest / 2..=longest).contains(&wait), "{attempt}: {wait}");
            assert_eq!((schedule.wait(now), schedule.wait(now + wait)), (wait, 0));
            now += wait;
        }
        assert!(schedule.fail(now, Some(50_000), &mut random) >= 50_000, "the server asks for more");
        assert_eq!(schedule.fail(now, Some(u64::MAX), &mut random), LONGEST_WAIT, "but not for ever");
        schedule.succeed();
        assert_eq!(schedule.wait(now), 0);
    }

    #[test]
    fn one_reading_adds_a_month_at_most() {
        let mut age = Age::default();
        assert_eq!(age.advance(1_800_000_000), LONGEST_STEP);
        assert_eq!(age.advance(1_800_000_100), LONGEST_STEP + 100);
        assert_eq!(age.advance(5), LONGEST_STEP + 100, "set back");
        assert_eq!(age.advance(u64::MAX), 2 * LONGEST_STEP + 100);
    }

    #[test]
    fn a_clock_that_jumps_does_not_stop_a_device() {
        let (mut schedule, mut random) = (Schedule::default(), ChaCha8Rng::from_seed([1; 32]));
        schedule.fail(4_000_000_000, None, &mut random);
        assert_eq!(schedule.wait(1_800_000_000), 0, "70 years back");
        schedule.fail(u64::MAX, None, &mut random);
        assert_eq!(schedule.wait(5), 0);
    }
}
