//! Simulated users: labels of a shown list in, clicks out. A click model is one file and one line in the list below.

mod cascade;
mod position_based;

use foltr_rank::Clicks;
use foltr_rank::parameter::ParameterError;
use foltr_rank::rng::Stream;
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub use cascade::{Cascade, CascadeParameters, Preset};
pub use position_based::{PositionBased, PositionBasedParameters};

/// A probability as a threshold for a 32-bit word: the word is below it with that probability, to 2^-32.
fn threshold(probability: f64) -> u64 {
    (probability.clamp(0.0, 1.0) * 2_f64.powi(32)).round() as u64
}

/// A simulated user, ready to click.
pub trait SimulatedUser {
    /// Clicks on a list of documents with these labels, best first.
    fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks;

    /// Probability that each position is clicked, over all that may happen above it.
    fn marginals(&self, shown: &[u8]) -> Vec<f64>;

    /// Probability that a document with this label at this position is clicked, given that nothing above it was.
    fn click_probability(&self, position: usize, label: u8) -> f64;
}

/// The parameters of one click model.
pub trait ClickParameters: Clone {
    /// The user that they describe.
    type User: SimulatedUser;

    /// Parameters with which every conformance test runs.
    fn examples() -> Vec<Self>;

    /// Every parameter that is out of range.
    fn check(&self) -> Vec<ParameterError>;

    /// How many grades the labels have; found in the data when absent.
    fn grades(&mut self) -> &mut Option<u8>;

    /// A word for tables and setting columns.
    fn name(&self) -> String;

    /// A user for labels 0 to `max_label`.
    fn user(&self, max_label: u8) -> Result<Self::User, UsersError>;
}

/// Why there is no user for some labels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsersError {
    /// Labels that no click model has probabilities for.
    #[error(
        "no user is known for labels 0 to {max_label}; users are defined for 2, 3 or 5 grades (largest label 1, 2 or 4)"
    )]
    UnknownGrades { max_label: u8 },
    #[error("users.grades = {grades}, but the data has label {max_label}: at least {} are needed", max_label + 1)]
    TooFewGrades { grades: u8, max_label: u8 },
    #[error("users.models: \"several\" cannot be among them")]
    Nested,
}

/// Defines [`ClickModel`], [`Users`], their list and their delegation from one line a model.
macro_rules! click_models {
    ($($name:literal: $model:ident($parameters:ident), $about:literal;)*) => {
        /// Who clicks, before the number of grades is known: that follows from the data.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum ClickModel {
            $(#[doc = $about] #[serde(rename = $name)] $model($parameters),)*
            /// Users that differ (Type 3 of spec section 10).
            #[serde(rename = "several")]
            Mixture(Mixture),
        }

        /// A simulated user, ready to click.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Users {
            $(#[doc = $about] $model($model),)*
            /// Somebody else in every interaction: one of these, each as likely as the others.
            Mixed(Vec<Self>),
        }

        impl ClickModel {
            /// Every click model: its name in an experiment file, and what it does.
            pub const LIST: &[(&str, &str)] = &[
                $(($name, $about),)*
                ("several", "Users that differ: one for each client, or one drawn for each interaction"),
            ];

            /// Every parameter that is out of range; of a mixture nothing, its models are checked one by one.
            pub fn check(&self) -> Vec<ParameterError> {
                match self {
                    $(Self::$model(parameters) => parameters.check(),)*
                    Self::Mixture(_) => Vec::new(),
                }
            }

            fn grades_mut(&mut self) -> Vec<&mut Option<u8>> {
                match self {
                    $(Self::$model(parameters) => vec![parameters.grades()],)*
                    Self::Mixture(mixture) => mixture.models.iter_mut().flat_map(Self::grades_mut).collect(),
                }
            }

            /// A word for tables and setting columns.
            pub fn name(&self) -> String {
                match self {
                    $(Self::$model(parameters) => parameters.name(),)*
                    Self::Mixture(mixture) => mixture.name(),
                }
            }

            fn user(&self, max_label: u8) -> Result<Users, UsersError> {
                match self {
                    $(Self::$model(parameters) => parameters.user(max_label).map(Users::$model),)*
                    Self::Mixture(_) => Err(UsersError::Nested),
                }
            }

            #[cfg(test)]
            fn examples() -> Vec<Self> {
                let mut examples = Vec::new();
                $(examples.extend($parameters::examples().into_iter().map(Self::$model));)*
                examples
            }
        }

        impl SimulatedUser for Users {
            #[inline]
            fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks {
                match self {
                    $(Self::$model(users) => users.click(shown, stream),)*
                    Self::Mixed(all) => all[stream.random_range(0..all.len())].click(shown, stream),
                }
            }

            fn marginals(&self, shown: &[u8]) -> Vec<f64> {
                match self {
                    $(Self::$model(users) => users.marginals(shown),)*
                    Self::Mixed(all) => {
                        let by_user: Vec<Vec<f64>> = all.iter().map(|users| users.marginals(shown)).collect();
                        let mean = |i: usize| by_user.iter().map(|own| own[i]).sum::<f64>() / all.len() as f64;
                        (0..shown.len()).map(mean).collect()
                    }
                }
            }

            fn click_probability(&self, position: usize, label: u8) -> f64 {
                match self {
                    $(Self::$model(users) => users.click_probability(position, label),)*
                    // Nobody has clicked above, which is likelier for some users than for others: only at the first
                    // position is this exact.
                    Self::Mixed(all) => {
                        all.iter().map(|users| users.click_probability(position, label)).sum::<f64>() / all.len() as f64
                    }
                }
            }
        }
    };
}

click_models! {
    "cascade": Cascade(CascadeParameters), "Reads from the top, clicks by grade, may stop after a click";
    "position-based": PositionBased(PositionBasedParameters),
        "Examines position i with probability (1/i)^eta, each by itself";
}

/// Users that differ.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mixture {
    /// The different ones.
    pub models: Vec<ClickModel>,
    /// What each of them is for.
    pub each: AssignedPer,
}

impl Mixture {
    fn name(&self) -> String {
        let names: Vec<String> = self.models.iter().map(ClickModel::name).collect();
        let each = match self.each {
            AssignedPer::Client => "client",
            AssignedPer::Interaction => "interaction",
        };
        format!("{}-by-{each}", names.join("+"))
    }
}

/// When users that differ take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AssignedPer {
    /// Client c has model c modulo their number.
    Client,
    /// Every interaction draws one of them: the IID counterpart.
    Interaction,
}

/// A cascade user, for labels of any number of grades.
impl From<Preset> for ClickModel {
    fn from(preset: Preset) -> Self {
        Self::Cascade(CascadeParameters { preset, grades: None })
    }
}

impl ClickModel {
    /// Every model that clicks: the only one, or several.
    pub fn models(&self) -> &[Self] {
        if let Self::Mixture(mixture) = self { &mixture.models } else { std::slice::from_ref(self) }
    }

    /// How many grades the labels have, if that is known; of several models the first that knows.
    pub fn grades(&self) -> Option<u8> {
        self.clone().grades_mut().into_iter().find_map(|grades| *grades)
    }

    /// Takes the smallest number of grades that covers the labels, unless the number is known. Users exist for 2, 3 and
    /// 5 grades: data whose highest grade happens to be missing still has the grades of its kind.
    pub fn resolve_grades(&mut self, max_label: u8) {
        for grades in self.grades_mut() {
            grades.get_or_insert(match max_label {
                0 | 1 => 2,
                2 => 3,
                3 | 4 => 5,
                more => more.saturating_add(1),
            });
        }
    }

    /// The users, for labels 0 to `max_label`: more than one if clients differ in how they click.
    pub fn build(&self, max_label: u8) -> Result<Vec<Users>, UsersError> {
        let mut resolved = self.clone();
        resolved.resolve_grades(max_label);
        let build = |model: &Self| {
            let grades = model.grades().ok_or(UsersError::Nested)?;
            if grades <= max_label {
                return Err(UsersError::TooFewGrades { grades, max_label });
            }
            model.user(grades - 1)
        };
        let users = resolved.models().iter().map(build).collect::<Result<Vec<_>, _>>()?;
        let is_mixed = matches!(self, Self::Mixture(Mixture { each: AssignedPer::Interaction, .. }));
        Ok(if is_mixed { vec![Users::Mixed(users)] } else { users })
    }
}

impl Users {
    /// Somebody of whom only is known that they are one of these, all equally likely.
    pub fn any_of(users: &[Self]) -> Self {
        if let [only] = users { only.clone() } else { Self::Mixed(users.to_vec()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};

    fn all_users() -> Vec<(Users, u8)> {
        let mut all = Vec::new();
        for max_label in [1, 2, 4] {
            let users = ClickModel::examples().iter().map(|model| model.user(max_label).expect("grades")).collect();
            let mixed = Users::Mixed(Vec::clone(&users));
            all.extend(users.into_iter().chain([mixed]).map(|users| (users, max_label)));
        }
        all
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
        for mut model in ClickModel::examples() {
            assert_eq!(model.check(), []);
            for (max_label, grades) in [(0, 2), (1, 2), (2, 3), (3, 5), (4, 5)] {
                let mut resolved = model.clone();
                resolved.resolve_grades(max_label);
                assert_eq!((resolved.grades(), model.build(max_label).map(|users| users.len())), (Some(grades), Ok(1)));
            }
            assert_eq!(model.build(7), Err(UsersError::UnknownGrades { max_label: 7 }));
            model.resolve_grades(1);
            assert_eq!(model.build(2), Err(UsersError::TooFewGrades { grades: 2, max_label: 2 }));
            *model.grades_mut()[0] = Some(4);
            assert_eq!(model.check()[0].name, "grades");
        }
    }
}
