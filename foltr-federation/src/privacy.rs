//! The one door out of a device: the only functions that turn an [`Update`] into a [`Payload`].
//!
//! A mechanism says what a message costs ([`LocalPrivacy::cost`]) and who could see it ([`Mode`]); what that adds up to is
//! the [accountant](crate::accountant)'s to say.

mod discrete_gaussian;
mod distributed_laplace;
mod duchi;
mod gaussian;
mod mode;
mod none;
mod priv_unit;
mod randomised_response;
mod sampled_response;

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

pub use discrete_gaussian::{BadShares, DiscreteGaussian, LEVELS, TooLong};
pub use distributed_laplace::{ClipRadius, DistributedLaplace};
pub use duchi::Duchi;
pub use gaussian::{AdaptiveClip, Clip, Gaussian};
pub use mode::{CentralMode, Mode, NeedsSingleUpdates};
pub use none::Unprotected;
pub use priv_unit::{BadPrivUnit, PrivUnit};
pub use randomised_response::{
    BadResponse, RandomisedResponse, certain_outcomes, privacy_loss, privatise_distribution,
};
pub use sampled_response::SampledResponse;

use crate::accountant::PrivacyCost;
use crate::aggregate::Rule;
use crate::message::{Kind, Payload, RoundTask};

/// What happens to an update before it leaves the device.
pub trait LocalPrivacy {
    /// Turns an update into what is sent, reusing the memory of `payload`. What is drawn from `private` stays here.
    ///
    /// # Panics
    /// If the mechanism does not [accept](Self::accepts) this kind of update: nothing then leaves the device.
    fn protect(&self, update: Update<'_>, task: &RoundTask, private: &mut Stream, payload: &mut Payload);

    /// Whether the mechanism is defined for this kind of payload; to be checked before any work.
    fn accepts(&self, kind: Kind) -> bool;

    /// Who can see a single message.
    fn mode(&self) -> Mode;

    /// What one message of this many interactions about a model of `n_params` parameters costs its sender, for the
    /// accountant. Against whom follows from [`Self::mode`].
    fn cost(&self, n_params: usize, n_interactions: u32) -> PrivacyCost;

    /// How the server reads what this mechanism makes of payloads that it would read by `usual` without it.
    fn rule(&self, usual: Rule, _divisor: f64) -> Rule {
        usual
    }

    /// The norm to which the learner must clip its local model after every step, if the mechanism relies on one.
    fn clip_radius(&self) -> Option<f32> {
        None
    }
}

/// Defines [`Privacy`], its list and its delegation from one line a mechanism.
macro_rules! mechanisms {
    ($($name:literal: $mechanism:ident, $about:literal;)*) => {
        /// A privacy mechanism with its parameters.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
        #[serde(tag = "kind")]
        pub enum Privacy {
            $(#[doc = $about] #[serde(rename = $name)] $mechanism($mechanism),)*
        }

        impl Privacy {
            /// Every mechanism: its name, and what it does.
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];
        }

        impl LocalPrivacy for Privacy {
            fn protect(&self, update: Update<'_>, task: &RoundTask, private: &mut Stream, payload: &mut Payload) {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.protect(update, task, private, payload),)*
                }
            }

            fn accepts(&self, kind: Kind) -> bool {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.accepts(kind),)*
                }
            }

            fn cost(&self, n_params: usize, n_interactions: u32) -> PrivacyCost {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.cost(n_params, n_interactions),)*
                }
            }

            fn rule(&self, usual: Rule, divisor: f64) -> Rule {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.rule(usual, divisor),)*
                }
            }

            fn mode(&self) -> Mode {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.mode(),)*
                }
            }

            fn clip_radius(&self) -> Option<f32> {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism.clip_radius(),)*
                }
            }
        }
    };
}

mechanisms! {
    "none": Unprotected, "The update as it is";
    "randomised-response": RandomisedResponse, "FOLtR-ES: a reward is replaced by another one with some probability";
    "distributed-laplace": DistributedLaplace, "FPDGD: noise whose sum over all clients is Laplace";
    "gaussian": Gaussian, "Clipped updates, Gaussian noise on their sum: sound if the server is trusted or sealed";
    "discrete-gaussian": DiscreteGaussian, "The same as devices can run it: integers, exact shares of noise, sealed";
    "duchi": Duchi, "Local: one randomised bit about one coordinate of the update";
    "priv-unit": PrivUnit, "Local: a random direction that leans towards that of the update";
    "sampled-response": SampledResponse, "Local, FOLtR-ES: randomised response on one of the interactions";
}

/// Average value of some outcomes; 0 without any, as an interaction without a click is worth.
fn average(values: impl ExactSizeIterator<Item = f64>) -> f32 {
    let n = values.len().max(1) as f64;
    (values.sum::<f64>() / n) as f32
}

/// The value of every outcome of a list of `n_shown` documents, by outcome index.
fn outcome_values(reward: Reward, n_shown: usize) -> Vec<f64> {
    (0..reward.n_outcomes(n_shown)).map(|outcome| reward.value(outcome as u16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_the_list_are_those_that_are_read() {
        for (name, _) in Privacy::LIST {
            let error = serde_json::from_str::<Privacy>(&format!("{{\"kind\": \"{name}\", \"unheard-of\": 1}}"));
            let error = error.expect_err("a key that no mechanism has").to_string();
            assert!(error.contains("unheard-of"), "{name}: {error}");
        }
        assert!(serde_json::from_str::<Privacy>("{\"kind\": \"magic\"}").is_err());
    }

    #[test]
    fn configurations_survive_a_round_trip() {
        for text in [
            r#"{"kind":"none","reward":"max-rr"}"#,
            r#"{"kind":"randomised-response","probability":0.9,"reward":"max-rr","n_shown":10}"#,
            r#"{"kind":"distributed-laplace","sensitivity":5.0,"epsilon":4.5,"clip":"paper"}"#,
            r#"{"kind":"gaussian","clip":0.17,"noise_multiplier":6.9,"mode":"sealed"}"#,
            r#"{"kind":"gaussian","clip":{"initial":0.1,"quantile":0.5,"rate":0.2,"count_noise":9.0},"noise_multiplier":6.9,"mode":"clear"}"#,
            r#"{"kind":"discrete-gaussian","clip":0.17,"noise_multiplier":6.9,"min_survivors":90,"colluders":5}"#,
            r#"{"kind":"duchi","epsilon":1.0,"bound":0.1}"#,
            r#"{"kind":"priv-unit","epsilon":1.0,"norm":0.1,"n_params":46}"#,
            r#"{"kind":"sampled-response","probability":0.9,"reward":"max-rr","n_shown":10}"#,
        ] {
            let privacy: Privacy = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&privacy).expect(text), text);
        }
    }

    #[test]
    fn impossible_parameters_are_refused_on_reading() {
        for (text, reason) in [
            (r#"{"kind":"randomised-response","probability":0.05,"reward":"max-rr","n_shown":10}"#, "0.0909"),
            (r#"{"kind":"randomised-response","probability":0.5,"reward":"max-rr","n_shown":17}"#, "1 to 16"),
            (r#"{"kind":"distributed-laplace","sensitivity":5.0,"epsilon":0.0,"clip":"paper"}"#, "epsilon"),
        ] {
            let error = serde_json::from_str::<Privacy>(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
