//! Figures: SVG without words, which may be stretched, and the words for beside it.

use askama::Template;

use super::moment::Moment;
use super::view::count;
use crate::operator::{FederationOverview, RoundLine};

/// The newest rounds, as many as can be told apart on a phone.
const MOST_ROUNDS: usize = 100;
/// So that few rounds are no broad blocks.
const FEWEST_SLOTS: usize = 20;
/// Units of a round's slot, and of the height.
const SLOT: f64 = 10.0;
const HEIGHT: f64 = 100.0;
/// More points than these are drawn as a line alone.
const MOST_DOTS: usize = 60;

/// A column of a figure: what is drawn, and what is said when somebody points at it.
pub(super) struct Bar {
    pub(super) x: f64,
    /// Tops of the columns behind and in front.
    pub(super) wanted: f64,
    pub(super) came: f64,
    pub(super) class: &'static str,
    pub(super) tip: String,
}

/// Contributions and how many were wanted, round by round.
#[derive(Template)]
#[template(path = "participation.html")]
pub(super) struct Participation {
    pub(super) bars: Vec<Bar>,
    pub(super) width: f64,
    pub(super) top: String,
    pub(super) half: String,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) summary: String,
}

impl Participation {
    /// Nothing where no number is known.
    pub(super) fn of(federation: &FederationOverview, now: u64) -> Option<Self> {
        let rounds = newest(&federation.rounds);
        let is_open = federation.opened_at.is_some() && federation.n_wanted > 0;
        if rounds.iter().all(|round| round.n_contributions.is_none()) && !is_open {
            return None;
        }
        let open = (federation.n_contributions, federation.n_wanted);
        let closed = rounds.iter().map(|round| (round.n_contributions.unwrap_or(0), round.n_wanted));
        let highest = closed.chain(is_open.then_some(open)).map(|(came, wanted)| came.max(wanted)).max()?;
        let top = even_top(highest);
        let y = |number: u32| rounded(HEIGHT * f64::from(number) / f64::from(top));
        let bar = |(idx, round): (usize, &RoundLine)| Bar {
            x: slot(idx),
            wanted: y(round.n_wanted),
            came: y(round.n_contributions.unwrap_or(0)),
            class: if round.step_norm.is_some() { "came" } else { "came lost" },
            tip: round_tip(round, now),
        };
        let mut bars: Vec<Bar> = rounds.iter().enumerate().map(bar).collect();
        if is_open {
            let (came, wanted) = open;
            let tip = format!("round {} is open: {} of {} wanted", federation.round, count(came), count(wanted));
            bars.push(Bar { x: slot(bars.len()), wanted: y(wanted), came: y(came), class: "came open", tip });
        }
        let first = rounds.first().map_or(federation.round, |round| round.round);
        let last = if is_open { federation.round } else { rounds.last().map_or(first, |round| round.round) };
        let width = slot(bars.len().max(FEWEST_SLOTS));
        let summary = participation_summary(rounds);
        Some(Self { bars, width, top: count(top), half: count(top / 2), first, last, summary })
    }
}

fn participation_summary(rounds: &[RoundLine]) -> String {
    let known: Vec<(u32, u32)> =
        rounds.iter().filter_map(|round| Some((round.n_contributions?, round.n_wanted))).collect();
    if known.is_empty() {
        return "No round has closed yet.".to_owned();
    }
    let mean = |sum: u64| count_of(sum as f64 / known.len() as f64);
    let came = mean(known.iter().map(|(came, _)| u64::from(*came)).sum());
    let wanted = mean(known.iter().map(|(_, wanted)| u64::from(*wanted)).sum());
    let n_lost = rounds.iter().filter(|round| round.step_norm.is_none()).count();
    let lost = match n_lost {
        0 => "Every round made a step.".to_owned(),
        1 => "1 round made no step.".to_owned(),
        _ => format!("{n_lost} rounds made no step."),
    };
    let rounds =
        if known.len() == 1 { "the last round".to_owned() } else { format!("the last {} rounds", known.len()) };
    format!("{came} of {wanted} wanted contributions on average over {rounds}. {lost}")
}

/// The size of the aggregated steps.
#[derive(Template)]
#[template(path = "step_norms.html")]
pub(super) struct StepNorms {
    pub(super) path: String,
    /// A dot for each point, where there are few.
    pub(super) dots: String,
    /// x of the slot, and what is said there.
    pub(super) tips: Vec<(f64, String)>,
    pub(super) width: f64,
    pub(super) top: String,
    pub(super) half: String,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) summary: String,
}

impl StepNorms {
    /// Nothing before the first step.
    pub(super) fn of(rounds: &[RoundLine], now: u64) -> Option<Self> {
        let rounds = newest(rounds);
        let norm = |round: &RoundLine| round.step_norm.filter(|norm| norm.is_finite());
        let known: Vec<(u32, f64)> = rounds.iter().filter_map(|round| Some((round.round, norm(round)?))).collect();
        let (newest, last) = *known.last()?;
        let highest = known.iter().map(|(_, norm)| *norm).fold(0.0, f64::max);
        let lowest = known.iter().map(|(_, norm)| *norm).fold(f64::INFINITY, f64::min);
        let top = round_top(highest);
        let point = |idx: usize, norm: f64| (slot(idx) + SLOT / 2.0, rounded(HEIGHT - HEIGHT * norm / top));
        let (mut path, mut dots, mut is_drawing) = (String::new(), String::new(), false);
        for (idx, round) in rounds.iter().enumerate() {
            let Some(norm) = norm(round) else {
                is_drawing = false;
                continue;
            };
            let (x, y) = point(idx, norm);
            path.push_str(&format!("{}{x} {y}", if is_drawing { "L" } else { "M" }));
            dots.push_str(&format!("M{x} {y}h0"));
            is_drawing = true;
        }
        if known.len() > MOST_DOTS {
            dots.clear();
        }
        let range = format!("between {} and {}", significant(lowest), significant(highest));
        Some(Self {
            path,
            dots,
            tips: rounds.iter().enumerate().map(|(idx, round)| (slot(idx), round_tip(round, now))).collect(),
            width: slot(rounds.len().max(FEWEST_SLOTS)),
            top: significant(top),
            half: significant(top / 2.0),
            first: rounds.first()?.round,
            last: rounds.last()?.round,
            summary: format!("{} in round {newest}; {range} over {} rounds.", significant(last), known.len()),
        })
    }
}

fn newest(rounds: &[RoundLine]) -> &[RoundLine] {
    &rounds[rounds.len().saturating_sub(MOST_ROUNDS)..]
}

fn round_tip(round: &RoundLine, now: u64) -> String {
    let came = round.n_contributions.map_or("hidden".to_owned(), count);
    let step = match round.step_norm {
        Some(norm) => format!("step of size {}", significant(norm)),
        None => format!("no step: {}", round.outcome),
    };
    let closed = Moment { at: round.closed_at, now }.words();
    format!("round {}: {came} of {} wanted, {step}, closed {closed}", round.round, count(round.n_wanted))
}

fn slot(idx: usize) -> f64 {
    SLOT * idx as f64
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// An even number that is not lower and easy to read.
fn even_top(number: u32) -> u32 {
    let mut unit = 1_u64;
    loop {
        let top = [2, 4, 6, 8, 10].map(|digit| digit * unit).into_iter().find(|top| *top >= u64::from(number));
        if let Some(top) = top {
            return u32::try_from(top).unwrap_or(u32::MAX);
        }
        unit *= 10;
    }
}

/// A number that is not lower and easy to read.
fn round_top(number: f64) -> f64 {
    if number <= f64::MIN_POSITIVE {
        return 1.0;
    }
    let unit = 10_f64.powf(number.log10().floor());
    let tops = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0].map(|digit| digit * unit);
    // Rounding may leave the greatest below the number.
    tops.into_iter().find(|top| *top >= number).unwrap_or(number)
}

/// With three digits that count.
pub(super) fn significant(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() || size == 0.0 {
        return number.to_string();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{number:.2e}");
    }
    let digits = (2.0 - size.log10().floor()).max(0.0);
    let text = format!("{number:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn count_of(mean: f64) -> String {
    if mean < 100.0 { format!("{mean:.1}").trim_end_matches(".0").to_owned() } else { count(mean.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_not_lower_and_easy_to_read() {
        assert_eq!([0, 1, 3, 40, 41, 99, 101, u32::MAX].map(even_top), [2, 2, 4, 40, 60, 100, 200, u32::MAX]);
        assert_eq!(round_top(0.0), 1.0);
        for number in [1e-300, 0.00123, 0.999, 1.0, 7.3, 1e9, f64::MAX] {
            assert!(round_top(number) >= number && round_top(number) <= 2.1 * number, "{number}");
        }
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        let texts = [0.0, 0.012345, 1.0, 3.4567, 123.4, 98_765.4, 1.5e9, 0.00001, -0.5].map(significant);
        assert_eq!(texts, ["0", "0.0123", "1", "3.46", "123", "98765", "1.50e9", "1.00e-5", "-0.5"]);
        assert_eq!(significant(f64::NAN), "NaN");
    }

    #[test]
    fn a_step_that_is_no_number_is_a_gap() {
        let round = |round, norm| RoundLine { round, step_norm: norm, ..RoundLine::default() };
        let rounds = [round(1, Some(1.0)), round(2, Some(f64::NAN)), round(3, None), round(4, Some(0.5))];
        let norms = StepNorms::of(&rounds, 0).expect("two steps");
        assert_eq!(norms.path, "M5 0M35 50");
        assert_eq!(norms.tips.len(), 4);
        assert!(StepNorms::of(&rounds[1..3], 0).is_none());
    }
}
