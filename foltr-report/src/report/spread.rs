//! The spread over clients: which share of them has a ranker that is worth at most so much to them.

use super::curves::place_title;
use super::roles::Roles;
use super::{ClientSpread, Report};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Sharing};

/// A spread in hundredths of the clients.
const N_STEPS: usize = 100;

/// From all values to hundredths of their distribution.
pub(super) fn hundredths(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return Vec::new() };
    let at = |step: usize| values[(step as f64 / N_STEPS as f64 * last as f64).round() as usize];
    (0..=N_STEPS).map(at).collect()
}

/// One figure a metric; none if clients do not differ.
pub(super) fn figures(report: &Report, roles: &Roles) -> Vec<(String, CurveFigure)> {
    let mut metrics: Vec<&str> = Vec::new();
    for ClientSpread { metric, .. } in report.settings.iter().flat_map(|setting| &setting.clients) {
        if !metrics.contains(&metric.as_str()) {
            metrics.push(metric);
        }
    }
    metrics.into_iter().map(|metric| (metric.to_owned(), figure(report, roles, metric))).collect()
}

fn figure(report: &Report, roles: &Roles, metric: &str) -> CurveFigure {
    let columns = Roles::places(report, roles.columns);
    let panel = |column: Option<&str>, row: Option<&str>| {
        let settings = roles.panel(report, column, row).into_iter();
        let curve = |setting: usize| {
            let spread = report.settings[setting].clients.iter().find(|spread| spread.metric == metric)?;
            let point = |(step, &x): (usize, &f64)| {
                let share = step as f64 / N_STEPS as f64;
                Point { x, mean: share, low: share, high: share }
            };
            let points = spread.hundredths.iter().enumerate().map(point).collect();
            Some(Curve { method: roles.series_of[setting], points })
        };
        Panel { curves: settings.filter_map(curve).collect(), references: Vec::new() }
    };
    let rows = Roles::places(report, roles.rows).into_iter().map(|row| PanelRow {
        title: place_title(report, roles.rows, row),
        panels: columns.iter().map(|&column| panel(column, row)).collect(),
    });
    CurveFigure {
        title: format!("Clients: {metric}"),
        subtitle: "share of clients whose ranker is worth at most this much to them; all runs together".into(),
        x_label: metric.into(),
        y_label: "share of clients".into(),
        methods: roles.names.clone(),
        columns: columns.iter().map(|&column| place_title(report, roles.columns, column)).collect(),
        rows: rows.collect(),
        x_sharing: Sharing::Row,
        ..CurveFigure::default()
    }
}

/// A picture as an address that needs no file.
pub(super) fn data_address(svg: &str) -> String {
    let mut address = String::from("data:image/svg+xml,");
    for byte in svg.bytes() {
        if byte.is_ascii_alphanumeric() || b" =:/.,;-_()".contains(&byte) {
            address.push(byte as char);
        } else {
            address += &format!("%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundredths_by_hand() {
        let spread = hundredths((0..=200).rev().map(f64::from).collect());
        assert_eq!((spread.len(), spread[0], spread[25], spread[100]), (101, 0.0, 50.0, 200.0));
        assert_eq!(hundredths(vec![3.0]), vec![3.0; 101]);
        assert!(hundredths(Vec::new()).is_empty());
    }

    #[test]
    fn nothing_in_an_address_ends_an_attribute() {
        assert_eq!(data_address("<a b=\"#\">é%"), "data:image/svg+xml,%3Ca b=%22%23%22%3E%C3%A9%25");
    }
}
