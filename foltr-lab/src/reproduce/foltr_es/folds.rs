//! Table 3, Figures 4 and 5 of `KO19`: linear and two-layer rankers against offline baselines, on all folds.
//!
//! The three share their runs. Published numbers come from the published random stream with seed 7, which biases the
//! gradient; with separate streams both rankers come out higher, and alike (spec section 4).

use anyhow::Result;

use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Reference, Sharing};
use crate::reproduce::course::{points, select};
use crate::reproduce::study::mean;
use crate::reproduce::{StandIn, Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::Smoothing;

const TABLE_3: &str = include_str!("../../../../specs/foltr-es/table-3.toml");
const BASELINES: &str = include_str!("../../../../specs/foltr-es/baselines.toml");

/// Methods of the table, in its order; the first two are baselines.
const METHODS: [&str; 4] = ["MSE", "SVMRank", "linear", "two-layer"];

/// Users in the order of the table's columns.
const COLUMNS: [&str; 3] = ["navigational", "informational", "perfect"];

/// Printed values: data and split, then methods, then users.
const PRINTED: [(Wanted, Split, [[f64; 3]; 4]); 4] = [
    (
        Wanted::Mq2007,
        Split::Train,
        [[0.470, 0.732, 0.424], [0.480, 0.737, 0.436], [0.469, 0.715, 0.411], [0.479, 0.732, 0.434]],
    ),
    (
        Wanted::Mq2007,
        Split::Test,
        [[0.462, 0.727, 0.415], [0.477, 0.736, 0.432], [0.467, 0.712, 0.402], [0.474, 0.730, 0.428]],
    ),
    (
        Wanted::Mq2008,
        Split::Train,
        [[0.457, 0.730, 0.408], [0.471, 0.736, 0.424], [0.469, 0.720, 0.415], [0.481, 0.734, 0.430]],
    ),
    (
        Wanted::Mq2008,
        Split::Test,
        [[0.450, 0.726, 0.400], [0.470, 0.735, 0.422], [0.458, 0.715, 0.401], [0.464, 0.731, 0.414]],
    ),
];

/// What separate streams reach on MQ2008 (spec section 4): split, then linear and two-layer, then users.
const SPECIFIED: [(Split, [[f64; 3]; 2]); 2] = [
    (Split::Train, [[0.478, 0.739, 0.433], [0.479, 0.736, 0.434]]),
    (Split::Test, [[0.461, 0.732, 0.419], [0.465, 0.730, 0.422]]),
];

/// One run a fold has a standard error of about .003 on test queries; the paper prints three digits of one run.
const TOLERANCE: f64 = 0.01;

/// The runs on one collection.
struct Runs {
    wanted: Wanted,
    data: StandIn,
    published: Results,
    /// Not for every collection in a quick run.
    separate: Option<Results>,
    baselines: Results,
    /// Why its numbers cannot be compared with the paper's.
    why_not: Option<String>,
}

/// Runs on all folds, shared by the three entries. Seeds: the paper's 7; two more where the data is the paper's.
fn runs(study: &mut Study<'_>, wanted: Wanted) -> Result<Runs> {
    let mut data = study.data(wanted);
    let mut why_not = data.why_not(wanted);
    let is_side_show = study.is_quick() && wanted == Wanted::Mq2007;
    if is_side_show {
        data = data.only_folds(&[1]);
        why_not = why_not.or_else(|| Some("one of five folds in a quick run".into()));
    }
    let name = format!("foltr-es-{}", wanted.name().to_lowercase());
    let mut rankers = |stream: &str| {
        let mut overrides = vec![data.setting(), format!("learner.stream=[\"{stream}\"]")];
        let seeds = if study.is_quick() || !data.is_the_papers { "seeds=[7]" } else { "seeds=[7, 10007, 20007]" };
        overrides.push(seeds.into());
        study.shared_grid(&format!("{name}-{stream}"), TABLE_3, &overrides)
    };
    let published = rankers("published")?;
    let separate = if is_side_show { None } else { Some(rankers("separate")?) };
    let baselines = study.shared_grid(&format!("{name}-baselines"), BASELINES, &[data.setting()])?;
    Ok(Runs { wanted, data, published, separate, baselines, why_not })
}

impl Runs {
    /// Final expected MaxRR of a baseline on each fold.
    fn baseline(&self, method: &str, users: &str, split: Split) -> Result<Vec<f64>> {
        let setting = select(&self.baselines, &[("method", method), ("users.preset", users)])?;
        Ok(self.baselines.final_values(setting, MetricName::Offline(split, Metric::ExpectedMaxRr)))
    }

    /// The runs that were finished with this seed only, or all.
    fn ranker(results: &Results, method: &str, users: &str, split: Split, seed: Option<u64>) -> Result<Vec<f64>> {
        let setting = select(results, &[("ranker", method), ("users.preset", users)])?;
        let values = results.final_values(setting, MetricName::Offline(split, Metric::ExpectedMaxRr));
        let runs = results.runs_of(setting).zip(values);
        Ok(runs.filter(|(run, _)| seed.is_none_or(|seed| run.seed == seed)).map(|(_, value)| value).collect())
    }

    fn n_runs(&self) -> usize {
        self.published.runs_of(0).count()
    }
}

/// Table 3, cell by cell, and finding 4.
pub(super) fn table_3(study: &mut Study<'_>) -> Result<()> {
    let collections = [runs(study, Wanted::Mq2007)?, runs(study, Wanted::Mq2008)?];
    for (wanted, split, rows) in PRINTED {
        let runs = if wanted == Wanted::Mq2007 { &collections[0] } else { &collections[1] };
        for (method, row) in METHODS.iter().zip(rows) {
            for (users, paper) in COLUMNS.iter().zip(row) {
                printed_cell(study, runs, (split, method, users), paper)?;
            }
        }
    }
    specified_cells(study, &collections[1])?;
    for runs in &collections {
        finding_4(study, runs)?;
        study.note(format!(
            "{}: {}, 2 000 000 interactions a run as in the paper, {} runs a cell with the published stream",
            runs.wanted.name(),
            runs.data.name,
            runs.n_runs()
        ));
    }
    study.note(
        "published stream against the paper: seed 7, one run a fold, as in the paper; separate streams against the \
         specification's values (section 4), all seeds; findings: all seeds",
    );
    study.note("MSE: the design is rank-deficient, so the solver alone moves the paper's values by .004 (section 17)");
    Ok(())
}

fn printed_cell(study: &mut Study<'_>, runs: &Runs, place: (Split, &str, &str), paper: f64) -> Result<()> {
    let (split, method, users) = place;
    let (stream, ours) = if METHODS[..2].contains(&method) {
        ("", runs.baseline(method, users, split)?)
    } else {
        (", published stream", Runs::ranker(&runs.published, method, users, split, Some(7))?)
    };
    let cell = format!("{} {}, {method}{stream}, {users}", runs.wanted.name(), split.name());
    match &runs.why_not {
        None => study.cell_of_runs(cell, paper, &ours, TOLERANCE),
        Some(why) => study.not_comparable(cell, Some(paper), mean(&ours), why),
    }
    Ok(())
}

/// Separate streams on MQ2008 against the values of spec section 4.
fn specified_cells(study: &mut Study<'_>, runs: &Runs) -> Result<()> {
    let Some(separate) = &runs.separate else { return Ok(()) };
    for (split, rows) in SPECIFIED {
        for (method, row) in METHODS[2..].iter().zip(rows) {
            for (users, specified) in COLUMNS.iter().zip(row) {
                let ours = Runs::ranker(separate, method, users, split, None)?;
                let cell = format!("MQ2008 {}, {method}, separate streams, {users}", split.name());
                match &runs.why_not {
                    None => study.cell_of_runs(cell, specified, &ours, TOLERANCE),
                    Some(why) => study.not_comparable(cell, Some(specified), mean(&ours), why),
                }
            }
        }
    }
    Ok(())
}

/// Finding 4: published stream: two-layer above linear and RankingSVM above MSE in all cells, two-layer within .01 of
/// RankingSVM; separate streams: the two rankers within .01 of each other.
fn finding_4(study: &mut Study<'_>, runs: &Runs) -> Result<()> {
    let (mut above, mut better, mut far, mut apart) = (0, 0, 0.0_f64, 0.0_f64);
    let mut exceptions = String::new();
    for (split, users) in [Split::Train, Split::Test].iter().flat_map(|split| COLUMNS.map(|users| (*split, users))) {
        let of = |results, method| -> Result<f64> { Ok(mean(&Runs::ranker(results, method, users, split, None)?)) };
        let [mse, svm] = [runs.baseline("MSE", users, split)?, runs.baseline("SVMRank", users, split)?];
        let (mse, svm) = (mean(&mse), mean(&svm));
        let (linear, two_layer) = (of(&runs.published, "linear")?, of(&runs.published, "two-layer")?);
        above += usize::from(two_layer > linear);
        better += usize::from(svm > mse);
        if (two_layer - svm).abs() > far.abs() {
            far = two_layer - svm;
        }
        if let Some(separate) = &runs.separate {
            apart = apart.max((of(separate, "linear")? - of(separate, "two-layer")?).abs());
        }
        if two_layer <= linear || svm <= mse || (two_layer - svm).abs() > 0.01 {
            exceptions += &format!(
                "; {} {users}: linear {linear:.4}, two-layer {two_layer:.4}, SVMRank {svm:.4}, MSE {mse:.4}",
                split.name()
            );
        }
    }
    if runs.n_runs() < 5 {
        let cell = format!("finding 4 on {}: two-layer minus SVMRank, farthest", runs.wanted.name());
        study.not_comparable(cell, None, far, "one of five folds in a quick run");
        return Ok(());
    }
    // The paper's own largest gap is .010 as printed.
    let holds = above == 6 && better == 6 && far.abs() <= 0.0105;
    let evidence = format!(
        "{}, published stream: two-layer above linear in {above} of 6 cells; SVMRank above MSE in {better} of 6; \
         two-layer farthest from SVMRank by {far:+.4}{exceptions}",
        runs.data.name
    );
    study.finding(4, holds, evidence);
    let evidence = format!("{}, separate streams: linear and two-layer at most {apart:.4} apart", runs.data.name);
    study.finding(4, apart <= 0.01, evidence);
    Ok(())
}

pub(super) fn figure_4(study: &mut Study<'_>) -> Result<()> {
    learning_curves(study, Wanted::Mq2007, "FOLtR-ES Figure 4: MQ2007")
}

pub(super) fn figure_5(study: &mut Study<'_>) -> Result<()> {
    learning_curves(study, Wanted::Mq2008, "FOLtR-ES Figure 5: MQ2008")
}

/// Mean batch MaxRR over interactions: one column a fold, one row a kind of users, beside the level of the baselines on
/// the same queries.
fn learning_curves(study: &mut Study<'_>, wanted: Wanted, title: &str) -> Result<()> {
    let runs = runs(study, wanted)?;
    let separate = runs.separate.as_ref().map(|results| ("separate", results));
    for (stream, results) in [("published", &runs.published)].into_iter().chain(separate) {
        let mut folds: Vec<usize> = results.runs_of(0).map(|run| run.fold).collect();
        folds.dedup();
        let rows = COLUMNS.map(|users| panel_row(&runs, results, users, &folds));
        let figure = CurveFigure {
            title: title.into(),
            subtitle: format!("{}; {stream} stream, p = .9; {}", runs.data.name, runs_a_fold(results, &folds)),
            x_label: "interactions of all clients together".into(),
            y_label: "mean batch MaxRR".into(),
            methods: METHODS.map(str::to_owned).to_vec(),
            columns: folds.iter().map(|fold| format!("fold {fold}")).collect(),
            rows: rows.into_iter().collect::<Result<_>>()?,
            y_sharing: Sharing::Row,
            ..CurveFigure::default()
        };
        study.figure(&format!("learning-curves-{stream}"), figure)?;
    }
    study.note(format!("data: {}; a picture without numbers; its runs are those of foltr-es-table-3", runs.data.name));
    Ok(())
}

fn runs_a_fold(results: &Results, folds: &[usize]) -> String {
    match results.runs_of(0).count() / folds.len().max(1) {
        1 => "one run a fold".into(),
        n => format!("{n} runs a fold"),
    }
}

fn panel_row(runs: &Runs, results: &Results, users: &str, folds: &[usize]) -> Result<PanelRow> {
    let panel = |(idx, fold): (usize, &usize)| -> Result<Panel> {
        let reference = |method: usize| -> Result<Reference> {
            Ok(Reference { method, value: runs.baseline(METHODS[method], users, Split::Train)?[idx] })
        };
        let curve = |method: usize| -> Result<Curve> {
            let setting = select(results, &[("ranker", METHODS[method]), ("users.preset", users)])?;
            let points = points(results, setting, MetricName::OnlineMaxRr, Smoothing::FoltrEs, Some(*fold));
            Ok(Curve { method, points })
        };
        Ok(Panel { curves: vec![curve(2)?, curve(3)?], references: vec![reference(0)?, reference(1)?] })
    };
    Ok(PanelRow { title: users.into(), panels: folds.iter().enumerate().map(panel).collect::<Result<_>>()? })
}
