//! What must be known to read the numbers of a run: what is odd about its data, what its privacy hides and costs, and what
//! its defence holds against.

mod data;
mod defence;
mod privacy;

use foltr_simulation::datasets::Fold;

use crate::spec::Experiment;

pub(crate) use data::{about_data, cut_file, lacking_features};

pub(crate) fn warnings(experiment: &Experiment, fold: &Fold) -> Vec<String> {
    [privacy::warnings(experiment, fold), defence::warnings(experiment)].concat()
}
