//! Tables on the terminal.

mod text_table;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::statistics::Estimate;
pub use text_table::TextTable;

/// Lines above, below and under the header; none between rows.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// A table with a header; all columns from `n_words` on are numbers and set flush right.
pub fn table(header: &[&str], n_words: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(n_words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// A mean with half the width of its confidence interval: `0.7312 ± 0.0021`; the mean alone of one or two runs.
pub fn with_interval(estimate: &Estimate) -> String {
    match estimate.shown_half_width() {
        Some(half) => format!("{:.4} ± {half:.4}", estimate.mean),
        None => format!("{:.4}", estimate.mean),
    }
}

/// A count with a thin division of thousands: `1 234 567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    groups.extend((first..digits.len()).step_by(3).map(|start| &digits[start..start + 3]));
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!((grouped(0), grouped(999), grouped(1000)), ("0".into(), "999".into(), "1 000".into()));
        assert_eq!(grouped(1_234_567), "1 234 567");
    }

    #[test]
    fn an_interval_is_shown_of_three_runs_or_more() {
        let shown = |values: &[f64]| with_interval(&Estimate::of(values).expect("values"));
        assert_eq!(shown(&[0.5, 0.5, 0.5]), "0.5000 ± 0.0000");
        assert_eq!([shown(&[0.5, 0.6]), shown(&[0.5])], ["0.5500", "0.5000"]);
    }
}
