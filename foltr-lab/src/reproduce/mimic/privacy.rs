//! What does a guarantee cost? A student's nDCG@20 over the epsilon of its labels, for few and many teachers.
//!
//! The privacy unit is one training query. Epsilon is what holds whatever the votes were; no parameter was chosen by
//! results. More teachers outvote the same noise, but each knows less.

use anyhow::Result;
use foltr_mimic::accountant::data_independent;
use foltr_mimic::aggregation::VoteNoise;

use super::{Mimicked, PRIVATE, Study};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Reference, Scale, Sharing};
use crate::reproduce::Wanted;
use crate::table::table;

const EPSILONS: [f64; 7] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
const DELTA: f64 = 1e-5;
const N_PAIRS: usize = 2000;
/// What chance may make of two students.
const SLACK: f64 = 0.01;

/// Noise of a size.
type Noise = fn(f64) -> VoteNoise;

/// The two ways to noise votes.
const NOISES: [(&str, Noise); 2] = [
    ("Gaussian", |size| VoteNoise::Gaussian { sigma: size }),
    ("Laplace", |size| VoteNoise::Laplace { gamma: 1.0 / size }),
];

/// One collection with the numbers of teachers that it is divided among.
struct Case {
    name: String,
    slug: &'static str,
    setting: String,
    n_teachers: &'static [u32],
}

fn cases(study: &Study<'_>) -> Vec<Case> {
    let folds: &[usize] = study.either(&[1], &[1, 2, 3, 4, 5]);
    let real = study.data(Wanted::Mq2007).only_folds(folds);
    let generated = "data={ kind = \"synthetic\", shape = \"mslr\", queries = 5000, test_queries = 500, seed = 1 }";
    vec![
        Case { name: real.name.clone(), slug: "mq2007", setting: real.setting(), n_teachers: &[3, 10, 50] },
        Case { name: "synthetic mslr".into(), slug: "mslr", setting: generated.into(), n_teachers: &[250] },
    ]
}

/// The least noise that keeps the labels below epsilon.
fn noise_for(kind: Noise, n_teachers: u32, epsilon: f64) -> f64 {
    let (mut too_little, mut enough) = (1e-3, 1e6);
    for _ in 0..60 {
        let middle = f64::sqrt(too_little * enough);
        match data_independent(kind(middle), n_teachers, N_PAIRS, DELTA) <= epsilon {
            true => enough = middle,
            false => too_little = middle,
        }
    }
    enough
}

/// Aggregations as a list for an experiment file: without noise, then every kind and epsilon.
fn aggregations(n_teachers: u32, epsilons: &[f64]) -> String {
    let mut all = vec!["{ name = \"clear\", method = { kind = \"scores\", scale = 0.0 } }".to_owned()];
    for &epsilon in epsilons {
        let [gaussian, laplace] = NOISES.map(|(_, kind)| noise_for(kind, n_teachers, epsilon));
        all.push(format!(
            "{{ name = \"{}\", method = {{ kind = \"gaussian-votes\", deviation = {gaussian:?}, pairs = {N_PAIRS} }} }}",
            name("Gaussian", epsilon)
        ));
        all.push(format!(
            "{{ name = \"{}\", method = {{ kind = \"votes\", gamma = {:?}, pairs = {N_PAIRS} }} }}",
            name("Laplace", epsilon),
            1.0 / laplace
        ));
    }
    format!("aggregation=[{}]", all.join(", "))
}

fn name(kind: &str, epsilon: f64) -> String {
    format!("{kind}-{epsilon}")
}

pub(super) fn figure(study: &mut Study<'_>) -> Result<()> {
    let epsilons: &[f64] = study.either(&EPSILONS[2..6], &EPSILONS);
    let mut rows = Vec::new();
    let mut panels: [Vec<Panel>; 2] = Default::default();
    let methods: Vec<String> = [3, 10, 50, 250].map(|n| format!("{n} teachers")).to_vec();
    let mut columns = Vec::new();
    let mut holds = Vec::new();
    for case in cases(study) {
        let mut done = Vec::new();
        for &n_teachers in case.n_teachers {
            let seeds = study.either("seeds=[1]", "seeds=[1,2]");
            let overrides = [
                case.setting.clone(),
                "data.normalise=query".into(),
                format!("supervision.teachers={n_teachers}"),
                seeds.into(),
                aggregations(n_teachers, epsilons),
            ];
            done.push((n_teachers, study.mimic(&format!("mimic-{}-{n_teachers}", case.slug), PRIVATE, &overrides)?));
        }
        for (n_teachers, one) in &done {
            rows.extend(told(&case.name, *n_teachers, one, epsilons));
            holds.extend(NOISES.map(|(kind, _)| rises(&case.name, *n_teachers, kind, one, epsilons)));
        }
        for ((kind, _), panels) in NOISES.iter().zip(&mut panels) {
            panels.push(panel(kind, &done, epsilons));
        }
        columns.push(case.name);
    }
    let header = ["data", "teachers", "noise", "epsilon", "size of noise", "student's nDCG@20", "without noise"];
    study.table(
        &format!("Labels of {N_PAIRS} pairs, delta {DELTA:e}, one training query replaced"),
        &table(&header, 3, rows),
    );
    let evidence: Vec<String> = holds.iter().map(|(_, told)| told.clone()).collect();
    let is_so = holds.iter().all(|(holds, _)| *holds);
    let claim = "the strongest guarantee ranks no better than the weakest, nor any better than none (by more than .01)";
    study.claim(claim.into(), is_so, evidence.join("; "));
    let panel_rows = NOISES.iter().zip(panels).map(|((kind, _), panels)| PanelRow { title: (*kind).into(), panels });
    study.figure(
        "mimic-privacy",
        CurveFigure {
            title: "Privacy and quality of a student".into(),
            subtitle: format!("{N_PAIRS} labelled pairs, delta {DELTA:e}; unit: one training query; lines: no noise"),
            x_label: "epsilon (data-independent)".into(),
            y_label: "nDCG@20".into(),
            methods,
            columns,
            rows: panel_rows.collect(),
            x_scale: Scale::Logarithmic,
            x_sharing: Sharing::Figure,
            y_sharing: Sharing::Panel,
        },
    )?;
    study.note("epsilon is the data-independent one: it holds whatever the teachers voted, and may be published");
    Ok(())
}

/// Whether quality is as the guarantee lets one expect, and the numbers.
fn rises(data: &str, n_teachers: u32, kind: &str, one: &Mimicked, epsilons: &[f64]) -> (bool, String) {
    let clear = one.ndcg("student, clear");
    let values: Vec<f64> =
        epsilons.iter().map(|&epsilon| one.ndcg(&format!("student, {}", name(kind, epsilon)))).collect();
    let (least, most) = (values[0], values[values.len() - 1]);
    let holds = least <= most + SLACK && values.iter().all(|&value| value <= clear + SLACK);
    let (first, last) = (epsilons[0], epsilons[epsilons.len() - 1]);
    let told = format!("{least:.4} at {first}, {most:.4} at {last}, {clear:.4} without noise");
    (holds, format!("{data}, {n_teachers} teachers, {kind}: {told}"))
}

fn told(data: &str, n_teachers: u32, one: &Mimicked, epsilons: &[f64]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (kind, noise) in NOISES {
        for &epsilon in epsilons {
            rows.push(vec![
                data.to_owned(),
                n_teachers.to_string(),
                kind.to_owned(),
                epsilon.to_string(),
                format!("{:.2}", noise_for(noise, n_teachers, epsilon)),
                format!("{:.4}", one.ndcg(&format!("student, {}", name(kind, epsilon)))),
                format!("{:.4}", one.ndcg("student, clear")),
            ]);
        }
    }
    rows
}

fn panel(kind: &str, done: &[(u32, Mimicked)], epsilons: &[f64]) -> Panel {
    let method = |n_teachers: u32| [3, 10, 50, 250].iter().position(|&n| n == n_teachers).unwrap_or(0);
    let point = |one: &Mimicked, epsilon: f64| {
        let line = one.summary.line(&format!("student, {}", name(kind, epsilon)))?;
        let (low, high) = line.interval.unwrap_or((line.ndcg(), line.ndcg()));
        Some(Point { x: epsilon, mean: line.ndcg(), low, high })
    };
    let curve = |(n_teachers, one): &(u32, Mimicked)| Curve {
        method: method(*n_teachers),
        points: epsilons.iter().filter_map(|&epsilon| point(one, epsilon)).collect(),
    };
    let reference = |(n_teachers, one): &(u32, Mimicked)| Reference {
        method: method(*n_teachers),
        value: one.ndcg("student, clear"),
    };
    Panel { curves: done.iter().map(curve).collect(), references: done.iter().map(reference).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_enough_and_no_more() {
        for (_, kind) in NOISES {
            let size = noise_for(kind, 50, 4.0);
            assert!(data_independent(kind(size), 50, N_PAIRS, DELTA) <= 4.0);
            assert!(data_independent(kind(size * 0.999), 50, N_PAIRS, DELTA) > 4.0);
        }
    }
}
