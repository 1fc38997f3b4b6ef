//! The one door out of a device: the only functions that turn an [`Update`] into a [`Payload`].
//!
//! No guarantee is claimed here: what a mechanism protects, and under which assumptions, is the accountant's to say.

mod distributed_laplace;
mod none;
mod randomised_response;

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::rng::Stream;
use serde::{Deserialize, Serialize};

pub use distributed_laplace::{BadLaplace, ClipRadius, DistributedLaplace};
pub use none::Unprotected;
pub use randomised_response::{
    BadResponse, RandomisedResponse, certain_outcomes, privacy_loss, privatise_distribution,
};

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
