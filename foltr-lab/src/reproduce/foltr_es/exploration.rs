//! Figures 1 to 3 of `KO19`: antithetic perturbations, interactions in a message, privatisation; linear rankers on the
//! validation queries of MQ2007's first fold.

use anyhow::Result;

use crate::plot::{Figure, Panel};
use crate::reproduce::course::{USERS, curve, difference, over, select};
use crate::reproduce::study::mean;
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;

const STREAMS: [&str; 2] = ["published", "separate"];

/// The mean batch MaxRR is what the paper reports.
const METRIC: MetricName = MetricName::OnlineMaxRr;

/// One exploratory experiment: a parameter with its values, drawn for all users.
struct Exploration {
    name: &'static str,
    spec: &'static str,
    axis: &'static str,
    /// Label in the grid, name in the legend, and window of the moving average.
    values: &'static [(&'static str, &'static str, usize)],
    title: &'static str,
}

impl Exploration {
    /// Runs it with both streams and draws one figure a stream.
    fn run(&self, study: &mut Study<'_>) -> Result<Results> {
        let data = study.data(Wanted::Mq2007Validation);
        let results = study.grid(self.name, self.spec, &[data.setting()])?;
        for stream in STREAMS {
            let methods = self.values.iter().map(|(_, name, _)| (*name).to_owned()).collect();
            let panels = USERS.map(|users| self.panel(&results, stream, users)).into_iter().collect::<Result<_>>()?;
            let figure = Figure {
                title: self.title.into(),
                subtitle: format!("{}; {stream} stream; mean of 5 runs with 95 % confidence bands", data.name),
                x_label: "interactions of all clients together".into(),
                y_label: "mean batch MaxRR".into(),
                methods,
                panels,
            };
            study.figure(&format!("{}-{stream}", self.name), &figure)?;
        }
        study.note(format!(
            "data: {}; the paper has pictures only, so nothing but its conclusions is judged",
            data.name
        ));
        study.note("budget: 1,000,000 interactions a run as in the paper, 5 seeds (7, the paper's, and four more)");
        Ok(results)
    }

    fn panel(&self, results: &Results, stream: &str, users: &str) -> Result<Panel> {
        let curve_of = |(method, (label, _, window)): (usize, &(&str, &str, usize))| {
            let setting = select(results, &labels(self.axis, label, stream, users))?;
            Ok(curve(results, setting, METRIC, *window, method))
        };
        let curves = self.values.iter().enumerate().map(curve_of).collect::<Result<_>>()?;
        Ok(Panel { title: format!("{users} users"), curves })
    }

    /// Mean batch MaxRR over a part of the course, one a run, for each value.
    fn values(
        &self,
        results: &Results,
        stream: &str,
        users: &str,
        part: std::ops::Range<f64>,
    ) -> Result<Vec<Vec<f64>>> {
        let of = |(label, _, _): &(&str, &str, usize)| {
            Ok(over(results, select(results, &labels(self.axis, label, stream, users))?, METRIC, part.clone()))
        };
        self.values.iter().map(of).collect()
    }
}

fn labels<'a>(axis: &'a str, label: &'a str, stream: &'a str, users: &'a str) -> [(&'a str, &'a str); 3] {
    [(axis, label), ("learner.stream", stream), ("users.preset", users)]
}

/// The whole course, and its last tenth.
const WHOLE: std::ops::Range<f64> = 0.0..1.0;
const END: std::ops::Range<f64> = 0.9..1.0;

/// Finding 1: antithetic perturbations win at equal interactions, most of all under informational users.
pub(super) fn figure_1(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        name: "figure-1",
        spec: include_str!("../../../../specs/foltr-es/figure-1.toml"),
        axis: "learner.antithetic",
        values: &[("true", "antithetic", 4), ("false", "not antithetic", 4)],
        title: "FOLtR-ES Figure 1: antithetic perturbations",
    };
    let results = exploration.run(study)?;
    for stream in STREAMS {
        let mut gains = Vec::new();
        for users in USERS {
            let values = exploration.values(&results, stream, users, WHOLE)?;
            gains.push(difference(&values[0], &values[1]));
        }
        let [perfect, navigational, informational] = [gains[0].0, gains[1].0, gains[2].0];
        let holds = perfect > 0.0 && navigational > 0.0 && informational > perfect.max(navigational);
        let told: Vec<String> = USERS.iter().zip(&gains).map(|(users, (_, gain))| format!("{gain} {users}")).collect();
        let evidence = format!("{stream} stream: antithetic gains {} (whole course)", told.join(", "));
        study.finding(1, holds, evidence);
    }
    Ok(())
}

/// Finding 2: all sizes of messages end within .05; 16 and 32 are slower.
pub(super) fn figure_2(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        name: "figure-2",
        spec: include_str!("../../../../specs/foltr-es/figure-2.toml"),
        axis: "clients.interactions",
        values: &[("2", "B = 2", 8), ("4", "B = 4", 4), ("8", "B = 8", 2), ("16", "B = 16", 1), ("32", "B = 32", 1)],
        title: "FOLtR-ES Figure 2: interactions in one message",
    };
    let results = exploration.run(study)?;
    for stream in STREAMS {
        let (mut holds, mut told) = (true, Vec::new());
        for users in USERS {
            let means = |part| -> Result<Vec<f64>> {
                Ok(exploration.values(&results, stream, users, part)?.iter().map(|runs| mean(runs)).collect())
            };
            let (end, whole) = (means(END)?, means(WHOLE)?);
            let spread = end.iter().copied().fold(f64::MIN, f64::max) - end.iter().copied().fold(f64::MAX, f64::min);
            let small = whole[..3].iter().copied().fold(f64::MAX, f64::min);
            let slower = small - whole[3].max(whole[4]);
            holds &= spread <= 0.05 && slower > 0.0;
            told.push(format!("{users}: ends {spread:.3} apart, 16 and 32 behind by {slower:+.4} or more"));
        }
        study.finding(2, holds, format!("{stream} stream: {}", told.join("; ")));
    }
    Ok(())
}

/// Finding 3: p = .5 is close to p = 1; .25 and .15 are slower but learn.
pub(super) fn figure_3(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        name: "figure-3",
        spec: include_str!("../../../../specs/foltr-es/figure-3.toml"),
        axis: "privacy.probability",
        values: &[("1.0", "p = 1", 4), ("0.5", "p = .5", 4), ("0.25", "p = .25", 4), ("0.15", "p = .15", 4)],
        title: "FOLtR-ES Figure 3: privacy against learning",
    };
    let results = exploration.run(study)?;
    for stream in STREAMS {
        let (mut holds, mut told) = (true, Vec::new());
        for users in USERS {
            let means = |part| -> Result<Vec<f64>> {
                Ok(exploration.values(&results, stream, users, part)?.iter().map(|runs| mean(runs)).collect())
            };
            let (start, end, whole) = (means(0.0..0.04)?, means(END)?, means(WHOLE)?);
            let ordered = whole[0] >= whole[1] && whole[1] > whole[2] && whole[2] > whole[3];
            let close = end[0] - end[1] <= 0.02;
            let learns = (0..4).all(|p| end[p] > start[p]);
            holds &= ordered && close && learns;
            let [a, b, c, d] = [whole[0], whole[1], whole[2], whole[3]];
            let gained = end[3] - start[3];
            told.push(format!("{users}: {a:.3} {b:.3} {c:.3} {d:.3}, p = .15 gains {gained:+.3}"));
        }
        let evidence = format!("{stream} stream, p = 1 .5 .25 .15 over the course: {}", told.join("; "));
        study.finding(3, holds, evidence);
    }
    Ok(())
}
