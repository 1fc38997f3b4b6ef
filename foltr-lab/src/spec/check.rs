//! Combinations that cannot work, refused before any work.

use super::{Experiment, Problem};

impl Experiment {
    /// Everything that is wrong with this experiment as a whole.
    pub fn check(&self) -> Vec<Problem> {
        Vec::new()
    }
}
