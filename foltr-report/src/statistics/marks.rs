//! Which differences the papers' tables mark: symbol, test and level of each.
//!
//! | table | mark | test | level |
//! |---|---|---|---|
//! | `KO19` Table 3 | bold | paired t, not corrected | p < 0.05 |
//! | `WLZZ21` Table 2, `W24` Table 3.1 | △ ▽ and ▲ ▼ for gains and losses | two-tailed Student t, Bonferroni | p < 0.05 and p < 0.01 |
//! | `W24` Table 4.2 | ▲ at the better value | two-tailed Student t, Bonferroni | p < 0.05 |
//! | `W24` Table 6.2 | letters of the rows that are worse | paired t, Bonferroni | p <= 0.05 |
//!
//! Where a paper says only "Student's t", the test is Welch's, which is what the released code of `WLZZ21` computes
//! (spec section 3). No paper says how many comparisons it corrects for: the caller does.

use super::t_test::Test;

/// The conventions of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// `KO19` Table 3.
    FoltrEsTable3,
    /// `WLZZ21` Table 2, which is `W24` Table 3.1.
    FpdgdTable2,
    /// `W24` Table 4.2.
    NonIidTable4_2,
    /// `W24` Table 6.2.
    UnlearningTable6_2,
}

/// What stands beside a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: no significant difference.
    #[default]
    None,
    /// The value is set in bold.
    Bold,
    /// △
    Gain,
    /// ▽
    Loss,
    /// ▲
    StrongGain,
    /// ▼
    StrongLoss,
    /// A superscript, such as the letter of a row.
    Letter(char),
}

impl Mark {
    /// The mark as text; bold is written as `*`, because plain text has none.
    pub fn symbol(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Bold => "*".into(),
            Self::Gain => "△".into(),
            Self::Loss => "▽".into(),
            Self::StrongGain => "▲".into(),
            Self::StrongLoss => "▼".into(),
            Self::Letter(letter) => letter.into(),
        }
    }
}

/// Bonferroni's correction: p times the number of comparisons, at most 1.
pub fn bonferroni(p: f64, n_comparisons: usize) -> f64 {
    (p * n_comparisons.max(1) as f64).min(1.0)
}

impl Marks {
    /// All conventions.
    pub const ALL: [Self; 4] = [Self::FoltrEsTable3, Self::FpdgdTable2, Self::NonIidTable4_2, Self::UnlearningTable6_2];

    /// Which test.
    pub const fn test(self) -> Test {
        match self {
            Self::FoltrEsTable3 | Self::UnlearningTable6_2 => Test::Paired,
            Self::FpdgdTable2 | Self::NonIidTable4_2 => Test::Welch,
        }
    }

    /// The p that is held against the level, given how many comparisons are made.
    pub fn corrected(self, p: f64, n_comparisons: usize) -> f64 {
        match self {
            Self::FoltrEsTable3 => p,
            Self::FpdgdTable2 | Self::NonIidTable4_2 | Self::UnlearningTable6_2 => bonferroni(p, n_comparisons),
        }
    }

    /// What is marked, in words, for the line below a table.
    pub const fn words(self) -> &'static str {
        match self {
            Self::FoltrEsTable3 => "bold (*): significant difference (paired t-test, p < 0.05)",
            Self::FpdgdTable2 => {
                "significant gains and losses: △ ▽ p < 0.05, ▲ ▼ p < 0.01 (Welch's t-test, Bonferroni)"
            }
            Self::NonIidTable4_2 => "▲: significantly better (Welch's t-test, Bonferroni, p < 0.05)",
            Self::UnlearningTable6_2 => {
                "letters: rows that are significantly worse (paired t-test, Bonferroni, p <= 0.05)"
            }
        }
    }

    /// The mark of a value that exceeds the other by `difference`. `row` is the other's place in the table, from 0.
    pub fn mark(self, difference: f64, corrected_p: f64, row: usize) -> Mark {
        let is_gain = difference > 0.0;
        match self {
            Self::FoltrEsTable3 if corrected_p < 0.05 => Mark::Bold,
            Self::FpdgdTable2 if corrected_p < 0.01 => [Mark::StrongLoss, Mark::StrongGain][usize::from(is_gain)],
            Self::FpdgdTable2 if corrected_p < 0.05 => [Mark::Loss, Mark::Gain][usize::from(is_gain)],
            Self::NonIidTable4_2 if corrected_p < 0.05 && is_gain => Mark::StrongGain,
            Self::UnlearningTable6_2 if corrected_p <= 0.05 && is_gain => Mark::Letter(letter(row)),
            _ => Mark::None,
        }
    }
}

/// a, b, c, ...; `?` beyond z.
fn letter(row: usize) -> char {
    ('a'..='z').nth(row).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_p_is_at_most_one() {
        assert_eq!(bonferroni(0.25, 3), 0.75);
        assert_eq!(bonferroni(0.4, 3), 1.0);
        assert_eq!(Marks::FoltrEsTable3.corrected(0.02, 12), 0.02);
        assert_eq!(Marks::FpdgdTable2.corrected(0.02, 2), 0.04);
    }

    #[test]
    fn levels_and_symbols_are_those_of_the_tables() {
        let fpdgd = |difference, p| Marks::FpdgdTable2.mark(difference, p, 0).symbol();
        assert_eq!([fpdgd(1.0, 0.04), fpdgd(-1.0, 0.04), fpdgd(1.0, 0.009), fpdgd(-1.0, 0.0)], ["△", "▽", "▲", "▼"]);
        assert_eq!([fpdgd(1.0, 0.05), fpdgd(1.0, 0.01)], ["", "△"]);
        assert_eq!(Marks::FoltrEsTable3.mark(-0.1, 0.049, 0), Mark::Bold);
        assert_eq!(Marks::FoltrEsTable3.mark(-0.1, 0.05, 0), Mark::None);
        // Only this table includes its level, and only the better value is marked.
        assert_eq!(Marks::UnlearningTable6_2.mark(0.1, 0.05, 2), Mark::Letter('c'));
        assert_eq!(Marks::UnlearningTable6_2.mark(-0.1, 0.01, 2), Mark::None);
        assert_eq!(Marks::NonIidTable4_2.mark(0.1, 0.049, 0).symbol(), "▲");
    }
}
