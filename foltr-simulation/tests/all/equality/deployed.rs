//! A federation of device cores and a coordinator. Whatever passes between them is encoded, signed where the protocol signs
//! it, and decoded.

use foltr_federation::protocol::{
    Contribution, DeviceId, Document, FeatureSchema, Normalisation, Plan, Release, ReleaseChain, ReleaseId, SecretKey,
    Signed, Task,
};
use foltr_federation::{Device, Expected, FederationPlan, Fingerprint, Message, Payload, Received, Staleness};
use foltr_rank::Params;
use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::click::SimulatedUser;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::federation_run::SERVER;
use foltr_simulation::{SimulatedNoise, noise_purpose};
use rand::RngExt;

use super::harness::{Fault, INITIAL, N_FEATURES, Running, SEED, World};
use super::server::Server;

/// The round whose streams of [`Purpose::Initialisation`] belong to clients.
const START: u32 = 1;

pub struct Deployed {
    world: World,
    data: &'static ClientData,
    streams: Streams,
    plan: Plan,
    hash: Fingerprint,
    expected: Expected,
    key: SecretKey,
    of_server: Plan,
    server: Server,
    /// By shard; one without shards.
    releases: Vec<Vec<Vec<u8>>>,
    chains: Vec<ReleaseChain>,
    devices: Vec<Device>,
    /// Rounds in which devices started, for the names of their streams.
    purpose: Purpose,
}

fn device_id(client: u32) -> DeviceId {
    let mut secret = [1; 32];
    secret[..4].copy_from_slice(&client.to_le_bytes());
    SecretKey::from_bytes(&secret).public_key().device_id()
}

impl Running for Deployed {
    fn start(federation: &FederationPlan, world: &World, data: &'static ClientData) -> Self {
        let key = SecretKey::from_bytes(&[7; 32]);
        let features = FeatureSchema::numbered(N_FEATURES, Normalisation::None);
        let plan = Plan::new(federation.clone(), &features, true).expect("it can be deployed");
        let bytes = Signed::sign(plan, &key).expect("sound").as_bytes().to_vec();
        let plan =
            Signed::<Plan>::decode(&bytes).expect("its own bytes").verify(&key.public_key()).expect("signed").clone();
        let (hash, initial) = (plan.hash().expect("sound"), vec![INITIAL; plan.shape().n_params()]);
        let n_shards = federation.shards.unwrap_or(1);
        let first = |shard| Release::first(hash, shard, initial.clone(), &key).expect("finite");
        let firsts: Vec<Release> = (0..n_shards).map(first).collect();
        let chain = |(shard, first): (u32, &Release)| {
            let mut chain = ReleaseChain::new(hash, shard, key.public_key());
            chain.accept(first).expect("the first release");
            chain
        };
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
            devices: (0..federation.n_clients as u32).map(device).collect(),
            expected: plan.expected().expect("a sound plan"),
            purpose: noise_purpose(plan.expected().expect("a sound plan").kind),
            server: Server::new(&plan),
            chains: (0..).zip(&firsts).map(chain).collect(),
            releases: firsts.iter().map(|first| vec![first.encode()]).collect(),
            of_server: plan,
            world: *world,
            data,
            streams,
            plan: of_devices,
            hash,
            key,
        }
    }

    fn newest(&self) -> Vec<Params> {
        (0..self.releases.len() as u32)
            .map(|shard| self.release(shard, self.n_releases() - 1).params().to_vec())
            .collect()
    }

    fn ranker(&self) -> Params {
        self.server.ranker()
    }

    fn n_releases(&self) -> u32 {
        self.releases[0].len() as u32
    }

    fn play(&mut self, client: u32, version: u32, round: u32) {
        let release = self.release_for_devices(self.plan.shard_of(client), version);
        let mut public = self.streams.open(Purpose::PerturbationSeed, client, round);
        let mut private = self.streams.open(Purpose::Interaction, client, round);
        self.devices[client as usize].begin(&release, &mut public).expect("a release of the plan");
        let share = self.data.share(client);
        let draws = (0..share.n_interactions).map(|_| share.query(private.random_range(0..share.n_queries())));
        let queries: Vec<u32> = draws.collect();
        for (now, query) in (u64::from(round) * 100..).zip(queries) {
            let data = share.training.data();
            let (view, labels) = (data.query(query as usize), data.labels(query as usize));
            let shown = self.devices[client as usize].rank(view, now, &mut private).expect("sound documents");
            self.interrupt(client);
            let of_shown: Vec<u8> = shown.ranking.docs().iter().map(|&doc| labels[doc as usize]).collect();
            let clicks = share.users.click(&of_shown, &mut private);
            // The last click comes first: order does not matter.
            for position in (0..of_shown.len()).rev().filter(|&position| clicks.at(position)) {
                let device = &mut self.devices[client as usize];
                device.clicked(shown.impression, position, now).expect("an open impression");
                self.interrupt(client);
            }
            self.devices[client as usize].dismiss(shown.impression).expect("an open impression");
            self.interrupt(client);
        }
        assert!(self.devices[client as usize].is_ready());
    }

    fn deliver(&mut self, client: u32, own_round: u32) -> Option<Received> {
        self.interrupt_server();
        let message = self.message(client, own_round);
        let Server::Asynchronous(server) = &mut self.server else { panic!("a plan without rounds") };
        let received = server.receive(&message).ok();
        if received == Some(Received::NewVersion) {
            self.publish();
        }
        received
    }

    fn close_round(&mut self, joining: &[u32], arrived: &[u32]) {
        let round = self.server.task(0).round;
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
        let (n_clients, fault) = (self.devices.len() as u32, self.world.fault);
        let renumbered = |client: u32| if fault == Fault::FoldOrder { n_clients - 1 - client } else { client };
        let drawn: Vec<u32> = joining.iter().map(|&client| renumbered(client)).collect();
        self.server.open(&drawn);
        // Who was drawn is in the bytes; the messages of the round come again from the server's store.
        self.interrupt_server();
        for message in messages {
            let client = renumbered(message.client);
            // Rewards are scaled by the server.
            let start = if fault == Fault::ServerScale { message.round } else { message.start };
            self.server.receive(Message { client, start, ..message });
        }
        self.server.close(&mut SimulatedNoise::open(&self.streams, Purpose::Noise, SERVER, round));
        self.publish();
    }
}

impl Deployed {
    fn release(&self, shard: u32, version: u32) -> Release {
        let bytes = &self.releases[shard as usize][version as usize];
        Release::decode(bytes, self.plan.shape().n_params()).expect("its own bytes")
    }

    /// The releases that contributions may start from.
    fn recent(&self, shard: u32) -> Vec<ReleaseId> {
        (0..self.n_releases()).map(|version| self.release(shard, version).id()).collect()
    }

    /// The release as a device of this plan takes it; with a wrong plan it has another name.
    fn release_for_devices(&self, shard: u32, version: u32) -> Release {
        let release = self.release(shard, version);
        let own = self.plan.hash().expect("sound");
        if own == self.hash {
            return release;
        }
        let mut relabelled = Release::first(own, shard, release.params().to_vec(), &self.key).expect("finite");
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

    fn interrupt_server(&mut self) {
        if self.world.is_interrupted {
            let bytes = self.server.save();
            self.server = Server::new(&self.of_server);
            self.server.load(&bytes);
        }
    }

    /// What the server reads in a device's bytes.
    fn message(&mut self, client: u32, round: u32) -> Message {
        let shard = self.plan.shard_of(client);
        let newest = self.release_for_devices(shard, self.n_releases() - 1);
        let asked = self.server.task(shard).clone();
        let task = Task {
            plan: newest.header().plan,
            round: asked.round,
            shard,
            start: newest.id(),
            clip_norm: asked.clip_norm,
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
        let mut received =
            Contribution::decode(&contribution.encode(), &self.hash, &self.expected).expect("sound bytes");
        assert_eq!(received.device, device_id(client));
        // Devices of a wrong plan have other names for the releases.
        received.start = self.release(shard, received.start.version).id();
        received.into_message(client, &asked, &self.recent(shard)).expect("a release of the federation")
    }

    fn publish(&mut self) {
        for shard in 0..self.releases.len() as u32 {
            let newest = self.release(shard, self.releases[shard as usize].len() as u32 - 1);
            let next = newest.next(self.hash, self.server.task(shard).global.clone(), &self.key).expect("finite");
            assert_eq!(self.chains[shard as usize].accept(&next), Ok(true));
            self.releases[shard as usize].push(next.encode());
        }
    }
}
