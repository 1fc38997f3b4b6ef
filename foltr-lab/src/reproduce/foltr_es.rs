//! Tables and figures of `KO19` Kharitonov: *Federated Online Learning to Rank with Evolution Strategies*, WSDM 2019.

mod exploration;
mod folds;
mod privacy_loss;

use crate::reproduce::Entry;

const PAPER: &str = "FOLtR-ES, WSDM 2019";

pub(super) const FIGURE_1: Entry = Entry {
    id: "foltr-es-figure-1",
    paper: PAPER,
    what: "Antithetic perturbations or not",
    run: exploration::figure_1,
};

pub(super) const FIGURE_2: Entry = Entry {
    id: "foltr-es-figure-2",
    paper: PAPER,
    what: "Interactions aggregated in one message",
    run: exploration::figure_2,
};

pub(super) const FIGURE_3: Entry = Entry {
    id: "foltr-es-figure-3",
    paper: PAPER,
    what: "Privatisation against speed of learning",
    run: exploration::figure_3,
};

pub(super) const FIGURE_4: Entry = Entry {
    id: "foltr-es-figure-4",
    paper: PAPER,
    what: "Learning curves on the folds of MQ2007",
    run: folds::figure_4,
};

pub(super) const FIGURE_5: Entry = Entry {
    id: "foltr-es-figure-5",
    paper: PAPER,
    what: "Learning curves on the folds of MQ2008",
    run: folds::figure_5,
};

pub(super) const TABLE_2: Entry = Entry {
    id: "foltr-es-table-2",
    paper: PAPER,
    what: "Epsilon of privatised MaxRR, by enumeration of all outcomes",
    run: privacy_loss::table_2,
};

pub(super) const TABLE_3: Entry = Entry {
    id: "foltr-es-table-3",
    paper: PAPER,
    what: "Expected MaxRR of final rankers and offline baselines",
    run: folds::table_3,
};
