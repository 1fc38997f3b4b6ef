//! The default figures of a report: learning curves, final values, the spread over clients, an overview of the grid.

use super::Results;
use super::measures::{Measure, metrics};
use super::roles::{Roles, labels, swept};
use crate::distinct;
use crate::expect::figure::{Drawing, FigureSpec, Kind};
use crate::expect::select::Selector;
use crate::expect::{At, Drawn};
use crate::plot::{Figure, Panel, Sharing};
use foltr_experiment::rows::MetricName;
use foltr_experiment::study::Names;

/// Points of one curve at most; more cannot be told apart on a screen.
const MOST_POINTS: usize = 500;
/// Points of the whole page at most, so that it opens at once.
const MOST_POINTS_OF_PAGE: usize = 60_000;
/// Points that every curve may have, however many curves there are.
const FEWEST_POINTS: usize = 40;

pub struct Section {
    pub id: &'static str,
    pub title: &'static str,
    pub hint: &'static str,
    pub figures: Vec<SectionFigure>,
}

/// A figure without its title.
pub struct SectionFigure {
    pub title: String,
    pub file_name: String,
    pub is_open: bool,
    pub figure: Figure,
}

impl SectionFigure {
    /// As a part of the page.
    pub fn inline(&self) -> String {
        self.figure.svg().replacen(r#" xmlns="http://www.w3.org/2000/svg""#, "", 1)
    }
}

/// What all figures have in common.
pub fn base(results: &Results, roles: &Roles) -> FigureSpec {
    let has_schedule = results.grid.settings.iter().any(|setting| setting.experiment.schedule().is_some());
    FigureSpec {
        lines: Names(roles.lines.clone()),
        columns: Names(roles.columns.iter().cloned().collect()),
        rows: Names(roles.rows.iter().cloned().collect()),
        x: if has_schedule { "interactions" } else { "rounds" }.into(),
        bands: true,
        with_unlabelled: true,
        ..FigureSpec::default()
    }
}

pub fn sections(selector: &Selector<'_>, roles: &Roles, measures: &[Measure]) -> Vec<Section> {
    let results = selector.results;
    let base = base(results, roles);
    let finals = || measures.iter().filter(|measure| !measure.is_online);
    let draw = |kind: Kind, metric: MetricName, at: &At, base: &FigureSpec| {
        let spec = FigureSpec { kind, metric: Names(vec![metric.to_string()]), at: at.clone(), ..base.clone() };
        match Drawing::of(&spec, &[], selector).draw() {
            Drawn::Figure(figure) => Some(figure),
            Drawn::Table(_) => None,
        }
    };
    let bars = finals().filter_map(|it| Some((it.name.clone(), draw(Kind::Bars, it.metric, &it.at, &base)?)));
    let heat_map_base = heat_map_base(results, roles, &base);
    let first_online = measures.iter().find(|measure| measure.is_online);
    let overview = heat_map_base.iter().flat_map(|base| {
        let measures = finals().take(1).chain(first_online);
        measures.filter_map(|it| Some((it.name.clone(), draw(Kind::HeatMap, it.metric, &it.at, base)?)))
    });
    let of_clients = distinct(results.runs.iter().flat_map(|run| &run.clients).map(|client| client.metric));
    let clients = of_clients
        .into_iter()
        .filter_map(|metric| Some((metric.to_string(), draw(Kind::Clients, metric, &At::Final, &base)?)));
    let all_metrics = metrics(results);
    let most_points = most_points(all_metrics.len() * results.grid.settings.len());
    let base = FigureSpec { most_points: Some(most_points), ..base.clone() };
    let curves =
        all_metrics.into_iter().filter_map(|it| Some((it.to_string(), draw(Kind::Curves, it, &At::Final, &base)?)));
    let sections = [
        section(
            "curves",
            "Learning curves",
            "Means over runs; bands are 95 % confidence intervals of three runs or more. All panels of a row have the same \
             axes, which may cut wide bands off. Point at a curve, or use the arrow keys in a panel, to read its numbers; \
             press a name above to hide or show it everywhere. Of long curves a point is the mean since the point before.",
            curves,
        ),
        section("final", "Final values", "All bars start at zero; thin lines are 95 % confidence intervals.", bars),
        section(
            "clients",
            "Clients",
            "Every client is judged by its own labels. A curve further right serves its clients better; where it begins are \
             those served worst.",
            clients,
        ),
        section("heat-map", "Overview of the grid", "Means over runs.", overview),
    ];
    sections.into_iter().filter(|section| !section.figures.is_empty()).collect()
}

fn section(
    id: &'static str,
    title: &'static str,
    hint: &'static str,
    figures: impl Iterator<Item = (String, Figure)>,
) -> Section {
    let mut figures: Vec<SectionFigure> = figures
        .filter_map(|(title, figure)| {
            let file_name = file_name(id, &title);
            Some(SectionFigure { title, file_name, is_open: id == "heat-map", figure: worth_drawing(figure)? })
        })
        .collect();
    // The first of the final ranker and the first of what users saw.
    let first_online = figures.iter().position(|figure| figure.title.starts_with("online"));
    for idx in [Some(0), first_online].into_iter().flatten() {
        if let Some(figure) = figures.get_mut(idx) {
            figure.is_open = true;
        }
    }
    Section { id, title, hint, figures }
}

/// A figure that compares something or has a course. Panels of a row share their axes.
fn worth_drawing(figure: Figure) -> Option<Figure> {
    match figure {
        Figure::Curves(mut figure) => {
            figure.y_sharing = Sharing::Row;
            let has_curve = |panel: &Panel| !panel.curves.is_empty();
            figure.rows.iter().flat_map(|row| &row.panels).any(has_curve).then(|| figure.into())
        }
        Figure::Bars(figure) => (figure.groups.iter().flat_map(|it| &it.bars).count() > 1).then(|| figure.into()),
        Figure::HeatMap(figure) => figure.cells.iter().flatten().any(|it| it.is_finite()).then(|| figure.into()),
    }
}

/// One axis as columns and all others as rows; none with fewer than two swept axes.
fn heat_map_base(results: &Results, roles: &Roles, base: &FigureSpec) -> Option<FigureSpec> {
    let mut down = swept(results);
    let has_labels = |axis: &&String| labels(results, axis).len() > 1;
    let last = down.last().filter(|_| down.len() > 1)?.clone();
    let across = roles.columns.as_ref().filter(has_labels).cloned().unwrap_or(last);
    down.retain(|axis| *axis != across);
    Some(FigureSpec { lines: Names(down), columns: Names(vec![across]), rows: Names::default(), ..base.clone() })
}

/// Points that each of so many curves may have.
fn most_points(n_curves: usize) -> usize {
    (MOST_POINTS_OF_PAGE / n_curves.max(1)).clamp(FEWEST_POINTS, MOST_POINTS)
}

/// A name without anything that a file system or a shell minds: `curves-test-ndcg-10`.
fn file_name(kind: &str, of: &str) -> String {
    let words = of.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [kind].into_iter().chain(words).collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain_and_pages_small() {
        assert_eq!(file_name("curves", "test-ndcg@10"), "curves-test-ndcg-10");
        assert_eq!(file_name("heat-map", "../online nDCG, discounted sum"), "heat-map-online-ndcg-discounted-sum");
        assert_eq!([0, 12, 600, 10_000].map(most_points), [500, 500, 100, 40]);
    }
}
