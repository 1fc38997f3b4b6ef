//! Figures 3.1 to 3.5 of `W24` Wang's thesis, section 3.1: what FOLtR-ES does beyond MQ2007 and MQ2008, with other numbers
//! of clients, beside PDGD, and measured by nDCG.
//!
//! The thesis has no printed numbers here. Its code is derived from that of FOLtR-ES, so its runs are those of the
//! published stream. MSLR-WEB10K goes into FOLtR-ES with raw features and into PDGD with normalised ones, as in its code.

mod comparison;
mod evolution;

use anyhow::Result;

use super::{Entry, StandIn, Study, Wanted};
use crate::results::Results;
use crate::table::grouped;

const PAPER: &str = "Wang's thesis 2024, section 3.1";

pub(super) const FIGURE_1: Entry = Entry {
    id: "thesis-figure-3.1",
    paper: PAPER,
    what: "FOLtR-ES across collections: mean batch MaxRR by privatisation and ranker",
    run: evolution::figure_1,
};

pub(super) const FIGURE_2: Entry = Entry {
    id: "thesis-figure-3.2",
    paper: PAPER,
    what: "FOLtR-ES by number of clients: 50, 1,000, 2,000",
    run: evolution::figure_2,
};

pub(super) const FIGURE_3: Entry = Entry {
    id: "thesis-figure-3.3",
    paper: PAPER,
    what: "FOLtR-ES and PDGD with batches of 8,000: mean batch MaxRR",
    run: comparison::figure_3,
};

pub(super) const FIGURE_4: Entry = Entry {
    id: "thesis-figure-3.4",
    paper: PAPER,
    what: "FOLtR-ES: online nDCG@10 by privatisation and ranker",
    run: evolution::figure_4,
};

pub(super) const FIGURE_5: Entry = Entry {
    id: "thesis-figure-3.5",
    paper: PAPER,
    what: "FOLtR-ES and PDGD: offline nDCG@10",
    run: comparison::figure_5,
};

/// The collections of all five figures. Generated data of the shape of Yahoo set 1 judges nothing and, with its 700
/// features, takes longest: a quick run leaves it out.
fn collections(study: &mut Study<'_>) -> Vec<Collection> {
    let wanted = [Wanted::Mq2007, Wanted::Mq2008, Wanted::Mslr, Wanted::Yahoo];
    let mut collections: Vec<Collection> = wanted.map(|wanted| Collection::new(study, wanted)).into();
    if study.is_quick() {
        collections.retain(|it| it.wanted != Wanted::Yahoo || !it.is_generated());
        if collections.len() < wanted.len() {
            study.note("Yahoo set 1 is not at hand, and generated data of its shape is left out of a quick run");
        }
    }
    collections
}

const RANKERS: [&str; 2] = ["linear", "neural"];

/// Data and length of the runs on a collection.
struct Collection {
    wanted: Wanted,
    data: StandIn,
    budget: usize,
}

impl Collection {
    /// Stand-ins get shorter runs: less can be judged by them.
    fn new(study: &Study<'_>, wanted: Wanted) -> Self {
        let data = study.data(wanted);
        let is_generated = data.section.contains("synthetic");
        let budget = match (study.is_quick(), is_generated) {
            (false, _) if data.is_the_papers => 2_000_000,
            (false, _) => 400_000,
            (true, true) => 64_000,
            (true, false) => 160_000,
        };
        Self { wanted, data, budget }
    }

    fn slug(&self) -> String {
        self.wanted.name().to_lowercase().replace(' ', "-")
    }

    fn is_generated(&self) -> bool {
        self.data.section.contains("synthetic")
    }

    fn note(&self, study: &mut Study<'_>) {
        let n_folds = if self.data.section.contains("folder") { "all folds" } else { "one fold" };
        study.note(format!(
            "{}: {}, {} interactions a run (the thesis: 2 000 000), {n_folds}, seed 7",
            self.wanted.name(),
            self.data.name,
            grouped(self.budget as u64)
        ));
    }

    /// The runs of FOLtR-ES by privatisation, shared by all five figures.
    fn evolution(&self, study: &mut Study<'_>) -> Result<Results> {
        let overrides = [self.data.setting(), format!("federation.budget={}", self.budget)];
        let spec = include_str!("../../../specs/thesis/privatisation.toml");
        study.shared_grid(&format!("thesis-{}", self.slug()), spec, &overrides)
    }
}
