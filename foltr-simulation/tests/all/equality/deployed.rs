//! A federation of device cores and a coordinator. Whatever passes between them is encoded, signed where the protocol signs
//! it, and decoded.

use foltr_federation::protocol::{
    Contribution, DeviceId, Document, FeatureSchema, Normalisation, Plan, Release, ReleaseChain, SecretKey, Signed,
    Task,
};
use foltr_federation::{
    Coordinator, Device, Expected, FederationPlan, Fingerprint, Message, Payload, Setup, Staleness,
};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::click::SimulatedUser;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::federation_run::SERVER;
use foltr_simulation::{SimulatedNoise, noise_purpose};
use rand::RngExt;

use super::{Fault, World};
use crate::scene::N_FEATURES;

pub const SEED: u64 = 5;
pub const INITIAL: f32 = 0.01;
/// The round whose streams of [`Purpose::Initialisation`] belong to clients.
const START: u32 = 1;

pub struct Deployed<'a> {
    world: World,
    data: &'a ClientData,
    streams: Streams,
    plan: Plan,
    hash: Fingerprint,
    expected: Expected,
    key: SecretKey,
    setup: Setup,
    server: Coordinator,
    releases: Vec<Vec<u8>>,
    chain: ReleaseChain,
    devices: Vec<Device>,
    /// Rounds in which devices started, for the names of their streams.
    purpose: Purpose,
}

fn device_id(client: u32) -> DeviceId {
    let mut secret = [1; 32];
    secret[..4].copy_from_slice(&client.to_le_bytes());
    SecretKey::from_bytes(&secret).public_key().device_id()
}

impl<'a> Deployed<'a> {
    pub fn new(federation: &FederationPlan, world: &World, data: &'a ClientData) -> Self {
        let key = SecretKey::from_bytes(&[7; 32]);
        let features = FeatureSchema::numbered(N_FEATURES, Normalisation::None);
        let plan = Plan::new(federation.clone(), &features, true).expect("it can be deployed");
        let bytes = Signed::sign(plan, &key).expect("sound").as_bytes().to_vec();
        let plan =
            Signed::<Plan>::decode(&bytes).expect("its own bytes").verify(&key.public_key()).expect("signed").clone();
        let (hash, initial) = (plan.hash().expect("sound"), vec![INITIAL; plan.shape().n_params()]);
        let setup = plan.federation().setup(initial.clone()).expect("a sound plan");
        let first = Release::first(hash, 0, initial.clone(), &key).expect("finite");
        let mut chain = ReleaseChain::new(hash, 0, key.public_key());
        chain.accept(&first).expect("the first release");
        let streams = Streams::new(SEED);
        let of_devices = match world.fault {
            Fault::StalenessScale => {
                let staleness = federation.staleness.map(|it| Staleness { exponent: it.exponent / 2.0, ..it });
                Plan::new(FederationPlan { staleness, ..federation.clone() }, &features, true).expect("deployable")
            }
            _ => plan.clone(),
        };
        let device = |client: u32| {
            let mut private = streams.open(Purpose::Initialisation, client, START);
            Device::new(&of_devices, client, &initial, &mut private).expect("a sound plan")
        };
        Self {
            devices: (0..setup.n_clients).map(device).collect(),
            expected: plan.expected().expect("a sound plan"),
            purpose: noise_purpose(plan.expected().expect("a sound plan").kind),
            server: Coordinator::new(setup.clone()).expect("a sound setup"),
            releases: vec![first.encode()],
            world: *world,
            data,
            streams,
            plan: of_devices,
            hash,
            key,
            setup,
            chain,
        }
    }

    pub fn newest(&self) -> Params {
        self.release(self.releases.len() - 1).params().to_vec()
    }

    pub fn ranker(&self) -> Params {
        self.server.ranker()
    }

    fn release(&self, version: usize) -> Release {
        Release::decode(&self.releases[version], self.plan.shape().n_params()).expect("its own bytes")
    }

    /// The release as a device of this plan takes it; with a wrong plan it has another name.
    fn release_for_devices(&self, version: u32) -> Release {
        let release = self.release(version as usize);
        let own = self.plan.hash().expect("sound");
        if own == self.hash {
            return release;
        }
        let mut relabelled = Release::first(own, 0, release.params().to_vec(), &self.key).expect("finite");
        for _ in 0..version {
            relabelled = relabelled.next(own, release.params().to_vec(), &self.key).expect("finite");
        }
        relabelled
    }

    fn interrupt(&mut self, client: u32) {
        if self.world.is_interrupted {
            let bytes = self.devices[client as usize].save();
            self.devices[client as usize] = Device::load(&self.plan, &bytes).expect("its own bytes");
        }
    }

    /// A person's day: queries, lists and clicks, from a release, with the random numbers of this round.
    pub fn play(&mut self, client: u32, version: u32, round: u32) {
        let release = self.release_for_devices(version);
        let mut public = self.streams.open(Purpose::PerturbationSeed, client, round);
        let mut private = self.streams.open(Purpose::Interaction, client, round);
        self.devices[client as usize].begin(&release, &mut public).expect("a release of the plan");
        let share = self.data.share(client);
        let draws = (0..share.n_interactions).map(|_| share.query(private.random_range(0..share.n_queries())));
        let queries: Vec<u32> = draws.collect();
        for (now, query) in (u64::from(round) * 100..).zip(queries) {
            let data = share.training.data();
            let (view, labels) = (data.query(query as usize), data.labels(query as usize));
            let session = self.devices[client as usize].session();
            let shown = session.rank(view, now, &mut private).expect("sound documents");
            self.interrupt(client);
            let of_shown: Vec<u8> = shown.ranking.docs().iter().map(|&doc| labels[doc as usize]).collect();
            let clicks = share.users.click(&of_shown, &mut private);
            // The last click comes first: order does not matter.
            for position in (0..of_shown.len()).rev().filter(|&position| clicks.at(position)) {
                let session = self.devices[client as usize].session();
                session.clicked(shown.impression, position, now).expect("an open impression");
                self.interrupt(client);
            }
            self.devices[client as usize].session().dismiss(shown.impression).expect("an open impression");
            self.interrupt(client);
        }
        assert!(self.devices[client as usize].is_ready());
    }

    /// What the server reads in a device's bytes.
    pub fn message(&mut self, client: u32, round: u32) -> Message {
        let newest = self.release_for_devices(self.releases.len() as u32 - 1);
        let task = Task {
            plan: newest.header().plan,
            round: self.server.task().round,
            shard: 0,
            start: newest.id(),
            clip_norm: self.server.task().clip_norm,
            deadline: 0,
            n_wanted: 1,
            lottery: None,
        };
        let sent = Signed::sign(task, &self.key).expect("sound");
        let task = *Signed::<Task>::decode(sent.as_bytes()).expect("its own bytes").unverified();
        let mut noise = SimulatedNoise::open(&self.streams, self.purpose, client, round);
        let device = &mut self.devices[client as usize];
        let mut contribution = device.contribution(&task, device_id(client), &mut noise).expect("it is ready");
        if let (Fault::Sign, Payload::Evolution { plus, minus: Some(minus), .. }) =
            (self.world.fault, &mut contribution.payload)
        {
            std::mem::swap(plus, minus);
        }
        self.interrupt(client);
        contribution.plan = self.hash;
        let received = Contribution::decode(&contribution.encode(), &self.hash, &self.expected).expect("sound bytes");
        assert_eq!(received.device, device_id(client));
        received.into_message(client)
    }

    /// Devices make their messages; those that arrive do so in any order, and the round is closed.
    pub fn close_round(&mut self, joining: &[u32], arrived: &[u32]) {
        let round = self.server.task().round;
        if self.world.is_interrupted {
            let bytes = self.server.save();
            self.server = Coordinator::new(self.setup.clone()).expect("a sound setup");
            self.server.load(&bytes).expect("its own bytes");
        }
        let mut messages = Vec::new();
        for &client in joining {
            let before = self.devices[client as usize].save();
            let message = self.message(client, round);
            if arrived.contains(&client) {
                messages.push(message);
            } else if self.world.fault == Fault::Momentum {
                self.devices[client as usize] = Device::load(&self.plan, &before).expect("its own bytes");
            }
        }
        let mut order = self.streams.open(Purpose::Data, 1, round);
        for last in (1..messages.len()).rev() {
            messages.swap(last, order.random_range(0..=last));
        }
        let n_clients = self.setup.n_clients;
        let renumbered =
            |client: u32| if self.world.fault == Fault::FoldOrder { n_clients - 1 - client } else { client };
        let drawn: Vec<u32> = joining.iter().map(|&client| renumbered(client)).collect();
        self.server.open(&drawn).expect("known clients");
        for message in messages {
            let message = Message { client: renumbered(message.client), ..message };
            self.server.receive(message).expect("a sound message");
        }
        let mut noise = SimulatedNoise::open(&self.streams, Purpose::Noise, SERVER, round);
        if self.server.close(&mut noise).is_err() && self.server.task().round == round {
            self.server.skip();
        }
        self.publish(self.server.task().global.clone());
    }

    pub fn publish(&mut self, params: Params) {
        let newest = self.release(self.releases.len() - 1);
        let next = newest.next(self.hash, params, &self.key).expect("finite");
        assert_eq!(self.chain.accept(&next), Ok(true));
        self.releases.push(next.encode());
    }
}
