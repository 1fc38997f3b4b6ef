//! The core by itself: any order of events, any answers of the server, and a restart after every event.

use std::collections::BTreeSet;

use foltr_federation::FederationPlan;
use foltr_rank::ImpressionId;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_test::campaign_size;
use rand::{Rng, RngExt};

use super::device::{Seeded, documents, options, simulated};
use super::federation::{Federation, problem};
use super::modes;
use crate::core::{Action, Answer, Consent, Core, Event, Outcome, Request};
use crate::item::{Item, Record, Records, State};
use crate::options::{Options, Retention};
use crate::randomness::Randomness;

/// A device whose store is a map.
struct World {
    core: Core,
    records: Records,
    random: Seeded,
    federation: Federation,
    options: Options,
    now: u64,
    asked: Option<Request>,
    shown: Vec<u64>,
    ids: BTreeSet<u64>,
}

fn plan(n_rounds: usize) -> foltr_federation::protocol::Plan {
    simulated(FederationPlan { n_rounds, n_interactions: 2, ..modes::pdgd(1) })
}

impl World {
    fn new(seed: u64) -> Self {
        let retention = Retention { open_lists: 5, list_timeout: 1_000, ended_lists: 100_000 };
        let options = Options { retention, ..options() };
        let mut random = Seeded::new(seed);
        let (core, actions) = Core::load(options.clone(), Records::new(), &mut random).expect("sound options");
        let federation = Federation::new(plan(1_000));
        let (records, ids, shown) = (Records::new(), BTreeSet::new(), Vec::new());
        let mut world =
            Self { core, records, random, federation, options, now: 1_800_000_000, asked: None, shown, ids };
        world.perform(actions);
        world
    }

    /// Joins, and nothing goes wrong.
    fn join(&mut self) {
        let invitation = self.federation.invitation("http://localhost");
        self.event(Event::Join { invitation: &invitation, consent: Consent::NoPromise });
        while let Some(request) = self.asked.take() {
            let answer = self.federation.handle(&request, None);
            self.event(Event::Answered(answer));
        }
    }

    fn event(&mut self, event: Event<'_>) {
        let actions = self.core.poll(self.now, event, &mut self.random);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Store { writes, .. } => self.write(writes),
                Action::Erase { writes } => {
                    self.records.clear();
                    self.write(writes);
                }
                Action::Send(request) => {
                    assert!(request.body.len() < 10_000 && request.path.starts_with("/v1/"), "{request:?}");
                    self.asked = Some(request);
                }
                Action::Answer(Ok(Outcome::Shown(shown))) => {
                    assert!(self.ids.insert(shown.impression.0), "an id that another list had");
                    self.shown.push(shown.impression.0);
                }
                Action::Answer(_) => {}
            }
        }
    }

    fn write(&mut self, writes: Vec<crate::item::Write>) {
        for write in writes {
            match write.bytes {
                Some(bytes) => drop(self.records.insert(write.item, Record { bytes, written: self.now })),
                None => drop(self.records.remove(&write.item)),
            }
        }
    }

    fn step(&mut self, random: &mut Stream) {
        if let Some(request) = self.asked.take() {
            return match random.random_range(0..8_u32) {
                0 => self.event(Event::NotReached),
                1 => self.event(Event::Answered(nonsense(random))),
                // The process is restarted, and nobody waits for the answer any more.
                2 => {}
                _ => {
                    let answer = self.federation.handle(&request, None);
                    self.event(Event::Answered(answer));
                }
            };
        }
        let list = (!self.shown.is_empty()).then(|| self.shown[random.random_range(0..self.shown.len())]);
        match random.random_range(0..40_u32) {
            0..=8 => self.event(Event::Rank(&documents(random.random_range(0..5), 5))),
            9..=11 => {
                let features = documents(random.random_range(0..5), 5);
                self.event(Event::RankNext { features: &features, previous: list.map(ImpressionId) });
            }
            12..=19 => self.event(Event::Clicked {
                impression: ImpressionId(list.unwrap_or(3)),
                position: random.random_range(0..7),
            }),
            20..=23 => self.event(Event::Dismissed(ImpressionId(list.unwrap_or(9)))),
            24 | 25 => self.event(Event::Withdrawn(ImpressionId(list.unwrap_or(9)))),
            26 if random.random_bool(0.1) => {
                self.now = [0, 1, u64::MAX, 1_800_000_000][random.random_range(0..4_usize)]
            }
            26..=32 => {
                self.now = self.now.saturating_add(random.random_range(0..40_000_u64));
                self.event(Event::Sync);
            }
            33 if random.random_bool(0.3) => self.event(Event::Pause),
            33 | 34 => self.event(Event::Resume),
            35 if random.random_bool(0.2) => self.event(Event::Forget),
            35 => self.event(Event::Answered(nonsense(random))),
            36 => self.federation.is_open = !self.federation.is_open,
            37 => self.change_server(random),
            _ => {
                let invitation = self.federation.invitation("http://localhost");
                let consent = [Consent::ProtectedMessages, Consent::NoPromise, Consent::NoPromise]
                    [random.random_range(0..3_usize)];
                self.event(Event::Join { invitation: &invitation, consent });
            }
        }
    }

    /// The operator closes a round or publishes a release, of this plan or another one.
    fn change_server(&mut self, random: &mut Stream) {
        if random.random_bool(0.6) {
            return self.federation.close(&[], &[], self.random.noise());
        }
        if random.random_bool(0.3) {
            self.federation.plan = plan(random.random_range(900..1_000));
        }
        self.federation.publish_model(0, (0..3).map(|_| random.random::<f32>() - 0.5).collect());
    }

    /// What is stored is what is in memory.
    fn restart(&mut self, what: &str) {
        let records = self.records.clone();
        let loaded = Core::load(self.options.clone(), records, &mut self.random);
        let (core, actions) = loaded.unwrap_or_else(|error| panic!("{what}: {error}"));
        let (mut before, mut after) = (self.core.status(), core.status());
        // Why the last attempt failed is not stored.
        (before.problem, after.problem) = (None, None);
        assert_eq!(after, before, "{what}");
        assert_eq!(core.open_clicks(), self.core.open_clicks(), "{what}");
        assert_eq!((core.n_observed(), core.ledger()), (self.core.n_observed(), self.core.ledger()), "{what}");
        self.core = core;
        self.asked = None;
        self.perform(actions);
    }

    fn check(&self, what: &str) {
        let n_open = self.core.open_clicks().len();
        assert!(n_open <= 5, "{what}: {n_open} lists are open");
        let n_lists = self.records.range(Item::Impression(0)..=Item::Impression(u64::MAX)).count();
        assert_eq!(n_lists, n_open, "{what}: lists in the store");
        let has_plan = self.records.contains_key(&Item::State(State::Plan));
        let is_member = self.core.status().federation.is_some_and(|it| it.is_member);
        assert_eq!(has_plan, is_member, "{what}");
        assert!(!self.federation.has_other_bytes, "{what}");
    }
}

fn nonsense(random: &mut Stream) -> Answer {
    let mut body = vec![0; random.random_range(0..200)];
    random.fill_bytes(&mut body);
    let status = [200, 201, 202, 204, 302, 400, 404, 409, 429, 500, 503][random.random_range(0..11_usize)];
    let names = ["round-closed", "unknown-device", "revoked", "unknown-start", "invitation-refused", "unavailable"];
    match random.random_range(0..3_u32) {
        0 => Answer { status, body, retry_after: Some(random.next_u64()) },
        1 => Answer { status, body, retry_after: None },
        _ => problem(status, names[random.random_range(0..names.len())]),
    }
}

#[test]
fn any_order_of_events_and_a_restart_after_each() {
    let n_cases = campaign_size(60, 2_000);
    let mut n_messages = 0;
    for seed in 0..n_cases {
        let mut random = Streams::new(seed).open(Purpose::Data, 0, 0);
        let mut world = World::new(seed);
        if random.random_bool(0.8) {
            world.join();
        }
        let restarts = random.random_bool(0.5);
        for number in 0..300 {
            world.step(&mut random);
            let what = format!("seed {seed}, event {number}");
            world.check(&what);
            if restarts && random.random_bool(0.3) {
                world.restart(&what);
            }
        }
        n_messages += world.federation.received.len();
    }
    assert!(n_messages > 20, "{n_messages} messages: the federation was hardly reached");
    println!(
        "| events in any order | {n_cases} cases x 300 events, {n_messages} messages | what is stored is what is in memory | |"
    );
}
