//! Numbers as people say them.

use std::path::Path;

use crate::agent::{Budget, Comparison};
use crate::service::Indexing;

const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// With fewer lists the interval of a comparison means little.
const LEAST_COMPARED: u64 = 20;
/// From here on the odds of any guess may grow more than a hundredfold.
const LARGE_EPSILON: f64 = 5.0;

/// `1 document`, `1,234 documents`.
pub(super) fn count(n: u64, thing: &str) -> String {
    let ending = match n {
        1 => "",
        _ if thing.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", grouped(n))
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn size(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes_f = bytes as f64;
    match units.into_iter().find(|(unit, _)| bytes_f >= *unit) {
        Some((unit, name)) if bytes_f / unit < 10.0 => format!("{:.1} {name}", bytes_f / unit),
        Some((unit, name)) => format!("{:.0} {name}", bytes_f / unit),
        None => format!("{bytes} bytes"),
    }
}

/// The day in UTC: `18 November 2026`.
pub(super) fn date(seconds: i64) -> String {
    let (mut days, mut year) = (seconds.div_euclid(DAY), 1970);
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = |year: i64| if is_leap(year) { 366 } else { 365 };
    // A calendar repeats itself after 400 years, which bounds the steps below.
    let cycles = days.div_euclid(146_097);
    (days, year) = (days - cycles * 146_097, year + cycles * 400);
    while days >= length(year) {
        (days, year) = (days - length(year), year + 1);
    }
    let lengths = [31, length(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        (days, month) = (days - lengths[month], month + 1);
    }
    format!("{} {} {year}", days + 1, MONTHS[month])
}

/// From the folder that was added on; long ones without their middle.
pub(super) fn short_path(path: &str, folders: &[String]) -> String {
    let added = folders.iter().filter(|folder| Path::new(path).starts_with(folder)).max_by_key(|folder| folder.len());
    let above = added.and_then(|folder| Path::new(folder).parent());
    let below = above.and_then(|above| Path::new(path).strip_prefix(above).ok());
    let text = below.map_or_else(|| path.to_owned(), |it| it.to_string_lossy().into_owned());
    let parts: Vec<&str> = text.split('/').collect();
    match parts.as_slice() {
        [first, .., above, name] if parts.len() > 4 => format!("{first}/…/{above}/{name}"),
        _ => text,
    }
}

/// What happens to the files; nothing to say if all were looked at.
pub(super) fn progress(indexing: &Indexing, n_documents: usize) -> Option<String> {
    if let Some(reason) = &indexing.waits_for {
        return Some(format!("Waits to look at files: {reason}."));
    }
    let found = count(n_documents as u64, "document");
    match indexing.is_running {
        true if indexing.n_files == 0 => Some("Looking for files.".into()),
        true => Some(format!("Looking at files: {} of {}. {found} so far.", indexing.n_done, indexing.n_files)),
        false => indexing.problem.as_ref().map(|problem| format!("Files could not be looked at: {problem}")),
    }
}

/// What an epsilon means.
pub(super) fn epsilon(epsilon: f64) -> String {
    if epsilon <= 0.0 {
        return "Nothing can be learnt about you.".into();
    }
    if epsilon > LARGE_EPSILON || epsilon.is_nan() {
        return "Somebody who held a guess about you as likely as not may be more than 99 % sure after reading the messages. \
                A number this large promises next to nothing."
            .into();
    }
    let (factor, sure) = (epsilon.exp(), 100.0 / (1.0 + (-epsilon).exp()));
    format!(
        "The odds of any guess about you grow at most {factor:.1} times. Somebody who held it as likely as not is at most \
         {sure:.0} % sure after reading the messages."
    )
}

pub(crate) fn budget(budget: &Budget) -> Vec<String> {
    let number = |epsilon: f64| if epsilon.is_finite() { format!("{epsilon:.2}") } else { "without bound".into() };
    let limit = budget.limit_epsilon.map_or("no limit".to_owned(), number);
    let mut lines = vec![format!("Spent so far: epsilon {} of {limit}.", number(budget.spent_epsilon))];
    if budget.spent_epsilon > 0.0 {
        lines.push(epsilon(budget.spent_epsilon));
    }
    match budget.limit_epsilon {
        Some(limit) => lines.push(format!("When all of it is spent: {}", lower_first(&epsilon(limit)))),
        None => lines.push("Nothing limits how much will be spent.".into()),
    }
    if budget.spent_delta > 0.0 {
        lines.push(format!("With a chance of at most {:.0e}, this does not hold.", budget.spent_delta));
    }
    if budget.n_unprotected > 0 {
        let sent = count(budget.n_unprotected, "message");
        lines.push(format!("{sent} left without any protection: whoever read them may have learnt what you opened."));
    }
    if budget.is_exhausted {
        lines.push("The budget is used up: nothing more is sent. Searching goes on.".into());
    }
    lines
}

fn lower_first(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

/// The ranker beside plain BM25.
pub(super) fn comparison(comparison: &Comparison) -> String {
    let Comparison { n_lists, preference, low, high } = *comparison;
    let compared = count(n_lists, "list");
    if n_lists < LEAST_COMPARED {
        return format!("Too few lists to say ({compared} of both so far; {LEAST_COMPARED} are needed at least).");
    }
    let verdict = match () {
        () if low > 0.0 => "What was learnt is better for you than matching words alone (BM25).",
        () if high < 0.0 => "Matching words alone (BM25) would be better for you.",
        () => "No difference from matching words alone (BM25) can be seen yet.",
    };
    format!(
        "{verdict} In {compared} of both: {preference:+.2}, 95 % interval {low:+.2} to {high:+.2}; above 0 is better."
    )
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let days = [0, 68_169_599, 68_169_600, 951_782_400, 1_795_003_037, -1, -11_676_096_000];
        let expected = [
            "1 January 1970",
            "28 February 1972",
            "29 February 1972",
            "29 February 2000",
            "18 November 2026",
            "31 December 1969",
            "1 January 1600",
        ];
        assert_eq!(days.map(date), expected);
        assert!(!date(i64::MAX).is_empty() && !date(i64::MIN).is_empty());
    }

    #[test]
    fn counts_and_sizes_are_short() {
        assert_eq!(count(1, "file") + " " + &count(1_234_567, "file"), "1 file 1,234,567 files");
        assert_eq!([12, 1_500, 25_000_000, 3_200_000_000].map(size), ["12 bytes", "1.5 kB", "25 MB", "3.2 GB"]);
    }

    #[test]
    fn paths_begin_at_the_folder_that_was_added() {
        let folders = ["/home/ada/Documents".to_owned(), "/home/ada".to_owned()];
        assert_eq!(short_path("/home/ada/Documents/a.txt", &folders), "Documents/a.txt");
        assert_eq!(short_path("/home/ada/Documents/a/b/c/d.txt", &folders), "Documents/…/c/d.txt");
        assert_eq!(short_path("/srv/a.txt", &folders), "/srv/a.txt");
    }

    #[test]
    fn a_large_epsilon_is_not_made_to_sound_good() {
        assert!(epsilon(1.0).contains("2.7 times") && epsilon(1.0).contains("73 % sure"), "{}", epsilon(1.0));
        for large in [5.1, 50.0, f64::INFINITY, f64::NAN] {
            assert!(epsilon(large).contains("next to nothing"), "{large}");
        }
        let of = |spent_epsilon, limit_epsilon| {
            let (spent_delta, limit_delta) = (1e-6, 1e-5);
            let budget =
                Budget { spent_epsilon, spent_delta, limit_epsilon, limit_delta, n_unprotected: 2, is_exhausted: true };
            super::budget(&budget).join("\n")
        };
        let text = of(1.0, Some(8.0));
        for words in ["1.00 of 8.00", "73 %", "next to nothing", "2 messages left without", "used up", "1e-6"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(of(f64::INFINITY, None).contains("without bound of no limit"));
    }

    #[test]
    fn few_comparisons_say_nothing() {
        let of = |n_lists, low, high| comparison(&Comparison { n_lists, preference: (low + high) / 2.0, low, high });
        assert!(of(19, 0.9, 1.0).contains("Too few"));
        assert!(of(20, 0.1, 0.3).starts_with("What was learnt is better"));
        assert!(of(20, -0.3, -0.1).contains("would be better"));
        assert!(of(20, -0.1, 0.1).contains("No difference"));
    }
}
