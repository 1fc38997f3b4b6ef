//! A device without I/O, clock, threads or randomness of its own: events in, actions out.
//!
//! The shell gives every event to [`Core::poll`] with the present time and does what it says. Tests do the same with any
//! order of events, and hosts with an event loop of their own can, too.
//!
//! What is in memory is the truth as long as a process lives; what is stored is an image of it, one transaction an event.
//! If a transaction fails, its writes go into the next one, so that a full disk stops promises and not rankings.

mod changing;
mod contributing;
mod error;
mod event;
mod following;
mod forgetting;
mod joining;
mod ledgers;
mod local;
mod membership;
mod ranking;
mod status;
mod sync;
mod time;

use std::collections::VecDeque;

use foltr_federation::Guarantee;
use foltr_rank::ImpressionId;
use foltr_rank::adoption::{Adoption, ShownList};
use foltr_rank::bytes::{Reader, Writer};
use foltr_rank::parameter::require;

pub use error::{FederationError, LoadError, Refused};
pub use event::{Action, Answer, Click, Consent, Event, Method, Outcome, Request, Shown, Synced};
pub use status::{BudgetStatus, FederationStatus, ModelInUse, Status, StoredThing};

use crate::features::Features;
use crate::item::{Item, Records, State, Write, numbers, read_numbers};
use crate::options::Options;
use crate::randomness::{Randomness, Seed};
use forgetting::Forgetting;
use ledgers::Ledgers;
use local::Local;
use membership::{Member, Membership};
use sync::Visit;
use time::{Age, DAY, Schedule};

/// Ids that are set aside at a time: ids of lists that a power failure took are never given to others. Half of them are
/// left when more are set aside, so that these are durable long before they are needed.
const RESERVED_IDS: u64 = 4096;

/// Which learner has an open list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Alone = 0,
    Federation = 1,
}

/// A device: what it has learnt, its place in a federation, and what it waits for.
#[derive(Debug)]
pub struct Core {
    options: Options,
    features: Features,
    local: Local,
    membership: Option<Membership>,
    adoption: Option<Adoption>,
    /// When the lists of the adoption ended, by [`Self::age`], the oldest first.
    list_times: VecDeque<u64>,
    ledgers: Ledgers,
    forgettings: Vec<Forgetting>,
    /// The last one, as it came.
    deletion_receipt: Option<Vec<u8>>,
    /// The last list of a query that is being typed, and what its chance follows from.
    typed: Option<(ImpressionId, Seed)>,
    is_paused: bool,
    schedule: Schedule,
    age: Age,
    /// Ids below it may have been given to lists.
    reserved: u64,
    /// The requests of the present [`Event::Sync`] or [`Event::Join`].
    visit: Option<Visit>,
    /// Why the last one did not end well.
    problem: Option<(u64, FederationError)>,
    writes: Vec<Write>,
    must_be_durable: bool,
    /// What is not among the writes goes.
    is_erasing: bool,
}

impl Core {
    /// A device from all that is stored; a new one from nothing. The actions must be done before anything else.
    pub fn load(
        options: Options,
        mut records: Records,
        random: &mut dyn Randomness,
    ) -> Result<(Self, Vec<Action>), LoadError> {
        let features = Features::new(options.features.clone())?;
        let n_features = features.len();
        check_options(&options)?;
        check_setup(&options, &features, &records)?;
        let local = Local::load(&options.alone, n_features, &records, &impressions(&records, Owner::Alone)?, random)?;
        let membership = Membership::load(&records, &impressions(&records, Owner::Federation)?)?;
        let (is_paused, schedule, age) = load_switches(&records)?;
        let reserved = records.get(&Item::State(State::Ids));
        let [reserved] = reserved.map_or(Ok([0]), |record| read_numbers(&record.bytes))?;
        let mut core = Self {
            ledgers: Ledgers::load(&records)?,
            forgettings: Forgetting::load(&records)?,
            deletion_receipt: records.get(&Item::State(State::DeletionReceipt)).map(|record| record.bytes.clone()),
            features,
            local,
            membership,
            adoption: None,
            list_times: VecDeque::new(),
            typed: None,
            is_paused,
            schedule,
            age,
            reserved,
            visit: None,
            problem: None,
            writes: Vec::new(),
            must_be_durable: false,
            is_erasing: false,
            options,
        };
        core.load_adoption(&mut records)?;
        core.apply_options()?;
        if !records.contains_key(&Item::State(State::Setup)) {
            core.write_setup();
        }
        let next = core.next_impression().max(ImpressionId(reserved));
        core.local.session.continue_from(next);
        core.reserve_ids(next.0);
        core.must_be_durable = true;
        let actions = core.store_actions();
        Ok((core, actions))
    }

    /// Options may have changed since the folder was used.
    fn apply_options(&mut self) -> Result<(), LoadError> {
        if self.options.adoption.is_none() && self.adoption.is_some() {
            self.drop_adoption();
        }
        let address = self.membership.as_ref().map(|membership| membership.address.as_str().to_owned());
        if let (Some(limit), Some(address)) = (self.options.budget, address) {
            let is_lower = self.ledgers.limit(&address, limit);
            if is_lower.map_err(|error| LoadError::damaged(State::Ledgers.name(), error))? {
                self.ledgers.write(&mut self.writes);
            }
        }
        Ok(())
    }

    /// Lists leave the records one by one: there are many, and they are large.
    fn load_adoption(&mut self, records: &mut Records) -> Result<(), LoadError> {
        let Some(models) = records.remove(&Item::State(State::Adoption)) else { return Ok(()) };
        let damaged = |why: &dyn std::fmt::Display| LoadError::damaged(State::Adoption.name(), why);
        let Some(member) = self.member() else { return Err(damaged(&"there is no federation")) };
        let bytes = Adoption::join(&models.bytes, &[[0_u8; 0]; 0]);
        let mut adoption = Adoption::decode(&bytes, member.plan.shape()).map_err(|error| damaged(&error))?;
        let lists = records.range(Item::List(0)..=Item::List(u64::MAX));
        let numbers: Vec<Item> = lists.map(|(item, _)| *item).collect();
        for item in numbers {
            let record = records.remove(&item);
            let list = record.as_ref().and_then(|record| record.bytes.split_first_chunk::<8>());
            let (time, list) = list.ok_or_else(|| damaged(&"a list without its time"))?;
            adoption.restore(list).map_err(|error| damaged(&error))?;
            self.list_times.push_back(u64::from_le_bytes(*time));
        }
        self.adoption = Some(adoption);
        Ok(())
    }

    /// Takes note of an event, and says what to do about it.
    pub fn poll(&mut self, now: u64, event: Event<'_>, random: &mut dyn Randomness) -> Vec<Action> {
        let outcome = match event {
            Event::Rank(features) => self.rank(features, now, random).map(Outcome::Shown),
            Event::RankNext { features, previous } => {
                self.rank_next(features, previous, now, random).map(Outcome::Shown)
            }
            Event::Clicked { impression, position } => self.clicked(impression, position, now).map(Outcome::Clicked),
            Event::Dismissed(impression) => self.dismissed(impression, now, random).map(|()| Outcome::Done),
            Event::Withdrawn(impression) => self.withdrawn(impression, now, random).map(|()| Outcome::Done),
            Event::Pause => self.set_paused(true),
            Event::Resume => self.set_paused(false),
            Event::Forget => self.forget(random),
            Event::Join { invitation, consent } => return self.join(invitation, consent, now, random),
            Event::Sync => return self.sync(now, random),
            Event::Answered(answer) => return self.answered(&answer, now, random),
            Event::NotReached => return self.not_reached(now, random),
        };
        let mut actions = self.store_actions();
        actions.push(Action::Answer(outcome));
        actions
    }

    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    fn set_paused(&mut self, is_paused: bool) -> Result<Outcome, Refused> {
        self.is_paused = is_paused;
        self.write_switches();
        self.must_be_durable = true;
        Ok(Outcome::Done)
    }

    /// What the event so far has changed, if anything.
    fn store_actions(&mut self) -> Vec<Action> {
        let durable = std::mem::take(&mut self.must_be_durable);
        match std::mem::take(&mut self.writes) {
            writes if std::mem::take(&mut self.is_erasing) => vec![Action::Erase { writes }],
            writes if writes.is_empty() => Vec::new(),
            writes => vec![Action::Store { writes, durable }],
        }
    }

    /// What the server signed when it had forgotten this device: JSON for `foltr receipt verify`.
    pub fn deletion_receipt(&self) -> Option<&[u8]> {
        self.deletion_receipt.as_deref()
    }

    fn member(&self) -> Option<&Member> {
        self.membership.as_ref().and_then(Membership::member)
    }

    fn member_mut(&mut self) -> Option<&mut Member> {
        self.membership.as_mut().and_then(Membership::member_mut)
    }

    /// Which learner makes the lists.
    fn owner(&self) -> Owner {
        match self.member() {
            Some(member) if member.makes_lists() => Owner::Federation,
            _ => Owner::Alone,
        }
    }

    fn next_impression(&self) -> ImpressionId {
        let device = self.member().and_then(|member| member.device.as_ref());
        let of_device = device.map(|device| device.session().next_impression());
        of_device.into_iter().fold(self.local.session.next_impression(), Ord::max)
    }

    fn reserve_ids(&mut self, next: u64) {
        self.reserved = next.saturating_add(RESERVED_IDS);
        self.writes.push(Write::put(Item::State(State::Ids), numbers(&[self.reserved])));
    }

    fn write_setup(&mut self) {
        let setup = setup_bytes(&self.options, &self.features);
        self.writes.push(Write::put(Item::State(State::Setup), setup));
        self.local.write_learner(&mut self.writes);
        self.local.write_clock(&mut self.writes);
        self.must_be_durable = true;
    }

    fn write_switches(&mut self) {
        let (Schedule { next_try, n_failures }, Age { elapsed, shown }) = (self.schedule, self.age);
        let values = [self.is_paused.into(), next_try, n_failures.into(), elapsed, shown];
        self.writes.push(Write::put(Item::State(State::Switches), numbers(&values)));
    }

    /// Stores a list with clicks that ended at this age, for the tests of releases.
    fn observe(&mut self, list: ShownList, age: u64) {
        let Some(adoption) = &mut self.adoption else { return };
        let (bytes, n_before) = ([age.to_le_bytes().as_slice(), &list.encode()].concat(), adoption.n_lists());
        // Only a list with other features is refused, which this device does not have.
        if adoption.observe(list).is_err() {
            return;
        }
        let number = adoption.n_observed() - 1;
        self.writes.push(Write::put(Item::List(number), bytes));
        if adoption.n_lists() == n_before {
            self.list_times.pop_front();
            self.writes.push(Write::delete(Item::List(number - n_before as u64)));
        }
        self.list_times.push_back(age);
        self.write_adoption();
    }

    /// Lists that are older than the retention allows go.
    fn drop_old_lists(&mut self, now: u64) {
        let age = self.advance_age(now);
        let Some(adoption) = &mut self.adoption else { return };
        let is_old = |&&time: &&u64| age.saturating_sub(time) > self.options.retention.ended_lists;
        let n_old = self.list_times.iter().take_while(is_old).count();
        if n_old == 0 {
            return;
        }
        let first = adoption.n_observed() - adoption.n_lists() as u64;
        adoption.drop_oldest(n_old);
        self.list_times.drain(..n_old);
        self.writes.extend((0..n_old as u64).map(|old| Write::delete(Item::List(first + old))));
    }

    /// The age of the device, which is stored once a day: one that is opened often grows old, too.
    fn advance_age(&mut self, now: u64) -> u64 {
        let before = self.age.elapsed;
        let age = self.age.advance(now);
        if age / DAY != before / DAY {
            self.write_switches();
        }
        age
    }

    fn write_adoption(&mut self) {
        let bytes = self.adoption.as_ref().map(Adoption::encode_models);
        self.writes.push(Write { item: Item::State(State::Adoption), bytes });
    }
}

/// Records of open lists begin with their owner.
fn impressions(records: &Records, owner: Owner) -> Result<Vec<Vec<u8>>, LoadError> {
    let mut impressions = Vec::new();
    for (item, record) in records.iter().filter(|(item, _)| matches!(item, Item::Impression(_))) {
        match record.bytes.split_first() {
            Some((&of, bytes)) if of == owner as u8 => impressions.push(bytes.to_vec()),
            Some((&of, _)) if of <= Owner::Federation as u8 => {}
            _ => return Err(LoadError::damaged(item.name(), "a list of nobody")),
        }
    }
    Ok(impressions)
}

fn load_switches(records: &Records) -> Result<(bool, Schedule, Age), LoadError> {
    let Some(record) = records.get(&Item::State(State::Switches)) else {
        return Ok((false, Schedule::default(), Age::default()));
    };
    let [is_paused, next_try, n_failures, elapsed, shown] = read_numbers(&record.bytes)?;
    let n_failures = u32::try_from(n_failures).unwrap_or(u32::MAX);
    Ok((is_paused != 0, Schedule { next_try, n_failures }, Age { elapsed, shown }))
}

fn check_options(options: &Options) -> Result<(), LoadError> {
    if let Some(&problem) = options.adoption.iter().flat_map(|rule| rule.check()).collect::<Vec<_>>().first() {
        return Err(problem.into());
    }
    if let Some(Guarantee { epsilon, delta }) = options.budget {
        require("budget.epsilon", epsilon, epsilon >= 0.0, "0 or a positive number")?;
        require("budget.delta", delta, (0.0..1.0).contains(&delta), "from 0 to below 1")?;
    }
    Ok(())
}

/// What a folder is for: a device with other features or another ranker must not go on with it.
fn setup_bytes(options: &Options, features: &Features) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(features.hash.as_bytes()).text(&ranker_words(options));
    out.0
}

fn ranker_words(options: &Options) -> String {
    let own = options.alone.personalisation.as_ref().map(|method| format!(" with {method:?}"));
    let shape = options.alone.ranker.shape(options.features.features.len());
    format!("{shape:?}{}", own.unwrap_or_default())
}

fn check_setup(options: &Options, features: &Features, records: &Records) -> Result<(), LoadError> {
    let Some(record) = records.get(&Item::State(State::Setup)) else { return Ok(()) };
    let mut input = Reader::new(&record.bytes);
    let stored = foltr_federation::Fingerprint::from_bytes(input.array()?);
    if stored != features.hash {
        return Err(LoadError::OtherFeatures { stored, given: features.hash });
    }
    let (stored, given) = (input.text()?, ranker_words(options));
    match stored == given {
        true => Ok(input.finish()?),
        false => Err(LoadError::OtherRanker { stored: stored.to_owned(), given }),
    }
}
