//! The default figures of a report: learning curves, final values, the spread over clients, an overview of the grid.

use super::Results;
use super::measures::{Group, Measure, metrics};
use super::roles::{Roles, labels, swept};
use crate::distinct;
use crate::expect::figure::{Drawing, FigureSpec, Kind};
use crate::expect::select::Selector;
use crate::expect::{At, Drawn};
use crate::names::name_of;
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
    pub metric: MetricName,
    pub is_open: bool,
    pub figure: Figure,
}

impl SectionFigure {
    pub fn inline(&self) -> String {
        self.figure.svg().replacen(r#" xmlns="http://www.w3.org/2000/svg""#, "", 1)
    }
}

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
    let metrics = metrics(results);
    let most_points = Some(most_points(metrics.len() * results.grid.settings.len()));
    let base = FigureSpec { most_points, ..base(results, roles) };
    let of_clients = distinct(results.runs.iter().flat_map(|run| &run.clients).map(|client| client.metric));
    let of_metric = |&metric: &MetricName| (name_of(metric), metric, At::Final);
    let of_measure = |measure: &&Measure| (measure.name.clone(), measure.metric, measure.at.clone());
    let (online, finals): (Vec<&Measure>, Vec<&Measure>) = measures.iter().partition(|it| it.group == Group::Online);
    // Colours compare: only what can be compared has any.
    let is_comparable = |measure: &&&Measure| measure.bases(results, &measure.estimates(results)).len() == 1;
    let overview = [finals.first(), online.iter().find(is_comparable)].into_iter().flatten();
    let sections = [
        (
            Kind::Curves,
            "curves",
            "Learning curves",
            "Means over runs; bands are 95 % confidence intervals of three runs or more. All panels of a row have the same \
             axes, which follow the curves and may cut wide bands off. Round 0 is the initial ranker; where its weights are \
             all zero, its value says only how ties are broken. Point at a curve, or use the arrow keys in a panel, to read its numbers; \
             press a name above to hide or show it everywhere. Of long curves a point is the mean since the point before.",
            metrics.iter().map(of_metric).collect::<Vec<_>>(),
        ),
        (
            Kind::Bars,
            "final",
            "Final values",
            "Bars start at zero. Where that would hide differences there are points on an axis that does not, and says so. Thin \
             lines are 95 % confidence intervals of three runs or more.",
            finals.iter().map(of_measure).collect(),
        ),
        (
            Kind::Clients,
            "clients",
            "Clients",
            "Every client is judged by its own labels. A curve further right serves its clients better; where it begins are \
             those served worst.",
            of_clients.iter().map(of_metric).collect(),
        ),
        (Kind::HeatMap, "heat-map", "Overview of the grid", "Means over runs.", overview.map(of_measure).collect()),
    ];
    let section = |(kind, id, title, hint, numbers): (Kind, _, _, _, Vec<(String, MetricName, At)>)| {
        let base = if kind == Kind::HeatMap { heat_map_base(results, roles, &base)? } else { base.clone() };
        let figure = |(title, metric, at): (String, MetricName, At)| {
            let spec = FigureSpec { kind, metric: Names(vec![metric.to_string()]), at, ..base.clone() };
            let Drawn::Figure(figure) = Drawing::of(&spec, &[], selector).draw() else { return None };
            let (file_name, figure) = (file_name(id, metric, &spec.at), worth_drawing(figure)?);
            Some(SectionFigure { title, file_name, metric, is_open: kind == Kind::HeatMap, figure })
        };
        let mut figures: Vec<SectionFigure> = numbers.into_iter().filter_map(figure).collect();
        // The first of the final ranker and the first of what users saw.
        let first_online = figures.iter().position(|figure| figure.title.starts_with("online")).unwrap_or(0);
        for idx in [0, first_online] {
            figures.get_mut(idx)?.is_open = true;
        }
        Some(Section { id, title, hint, figures })
    };
    sections.into_iter().filter_map(section).collect()
}

/// A figure that compares something or has a course. Panels of a row share their axes.
fn worth_drawing(figure: Figure) -> Option<Figure> {
    match figure {
        Figure::Curves(mut figure) => {
            figure.y_sharing = Sharing::Row;
            let has_curve = |panel: &Panel| !panel.curves.is_empty();
            figure.rows.iter().flat_map(|row| &row.panels).any(has_curve).then_some(Figure::Curves(figure))
        }
        Figure::Bars(figure) => {
            (figure.groups.iter().flat_map(|it| &it.bars).count() > 1).then_some(Figure::Bars(figure))
        }
        Figure::HeatMap(mut figure) => {
            let largest = figure.cells.iter().flatten().copied().filter(|it| it.is_finite()).reduce(f64::max)?;
            figure.digits = if largest < 10.0 { 4 } else { 2 };
            Some(Figure::HeatMap(figure))
        }
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

fn most_points(n_curves: usize) -> usize {
    (MOST_POINTS_OF_PAGE / n_curves.max(1)).clamp(FEWEST_POINTS, MOST_POINTS)
}

/// A name without anything that a file system or a shell minds: `curves-test-ndcg-10`.
fn file_name(kind: &str, metric: MetricName, at: &At) -> String {
    let of = match at {
        At::Final => metric.to_string(),
        At::DiscountedSum => format!("{metric}-by-round"),
        At::DiscountedByInteraction => format!("{metric}-by-interaction"),
        _ => format!("{metric}-mean"),
    };
    let words = of.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [kind].into_iter().chain(words).collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain_and_pages_small() {
        let name = |metric: &str, at| file_name("curves", metric.parse().expect("a metric"), &at);
        assert_eq!(name("test-ndcg@10", At::Final), "curves-test-ndcg-10");
        assert_eq!(name("online-ndcg@10", At::DiscountedSum), "curves-online-ndcg-10-by-round");
        assert_eq!(name("../a/map", At::Final), "curves-a-map");
        assert_eq!([0, 12, 600, 10_000].map(most_points), [500, 500, 100, 40]);
    }
}
