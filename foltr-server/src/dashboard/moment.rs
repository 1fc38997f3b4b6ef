//! Times as people say them, with the exact one at hand.

use std::fmt;

use askama::filters::HtmlSafe;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// From here on minutes are not said.
const LONG: u64 = 6 * HOUR;

/// A time as seen from another one, both in seconds since 1970. It is written as an element `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at: u64,
    pub(super) now: u64,
}

impl Moment {
    pub(super) fn words(self) -> String {
        let (seconds, is_past) = (self.at.abs_diff(self.now), self.at <= self.now);
        let amount = match seconds {
            0..5 => return "now".to_owned(),
            5..MINUTE => format!("{seconds} s"),
            MINUTE..HOUR => format!("{} min", seconds / MINUTE),
            HOUR..LONG => match seconds % HOUR / MINUTE {
                0 => format!("{} h", seconds / HOUR),
                minutes => format!("{} h {minutes} min", seconds / HOUR),
            },
            LONG..DAY => format!("{} h", seconds / HOUR),
            DAY.. => format!("{} d", seconds / DAY),
        };
        if is_past { format!("{amount} ago") } else { format!("in {amount}") }
    }

    /// Date and time of day in UTC, with something between them.
    fn utc(self, between: &str) -> String {
        let (year, month, day) = date_of(self.at / DAY);
        let time = self.at % DAY;
        let (hours, minutes, seconds) = (time / HOUR, time % HOUR / MINUTE, time % MINUTE);
        format!("{year:04}-{month:02}-{day:02}{between}{hours:02}:{minutes:02}:{seconds:02}")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (machine, title) = (self.utc("T"), self.utc(" "));
        write!(f, "<time datetime=\"{machine}Z\" title=\"{title} UTC\">{}</time>", self.words())
    }
}

/// It is made of digits and the words above.
impl HtmlSafe for Moment {}

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
    fn moments_have_words_and_an_exact_time() {
        let words = |at: u64| Moment { at, now: 1_000_000 }.words();
        assert_eq!(words(1_000_000), "now");
        assert_eq!(words(999_997), "now");
        assert_eq!(words(999_995), "5 s ago");
        assert_eq!(words(1_000_059), "in 59 s");
        assert_eq!(words(1_000_000 - 3 * MINUTE - 59), "3 min ago");
        assert_eq!(words(1_000_000 + 5 * HOUR), "in 5 h");
        assert_eq!(words(1_000_000 - HOUR - 15 * MINUTE), "1 h 15 min ago");
        assert_eq!(words(1_000_000 - 7 * HOUR - 15 * MINUTE), "7 h ago");
        assert_eq!(words(1_000_000 - 9 * DAY), "9 d ago");
        let time = Moment { at: 1_709_209_830, now: 1_709_209_830 + HOUR }.to_string();
        let expected = "<time datetime=\"2024-02-29T12:30:30Z\" title=\"2024-02-29 12:30:30 UTC\">1 h ago</time>";
        assert_eq!(time, expected);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(59), (1970, 3, 1));
        assert_eq!(date_of(11_016), (2000, 2, 29));
        assert_eq!(date_of(11_017), (2000, 3, 1));
        assert_eq!(date_of(47_540), (2100, 2, 28));
        assert_eq!(date_of(47_541), (2100, 3, 1));
        Moment { at: u64::MAX, now: 0 }.to_string();
    }
}
