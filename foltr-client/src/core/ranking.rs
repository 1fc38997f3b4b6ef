//! Lists and clicks: a list is shown, stays open, and teaches when it ends.

use foltr_rank::adoption::ShownList;
use foltr_rank::learn::{Models, OwnRanker};
use foltr_rank::session::{ClickError, RankError, StoredImpression};
use foltr_rank::{ImpressionId, Ranking, Session};

use super::event::{Click, Shown};
use super::local::OWN_MODEL;
use super::membership::Membership;
use super::{Core, Owner, Refused};
use crate::item::{Item, Write};
use crate::randomness::Randomness;

impl Core {
    pub(super) fn rank(&mut self, values: &[f32], now: u64, random: &mut dyn Randomness) -> Result<Shown, Refused> {
        let rows = self.features.rows(values)?;
        self.end_overdue(now, random);
        let query = self.features.view(&rows);
        let id = self.next_impression();
        if self.is_paused {
            let ranking = self.ranker().rank(query, self.list_length()).map_err(|_| RankError::Scores)?;
            self.local.session.continue_from(ImpressionId(id.0 + 1));
            return Ok(shown(id, &ranking, query.n_docs()));
        }
        let made = match (self.owner(), &mut self.membership) {
            (Owner::Federation, Some(membership)) => {
                let device = membership.member_mut().and_then(|member| member.device.as_mut());
                let device = device.ok_or(RankError::NoRound)?;
                device.continue_from(id);
                device.rank(query, now, random.private())?
            }
            _ => {
                self.local.session.continue_from(id);
                self.local.session.rank(query, now, random.private())?
            }
        };
        if made.impression.0 + 1 >= self.reserved {
            self.reserve_ids(made.impression.0 + 1);
        }
        self.write_impression(self.owner(), made.impression);
        let Self { membership, writes, .. } = self;
        if let Some(member) = membership.as_ref().and_then(Membership::member)
            && member.learns_by_rewards()
        {
            // Lists are counted for the sides of the perturbation when they are made.
            member.write_learner(writes);
        }
        Ok(shown(made.impression, &made.ranking, query.n_docs()))
    }

    /// What lists are ranked by without any chance.
    fn ranker(&self) -> OwnRanker {
        let federated = || {
            let member = self.member()?;
            let release = member.releases.get(&member.in_use)?;
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

    /// Ends lists whose last event is too long ago, and the oldest if there are too many.
    pub(super) fn end_overdue(&mut self, now: u64, random: &mut dyn Randomness) {
        if self.is_paused {
            return;
        }
        loop {
            let n_open = self.open(Owner::Alone).len() + self.open(Owner::Federation).len();
            let is_full = n_open > self.options.retention.open_lists.max(1);
            let after = if is_full { 0 } else { self.options.retention.list_timeout };
            // Of the learner that makes no lists any more first.
            let of_device = self.member_mut().and_then(|member| member.device.as_mut()?.expire(now, after));
            let ended = of_device
                .map(|ended| (Owner::Federation, ended))
                .or_else(|| self.local.expire(now, after, random.public()).map(|ended| (Owner::Alone, ended)));
            let Some((owner, ended)) = ended else { break };
            self.end(owner, &ended, now, random);
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
            self.observe(list, now);
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

    fn write_impression(&mut self, owner: Owner, id: ImpressionId) {
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

/// The learner that has a list.
enum Opened<'a> {
    Alone(&'a mut super::local::Local),
    Federation(&'a mut foltr_federation::Device),
}

/// The ranked documents, and behind them the others in the host's order.
fn shown(impression: ImpressionId, ranking: &Ranking, n_docs: usize) -> Shown {
    let mut is_ranked = vec![false; n_docs];
    let mut order: Vec<usize> = ranking.docs().iter().map(|&doc| doc as usize).collect();
    order.iter().for_each(|&doc| is_ranked[doc] = true);
    order.extend((0..n_docs).filter(|&doc| !is_ranked[doc]));
    Shown { impression, order, n_ranked: ranking.len() }
}
