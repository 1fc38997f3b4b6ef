//! The one door out of a device: the only functions that turn an [`Update`] into a [`Payload`].
//!
//! [`Privacy`] is what files say, [`Mechanism`] what is made of it. A mechanism says what a message costs
//! ([`LocalPrivacy::cost`]) and who could see it ([`Mode`]); what that adds up to is the
//! [accountant](crate::accountant)'s to say. Noise that belongs on the sum of a round is added where the round is
//! closed ([`LocalPrivacy::finish`]), by the [coordinator](crate::Coordinator) and by nobody else.

mod budget;
mod central_discrete_gaussian;
mod circumstances;
mod closing;
mod discrete_gaussian;
mod distributed_laplace;
mod duchi;
mod explanation;
pub(crate) mod gaussian;
mod mode;
mod none;
mod parameters;
mod priv_unit;
mod randomised_response;
mod reward_laplace;
mod sampled_response;

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use foltr_rank::Update;
use foltr_rank::learn::evolution::Reward;
use serde::{Deserialize, Serialize};

pub use budget::Budget;
pub use central_discrete_gaussian::{CentralDiscreteGaussian, CentralDiscreteGaussianParameters};
pub use circumstances::{Adjacency, Circumstances, RoundCost};
pub use closing::{ClosingSum, NoiseShares};
pub use discrete_gaussian::{DiscreteGaussian, DiscreteGaussianParameters, LEVELS, TooLong};
pub use distributed_laplace::{ClipRadius, DistributedLaplace, LaplaceParameters};
pub use duchi::{Duchi, DuchiParameters};
pub use explanation::{Claim, Explanation, Noise, Unit};
pub(crate) use gaussian::NORMS;
pub use gaussian::{AdaptiveClip, Clip, Gaussian, GaussianParameters};
pub use mode::{CentralMode, Mode, NeedsSingleUpdates};
pub use none::{NoParameters, Unprotected};
pub use parameters::{MechanismContext, MechanismError, MechanismParameters};
pub use priv_unit::{PrivUnit, PrivUnitParameters};
pub use randomised_response::{
    RandomisedResponse, ResponseParameters, certain_outcomes, privacy_loss, privatise_distribution,
};
pub use reward_laplace::{RewardLaplace, RewardLaplaceParameters};
pub use sampled_response::{SampledResponse, SampledResponseParameters};

use crate::aggregate::PayloadSemantics;
use crate::message::{Kind, Payload, RoundTask};
use crate::noise::NoiseSource;

/// What happens to an update before it leaves the device, and to the sum of all of them before it leaves the server.
pub trait LocalPrivacy: Debug + Send + Sync {
    /// Turns an update into what is sent, reusing the memory of `payload`. What is drawn from `noise` stays here.
    /// Panics if the mechanism does not [accept](Self::accepts) this kind of update: nothing then leaves the device.
    fn protect(&self, update: Update<'_>, task: &RoundTask, noise: &mut dyn NoiseSource, payload: &mut Payload);

    /// The same without the device's share of the noise, where [`Self::finish`] draws the noise of all shares at once. For
    /// simulations in which nobody looks at a single message; never for a device.
    fn protect_without_share(
        &self,
        update: Update<'_>,
        task: &RoundTask,
        noise: &mut dyn NoiseSource,
        payload: &mut Payload,
    ) {
        self.protect(update, task, noise, payload);
    }

    /// The server's part, when a round is closed: adds the noise that belongs on the sum to the step that was made of it
    /// (a sum of integers becomes a step here), and returns the norm to which updates of the next round are clipped, where
    /// it changes. Nothing by default: then all noise is in the messages.
    fn finish(&self, sum: &ClosingSum, _noise: &mut dyn NoiseSource, _step: &mut [f64]) -> Option<f32> {
        sum.clip_norm
    }

    /// Whether the mechanism is defined for this kind of payload, usually a step; to be checked before any work.
    fn accepts(&self, kind: Kind) -> bool {
        kind == Kind::Step
    }

    /// Who can see a single message; the server, unless the mechanism needs no trust in it.
    fn mode(&self) -> Mode {
        Mode::Clear
    }

    /// What a round costs a client that may be in it, for the accountant, and which runs that compares. Against whom it
    /// holds follows from [`Self::mode`].
    fn cost(&self, circumstances: &Circumstances) -> RoundCost;

    /// What is random in what the mechanism's observers see, about a model of `n_params` parameters.
    fn noise(&self, n_params: usize) -> Noise;

    /// How the server reads what this mechanism makes of payloads that it would read by `usual` without it, in a round
    /// with this clip norm, where it changes from round to round.
    fn rule(&self, usual: PayloadSemantics, _divisor: f64, _clip_norm: Option<f32>) -> PayloadSemantics {
        usual
    }

    /// Whether the server says in every round to which norm updates are clipped.
    fn has_moving_norm(&self) -> bool {
        false
    }

    /// The norm to which the learner must clip its local model after every step, if the mechanism relies on one.
    fn clip_radius(&self) -> Option<f32> {
        None
    }

    /// What the mechanism does and what its guarantee rests on, in words.
    fn explain(&self, circumstances: &Circumstances) -> Explanation;
}

/// Defines [`Privacy`], [`Mechanism`], their list and their delegation from one line a mechanism: its name, the mechanism
/// with an example of its parameters, and what it does.
macro_rules! mechanisms {
    ($($name:literal: $mechanism:ident($parameters:ident $example:tt), $about:literal;)*) => {
        /// A privacy mechanism as files name it.
        #[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        pub enum Privacy {
            $(#[doc = $about] #[serde(rename = $name)] $mechanism($parameters),)*
        }

        /// A privacy mechanism, ready for use: [`Privacy`] with everything that it depends on.
        ///
        /// ```
        /// use foltr_federation::privacy::{Circumstances, MechanismContext};
        /// use foltr_federation::{Mode, Privacy};
        /// use foltr_rank::learn::evolution::Reward;
        ///
        /// let privacy: Privacy = serde_json::from_str(r#"{ "kind": "duchi", "epsilon": 1.0, "bound": 0.1 }"#)?;
        /// // A model of 46 parameters, 4 interactions behind a message, 50 rounds in which everyone takes part.
        /// let circumstances = Circumstances::complete(46, 4);
        /// let context = MechanismContext { reward: Reward::MaxRr, list_length: 10, n_rounds: 50, circumstances };
        /// let mechanism = privacy.mechanism(&context)?;
        /// assert_eq!(mechanism.mode(), Mode::Local);
        /// // What the server learns at most from all 50 messages of a device.
        /// let cost = mechanism.cost(&circumstances).unseen.1;
        /// assert!(cost.after(50, 1e-5).epsilon < 50.0);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub enum Mechanism {
            $(#[doc = $about] $mechanism($mechanism),)*
        }

        impl Privacy {
            pub const LIST: &[(&str, &str)] = &[$(($name, $about)),*];

            pub fn examples() -> Vec<Self> {
                vec![$(Self::$mechanism($parameters $example)),*]
            }

            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$mechanism(_) => $name,)*
                }
            }

            /// Makes the mechanism; calibrates it where a guarantee is given in place of a parameter.
            pub fn mechanism(&self, context: &MechanismContext) -> Result<Mechanism, MechanismError> {
                match self {
                    $(Self::$mechanism(parameters) => parameters.mechanism(context).map(Mechanism::$mechanism),)*
                }
            }

            /// The guarantee over the whole run to which the mechanism is calibrated, if it is.
            pub fn whole_run(&self) -> Option<Budget> {
                match self {
                    $(Self::$mechanism(parameters) => parameters.whole_run(),)*
                }
            }

            /// Whether the mechanism or its cost depends on the number of parameters of the model.
            pub const fn depends_on_model(&self) -> bool {
                match self {
                    $(Self::$mechanism(_) => <$parameters as MechanismParameters>::DEPENDS_ON_MODEL,)*
                }
            }

            /// Whether attacks, robust rules and shards are defined on what is sent.
            pub const fn admits_single_updates(&self) -> bool {
                match self {
                    $(Self::$mechanism(_) => <$parameters as MechanismParameters>::ADMITS_SINGLE_UPDATES,)*
                }
            }

            /// What a paper or the file says that the mechanism guarantees.
            pub fn claim(&self, context: &MechanismContext) -> Result<Option<Claim>, MechanismError> {
                match self {
                    $(Self::$mechanism(parameters) => Ok(parameters.claim(&parameters.mechanism(context)?)),)*
                }
            }
        }

        impl Deref for Mechanism {
            type Target = dyn LocalPrivacy;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$mechanism(mechanism) => mechanism,)*
                }
            }
        }

        impl From<Mechanism> for Arc<dyn LocalPrivacy> {
            fn from(mechanism: Mechanism) -> Self {
                match mechanism {
                    $(Mechanism::$mechanism(mechanism) => Arc::new(mechanism),)*
                }
            }
        }

        impl Mechanism {
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$mechanism(_) => $name,)*
                }
            }

            /// Whether attacks, robust rules and shards are defined on what is sent.
            pub const fn admits_single_updates(&self) -> bool {
                match self {
                    $(Self::$mechanism(_) => <$parameters as MechanismParameters>::ADMITS_SINGLE_UPDATES,)*
                }
            }
        }
    };
}

mechanisms! {
    "none": Unprotected(NoParameters {}), "The update as it is";
    "randomised-response": RandomisedResponse(ResponseParameters { probability: Some(0.9), whole_run: None }),
        "FOLtR-ES: a reward is replaced by another one with some probability";
    "distributed-laplace": DistributedLaplace(LaplaceParameters {
            sensitivity: 5.0, epsilon: Some(4.5), clip: ClipRadius::Paper, whole_run: None
        }),
        "FPDGD: noise whose sum over all clients is Laplace";
    "gaussian": Gaussian(GaussianParameters {
            clip: Clip::Fixed(0.3), noise_multiplier: Some(2.0), epsilon: None, delta: None, mode: CentralMode::Clear
        }),
        "Clipped updates, Gaussian noise on their sum: sound if the server is trusted or sealed";
    "discrete-gaussian": DiscreteGaussian(DiscreteGaussianParameters {
            clip: 0.3, noise_multiplier: Some(2.0), epsilon: None, delta: None, min_survivors: 2, colluders: 0
        }),
        "The same as devices can run it: integers, exact shares of noise, sealed";
    "central-discrete-gaussian": CentralDiscreteGaussian(CentralDiscreteGaussianParameters {
            clip: Clip::Fixed(0.3), noise_multiplier: Some(2.0), epsilon: None, delta: None
        }),
        "Clipped updates in integers, exact noise on their sum: what a trusted server runs";
    "duchi": Duchi(DuchiParameters { epsilon: Some(1.0), bound: 0.1, whole_run: None }),
        "Local: one randomised bit about one coordinate of the update";
    "priv-unit": PrivUnit(PrivUnitParameters { epsilon: Some(1.0), norm: 0.1, whole_run: None }),
        "Local: a random direction that leans towards that of the update";
    "sampled-response": SampledResponse(SampledResponseParameters(ResponseParameters { probability: Some(0.9), whole_run: None })),
        "Local, FOLtR-ES: randomised response on one of the interactions";
    "reward-laplace": RewardLaplace(RewardLaplaceParameters { epsilon: Some(2.0), whole_run: None }),
        "Local, FOLtR-ES: exact Laplace noise on the mean reward of a message";
}

impl Privacy {
    pub const NONE: Self = Self::Unprotected(NoParameters {});

    pub const fn is_none(&self) -> bool {
        matches!(self, Self::Unprotected(_))
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self::NONE
    }
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

/// What a device of a cohort sends, drawing from this stream.
#[cfg(test)]
fn sent(mechanism: &impl LocalPrivacy, update: Update<'_>, n_clients: u32, noise: &mut dyn NoiseSource) -> Payload {
    let task = RoundTask { round: 0, global: Vec::new(), n_clients, n_interactions: 4, clip_norm: None };
    let mut payload = Payload::default();
    mechanism.protect(update, &task, noise, &mut payload);
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Participation;
    use crate::accountant::{PrivacyCost, gaussian};

    const CONTEXT: MechanismContext = MechanismContext {
        reward: Reward::MaxRr,
        list_length: 10,
        n_rounds: 50,
        circumstances: Circumstances::complete(46, 4),
    };

    const COHORT: Circumstances =
        Circumstances { participation: Participation::Sample(10), ..Circumstances::complete(46, 4) };

    #[test]
    fn every_mechanism_can_be_calibrated_to_a_whole_run() {
        for epsilon in [0.5, 4.5, 50.0] {
            let budget = format!(r#""epsilon":{epsilon},"delta":1e-5"#);
            let whole_run = format!(r#""whole_run":{{{budget}}}"#);
            for (kind, keys, calibrated) in [
                ("randomised-response", "", &whole_run),
                ("distributed-laplace", r#""sensitivity":5.0,"clip":"paper","#, &whole_run),
                ("distributed-laplace", r#""sensitivity":5.0,"clip":"released-code","#, &whole_run),
                ("gaussian", r#""clip":0.17,"mode":"sealed","#, &budget),
                ("discrete-gaussian", r#""clip":0.17,"min_survivors":90,"#, &budget),
                ("central-discrete-gaussian", r#""clip":0.17,"#, &budget),
                ("duchi", r#""bound":0.1,"#, &whole_run),
                ("priv-unit", r#""norm":0.1,"#, &whole_run),
                ("sampled-response", "", &whole_run),
                ("reward-laplace", "", &whole_run),
            ] {
                let text = format!(r#"{{"kind":"{kind}",{keys}{calibrated}}}"#);
                let privacy: Privacy = serde_json::from_str(&text).expect(&text);
                let cost = privacy.mechanism(&CONTEXT).expect(&text).cost(&CONTEXT.circumstances);
                let spent = cost.unseen.1.after(CONTEXT.n_rounds, 1e-5).epsilon;
                // A probability is rounded to the nearest, not down.
                assert!(spent <= epsilon * (1.0 + 1e-12) && spent > 0.98 * epsilon, "{text}: {spent}");
                let claim = privacy.claim(&CONTEXT).expect(&text).expect("the file states it");
                assert_eq!((claim.by, claim.unit, claim.epsilon), ("the file", Unit::Run, epsilon));
            }
        }
    }

    #[test]
    fn a_cohort_of_fixed_size_is_calibrated_for_a_client_in_the_place_of_another() {
        // Attack: leave out one client that the server would have drawn. Another one is drawn in its place, so that the
        // sum moves by two clipped updates, not by one: a label of 4.5 for one client more or less is then as much as
        // 10.3.
        let text = r#"{"kind":"gaussian","clip":0.17,"mode":"sealed","epsilon":4.5,"delta":1e-5}"#;
        let privacy: Privacy = serde_json::from_str(text).expect(text);
        let context = MechanismContext { circumstances: COHORT, ..CONTEXT };
        let cost =
            |context: &MechanismContext, held: &Circumstances| privacy.mechanism(context).expect(text).cost(held);
        let spent = |cost: PrivacyCost| cost.after(CONTEXT.n_rounds, 1e-5).epsilon;
        let sound = cost(&context, &COHORT);
        assert_eq!((sound.unseen.0, sound.seen.0), (Adjacency::Replaced, Adjacency::Zeroed));
        let epsilon = spent(sound.unseen.1);
        assert!(epsilon <= 4.5 && epsilon > 4.4, "{epsilon}");
        // The noise that is enough for everybody in every round is not enough for a cohort.
        let few = spent(cost(&CONTEXT, &COHORT).unseen.1);
        assert!((few - 10.3).abs() < 0.01, "{few}");
        let PrivacyCost::Gaussian { mu } = cost(&CONTEXT, &CONTEXT.circumstances).unseen.1 else { panic!("Gaussian") };
        assert!((few - gaussian::epsilon(2.0 * mu * 50.0_f64.sqrt(), 1e-5)).abs() < 1e-6);
    }

    #[test]
    fn coins_hide_nothing_where_messages_join_later_rounds() {
        // Attack: whoever sees that a client has started knows that it is in one of the next rounds, whatever the coins
        // of those rounds say. A label that counts the coins is then as much as three times too small.
        let coins = Circumstances { participation: Participation::PoissonSampling(0.1), ..CONTEXT.circumstances };
        let stale = Circumstances { takes_stale: true, ..coins };
        let mechanism = Gaussian::new(Clip::Fixed(0.3), 2.0, CentralMode::Clear).expect("positive");
        let epsilon = |held: &Circumstances| mechanism.cost(held).unseen.1.after(CONTEXT.n_rounds, 1e-5).epsilon;
        assert_eq!(mechanism.cost(&stale).unseen, mechanism.cost(&CONTEXT.circumstances).unseen);
        assert!(epsilon(&stale) > 3.0 * epsilon(&coins), "{} and {}", epsilon(&stale), epsilon(&coins));
        // Noise that is calibrated for the whole run is that of everybody in every round.
        let text = r#"{"kind":"gaussian","clip":0.17,"mode":"sealed","epsilon":4.5,"delta":1e-5}"#;
        let privacy: Privacy = serde_json::from_str(text).expect(text);
        let made = |circumstances| privacy.mechanism(&MechanismContext { circumstances, ..CONTEXT }).expect(text);
        assert_eq!(made(stale), made(CONTEXT.circumstances));
        // Shares of noise that count on everybody are incomplete.
        let laplace = DistributedLaplace::new(3.0, 1.0, ClipRadius::Paper).expect("positive");
        let late = Circumstances { takes_stale: true, ..CONTEXT.circumstances };
        assert!(laplace.cost(&late).flaw.is_some() && laplace.cost(&CONTEXT.circumstances).flaw.is_none());
    }

    #[test]
    fn what_is_missing_or_leaks_leaves_no_guarantee_to_calibrate() {
        let incomplete = [
            Circumstances { dropout: 0.01, ..CONTEXT.circumstances },
            Circumstances { has_absent: true, ..CONTEXT.circumstances },
            Circumstances { participation: Participation::PoissonSampling(0.5), ..CONTEXT.circumstances },
        ];
        let published = [Circumstances { published_stream: true, ..CONTEXT.circumstances }];
        for (keys, at_fault) in [
            (r#""distributed-laplace","sensitivity":5.0,"clip":"paper""#, incomplete.as_slice()),
            (r#""randomised-response""#, &published),
            (r#""sampled-response""#, &published),
            (r#""reward-laplace""#, &published),
        ] {
            for &circumstances in at_fault {
                let context = MechanismContext { circumstances, ..CONTEXT };
                let whole_run = format!(r#"{{"kind":{keys},"whole_run":{{"epsilon":4.5,"delta":1e-5}}}}"#);
                let promised: Privacy = serde_json::from_str(&whole_run).expect(&whole_run);
                let refused = promised.mechanism(&context).expect_err("nothing can be promised");
                assert!(refused.key == "whole_run" && refused.message.starts_with("cannot be promised"), "{refused}");
                let cost = promised.mechanism(&CONTEXT).expect("sound").cost(&circumstances);
                assert!(cost.flaw.is_some() && cost.seen.1 == PrivacyCost::Unbounded && cost.unseen == cost.seen);
            }
        }
    }

    #[test]
    fn impossible_parameters_are_refused_with_their_key() {
        let check = |context: &MechanismContext, keys: &str, key: &str, reason: &str| {
            let privacy: Privacy = serde_json::from_str(&format!(r#"{{"kind":{keys}}}"#)).expect(keys);
            let error = privacy.mechanism(context).expect_err(keys);
            assert_eq!(error.key, key, "{keys}");
            assert!(error.message.contains(reason), "{error}");
        };
        for (keys, key, reason) in [
            (r#""randomised-response","probability":0.05"#, "probability", "0.0909"),
            (r#""distributed-laplace","sensitivity":5.0,"epsilon":0.0,"clip":"paper""#, "epsilon", "positive"),
            (r#""duchi","bound":0.1"#, "", "`whole_run"),
            (r#""duchi","bound":0.1,"epsilon":31.0"#, "epsilon", "at most 30"),
            (r#""duchi","bound":0.1,"whole_run":{"epsilon":1.0,"delta":2.0}"#, "whole_run", "below 1"),
            (r#""gaussian","clip":0.1,"epsilon":1.0,"mode":"sealed""#, "", "both `epsilon` and `delta`"),
            (r#""gaussian","clip":0.0,"noise_multiplier":1.0,"mode":"clear""#, "clip", "clip = 0 must be positive"),
            (
                r#""gaussian","clip":{"initial":1,"quantile":1,"rate":0.2,"count_noise":5},"noise_multiplier":1,"mode":"clear""#,
                "clip",
                "quantile = 1 must be above 0 and below 1",
            ),
            (
                r#""discrete-gaussian","clip":0.5,"noise_multiplier":1.0,"min_survivors":5,"colluders":5"#,
                "min_survivors",
                "colluders = 5 must be below min_survivors = 5",
            ),
            (
                r#""discrete-gaussian","clip":0.5,"noise_multiplier":1e-5,"min_survivors":5"#,
                "min_survivors",
                "0.29 grid units",
            ),
            (
                r#""discrete-gaussian","clip":-1.0,"noise_multiplier":1.0,"min_survivors":5"#,
                "clip",
                "positive and finite",
            ),
            (r#""priv-unit","epsilon":0.0,"norm":1.0"#, "epsilon", "positive"),
            (r#""reward-laplace","epsilon":0.0"#, "epsilon", "1e-6 to 1000"),
            (r#""priv-unit","epsilon":21.0,"norm":1.0"#, "epsilon", "to 20"),
        ] {
            check(&CONTEXT, keys, key, reason);
        }
        let (one, long) = (
            MechanismContext { circumstances: Circumstances::complete(1, 4), ..CONTEXT },
            MechanismContext { list_length: 17, ..CONTEXT },
        );
        check(&one, r#""priv-unit","epsilon":1.0,"norm":1.0"#, "kind", "2 to 100000 parameters");
        check(&long, r#""sampled-response","probability":0.5"#, "probability", "1 to 16");
        check(&long, r#""reward-laplace","epsilon":1.0"#, "epsilon", "1 to 16");
    }
}
