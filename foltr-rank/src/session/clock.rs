//! The caller's clock, made to never run backwards.

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
        self.elapsed = self.elapsed.saturating_add(now.saturating_sub(self.shown));
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
        clock.advance(u64::MAX);
        clock.advance(0);
        assert_eq!(clock.advance(u64::MAX), u64::MAX);
    }
}
