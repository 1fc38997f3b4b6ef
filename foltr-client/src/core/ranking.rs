//! Lists and clicks: a list is shown, stays open, and teaches when it ends.

use foltr_rank::adoption::ShownList;
use foltr_rank::learn::{Models, OwnRanker};
use foltr_rank::session::{ClickError, RankError, StoredImpression};
use foltr_rank::{ImpressionId, QueryView, Ranking, Session};

use super::event::{Click, Shown};
use super::local::OWN_MODEL;
use super::membership::Membership;
use super::{Core, Owner, RESERVED_IDS, Refused};
use crate::item::{Item, Write};
use crate::randomness::{Randomness, Repeated, seed};

impl Core {
    pub(super) fn rank(&mut self, values: &[f32], now: u64, random: &mut dyn Randomness) -> Result<Shown, Refused> {
        let rows = self.features.rows(values)?;
        self.end_overdue(1, now, random);
        let query = self.features.view(&rows);
        let id = self.next_impression();
        if id.0 + RESERVED_IDS / 2 >= self.reserved {
            self.reserve_ids(id.0);
        }
        if self.is_paused {
            let ranking = self.ranker().rank(query, self.list_length()).unwrap_or_default();
            return Ok(self.unrecorded(id, &ranking, query.n_docs()));
        }
        let made = match make_list(&mut self.membership, &mut self.local, query, id, now, random) {
            // A release whose scores overflow is of no use; the own model takes its place.
            Err(RankError::Scores) if self.owner() == Owner::Federation => {
                self.use_model(OWN_MODEL, random);
                make_list(&mut self.membership, &mut self.local, self.features.view(&rows), id, now, random)
            }
            made => made,
        };
        let n_docs = self.features.view(&rows).n_docs();
        let made = match made {
            Ok(made) => made,
            // Not even that: the host's order, of which nothing can be learnt.
            Err(RankError::Scores) => return Ok(self.unrecorded(id, &Ranking::default(), n_docs)),
            Err(error) => return Err(error.into()),
        };
        self.write_impression(self.owner(), made.impression);
        let Self { membership, writes, .. } = self;
        if let Some(member) = membership.as_ref().and_then(Membership::member)
            && member.learns_by_rewards()
        {
            // Lists are counted for the sides of the perturbation when they are made.
            member.write_learner(writes);
        }
        Ok(shown(made.impression, &made.ranking, n_docs))
    }

    /// Draws with the same chance as the previous list, if that was the last one of this kind.
    pub(super) fn rank_next(
        &mut self,
        values: &[f32],
        previous: Option<ImpressionId>,
        now: u64,
        random: &mut dyn Randomness,
    ) -> Result<Shown, Refused> {
        let known = self.typed.filter(|(list, _)| previous == Some(*list));
        let seed = known.map_or_else(|| seed(random.private()), |(_, seed)| seed);
        let shown = self.rank(values, now, &mut Repeated::new(random, seed))?;
        self.typed = Some((shown.impression, seed));
        Ok(shown)
    }

    /// A list that has ended before it is shown.
    fn unrecorded(&mut self, id: ImpressionId, ranking: &Ranking, n_docs: usize) -> Shown {
        self.local.session.continue_from(ImpressionId(id.0 + 1));
        shown(id, ranking, n_docs)
    }

    /// What lists are ranked by without any chance.
    pub(crate) fn ranker(&self) -> OwnRanker {
        let federated = || {
            let member = self.member()?;
            let release = member.release()?;
            let models = Models { global: release.params(), clusters: &[] };
            member.device.as_ref()?.session().ranker(models).ok()
        };
        let own = || self.local.ranker();
        if self.owner() == Owner::Federation { federated().unwrap_or_else(own) } else { own() }
    }

    fn list_length(&self) -> usize {
        let of_plan = self.member().filter(|member| member.in_use != OWN_MODEL);
        of_plan.map_or(self.local.list_length, |member| member.plan.federation().list_length)
    }

    pub(super) fn clicked(&mut self, id: ImpressionId, position: usize, now: u64) -> Result<Click, Refused> {
        if self.is_paused {
            return Ok(Click::Ignored);
        }
        let (owner, clicked) = self.with_owner(id, |session| match session {
            Opened::Alone(local) => local.session.clicked(id, position, now),
            Opened::Federation(device) => device.clicked(id, position, now),
        });
        match clicked {
            Ok(()) => {}
            Err(ClickError::Position { .. }) => return Ok(Click::BeyondRanked),
            Err(error) => return Err(error.into()),
        }
        self.write_impression(owner, id);
        self.must_be_durable = true;
        Ok(Click::Recorded)
    }

    pub(super) fn dismissed(&mut self, id: ImpressionId, now: u64, random: &mut dyn Randomness) -> Result<(), Refused> {
        if self.is_paused {
            return Ok(());
        }
        let (owner, ended) = self.with_owner(id, |session| match session {
            Opened::Alone(local) => local.dismiss(id, random.public()),
            Opened::Federation(device) => device.dismiss(id),
        });
        self.end(owner, &ended?, now, random);
        Ok(())
    }

    /// Lists of learners that count them when they are made end as if without a click.
    pub(super) fn withdrawn(&mut self, id: ImpressionId, now: u64, random: &mut dyn Randomness) -> Result<(), Refused> {
        if self.is_paused {
            return Ok(());
        }
        if self.member().is_some_and(|member| member.makes_lists() && member.learns_by_rewards()) {
            return self.dismissed(id, now, random);
        }
        let (_, taken_back) = self.with_owner(id, |session| match session {
            Opened::Alone(local) => local.session.withdraw(id),
            Opened::Federation(device) => device.withdraw(id),
        });
        self.writes.push(Write::delete(Item::Impression(taken_back?.id().0)));
        Ok(())
    }

    /// Ends lists whose last event is too long ago, and the oldest if there are too many beside so many new ones.
    pub(super) fn end_overdue(&mut self, n_new: usize, now: u64, random: &mut dyn Randomness) {
        if self.is_paused {
            return;
        }
        loop {
            let n_open = self.open(Owner::Alone).len() + self.open(Owner::Federation).len();
            let is_full = n_open > 0 && n_open + n_new > self.options.retention.open_lists.max(1);
            let after = if is_full { 0 } else { self.options.retention.list_timeout };
            // Those of the learner that makes no lists any more come first.
            let owners = match self.owner() {
                Owner::Federation => [Owner::Alone, Owner::Federation],
                Owner::Alone => [Owner::Federation, Owner::Alone],
            };
            let ended = owners.into_iter().find_map(|owner| Some((owner, self.expire(owner, now, after, random)?)));
            let Some((owner, ended)) = ended else { break };
            self.end(owner, &ended, now, random);
        }
    }

    fn expire(&mut self, owner: Owner, now: u64, after: u64, random: &mut dyn Randomness) -> Option<StoredImpression> {
        match owner {
            Owner::Alone => self.local.expire(now, after, random.public()),
            Owner::Federation => self.member_mut()?.device.as_mut()?.expire(now, after),
        }
    }

    /// A list has ended and taught: what remains is evidence about releases.
    fn end(&mut self, owner: Owner, ended: &StoredImpression, now: u64, random: &mut dyn Randomness) {
        self.writes.push(Write::delete(Item::Impression(ended.id().0)));
        match owner {
            Owner::Alone => {
                self.local.write_learner(&mut self.writes);
                self.local.write_clock(&mut self.writes);
            }
            Owner::Federation => {
                let Self { membership, writes, .. } = self;
                if let Some(member) = membership.as_ref().and_then(|membership| membership.member()) {
                    member.write_learner(writes);
                    member.write_clock(writes);
                }
            }
        }
        if let Some(list) = ShownList::of_impression(ended) {
            let age = self.advance_age(now);
            self.observe(list, age);
            self.reconsider(random);
        }
        let Self { membership, writes, .. } = self;
        if let Some(member) = membership.as_mut().and_then(|membership| membership.member_mut()) {
            member.progress.n_ended += 1;
            member.write_progress(writes);
        }
    }

    pub(super) fn open(&self, owner: Owner) -> &[StoredImpression] {
        self.session(owner).map_or(&[], Session::open)
    }

    fn session(&self, owner: Owner) -> Option<&Session> {
        match owner {
            Owner::Alone => Some(&self.local.session),
            Owner::Federation => Some(self.member()?.device.as_ref()?.session()),
        }
    }

    /// The learner that has the list, or had it: an id that neither has is closed if any list had it.
    fn with_owner<T>(
        &mut self,
        id: ImpressionId,
        act: impl FnOnce(Opened<'_>) -> Result<T, ClickError>,
    ) -> (Owner, Result<T, ClickError>) {
        let is_open = |owner| self.open(owner).binary_search_by_key(&id, StoredImpression::id).is_ok();
        let owner = [Owner::Federation, Owner::Alone].into_iter().find(|&owner| is_open(owner));
        let next = self.next_impression();
        let device = self.membership.as_mut().and_then(|membership| membership.member_mut()?.device.as_mut());
        match (owner, device) {
            (Some(Owner::Federation), Some(device)) => (Owner::Federation, act(Opened::Federation(device))),
            (Some(Owner::Alone), _) => (Owner::Alone, act(Opened::Alone(&mut self.local))),
            _ if id < next => (Owner::Alone, Err(ClickError::Closed(id))),
            _ => (Owner::Alone, Err(ClickError::Unknown(id))),
        }
    }

    pub(super) fn write_impression(&mut self, owner: Owner, id: ImpressionId) {
        let open = self.open(owner);
        let Ok(at) = open.binary_search_by_key(&id, StoredImpression::id) else { return };
        let bytes = [&[owner as u8], open[at].encode().as_slice()].concat();
        self.writes.push(Write::put(Item::Impression(id.0), bytes));
        let Self { membership, local, writes, .. } = self;
        match (owner, membership.as_ref().and_then(|membership| membership.member())) {
            (Owner::Federation, Some(member)) => member.write_clock(writes),
            _ => local.write_clock(writes),
        }
    }
}

enum Opened<'a> {
    Alone(&'a mut super::local::Local),
    Federation(&'a mut foltr_federation::Device),
}

/// A list of the learner that is in use.
fn make_list(
    membership: &mut Option<Membership>,
    local: &mut super::local::Local,
    query: QueryView<'_>,
    id: ImpressionId,
    now: u64,
    random: &mut dyn Randomness,
) -> Result<foltr_rank::Shown, RankError> {
    let member = membership.as_mut().and_then(Membership::member_mut).filter(|member| member.makes_lists());
    match member.and_then(|member| member.device.as_mut()) {
        Some(device) => {
            device.continue_from(id);
            device.rank(query, now, random.private())
        }
        None => {
            local.session.continue_from(id);
            local.session.rank(query, now, random.private())
        }
    }
}

/// The ranked documents, and behind them the others in the host's order.
fn shown(impression: ImpressionId, ranking: &Ranking, n_docs: usize) -> Shown {
    let mut is_ranked = vec![false; n_docs];
    let mut order: Vec<usize> = ranking.docs().iter().map(|&doc| doc as usize).collect();
    order.iter().for_each(|&doc| is_ranked[doc] = true);
    order.extend((0..n_docs).filter(|&doc| !is_ranked[doc]));
    Shown { impression, order, n_ranked: ranking.len() }
}
