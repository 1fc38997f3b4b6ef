//! One round of a federation, from the plan to the next release: three devices, a trusted server that adds exact noise.
//!
//! `cargo run --release -p foltr-federation --example one_round_federation`

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;

use foltr_federation::privacy::{CentralDiscreteGaussianParameters, Clip};
use foltr_federation::protocol::{
    Contribution, ContributionReceipt, DeviceId, FeatureSchema, Normalisation, Plan, PublicKey, Release, ReleaseChain,
    SecretKey, Signed, Task, sign_request, verify_request,
};
use foltr_federation::{Device, FederationPlan, Guarantee, Ledger, NoiseSource, Privacy};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::{Candidates, Initialisation, Learner, RankerShape};
use rand::rngs::SysRng;
use rand::{TryRng, rand_core::UnwrapErr};

/// Randomness of the operating system, which alone protects people.
struct OsNoise(UnwrapErr<SysRng>);

impl TryRng for OsNoise {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

impl NoiseSource for OsNoise {
    fn is_simulated(&self) -> bool {
        false
    }
}

const N_DEVICES: usize = 3;
const N_INTERACTIONS: usize = 4;

fn path(device: DeviceId) -> String {
    format!("/v1/federations/demo/rounds/0/contributions/{device}")
}

fn features() -> FeatureSchema {
    FeatureSchema::numbered(2, Normalisation::Query)
}

/// What all agree on: PDGD, a linear ranker, updates clipped to .5, and noise for epsilon 8 over all rounds.
fn plan() -> Result<Plan, Box<dyn Error>> {
    let pdgd =
        PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    let noise = CentralDiscreteGaussianParameters {
        clip: Clip::Fixed(0.5),
        noise_multiplier: None,
        epsilon: Some(8.0),
        delta: Some(1e-5),
    };
    let federation = FederationPlan {
        privacy: Privacy::CentralDiscreteGaussian(noise),
        ..FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, N_DEVICES, N_INTERACTIONS, 10)
    };
    Ok(Plan::new(federation, &features(), false)?)
}

/// What a device does: look at what it is asked, rank and learn, protect, book, sign.
fn contribute(
    [plan, release, task]: [&[u8]; 3],
    federation: &PublicKey,
    key: &SecretKey,
    number: u32,
) -> Result<(Vec<u8>, [u8; 64]), Box<dyn Error>> {
    let mut random = UnwrapErr(SysRng);
    let plan = Signed::<Plan>::decode(plan)?;
    let (hash, plan) = (plan.hash(), plan.verify(federation)?);
    plan.admit(&features())?;
    let mut chain = ReleaseChain::new(hash, plan.shard_of(number), *federation);
    let release = Release::decode(release, plan.shape().n_params())?;
    chain.accept(&release)?;
    let task = *Signed::<Task>::decode(task)?.verify(&chain.key())?;

    let mut device = Device::new(plan, number, release.params(), &mut random)?;
    device.begin(&release, &mut random)?;
    for now in 0..N_INTERACTIONS as u64 {
        // Two documents with two features each; this person wants the first.
        let shown = device.rank(Candidates::new(&[1.0, 0.0, 0.0, 1.0], 2)?.view(), now, &mut random)?;
        let position = shown.ranking.docs().iter().position(|&document| document == 0).unwrap_or(0);
        device.clicked(shown.impression, position, now)?;
        device.dismiss(shown.impression)?;
    }

    let id = key.public_key().device_id();
    let bytes = device.contribution(&task, id, &mut OsNoise(random))?.encode();
    // A device has its ledger for ever, and writes it down with `device.save()` and the bytes before it sends them.
    let mut ledger = Ledger::new(Guarantee { epsilon: 8.0, delta: 1e-5 })?;
    let cost = plan.federation().round_cost(plan.shape().n_params())?.unseen.1;
    let spent = ledger.reserve(&hash.to_string(), task.round, cost, &bytes)?.spent;
    println!("{id:.8} sends {} bytes; epsilon {:.2} is spent", bytes.len(), spent.epsilon);
    let signature = sign_request("PUT", &path(id), &bytes, key);
    Ok((bytes, signature))
}

/// Returns the release after the round, which every device accepts.
pub fn round() -> Result<Release, Box<dyn Error>> {
    // The server: a key, a plan, a first release, a task.
    let federation = SecretKey::from_bytes(&[1; 32]);
    let plan = Signed::sign(plan()?, &federation)?;
    let first = Release::first(plan.hash(), 0, vec![0.0; 2], &federation)?;
    let mut coordinator = plan.unverified().coordinator(first.params().to_vec())?;
    let task = Task {
        plan: plan.hash(),
        round: coordinator.task().round,
        shard: 0,
        start: first.id(),
        clip_norm: coordinator.task().clip_norm,
        deadline: 1_800_000_000,
        n_wanted: N_DEVICES as u32,
        lottery: None,
    };
    let task = Signed::sign(task, &federation)?;

    // Devices have enrolled, and the server gave each a number.
    let keys: Vec<SecretKey> = (10..10 + N_DEVICES as u8).map(|number| SecretKey::from_bytes(&[number; 32])).collect();
    let enrolled: BTreeMap<DeviceId, (u32, PublicKey)> =
        (0..).zip(&keys).map(|(number, key)| (key.public_key().device_id(), (number, key.public_key()))).collect();

    for (number, key) in (0..).zip(&keys) {
        let asked = [plan.as_bytes(), &first.encode(), task.as_bytes()];
        let (bytes, signature) = contribute(asked, &federation.public_key(), key, number)?;
        // What comes over the network is checked before anything is made of it.
        let contribution = Contribution::decode(&bytes, &plan.hash(), coordinator.expected())?;
        let (number, key) = enrolled.get(&contribution.device).ok_or("a device that nobody knows")?;
        verify_request("PUT", &path(contribution.device), &bytes, key, &signature)?;
        let receipt = ContributionReceipt::of(&contribution, 1_799_999_000);
        coordinator.receive(contribution.into_message(*number, coordinator.task(), &[first.id()])?)?;
        // A server signs the receipt when the bytes are durable.
        let receipt = Signed::sign(receipt, &federation)?;
        println!("device {number} gets a receipt of {} bytes", receipt.as_bytes().len());
    }

    // Only with noise does a round become a model.
    coordinator.close(&mut OsNoise(UnwrapErr(SysRng)))?;
    let next = first.next(plan.hash(), coordinator.task().global.clone(), &federation)?;
    println!("release {} is {:?}", next.header().version, next.params());
    Ok(next)
}

pub fn main() -> Result<(), Box<dyn Error>> {
    round().map(|_| ())
}
