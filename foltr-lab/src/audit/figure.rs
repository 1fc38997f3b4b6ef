//! The audit as figures: claims beside what was certified, and how many clicks an attack recovers.

use super::{Audit, Part};
use crate::plot::{Bar, BarFigure, BarGroup, Curve, CurveFigure, Panel, PanelRow, Point};

/// Names and SVGs.
pub fn figures(audit: &Audit) -> [(&'static str, String); 2] {
    [("audit", labels(audit).svg()), ("inversion", recovery(audit).svg())]
}

/// Claimed epsilon and its certified lower bound, a mechanism a group.
pub fn labels(audit: &Audit) -> BarFigure {
    let bar = |method, value| Bar { method, value, low: value, high: value };
    let rows = audit.findings.iter().filter(|finding| finding.part == Part::Epsilon);
    let group = |finding: &super::Finding| BarGroup {
        name: format!("{}: {}", finding.mechanism, finding.verdict.name()),
        bars: vec![bar(0, finding.claimed), bar(1, finding.lower_bound)],
    };
    BarFigure {
        title: "Privacy labels under audit".into(),
        subtitle: "a lower bound above the claim refutes it; controls are broken on purpose and must be caught".into(),
        y_label: "epsilon".into(),
        methods: vec!["claimed".into(), "certified lower bound (99.9 %)".into()],
        groups: rows.map(group).collect(),
        digits: Some(1),
    }
}

/// The share of click vectors recovered over the interactions of a message, a view a curve.
pub fn recovery(audit: &Audit) -> CurveFigure {
    let mut methods: Vec<String> = Vec::new();
    for inversion in &audit.inversions {
        if !methods.contains(&inversion.view) {
            methods.push(inversion.view.clone());
        }
    }
    let point = |it: &super::Inversion| Point {
        x: it.n_interactions as f64,
        mean: it.recovered,
        low: it.recovered,
        high: it.recovered,
    };
    let curve = |(method, view): (usize, &String)| Curve {
        method,
        points: audit.inversions.iter().filter(|it| it.view == *view).map(point).collect(),
    };
    let curves = methods.iter().enumerate().map(curve).collect();
    CurveFigure {
        title: "Clicks recovered by the server".into(),
        subtitle: format!("lists of {}", audit.data_name),
        x_label: "interactions behind a message".into(),
        y_label: "share of click vectors recovered".into(),
        columns: vec![String::new()],
        rows: vec![PanelRow { title: String::new(), panels: vec![Panel { curves, references: Vec::new() }] }],
        methods,
        ..CurveFigure::default()
    }
}
