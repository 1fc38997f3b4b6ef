//! The entries of `DKA17`: mimic learning on the collections at hand, and what its privacy costs.

mod privacy;
mod tables;

use anyhow::Result;
use xxhash_rust::xxh3::xxh3_64;

use super::specs::{Spec, specs};
use super::{Entry, Study};
use crate::folder::CODE_HASH;
use crate::mimic::{self, Line, MimicExperiment, Step, Store, Summary, step_bar};

pub(super) const TABLE_2: Entry = Entry {
    id: "mimic-table-2",
    paper: "DKA17",
    what: "Teachers and students under full and weak supervision, with BM25 beside them",
    run: tables::table_2,
};
pub(super) const TABLE_3: Entry = Entry {
    id: "mimic-table-3",
    paper: "DKA17",
    what: "Three teachers, aggregated with and without noise, and their students",
    run: tables::table_3,
};
pub(super) const PRIVACY: Entry = Entry {
    id: "mimic-privacy",
    paper: "beyond the papers",
    what: "A student's quality over the epsilon of its labels, by number of teachers",
    run: privacy::figure,
};

specs! {
    "mimic":
    FULL = "full";
    WEAK = "weak";
    PARTITIONED = "partitioned";
    PRIVATE = "private";
}

impl Study<'_> {
    /// Runs an experiment of mimic learning in `out/shared/<name>`, or takes up where it was left.
    ///
    /// # Errors
    /// If the experiment is wrong, a step fails, or Ctrl-C came ([`super::Interrupted`]).
    fn mimic(&mut self, name: &str, spec: Spec, overrides: &[String]) -> Result<Mimicked> {
        let experiment = MimicExperiment::from_toml(spec.text, overrides)
            .map_err(|problems| super::study::wrong(&self.shared_folder(name), &problems))?;
        // Another budget or program has a folder of its own.
        let key = xxh3_64(format!("{}\n{CODE_HASH}", serde_json::to_string(&experiment)?).as_bytes());
        let folder = self.shared_folder(&format!("{name}-{key:016x}"));
        let store = Store::load(&experiment)?;
        let (_, stop) = self.watchers();
        let bar = step_bar();
        let evaluations = mimic::run(&experiment, &store, &folder, &Step::ALL, &bar, stop);
        bar.finish_and_clear();
        let evaluations = evaluations?;
        let summary = Summary::of(&evaluations);
        summary.write(&folder, name, &evaluations)?;
        Ok(Mimicked { store, summary })
    }
}

/// An experiment that has run.
struct Mimicked {
    store: Store,
    summary: Summary,
}

impl Mimicked {
    /// nDCG@20 of a ranker; not a number if there is none.
    fn ndcg(&self, ranker: &str) -> f64 {
        self.summary.line(ranker).map_or(f64::NAN, Line::ndcg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_sound_experiment() {
        for spec in SPECS {
            let read = MimicExperiment::from_toml(spec.text, &[]);
            assert!(read.is_ok(), "{}: {:?}", spec.name, read.err());
        }
    }
}
