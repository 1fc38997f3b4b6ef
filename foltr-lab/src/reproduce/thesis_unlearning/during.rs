//! Figure 6.3 of `W24`: the ranker while a client is being forgotten, beside retraining without it.

use anyhow::Result;

use super::{DURING, Place, configuration, n_rounds, notes};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Reference, Sharing};
use crate::reproduce::Study;
use crate::reproduce::course::USERS;
use crate::reproduce::series::{BY_USERS, Series, UNLEARNING, in_words};
use crate::reproduce::study::mean;
use crate::results::Results;
use crate::table::table;

/// The thesis's interval in this figure.
const INTERVAL: usize = 10;
/// Points of a curve.
const POINTS: usize = 40;

/// Places in the legend.
const UNLEARN: usize = 0;
const BASELINE: usize = 1;
const BEFORE: usize = 2;
const LEGEND: [&str; 3] = ["U(9H-1M)", "9H-0M, retrained", "9H-1M, before"];

/// The runs of a row.
struct Ran {
    name: String,
    configurations: Results,
    forgetting: Results,
}

impl Ran {
    fn of(study: &mut Study<'_>, place: &Place) -> Result<Self> {
        let mut overrides = place.overrides(study);
        let every = (n_rounds(study) / INTERVAL).div_ceil(POINTS);
        overrides.push(format!("metrics.evaluate={{ every = {every} }}"));
        Ok(Self {
            name: place.data.name.clone(),
            configurations: place.configurations(study)?,
            forgetting: study.shared_grid(&place.folder(DURING), DURING.text, &overrides)?,
        })
    }

    fn unlearning(&self) -> Series<'_> {
        Series::new(LEGEND[UNLEARN], &self.forgetting, &[], UNLEARNING)
    }

    /// The last ranker of a configuration, one number a run.
    fn last(&self, name: &str, users: &str) -> Result<Vec<f64>> {
        configuration(&self.configurations, name).last(&BY_USERS, users)
    }

    fn panel(&self, users: &str) -> Result<Panel> {
        let reference = |method: usize, name: &str| -> Result<Reference> {
            Ok(Reference { method, value: mean(&self.last(name, users)?) })
        };
        let points = self.unlearning().points(&BY_USERS, users)?;
        Ok(Panel {
            curves: vec![Curve { method: UNLEARN, points }],
            references: [reference(BASELINE, "9H-0M"), reference(BEFORE, "9H-1M")]
                .into_iter()
                .collect::<Result<_>>()?,
        })
    }

    /// What the figure shows at its right end.
    fn line(&self, users: &str) -> Result<Vec<String>> {
        let unlearned = self.unlearning().last(&BY_USERS, users)?;
        let values = [self.last("9H-1M", users)?, unlearned, self.last("9H-0M", users)?];
        let told = values.iter().map(|runs| in_words(runs, 4));
        Ok([self.name.clone(), users.to_owned()].into_iter().chain(told).collect())
    }
}

/// The figure; what it shows is judged with the table.
pub fn figure(study: &mut Study<'_>) -> Result<()> {
    let places = Place::all(study);
    let ran = places.iter().map(|place| Ran::of(study, place)).collect::<Result<Vec<_>>>()?;
    let row = |ran: &Ran| -> Result<PanelRow> {
        let panels = USERS.map(|users| ran.panel(users)).into_iter().collect::<Result<_>>()?;
        Ok(PanelRow { title: ran.name.clone(), panels })
    };
    let figure = CurveFigure {
        title: "Thesis Figure 6.3: a client is being forgotten".into(),
        subtitle: "FedEraser from the first model on, every 10th round with 3 interactions of each client".into(),
        x_label: "rounds of unlearning".into(),
        y_label: "nDCG@10 on test queries".into(),
        methods: LEGEND.map(str::to_owned).to_vec(),
        columns: USERS.map(|users| format!("{users} users")).to_vec(),
        rows: ran.iter().map(row).collect::<Result<_>>()?,
        x_sharing: Sharing::Row,
        y_sharing: Sharing::Row,
        ..CurveFigure::default()
    };
    study.figure("figure", figure)?;
    let mut lines = Vec::new();
    for ran in &ran {
        for users in USERS {
            lines.push(ran.line(users)?);
        }
    }
    let header = ["", "users", "9H-1M", "U(9H-1M), interval 10, 3 steps", "9H-0M"];
    study.table("nDCG@10 on test queries, last rankers", &table(&header, 2, lines));
    notes(study, &places);
    Ok(())
}
