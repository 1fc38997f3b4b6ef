//! Simulated users: labels of a shown list in, clicks out.

mod cascade;
mod position_based;

use foltr_rank::Clicks;
use foltr_rank::rng::Stream;
use rand::RngExt;

pub use cascade::{Cascade, Preset};
pub use position_based::PositionBased;

/// A probability as a threshold for a 32-bit word: the word is below it with that probability, to 2^-32.
fn threshold(probability: f64) -> u64 {
    (probability.clamp(0.0, 1.0) * 2_f64.powi(32)).round() as u64
}

/// A simulated user.
pub trait ClickModel {
    /// Clicks on a list of documents with these labels, best first.
    fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks;

    /// Probability that each position is clicked, over all that may happen above it.
    fn marginals(&self, shown: &[u8]) -> Vec<f64>;

    /// Probability that a document with this label at this position is clicked, given that nothing above it was.
    fn click_probability(&self, position: usize, label: u8) -> f64;
}

/// Labels that a click model has no probability for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no user is known for labels 0 to {max_label}; users are defined for 2, 3 or 5 grades (largest label 1, 2 or 4)"
)]
pub struct UnknownGrades {
    /// The largest label of the data.
    pub max_label: u8,
}

/// All users an experiment can name.
#[derive(Clone, Debug, PartialEq)]
pub enum Users {
    /// Scans downwards, and may stop after a click.
    Cascade(Cascade),
    /// Examines each position by itself.
    PositionBased(PositionBased),
    /// Somebody else in every interaction: one of these, each as likely as the others.
    Mixed(Vec<Self>),
}

impl Users {
    /// Every kind of user: its name in an experiment file, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("cascade", "Reads from the top, clicks by grade, may stop after a click"),
        ("position-based", "Examines position i with probability (1/i)^eta, each by itself"),
        ("several", "Users that differ: one for each client, or one drawn for each interaction"),
    ];
}

impl ClickModel for Users {
    #[inline]
    fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks {
        match self {
            Self::Cascade(users) => users.click(shown, stream),
            Self::PositionBased(users) => users.click(shown, stream),
            Self::Mixed(all) => all[stream.random_range(0..all.len())].click(shown, stream),
        }
    }

    fn marginals(&self, shown: &[u8]) -> Vec<f64> {
        match self {
            Self::Cascade(users) => users.marginals(shown),
            Self::PositionBased(users) => users.marginals(shown),
            Self::Mixed(all) => {
                let by_user: Vec<Vec<f64>> = all.iter().map(|users| users.marginals(shown)).collect();
                (0..shown.len()).map(|i| by_user.iter().map(|one| one[i]).sum::<f64>() / all.len() as f64).collect()
            }
        }
    }

    fn click_probability(&self, position: usize, label: u8) -> f64 {
        match self {
            Self::Cascade(users) => users.click_probability(position, label),
            Self::PositionBased(users) => users.click_probability(position, label),
            // Nobody has clicked above, which is likelier for some users than for others: only at the first position is
            // this exact.
            Self::Mixed(all) => {
                all.iter().map(|users| users.click_probability(position, label)).sum::<f64>() / all.len() as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    fn all_users() -> Vec<(Users, u8)> {
        let mut users = Vec::new();
        for max_label in [1, 2, 4] {
            for preset in Preset::ALL {
                users.push((Users::Cascade(Cascade::preset(preset, max_label).unwrap()), max_label));
            }
            for eta in [0.0, 1.0, 2.0] {
                users.push((Users::PositionBased(PositionBased::perfect(eta, max_label).unwrap()), max_label));
            }
            let cascades = Preset::ALL.map(|preset| Users::Cascade(Cascade::preset(preset, max_label).unwrap()));
            users.push((Users::Mixed(cascades.to_vec()), max_label));
        }
        users
    }

    #[test]
    fn clicks_match_their_stated_rates() {
        const N: u32 = 200_000;
        for (users, max_label) in all_users() {
            let shown: Vec<u8> = (0..10).map(|i| (i * 7 % 5).min(max_label)).collect();
            let mut stream = Streams::new(4).open(Purpose::Interaction, 0, 0);
            let mut counts = [0_u32; 10];
            for _ in 0..N {
                let clicks = users.click(&shown, &mut stream);
                counts.iter_mut().enumerate().for_each(|(i, count)| *count += u32::from(clicks.at(i)));
            }
            for (&count, expected) in counts.iter().zip(users.marginals(&shown)) {
                let seen = f64::from(count) / f64::from(N);
                let error = 5.0 * (expected * (1.0 - expected) / f64::from(N)).sqrt() + 1e-9;
                assert!((seen - expected).abs() <= error, "{users:?}: {seen} instead of {expected}");
            }
        }
    }

    #[test]
    fn the_first_position_is_clicked_as_stated() {
        for (users, max_label) in all_users() {
            for label in 0..=max_label {
                assert_eq!(users.marginals(&[label])[0], users.click_probability(0, label));
            }
        }
    }

    #[test]
    fn labels_without_a_user_are_an_error() {
        let error = Cascade::preset(Preset::Perfect, 3).unwrap_err();
        assert_eq!(error, UnknownGrades { max_label: 3 });
        assert!(PositionBased::perfect(1.0, 7).is_err());
    }
}
