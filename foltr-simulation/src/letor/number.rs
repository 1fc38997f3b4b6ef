//! Decimal text to `f32`, eight digits at a time, bit for bit what `str::parse::<f32>` gives.
//!
//! Digits are found and combined inside one 64-bit word. A number `N / 10^m` with `N <= 2^53` and `m <= 8` has both parts
//! exact in `f64` and takes one correctly rounded division. Rounding the quotient once more, to `f32`, is right too: it
//! could only go wrong if the quotient fell on a midpoint `M` of two `f32`s without the number being `M` itself. But
//! `M = k / 2^j` with `k < 2^25`, so a number other than `M` is off by at least `M / (10^8 2^25) > 2^-52 M`, or, where `M`
//! is whole, by `10^-8 > 2^-27`, and the division errs by at most `2^-53` of the quotient, or `2^-27` below `10^8`.
//! Whatever is unusual (exponents, more digits) is left to the standard library.

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const LOW_BITS: u64 = !HIGH_BITS;

/// The largest integer up to which every integer is an `f64`.
const MAX_EXACT: u64 = 1 << 53;

const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The eight bytes from `at` on, with zeros behind the end.
#[inline(always)]
pub(super) fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8) {
        Some(word) => u64::from_le_bytes(word.try_into().expect("eight bytes")),
        None => last_word(bytes, at),
    }
}

#[cold]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let rest = bytes.get(at..).unwrap_or(&[]);
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

/// How many of the word's first bytes are digits, and the number they spell.
#[inline(always)]
pub(super) fn leading_digits(word: u64) -> (usize, u64) {
    let values = word ^ ASCII_ZEROS;
    // A byte's high bit ends up set where it is no digit: 10 + 0x76 = 0x80.
    let other = (((values & LOW_BITS) + 0x7676_7676_7676_7676) | values) & HIGH_BITS;
    let n_digits = other.trailing_zeros() as usize / 8;
    if n_digits == 0 {
        return (0, 0);
    }
    // The last digit goes to the highest byte; the zeros shifted in are leading zeros.
    let digits = values << (64 - 8 * n_digits);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let low = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    (n_digits, high.wrapping_add(low) >> 32)
}

/// Reads a plain decimal that begins at `at`: its value and where it ends. `None` for all else, and for every number
/// whose end is not certain; [`parse_token`] decides then.
///
/// The common lengths have branches of their own. A predicted branch lets the processor start on the next number
/// before this one's length is known; computing the length from the digits would make each number wait for the last.
#[inline(always)]
pub(super) fn plain_decimal(bytes: &[u8], at: usize) -> Option<(f32, usize)> {
    let word = word_at(bytes, at);
    if word as u8 == b'-' {
        let (value, end) = unsigned_decimal(bytes, at + 1, word_at(bytes, at + 1))?;
        return Some((-value, end));
    }
    unsigned_decimal(bytes, at, word)
}

#[inline(always)]
fn unsigned_decimal(bytes: &[u8], at: usize, word: u64) -> Option<(f32, usize)> {
    let first = (word as u8).wrapping_sub(b'0');
    let second = (word >> 8) as u8;
    if first <= 9 && second == b' ' {
        return Some((f32::from(first), at + 1));
    }
    if first <= 9 && second == b'.' {
        return with_fraction(bytes, u64::from(first), at + 2);
    }
    let (n_digits, whole) = leading_digits(word);
    let end = at + n_digits;
    match bytes.get(end) {
        _ if n_digits == 0 => None,
        Some(b'.') if n_digits == 2 => with_fraction(bytes, whole, at + 3),
        Some(b'.') => with_fraction(bytes, whole, end + 1),
        Some(digit) if digit.is_ascii_digit() => None,
        _ => Some((whole as u32 as f32, end)),
    }
}

#[inline(always)]
fn with_fraction(bytes: &[u8], whole: u64, at: usize) -> Option<(f32, usize)> {
    let (n_digits, fraction) = leading_digits(word_at(bytes, at));
    match n_digits {
        6 => Some((decimal(whole, fraction, 6)?, at + 6)),
        5 => Some((decimal(whole, fraction, 5)?, at + 5)),
        8 if bytes.get(at + 8).is_some_and(u8::is_ascii_digit) => None,
        _ => Some((decimal(whole, fraction, n_digits)?, at + n_digits)),
    }
}

/// `whole + fraction / 10^n_digits`, correctly rounded, or `None` for too many digits.
#[inline(always)]
fn decimal(whole: u64, fraction: u64, n_digits: usize) -> Option<f32> {
    let digits = whole * POWERS[n_digits] + fraction;
    let quotient = digits as i64 as f64 / POWERS[n_digits] as f64;
    (digits <= MAX_EXACT).then_some(quotient as f32)
}

/// Reads a whole token the slow way. `None` if it is no number.
#[cold]
pub(super) fn parse_token(token: &[u8]) -> Option<f32> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        if let Some((value, end)) = plain_decimal(text.as_bytes(), 0) {
            let expected: f32 = text[..end].parse().expect("a plain decimal");
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}: {value} is not {expected}");
        }
    }

    #[test]
    fn common_values_take_the_fast_path() {
        let read = |text: &str| plain_decimal(text.as_bytes(), 0);
        assert_eq!(read("0.471076 "), Some((0.471076, 8)));
        assert_eq!(read("-27.690319 "), Some((-27.690_32, 10)));
        assert_eq!(read("11089534\r"), Some((11_089_534.0, 8)));
        assert_eq!(read("3"), Some((3.0, 1)));
        assert_eq!(read("5."), Some((5.0, 2)));
        assert_eq!(read("-0").map(|(value, _)| value.to_bits()), Some((-0.0f32).to_bits()));
        assert_eq!(read("123456789"), None);
        assert_eq!(read("0.123456789"), None);
        assert_eq!(read(".5"), None);
        assert_eq!(read(""), None);
        assert_eq!(read("-"), None);
    }

    #[test]
    fn ties_and_their_neighbours_are_rounded_as_the_library_does() {
        // 2^24 + 1 lies halfway between two f32s and goes to the even one; a trifle more goes up.
        assert_eq!(plain_decimal(b"16777217.0", 0), Some((16_777_216.0, 10)));
        assert_eq!(plain_decimal(b"16777217.00000001", 0), Some((16_777_218.0, 17)));
        // 2^26 + 4 is such a midpoint where f64s are scarcest.
        assert_eq!(plain_decimal(b"67108868.00000001", 0), Some((67_108_872.0, 17)));
        assert_eq!(plain_decimal(b"67108867.99999999", 0), Some((67_108_864.0, 17)));
        assert_eq!(plain_decimal(b"99999999.99999999", 0), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn plain_decimals_equal_the_library(text in "-?[0-9]{1,9}(\\.[0-9]{0,10})?") {
            check(&text);
        }

        #[test]
        fn printed_floats_equal_the_library(bits: u32) {
            let value = f32::from_bits(bits);
            check(&format!("{value}"));
            check(&format!("{value:.6}"));
            check(&format!("{:.7}", value % 100.0));
        }

        #[test]
        fn decimals_near_ties_equal_the_library(bits in 0u32..0x4CBE_BC20, nudge in -2i64..=2) {
            // The midpoint of a random f32 below 10^8 and its successor, to eight decimals, and the decimals around it.
            let [low, high] = [bits, bits + 1].map(|bits| f64::from(f32::from_bits(bits)));
            let hundred_millionths = (((low + high) / 2.0 * 1e8) as i64 + nudge).max(0);
            check(&format!("{}.{:08}", hundred_millionths / 100_000_000, hundred_millionths % 100_000_000));
        }
    }
}
