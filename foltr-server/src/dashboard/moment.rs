//! Times as people say them, with the exact one at hand.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::time::utc;

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
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (machine, title) = (utc(self.at, "T"), utc(self.at, " "));
        write!(f, "<time datetime=\"{machine}Z\" title=\"{title} UTC\">{}</time>", self.words())
    }
}

/// It is made of digits and the words above.
impl HtmlSafe for Moment {}

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
}
