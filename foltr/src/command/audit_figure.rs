//! The audit as one picture: labels beside what was certified, and the clicks that an attack recovers.

use foltr_audit::inversion::Inversion;
use foltr_audit::{Audit, Expected, Finding, Part};
use foltr_report::distinct;
use foltr_report::plot::{Bar, BarFigure, BarGroup, Curve, CurveFigure, Figure, Panel, PanelRow, Point, sheet};

/// What is recovered without looking at messages, in the legend.
const CHANCE: &str = "by chance";

/// Sound mechanisms, controls, and recovered clicks, from top to bottom.
pub fn svg(audit: &Audit) -> String {
    sheet(&[labels(audit, Expected::Sound), labels(audit, Expected::Broken), recovery(audit)])
}

/// Claimed epsilon and its certified lower bound, a mechanism a group.
fn labels(audit: &Audit, expected: Expected) -> Figure {
    let bar = |method, value| Bar { method, value, low: value, high: value };
    let is_shown = |finding: &&Finding| finding.part == Part::Epsilon && finding.expected == expected;
    let group = |finding: &Finding| BarGroup {
        name: format!("{}: {}", finding.mechanism, finding.verdict.name()),
        bars: vec![bar(0, finding.claimed), bar(1, finding.lower_bound)],
    };
    let (title, subtitle) = match expected {
        Expected::Sound => ("Privacy labels under audit", "A lower bound above the claim would refute it."),
        Expected::Broken => ("Broken on purpose", "Wrong labels and too little noise, which the audit must refute."),
    };
    Figure::Bars(BarFigure {
        title: title.into(),
        subtitle: subtitle.into(),
        y_label: "epsilon".into(),
        methods: vec!["claimed".into(), "certified lower bound (99.9 %)".into()],
        groups: audit.findings.iter().filter(is_shown).map(group).collect(),
        digits: Some(1),
    })
}

/// The share of click vectors recovered over the interactions of a message: one panel for the papers' messages, one for
/// the sound modes.
fn recovery(audit: &Audit) -> Figure {
    let views = distinct(audit.inversions.iter().map(|inversion| (inversion.view.as_str(), inversion.expected)));
    let panel = |expected: Expected| {
        let here = views.iter().enumerate().filter(|(_, (_, its))| *its == expected);
        let mut curves: Vec<Curve> = here.clone().map(|(method, (view, _))| course(audit, method, view)).collect();
        let any = here.clone().next().map_or("", |(_, (view, _))| view);
        let chance = audit.inversions.iter().filter(|it| it.view == any).map(|it| point(it, it.chance)).collect();
        curves.push(Curve { method: views.len(), points: chance });
        Panel { curves, references: Vec::new() }
    };
    Figure::Curves(CurveFigure {
        title: "Clicks that the server recovers".into(),
        subtitle: format!("Click vectors recovered exactly from what the server sees; lists of {}.", audit.data_name),
        x_label: "interactions behind a message".into(),
        y_label: "share of click vectors".into(),
        methods: views.iter().map(|(view, _)| (*view).to_owned()).chain([CHANCE.to_owned()]).collect(),
        columns: vec!["without a guarantee of worth".into(), "sound modes".into()],
        rows: vec![PanelRow { title: String::new(), panels: [Expected::Broken, Expected::Sound].map(panel).into() }],
        ..CurveFigure::default()
    })
}

fn course(audit: &Audit, method: usize, view: &str) -> Curve {
    let points = audit.inversions.iter().filter(|it| it.view == view).map(|it| point(it, it.recovered)).collect();
    Curve { method, points }
}

fn point(inversion: &Inversion, value: f64) -> Point {
    Point { x: inversion.n_interactions as f64, mean: value, low: value, high: value }
}
