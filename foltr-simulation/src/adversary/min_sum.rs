//! Min-Sum: as far from the mean as no honest update is from all others together.
//!
//! `SH21` Shejwalkar, Houmansadr: *Manipulating the Byzantine: Optimizing Model Poisoning Attacks and Defenses for
//! Federated Learning*, NDSS 2021, its second agnostic attack: mean + gamma p with the largest gamma for which the sum of
//! squared distances to honest updates is at most the largest such sum of an honest update.
//!
//! Both sums are those of the squared distances to the mean plus n times the squared distance of the point to the mean.
//! So gamma is the distance of the farthest honest update from the mean.
//!
//! Deviation: none but that: Algorithm 1 of the paper searches for the same gamma and ends a little below.

use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

use crate::adversary::geometry::{mean_of, squared_distance};
use crate::adversary::min_max::{Perturbation, along};
use crate::adversary::{Adversary, AttackMethod, Own, Seen};

/// Which way from the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct MinSum {
    /// The perturbation.
    pub direction: Perturbation,
}

impl AttackMethod for MinSum {
    fn example() -> Self {
        Self::default()
    }

    fn begin(&self) -> Option<Box<dyn Adversary>> {
        Some(Box::new(*self))
    }
}

impl Adversary for MinSum {
    fn corrupt(&mut self, seen: &Seen<'_>, own: &mut Own<'_>, _stream: &mut Stream) {
        let rows = seen.typical(own.rows());
        let mean = mean_of(rows);
        let way = self.direction.of(rows, &mean);
        let farthest = rows.iter().map(|row| squared_distance(row, &mean)).fold(0.0, f64::max);
        let malicious = along(&mean, farthest.sqrt(), &way);
        own.send_all(&malicious);
    }
}
