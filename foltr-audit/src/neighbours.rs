//! Two inputs that a label says cannot be told apart: the worst pair that we know, with unequal coordinates.
//!
//! The client in question is the last one. Its updates are along a direction whose coordinates differ in size and sign;
//! what takes their place differs in every coordinate, and is large where the first is small.

use foltr_rank::Update;

use foltr_federation::privacy::Adjacency;

/// What a client would send.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Local {
    /// A step, in units of the norm to which it is clipped.
    Step(Vec<f64>),
    /// Outcomes of interactions with a perturbed ranker, and with the mirrored one.
    Outcomes { plus: Vec<u16>, minus: Vec<u16> },
}

/// What all clients would send in a round, on both inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Neighbours {
    /// Of the client in question, which is not there if it is none.
    pub(super) target: [Option<Local>; 2],
    pub(super) others: Local,
    pub(super) n_others: usize,
}

/// The client in question is too long for its clip.
pub(super) const TOO_LONG: f64 = 10.0;
/// Just within the clip, so that it is counted as such.
const WITHIN: f64 = 0.999;

/// A unit vector of unequal coordinates and changing signs.
pub(super) fn direction(n_params: usize) -> Vec<f64> {
    let coordinate = |j: usize| {
        let size = 1.0 + 0.4 * j as f64 / n_params as f64;
        if j.is_multiple_of(2) { size } else { -size }
    };
    let plain: Vec<f64> = (0..n_params).map(coordinate).collect();
    let norm = plain.iter().map(|x| x * x).sum::<f64>().sqrt();
    plain.iter().map(|x| x / norm).collect()
}

/// The opposite sign everywhere, with the sizes in reverse order.
fn mirrored(along: &[f64]) -> Vec<f64> {
    along.iter().zip(along.iter().rev()).map(|(x, size)| -x.signum() * size.abs()).collect()
}

impl Local {
    /// The step in units of the model, if it is one.
    pub(super) fn step(&self, clip: f32) -> Vec<f32> {
        match self {
            Self::Step(vector) => vector.iter().map(|x| (x * f64::from(clip)) as f32).collect(),
            Self::Outcomes { .. } => Vec::new(),
        }
    }

    /// What the learner hands over, with its [step](Self::step).
    pub(super) fn update<'a>(&'a self, delta: &'a [f32]) -> Update<'a> {
        match self {
            Self::Step(_) => Update::Step { delta, n_interactions: 1 },
            Self::Outcomes { plus, minus } => Update::Evolution { seed: 0, plus, minus },
        }
    }
}

fn times(factor: f64, vector: &[f64]) -> Local {
    Local::Step(vector.iter().map(|x| factor * x).collect())
}

impl Neighbours {
    /// Steps of this length in units of the clip, the others' beside it: along the same line, which hides the least.
    pub(super) fn steps(adjacency: Adjacency, n_params: usize, length: f64, others: f64, n_others: usize) -> Self {
        let along = direction(n_params);
        let other = match adjacency {
            Adjacency::Removed => None,
            // As long as the clip, and said to be within it: the count moves, too.
            Adjacency::Replaced => Some(times(-length.min(WITHIN), &along)),
            Adjacency::Zeroed => Some(times(0.0, &along)),
            Adjacency::OtherClicks => Some(times(length, &mirrored(&along))),
        };
        Self { target: [Some(times(length, &along)), other], others: times(others, &along), n_others }
    }

    /// A click at the first rank in every interaction, or none ever.
    pub(super) fn outcomes(n_interactions: u32, is_mirrored: bool) -> Self {
        let outcomes = |outcome: u16| {
            let half = vec![outcome; n_interactions as usize / 2];
            let all = vec![outcome; n_interactions as usize];
            if is_mirrored {
                Local::Outcomes { plus: half.clone(), minus: half }
            } else {
                Local::Outcomes { plus: all, minus: Vec::new() }
            }
        };
        Self { target: [Some(outcomes(1)), Some(outcomes(0))], others: outcomes(0), n_others: 0 }
    }

    /// A click at the first rank in every interaction of the one side, and none ever on the other; or the other way round.
    pub(super) fn opposite(n_interactions: u32, is_mirrored: bool) -> Self {
        let mut neighbours = Self::outcomes(n_interactions, is_mirrored);
        if let [Some(Local::Outcomes { minus: one, .. }), Some(Local::Outcomes { minus: other, .. })] =
            &mut neighbours.target
        {
            std::mem::swap(one, other);
        }
        neighbours
    }

    /// What differs between the steps of the two inputs.
    pub(super) fn difference(&self) -> Vec<f64> {
        let step = |input: usize| match &self.target[input] {
            Some(Local::Step(vector)) => vector.clone(),
            _ => Vec::new(),
        };
        let (one, other) = (step(0), step(1));
        one.iter().enumerate().map(|(j, x)| x - other.get(j).unwrap_or(&0.0)).collect()
    }

    /// Hands out everybody's update on one of the inputs; steps in units of `clip`.
    pub(super) fn with_updates<T>(&self, input: usize, clip: f32, then: impl FnOnce(&[Update<'_>]) -> T) -> T {
        let (others, own) = (self.others.step(clip), self.target[input].as_ref().map(|local| local.step(clip)));
        let mut updates = vec![self.others.update(&others); self.n_others];
        if let (Some(local), Some(own)) = (&self.target[input], &own) {
            updates.push(local.update(own));
        }
        then(&updates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_differ_in_every_coordinate_and_their_coordinates_from_each_other() {
        for d in [1, 4, 5, 46] {
            let (along, other) = (direction(d), mirrored(&direction(d)));
            assert!((along.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(along.iter().zip(&other).all(|(a, b)| a * b < 0.0));
            let largest = |of: &[f64]| (0..d).max_by(|&i, &j| of[i].abs().total_cmp(&of[j].abs()));
            assert!(d == 1 || largest(&along) != largest(&other));
        }
    }
}
