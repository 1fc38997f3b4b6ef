//! States that devices store, against arbitrary bytes and damaged states.
//!
//! The bytes are those of `save`, so that nothing here knows their layout. A state that is accepted is saved as the same
//! bytes, and the device goes on with it: it ranks, learns, and sends something that the server reads.

use foltr_federation::protocol::{
    Contribution, DeviceId, Document, FeatureSchema, Normalisation, Plan, Release, ReleaseId, SecretKey, Task,
};
use foltr_federation::{Defence, Device, DeviceError, FederationPlan};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::learn::{EvolutionParameters, PdgdParameters};
use foltr_rank::personal::Personalisation;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::{Activation, Candidates, EvolutionStream, Initialisation, Learner, RankerShape};
use foltr_test::fuzzing::{Form, Target, label};

use crate::noise::seeded;

const N_FEATURES: usize = 3;
const INITIALISATION: Initialisation = Initialisation::Zero;

/// A plan, with the first release of its model.
struct Federation {
    plan: Plan,
    release: Release,
}

/// Both learners, every deployable ranker of one's own, and a momentum.
fn federations() -> Vec<Federation> {
    let pdgd = Learner::Pdgd(PdgdParameters {
        learning_rate: 0.1,
        updates: Updates::Immediate,
        proximal: None,
        max_displacement: None,
    });
    let evolution = Learner::Evolution(EvolutionParameters {
        sigma: 0.1,
        antithetic: true,
        reward: Reward::MaxRr,
        stream: EvolutionStream::Separate,
    });
    let linear = RankerShape::Linear { initialisation: INITIALISATION };
    let mlp = RankerShape::Mlp { hidden: 2, activation: Activation::Logistic, initialisation: INITIALISATION };
    let plain = |learner, ranker| FederationPlan::averaging(learner, ranker, 10, 2, 50);
    let personal = |method| FederationPlan { personalisation: Some(method), ..plain(pdgd, mlp) };
    let mut plans = vec![
        plain(pdgd, mlp),
        plain(evolution, linear),
        FederationPlan { defence: Some(Defence::recommended(1)), ..plain(pdgd, linear) },
    ];
    plans.extend(Personalisation::examples().into_iter().map(personal));
    plans.into_iter().filter_map(federation).collect()
}

/// None for a plan that cannot be deployed.
fn federation(plan: FederationPlan) -> Option<Federation> {
    let features = FeatureSchema::numbered(N_FEATURES, Normalisation::None);
    let plan = Plan::new(plan, &features, true).ok()?;
    let initial = (0..plan.shape().n_params()).map(|idx| 0.1 * idx as f32).collect();
    let release = Release::first(plan.hash().expect("exact"), 0, initial, &key()).expect("finite");
    Some(Federation { plan, release })
}

fn key() -> SecretKey {
    SecretKey::from_bytes(&[1; 32])
}

fn stream() -> Stream {
    Streams::new(5).open(Purpose::Interaction, 0, 0)
}

/// Shows a list and takes a click on its second document; the list stays open.
fn search(device: &mut Device, random: &mut Stream) {
    let features = [1.0, 0.0, 0.5, 0.0, 1.0, -0.5, 0.25, 0.25, 0.25];
    let query = Candidates::new(&features, N_FEATURES).expect("finite");
    if let Ok(shown) = device.rank(query.view(), 100, random) {
        device.clicked(shown.impression, 1, 101).expect("it is open");
    }
}

/// Ends all lists, so that the round has their interactions.
fn end_lists(device: &mut Device) {
    let open: Vec<_> = device.session().open().iter().map(|open| open.id()).collect();
    open.into_iter().for_each(|id| device.dismiss(id).map(drop).expect("it is open"));
}

impl Federation {
    fn device(&self) -> Device {
        Device::new(&self.plan, 3, self.release.params(), &mut stream()).expect("a sound plan")
    }

    fn task(&self, start: ReleaseId) -> Task {
        let plan = self.plan.hash().expect("exact");
        Task { plan, round: 0, shard: 0, start, clip_norm: None, deadline: 0, n_wanted: 1, lottery: None }
    }

    /// A device before its first round, with an open list, ready to send, and after it has sent.
    fn states(&self) -> Vec<Vec<u8>> {
        let (mut device, mut random) = (self.device(), stream());
        let mut states = vec![device.save()];
        device.begin(&self.release, &mut random).expect("its release");
        search(&mut device, &mut random);
        states.push(device.save());
        search(&mut device, &mut random);
        end_lists(&mut device);
        states.push(device.save());
        self.contribute(&mut device).expect("it is ready");
        states.push(device.save());
        states
    }

    /// Sends a contribution; whatever it is, the server can read it.
    fn contribute(&self, device: &mut Device) -> Result<(), DeviceError> {
        let (task, id) = (self.task(self.release.id()), DeviceId::from_bytes([5; 32]));
        let contribution = device.contribution(&task, id, &mut seeded(1, Purpose::Noise, 0, 0))?;
        let (plan, expected) = (self.plan.hash().expect("exact"), self.plan.expected().expect("something is sent"));
        let received = Contribution::decode(&contribution.encode(), &plan, &expected);
        received.unwrap_or_else(|error| panic!("{contribution:?} is refused: {error}"));
        Ok(())
    }

    /// What must hold for any bytes that a device reads.
    fn check_load(&self, bytes: &[u8]) -> Result<(), String> {
        let mut device = Device::load(&self.plan, bytes).map_err(|error| label(&error))?;
        assert_eq!(device.save(), bytes, "another state than was read");
        let mut random = stream();
        // The open round, if there is one, to its end.
        search(&mut device, &mut random);
        end_lists(&mut device);
        let _ = self.contribute(&mut device);
        // And another one.
        device.begin(&self.release, &mut random).expect("its release");
        (0..2).for_each(|_| search(&mut device, &mut random));
        let open = device.save();
        assert_eq!(Device::load(&self.plan, &open).expect("its own bytes, a round later").save(), open);
        end_lists(&mut device);
        assert!(device.is_ready());
        let _ = self.contribute(&mut device);
        Ok(())
    }
}

#[test]
fn states_of_devices_survive_fuzzing() {
    let federations = federations();
    let states: Vec<(usize, Vec<u8>)> = federations
        .iter()
        .enumerate()
        .flat_map(|(idx, federation)| federation.states().into_iter().map(move |state| (idx, state)))
        .collect();
    let decode = |state: usize, bytes: &[u8]| federations[states[state].0].check_load(bytes);
    let valid = states.iter().map(|(_, bytes)| bytes.clone()).collect();
    let (corpus, form) = (None, Form::Binary);
    Target { name: "device", corpus, form, valid, has_valid_damage: true, decode: &decode }.run(10_000);
}
