//! The impressions that have not ended, and the numbers that tell closed from unknown ones.

use super::clock::Clock;
use super::{ClickError, ImpressionId, StoredImpression};
use crate::learn::Lesson;
use crate::query::{QueryView, Ranking};

/// Where ids may begin at most: a session that begins there can still show lists and be stored.
const MAX_FIRST_ID: u64 = 1 << 62;
/// So many lists later than no device shows: stored sessions have lower ids.
pub(super) const MAX_NEXT_ID: u64 = MAX_FIRST_ID + (1 << 61);

/// In the order of their ids. Ids rise, so an id below the next one that is not here has ended: no list of ended ones is
/// stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpenImpressions {
    pub(super) list: Vec<StoredImpression>,
    pub(super) next_id: u64,
    pub(super) clock: Clock,
}

impl OpenImpressions {
    pub(super) fn add(
        &mut self,
        query: QueryView<'_>,
        ranking: &Ranking,
        release: u32,
        lesson: Lesson,
        now: u64,
    ) -> ImpressionId {
        let id = self.next();
        self.next_id += 1;
        let last_event = self.clock.advance(now);
        self.list.push(StoredImpression::new(id, release, query, ranking, lesson, last_event));
        id
    }

    pub(super) const fn next(&self) -> ImpressionId {
        ImpressionId(self.next_id)
    }

    pub(super) fn skip_to(&mut self, next: ImpressionId) {
        self.next_id = self.next_id.max(next.0.min(MAX_FIRST_ID));
    }

    pub(super) fn all(&self) -> &[StoredImpression] {
        &self.list
    }

    fn index(&self, id: ImpressionId) -> Result<usize, ClickError> {
        let missing = if id < self.next() { ClickError::Closed(id) } else { ClickError::Unknown(id) };
        self.list.binary_search_by_key(&id, StoredImpression::id).map_err(|_| missing)
    }

    pub(super) fn click(&mut self, id: ImpressionId, position: usize, now: u64) -> Result<(), ClickError> {
        let index = self.index(id)?;
        let n_shown = self.list[index].n_shown();
        if position >= n_shown {
            return Err(ClickError::Position { position, n_shown });
        }
        self.list[index].last_event = self.clock.advance(now);
        self.list[index].click(position);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: ImpressionId) -> Result<StoredImpression, ClickError> {
        let index = self.index(id)?;
        Ok(self.list.remove(index))
    }

    pub(super) fn expire(&mut self, now: u64, after: u64) -> Option<StoredImpression> {
        let elapsed = self.clock.advance(now);
        let oldest = self.list.iter().min_by_key(|impression| (impression.last_event, impression.id()))?;
        let is_due = elapsed.saturating_sub(oldest.last_event) >= after;
        if is_due { self.remove(oldest.id()).ok() } else { None }
    }

    pub(super) fn outlive_round(&mut self) {
        self.list.iter_mut().for_each(StoredImpression::outlive_round);
    }
}
