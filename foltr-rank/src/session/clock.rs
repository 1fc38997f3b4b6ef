//! The caller's clock, made to never run backwards.

/// The most that one reading can add: 9 years of microseconds. Without a limit, one wrong reading of a clock would use up all
/// time that can be counted, and no impression would ever expire again.
const LONGEST_STEP: u64 = 1 << 48;

/// Time that has passed, as far as the caller's clock shows it: what it jumps back is not taken off, and from there it
/// counts on. A maximum would stand still until a clock that was once ahead catches up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// The sum of all steps forward; the caller's time itself as long as it never jumped back.
    pub(super) elapsed: u64,
    /// What the caller's clock showed last.
    pub(super) shown: u64,
}

impl Clock {
    /// Takes note of what the caller's clock shows, and says how much has elapsed.
    pub(super) const fn advance(&mut self, now: u64) -> u64 {
        let step = now.saturating_sub(self.shown);
        self.elapsed = self.elapsed.saturating_add(if step < LONGEST_STEP { step } else { LONGEST_STEP });
        self.shown = now;
        self.elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_backwards_stops_the_clock_for_one_event_only() {
        let mut clock = Clock::default();
        let elapsed: Vec<u64> = [10, 15, 1_000, 20, 20, 26, 0, 3].into_iter().map(|now| clock.advance(now)).collect();
        assert_eq!(elapsed, [10, 15, 1_000, 1_000, 1_000, 1_006, 1_006, 1_009]);
    }

    /// A clock shows the end of all times once: the time after it must still be counted.
    #[test]
    fn one_wrong_reading_does_not_stop_the_clock_for_ever() {
        let mut clock = Clock::default();
        clock.advance(10);
        assert_eq!(clock.advance(u64::MAX), 10 + LONGEST_STEP);
        assert_eq!((clock.advance(20), clock.advance(50)), (10 + LONGEST_STEP, 40 + LONGEST_STEP));
        let mut last = Clock { elapsed: u64::MAX - 1, shown: 0 };
        assert_eq!(last.advance(5), u64::MAX, "no overflow");
    }
}
