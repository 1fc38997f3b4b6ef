//! The time of day as text, in UTC (RFC 3339).

use std::time::{SystemTime, UNIX_EPOCH};

/// Such as `2026-11-17T03:20:50Z`; times before 1970 are its first second.
pub fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut year, mut day) = (1970, seconds / 86_400);
    while day >= month_lengths(year).iter().sum() {
        day -= month_lengths(year).iter().sum::<u64>();
        year += 1;
    }
    let mut month = 0;
    while day >= month_lengths(year)[month] {
        day -= month_lengths(year)[month];
        month += 1;
    }
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, day + 1)
}

fn month_lengths(year: u64) -> [u64; 12] {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    [31, 28 + u64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

#[test]
fn known_times() {
    let at = |seconds| timestamp(UNIX_EPOCH + std::time::Duration::from_secs(seconds));
    assert_eq!(at(0), "1970-01-01T00:00:00Z");
    assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(at(1_234_567_890), "2009-02-13T23:31:30Z");
    assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
    assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    assert_eq!(at(253_402_300_799), "9999-12-31T23:59:59Z");
}
