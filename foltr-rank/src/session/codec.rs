//! A session as bytes, at any moment, and back.
//!
//! The settings are not in the bytes: whoever stores a session stores the plan that it belongs to. The decoder is total.

use thiserror::Error;

use super::clock::Clock;
use super::open_impressions::MAX_NEXT_ID;
use super::{Round, Session, SessionError, StoredImpression};
use crate::bytes::{BytesError, Reader, Writer};
use crate::learn::{Learning, Lesson};
use crate::params::Shape;
use crate::personal::Personalisation;

/// Another layout of the bytes has another name.
const NAME: &str = "foltr session 1";
/// The least that an impression takes: id, release, last event, clicks, length, lesson.
const LEAST_IMPRESSION: usize = 8 + 4 + 8 + 16 + 1 + 1;

/// Why bytes are no session.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    #[error(transparent)]
    Settings(#[from] SessionError),
    #[error("a stored session is damaged: {0}")]
    Bytes(#[from] BytesError),
}

impl Session {
    /// All that it is, but for its settings.
    pub fn encode(&self) -> Vec<u8> {
        let impressions: Vec<Vec<u8>> = self.open().iter().map(StoredImpression::encode).collect();
        Self::join(&self.encode_learner(), &self.encode_clock(), &impressions)
    }

    /// What changes when an impression ends, and when a round begins or ends; with FOLtR-ES also when a list is made.
    pub fn encode_learner(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.f32s(&self.state);
        out.option(self.round, |out, Round { release }| {
            out.u32(release);
            self.learner.save(out);
        });
        out.0
    }

    /// What changes with every list and click: the next id and the time.
    pub fn encode_clock(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.open.next_id).u64(self.open.clock.elapsed).u64(self.open.clock.shown);
        out.0
    }

    /// The bytes of a whole session whose parts were stored one by one, impressions in the order of their ids.
    pub fn join(learner: &[u8], clock: &[u8], impressions: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(learner).bytes(clock).len(impressions.len());
        impressions.iter().for_each(|impression| {
            out.bytes(impression.as_ref());
        });
        out.0
    }

    /// The session that [`Self::encode`] wrote, with the settings that it had. It goes on with the same bits.
    pub fn decode(
        bytes: &[u8],
        shape: Shape,
        learning: Learning,
        personalisation: Option<Personalisation>,
    ) -> Result<Self, DecodeError> {
        let mut session = Self::unstarted(shape, learning, personalisation)?;
        let mut input = Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "not a session of this version")?;
        session.state = input.f32s(session.state.len())?;
        let learner = &mut session.learner;
        session.round = input.option(|input| {
            let round = Round { release: input.u32()? };
            learner.restore(input)?;
            Ok(round)
        })?;
        session.open.next_id = input.u64()?;
        input.require(session.open.next_id < MAX_NEXT_ID, "more impressions than any device shows")?;
        session.open.clock = Clock { elapsed: input.u64()?, shown: input.u64()? };
        let fits = |lesson: &Lesson| match lesson {
            // Also if the learner has another displacement now: a list knows how it was drawn.
            Lesson::Pairs(_) | Lesson::BoundedPairs(_) => matches!(learning, Learning::Pdgd(_)),
            Lesson::Duel(duel) => matches!(learning, Learning::Dueling(it) if duel.n_rankers() == it.n_candidates + 1),
            Lesson::Side(_) | Lesson::Nothing => matches!(learning, Learning::Evolution { .. }),
        };
        for _ in 0..input.len(LEAST_IMPRESSION)? {
            let impression = session.read_impression(&mut input)?;
            input.require(fits(impression.lesson()), "a lesson of another learner")?;
            session.open.list.push(impression);
        }
        input.finish()?;
        Ok(session)
    }

    fn read_impression(&self, input: &mut Reader<'_>) -> Result<StoredImpression, BytesError> {
        let impression = StoredImpression::read(self.shape.n_features(), input)?;
        let open = &self.open;
        let is_next = open.list.last().is_none_or(|last| last.id() < impression.id());
        input.require(is_next && impression.id() < open.next(), "an id that is out of order")?;
        input.require(impression.last_event <= open.clock.elapsed, "an event that is still to come")?;
        input.require(impression.n_shown() <= self.n_shown, "a list that is too long")?;
        let is_alive = self.round.is_some() || !matches!(impression.lesson(), Lesson::Side(_));
        input.require(is_alive, "a perturbation without its round")?;
        Ok(impression)
    }
}
