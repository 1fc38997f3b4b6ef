//! Beyond the papers: every way to forget a client, judged by what is left of it, what is lost of others, whether
//! somebody can tell, and what it takes; with a control that does nothing and must fail.
//!
//! A plain federation with a marked client has most of the ways. Noisy rollback rests on a server that clips, and the
//! certificate on user-level privacy: those have federations of their own, each with its own control. Shards are beside
//! one federation of a thousand clients. What must come of it: `unlearning/judge.rs`, written before the runs.

mod judge;
mod membership;
mod shards;
mod trial;

use anyhow::Result;
use foltr_federation::Unlearning;
use foltr_federation::unlearn::{
    Certificate, FedEraser, LedgerSubtraction, NoisyRollback, Retrain, Sensitivity, Variant,
};

use super::specs::{Spec, specs};
use super::{Entry, Study, Wanted};
use crate::table::table;
use judge::Judged;
use trial::{Trial, Way};

pub(super) const ENTRY: Entry = Entry {
    id: "unlearning",
    paper: "beyond the papers",
    what: "Every way to forget a client: what is left, what is lost, who can tell, what it takes",
    run,
};

specs! {
    "unlearning":
    MARKED = "marked";
    CLIPPED = "clipped";
    PRIVATE = "private";
    SHARDS = "shards";
}

/// The control's name.
const NOTHING: &str = "nothing";
const RETRAIN: &str = "retrain";
const FED_ERASER: &str = "FedEraser";
const NOISY_ROLLBACK: &str = "noisy rollback";
const CERTIFICATE: &str = "certificate";

const fn eraser(variant: Variant) -> Unlearning {
    Unlearning::FedEraser(FedEraser { interval: 5, steps: 4, variant })
}

const CONTROL: Way = Way { name: NOTHING, method: None };
const EXACT: Way = Way { name: RETRAIN, method: Some(Unlearning::Retrain(Retrain {})) };

/// A federation, and the ways to forget that it allows.
struct Scene {
    name: &'static str,
    spec: Spec,
    ways: &'static [Way],
    /// Rounds when the budget is small, and in full.
    n_rounds: (usize, usize),
}

const SCENES: [Scene; 3] = [
    Scene {
        name: "marked client of 10",
        spec: MARKED,
        ways: &[
            CONTROL,
            EXACT,
            Way { name: FED_ERASER, method: Some(eraser(Variant::Thesis)) },
            Way { name: "FedEraser, released", method: Some(eraser(Variant::Released)) },
            Way { name: "ledger subtraction", method: Some(Unlearning::LedgerSubtraction(LedgerSubtraction {})) },
        ],
        n_rounds: (500, 2000),
    },
    Scene {
        name: "marked client of 50, clipped",
        spec: CLIPPED,
        ways: &[
            CONTROL,
            EXACT,
            Way {
                name: NOISY_ROLLBACK,
                method: Some(Unlearning::NoisyRollback(NoisyRollback {
                    clip_norm: 0.1,
                    epsilon: 4.0,
                    delta: 1e-5,
                    max_noise: 0.02,
                    sensitivity: Sensitivity::WorstCase,
                })),
            },
        ],
        n_rounds: (500, 2000),
    },
    Scene {
        name: "honest client of 200, private",
        spec: PRIVATE,
        ways: &[
            CONTROL,
            EXACT,
            Way {
                name: CERTIFICATE,
                // A little above the run's own epsilon, for rounding.
                method: Some(Unlearning::Certificate(Certificate { epsilon: 4.001, delta: 1e-5 })),
            },
        ],
        n_rounds: (50, 100),
    },
];

/// Where it is run.
struct Data {
    name: String,
    overrides: Vec<String>,
    slug: &'static str,
}

impl Data {
    fn all(study: &Study<'_>) -> [Self; 2] {
        let real = study.data(Wanted::Mq2008).only_folds(&[1]);
        let generated = "data={ kind = \"synthetic\", shape = \"mslr\", queries = 500, test_queries = 200, seed = 1 }";
        [
            Self { name: format!("{}, fold 1", real.name), overrides: vec![real.setting()], slug: "mq2008" },
            Self {
                name: "synthetic mslr".into(),
                overrides: vec![generated.into(), "data.normalise=query".into()],
                slug: "mslr",
            },
        ]
    }

    fn folder(&self, what: &str) -> String {
        format!("forgetting-{}-{what}", self.slug)
    }
}

fn run(study: &mut Study<'_>) -> Result<()> {
    for data in Data::all(study) {
        for scene in &SCENES {
            on_scene(study, &data, scene)?;
        }
        shards::judge(study, &data)?;
    }
    study.note("influence: distance to what the same method makes of a federation that never had the client");
    study.note("told: the client's presence can be told from one ranker, by an attacker with runs of other seeds");
    study.note("prices are over those of retraining; seconds are of one thread");
    Ok(())
}

fn on_scene(study: &mut Study<'_>, data: &Data, scene: &Scene) -> Result<()> {
    let n_rounds = study.either(scene.n_rounds.0, scene.n_rounds.1);
    let seeds: Vec<u64> = study.either(1..=10, 1..=20).collect();
    let mut overrides = data.overrides.clone();
    overrides.extend([format!("federation.rounds={n_rounds}"), format!("seeds={seeds:?}")]);
    let work = |task: &super::each::Task<'_>| Trial::run(task, scene.ways);
    let done = study.each(&data.folder(scene.spec.name), scene.spec.text, &overrides, work)?;
    let trials: Vec<&Trial> = done.iter().map(|done| &done.value).collect();
    let all: Vec<Judged> = (0..scene.ways.len()).map(|place| Judged::of(&trials, place)).collect();
    let place = format!("{}, {}", data.name, scene.name);
    study.table(&format!("{place}: {n_rounds} rounds, {} seeds", seeds.len()), &shown(&all));
    all.iter().for_each(|way| promise(study, &place, way));
    Ok(())
}

/// What must come of a way; of ways that are nowhere promised to work only the table tells.
fn promise(study: &mut Study<'_>, place: &str, way: &Judged) {
    let evidence = format!("{}: influence {:.3}, lost {:+.4}, {}", way.verdict(), way.influence, way.lost, told(way));
    match way.name.as_str() {
        NOTHING => study.claim(format!("{place}: doing nothing fails"), !way.passes(), evidence),
        RETRAIN => {
            let is_exact = way.influence == 0.0 && way.distance == 0.0;
            study.claim(format!("{place}: retraining passes, bit by bit"), way.passes() && is_exact, evidence);
        }
        FED_ERASER => {
            let claim = format!("{place}: FedEraser repairs 80 % of the damage and costs others at most .01");
            let repaired = way.repaired.unwrap_or(0.0);
            let evidence = format!("repaired {:.0} %; {evidence}", 100.0 * repaired);
            study.claim(claim, repaired >= judge::REPAIRED && !way.is_over(), evidence);
        }
        NOISY_ROLLBACK => study.claim(format!("{place}: noisy rollback passes"), way.passes(), evidence),
        CERTIFICATE => {
            let claim = format!("{place}: under a certificate nobody can tell, and nobody loses");
            study.claim(claim, !way.is_told() && !way.is_over(), evidence);
        }
        _ => {}
    }
}

fn told(way: &Judged) -> String {
    way.membership.map_or_else(
        || "-".into(),
        |auc| format!("AUC {:.2} [{:.2}, {:.2}]", auc.value, auc.interval.0, auc.interval.1),
    )
}

fn shown(all: &[Judged]) -> String {
    let line = |way: &Judged| {
        let price = way.price.map(|share| format!("{share:.3}"));
        let own = vec![
            way.name.clone(),
            way.verdict(),
            format!("{:.4}", way.quality),
            way.repaired.map_or_else(|| "-".into(), |share| format!("{:.0} %", 100.0 * share)),
            format!("{:.3}", way.distance),
            format!("{:.3}", way.influence),
            format!("{:+.4}", way.lost),
            told(way),
            format!("{:.4}", way.lowest),
            way.online.map_or_else(|| "-".into(), |value| format!("{value:.4}")),
            way.guarantee.split(':').next().unwrap_or_default().to_owned(),
        ];
        own.into_iter().chain(price).collect::<Vec<_>>()
    };
    let header = [
        "way",
        "verdict",
        "nDCG@10",
        "repaired",
        "distance",
        "influence",
        "lost",
        "membership",
        "lowest",
        "online",
        "guarantee",
        "steps",
        "messages",
        "bytes",
        "seconds",
    ];
    table(&header, 2, all.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn every_scene_has_its_file_its_control_and_what_its_ways_need() {
        for scene in &SCENES {
            let grid = Grid::from_toml(scene.spec.text, &[]).unwrap_or_else(|it| panic!("{}: {it:?}", scene.name));
            let [setting] = &grid.settings[..] else { panic!("{}: one setting", scene.name) };
            let keeping = setting.experiment.keeping().expect("a history");
            assert!(setting.experiment.seeds.len() >= 10, "{}: seeds", scene.name);
            assert!(scene.ways[0].method.is_none(), "{}: the control", scene.name);
            for method in scene.ways.iter().filter_map(|way| way.method) {
                assert!(method.needs().iter().all(|need| need.is_met(&keeping)), "{}: {}", scene.name, method.name());
            }
        }
        assert_eq!(SPECS.len(), SCENES.len() + 1);
    }
}
