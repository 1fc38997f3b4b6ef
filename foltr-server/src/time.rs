//! Dates and times of day.

const DAY: u64 = 86_400;

/// Seconds since 1970 as `2026-11-18T05:30:00Z`.
pub fn rfc3339(seconds: u64) -> String {
    utc(seconds, "T") + "Z"
}

/// Date and time of day in UTC, with something between them.
pub fn utc(seconds: u64, between: &str) -> String {
    let ((year, month, day), time) = (date_of(seconds / DAY), seconds % DAY);
    let (hours, minutes, seconds) = (time / 3_600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}{between}{hours:02}:{minutes:02}:{seconds:02}")
}

/// Year, month and day, so many days after 1970-01-01 (`civil_from_days` of Howard Hinnant's date algorithms).
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(59), (1970, 3, 1));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        assert_eq!(date_of(11_017), (2000, 3, 1));
        assert_eq!(date_of(47_540), (2100, 2, 28));
        assert_eq!(date_of(47_541), (2100, 3, 1));
        utc(u64::MAX, " ");
    }

    #[test]
    fn times_are_those_of_utc() {
        assert_eq!(rfc3339(1_795_000_000), "2026-11-18T11:06:40Z");
        assert_eq!(utc(4_107_542_399, " "), "2100-02-28 23:59:59");
    }
}
