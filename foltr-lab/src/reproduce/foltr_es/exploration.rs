//! Figures 1 to 3 of `KO19`: antithetic perturbations, interactions in a message, privatisation; linear rankers on the
//! validation queries of MQ2007's first fold.

use std::ops::Range;

use anyhow::Result;

use crate::reproduce::course::{END, USERS, WHOLE, bands, difference, over};
use crate::reproduce::drawing::{Line, names, row, sheet};
use crate::reproduce::study::mean;
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Smoothing;

/// The mean batch MaxRR is what the paper reports.
const METRIC: MetricName = MetricName::OnlineMaxRr;

/// One exploratory experiment: a parameter with its values, drawn for all users.
struct Exploration {
    spec: &'static str,
    axis: &'static str,
    /// Label in the grid, name in the legend, and smoothing.
    values: &'static [(&'static str, &'static str, Smoothing)],
    title: &'static str,
}

/// An exploration that has run.
struct Explored {
    exploration: Exploration,
    results: Results,
    streams: &'static [&'static str],
}

impl Exploration {
    /// Runs it and draws it, one row a stream.
    fn run(self, study: &mut Study<'_>) -> Result<Explored> {
        let data = study.data(Wanted::Mq2007Validation);
        let streams: &[&str] = study.either(&["separate"], &["published", "separate"]);
        let overrides = [data.setting(), format!("learner.stream={streams:?}")];
        let results = study.grid("runs", self.spec, &overrides)?;
        let n_runs = results.runs_of(0).count();
        let explored = Explored { exploration: self, results, streams };
        let of_stream = |stream: &&str| row(&format!("{stream} stream"), METRIC, &explored.lines(stream));
        let rows = streams.iter().map(of_stream).collect::<Result<_>>()?;
        let subtitle = format!("{}; {}", data.name, bands(n_runs));
        let methods = names(&explored.lines(streams[0]));
        study.figure("figure", sheet(explored.exploration.title, subtitle, "mean batch MaxRR", methods, rows))?;
        study.note(format!("data: {}; the paper has pictures only: its conclusions are judged", data.name));
        study.note(format!(
            "budget: 1 000 000 interactions a run as in the paper, {n_runs} seeds (7, the paper's, and more), streams: {}",
            streams.join(", ")
        ));
        Ok(explored)
    }
}

impl Explored {
    fn lines<'a>(&'a self, stream: &'a str) -> Vec<Line<'a>> {
        let line = |(label, name, smoothing): &(&'static str, &'static str, Smoothing)| Line {
            name: (*name).into(),
            results: &self.results,
            labels: vec![(self.exploration.axis, label), ("learner.stream", stream)],
            smoothing: *smoothing,
        };
        self.exploration.values.iter().map(line).collect()
    }

    /// Mean batch MaxRR over a part of the course, one a run, for each value.
    fn values(&self, stream: &str, users: &str, part: Range<f64>) -> Result<Vec<Vec<f64>>> {
        let of = |line: &Line<'_>| Ok(over(&self.results, line.setting(users)?, METRIC, part.clone()));
        self.lines(stream).iter().map(of).collect()
    }

    /// The same, as means over runs.
    fn means(&self, stream: &str, users: &str, part: Range<f64>) -> Result<Vec<f64>> {
        Ok(self.values(stream, users, part)?.iter().map(|runs| mean(runs)).collect())
    }
}

/// Finding 1: antithetic perturbations win at equal interactions, most of all under informational users.
pub(super) fn figure_1(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        spec: include_str!("../../../../specs/foltr-es/figure-1.toml"),
        axis: "learner.antithetic",
        values: &[("true", "antithetic", Smoothing::FoltrEs), ("false", "not antithetic", Smoothing::FoltrEs)],
        title: "FOLtR-ES Figure 1: antithetic perturbations",
    };
    let explored = exploration.run(study)?;
    for stream in explored.streams {
        let gain = |users: &str| {
            let values = explored.values(stream, users, WHOLE)?;
            Ok(difference(&values[0], &values[1]))
        };
        let gains: Vec<(f64, String)> = USERS.map(gain).into_iter().collect::<Result<_>>()?;
        let holds = gains.iter().all(|(gain, _)| *gain > 0.0) && gains[2].0 > gains[0].0.max(gains[1].0);
        let told: Vec<String> = USERS.iter().zip(&gains).map(|(users, (_, gain))| format!("{gain} {users}")).collect();
        study.finding(1, holds, format!("{stream} stream: antithetic gains {} over the course", told.join(", ")));
    }
    Ok(())
}

/// Finding 2: all sizes of messages end within .05; 16 and 32 are slower.
pub(super) fn figure_2(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        spec: include_str!("../../../../specs/foltr-es/figure-2.toml"),
        axis: "clients.interactions",
        values: &[
            ("2", "B = 2", Smoothing::FoltrEsFigure2 { interactions: 2 }),
            ("4", "B = 4", Smoothing::FoltrEsFigure2 { interactions: 4 }),
            ("8", "B = 8", Smoothing::FoltrEsFigure2 { interactions: 8 }),
            ("16", "B = 16", Smoothing::FoltrEsFigure2 { interactions: 16 }),
            ("32", "B = 32", Smoothing::FoltrEsFigure2 { interactions: 32 }),
        ],
        title: "FOLtR-ES Figure 2: interactions in one message",
    };
    let explored = exploration.run(study)?;
    for stream in explored.streams {
        let (mut holds, mut told) = (true, Vec::new());
        for users in USERS {
            let (end, whole) = (explored.means(stream, users, END)?, explored.means(stream, users, WHOLE)?);
            let (low, high) = least_and_largest(&end);
            let behind = least_and_largest(&whole[..3]).0 - whole[3].max(whole[4]);
            holds &= high - low <= 0.05 && behind > 0.0;
            told.push(format!("{users}: ends {:.3} apart, 16 and 32 behind by {behind:+.4} or more", high - low));
        }
        study.finding(2, holds, format!("{stream} stream: {}", told.join("; ")));
    }
    Ok(())
}

fn least_and_largest(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
}

/// Finding 3: p = .5 is close to p = 1 (within .02 at the end); .25 and .15 are slower, in this order, but learn.
pub(super) fn figure_3(study: &mut Study<'_>) -> Result<()> {
    let exploration = Exploration {
        spec: include_str!("../../../../specs/foltr-es/figure-3.toml"),
        axis: "privacy.probability",
        values: &[
            ("1.0", "p = 1", Smoothing::FoltrEs),
            ("0.5", "p = .5", Smoothing::FoltrEs),
            ("0.25", "p = .25", Smoothing::FoltrEs),
            ("0.15", "p = .15", Smoothing::FoltrEs),
        ],
        title: "FOLtR-ES Figure 3: privacy against learning",
    };
    let explored = exploration.run(study)?;
    for stream in explored.streams {
        let (mut holds, mut told) = (true, Vec::new());
        for users in USERS {
            let means = |part| explored.means(stream, users, part);
            // The first four measurements, one smoothing window.
            let (start, end, whole) = (means(0.0..0.033)?, means(END)?, means(WHOLE)?);
            let ordered = whole[0] >= whole[1] && whole[1] > whole[2] && whole[2] > whole[3];
            let learns = end.iter().zip(&start).all(|(end, start)| end > start);
            holds &= ordered && end[0] - end[1] <= 0.02 && learns;
            told.push(format!(
                "{users}: {:.3} {:.3} {:.3} {:.3}, p = .5 ends {:.3} below p = 1, p = .15 gains {:+.3}",
                whole[0],
                whole[1],
                whole[2],
                whole[3],
                end[0] - end[1],
                end[3] - start[3]
            ));
        }
        study.finding(3, holds, format!("{stream} stream, p = 1 .5 .25 .15 over the course; {}", told.join("; ")));
    }
    Ok(())
}
