//! A device that learns alone: PDGD on its own model, one step at the end of each list.

use foltr_rank::bytes::{Reader, Writer};
use foltr_rank::learn::pdgd::PdgdSettings;
use foltr_rank::learn::{Learning, Models, OwnRanker, Update};
use foltr_rank::parameter::ParameterError;
use foltr_rank::personal::Personalisation;
use foltr_rank::session::{ClickError, DecodeError, ModelsError, StoredImpression};
use foltr_rank::{ImpressionId, MAX_SHOWN, Params, Session, Shape};
use rand::Rng;

use super::error::LoadError;
use crate::item::{Item, Records, State, Write};
use crate::options::LocalLearning;
use crate::randomness::Randomness;

/// The version of a model that is not a release.
pub(super) const OWN_MODEL: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Local {
    pub session: Session,
    pub model: Params,
    pub n_learnt: u64,
    pub list_length: usize,
}

struct Setup {
    shape: Shape,
    learning: Learning,
    personalisation: Option<Personalisation>,
}

fn setup(options: &LocalLearning, n_features: usize) -> Result<Setup, LoadError> {
    let LocalLearning { ranker, learner, list_length, personalisation, .. } = options;
    if let Some(&error) = ranker.check().first() {
        return Err(error.into());
    }
    if personalisation.is_some_and(|method| method.n_clusters() > 0) {
        return Err(LoadError::Clusters);
    }
    let settings = PdgdSettings {
        learning_rate: learner.learning_rate as f32,
        updates: learner.updates,
        n_shown: *list_length,
        clip_radius: None,
        proximal: learner.proximal.unwrap_or(0.0) as f32,
        max_displacement: learner.max_displacement,
    };
    let (learning, personalisation) = (Learning::Pdgd(settings), *personalisation);
    Ok(Setup { shape: ranker.shape(n_features), learning, personalisation })
}

impl Local {
    /// A device that has learnt nothing.
    pub fn new(options: &LocalLearning, n_features: usize, random: &mut dyn Randomness) -> Result<Self, LoadError> {
        let Setup { shape, learning, personalisation } = setup(options, n_features)?;
        let model = first_model(options, shape, random.private())?;
        let session = match personalisation {
            Some(method) => Session::personal(shape, learning, method, 0, &model, random.private())?,
            None => Session::new(shape, learning)?,
        };
        let mut local = Self { session, model, n_learnt: 0, list_length: options.list_length };
        local.begin(random.public()).map_err(|error| LoadError::damaged(State::LocalModel.name(), error))?;
        Ok(local)
    }

    /// The device that was stored, or a new one where there is none.
    pub fn load(
        options: &LocalLearning,
        n_features: usize,
        records: &Records,
        impressions: &[Vec<u8>],
        random: &mut dyn Randomness,
    ) -> Result<Self, LoadError> {
        let of = |state: State| records.get(&Item::State(state)).map(|record| record.bytes.as_slice());
        let [Some(model), Some(learner), Some(clock)] =
            [of(State::LocalModel), of(State::LocalLearner), of(State::LocalClock)]
        else {
            return Self::new(options, n_features, random);
        };
        let Setup { shape, learning, personalisation } = setup(options, n_features)?;
        let mut input = Reader::new(model);
        let n_learnt = input.u64()?;
        let model = input.f32s(shape.n_params())?;
        input.finish()?;
        let bytes = Session::join(learner, clock, impressions);
        let session = Session::decode(&bytes, shape, learning, personalisation).map_err(|error| match error {
            DecodeError::Settings(error) => error.into(),
            _ if is_too_long(&bytes, shape, learning, personalisation) => LoadError::ShorterLists,
            error => LoadError::damaged(State::LocalLearner.name(), error),
        })?;
        Ok(Self { session, model, n_learnt, list_length: options.list_length })
    }

    fn begin(&mut self, public: &mut dyn Rng) -> Result<(), ModelsError> {
        self.session.begin(Models { global: &self.model, clusters: &[] }, OWN_MODEL, public)
    }

    pub fn dismiss(&mut self, id: ImpressionId, public: &mut dyn Rng) -> Result<StoredImpression, ClickError> {
        let ended = self.session.dismiss(id)?;
        self.step(public);
        Ok(ended)
    }

    pub fn expire(&mut self, now: u64, after: u64, public: &mut dyn Rng) -> Option<StoredImpression> {
        let ended = self.session.expire(now, after)?;
        self.step(public);
        Some(ended)
    }

    /// Takes what a list has taught into the model. What overflows is lost.
    fn step(&mut self, public: &mut dyn Rng) {
        if let Ok(finished) = self.session.finish()
            && let Update::Step { delta, .. } = finished.update
        {
            let next: Params = self.model.iter().zip(delta).map(|(value, step)| value + step).collect();
            if next.iter().all(|value| value.is_finite()) {
                self.model = next;
            }
        }
        self.n_learnt += 1;
        // A finite model of the session's own shape.
        self.begin(public).expect("its own model, of its own shape");
    }

    /// The ranker between lists.
    pub fn ranker(&self) -> OwnRanker {
        self.session.ranker(Models { global: &self.model, clusters: &[] }).expect("its own model, of its own shape")
    }

    /// What changes when a list ends.
    pub fn write_learner(&self, writes: &mut Vec<Write>) {
        let mut model = Writer::default();
        model.u64(self.n_learnt).f32s(&self.model);
        writes.push(Write::put(Item::State(State::LocalModel), model.0));
        writes.push(Write::put(Item::State(State::LocalLearner), self.session.encode_learner()));
    }

    /// What changes with every event.
    pub fn write_clock(&self, writes: &mut Vec<Write>) {
        writes.push(Write::put(Item::State(State::LocalClock), self.session.encode_clock()));
    }
}

/// Whether only the length of open lists is in the way.
fn is_too_long(bytes: &[u8], shape: Shape, learning: Learning, personalisation: Option<Personalisation>) -> bool {
    let Learning::Pdgd(settings) = learning else { return false };
    let longest = Learning::Pdgd(PdgdSettings { n_shown: MAX_SHOWN, ..settings });
    Session::decode(bytes, shape, longest, personalisation).is_ok()
}

fn first_model(options: &LocalLearning, shape: Shape, private: &mut dyn Rng) -> Result<Params, LoadError> {
    let expected = shape.n_params();
    match &options.model {
        Some(model) if model.len() != expected => Err(LoadError::Model { expected, got: model.len() }),
        Some(model) => match model.iter().position(|value| !value.is_finite()) {
            Some(_) => Err(ParameterError { name: "model", value: f64::NAN, right: "made of finite numbers" }.into()),
            None => Ok(model.clone()),
        },
        None => Ok(options.ranker.initialisation().params(shape, private)),
    }
}
