//! A million clients in one round need little more memory than one.

use foltr_federation::Participation;
use foltr_federation::privacy::Unprotected;
use foltr_federation::{Defence, Mechanism, ServerOptimiser};
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::{Activation, Initialisation, Shape};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_test::{in_own_process, peak_memory};

#[test]
fn a_million_clients_fit_in_a_fraction_of_a_gibibyte() {
    in_own_process(one_round_of_a_million);
}

fn one_round_of_a_million() {
    let synthetic = Synthetic { n_train: 50, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Tiny) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    let n_features = training.data().n_features();
    // 896 parameters: 15,625 chunk sums at once would be 112 MB, a million messages 3.6 GB.
    let shape = Shape::Mlp { n_features, n_hidden: 64, activation: Activation::Logistic };
    let settings = FederationSettings {
        seed: 1,
        shape,
        initial: Initialisation::FanIn.params(shape, &mut Streams::new(1).open(Purpose::Initialisation, 0, 0)),
        learning: Learning::Pdgd(PdgdSettings {
            learning_rate: 0.1,
            updates: Updates::Immediate,
            n_shown: 10,
            clip_radius: None,
            proximal: 0.0,
        }),
        n_clients: 1_000_000,
        personalisation: None,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    };
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
    let partition = ClientData::iid(training, users, 1);
    let before = peak_memory();
    let mut run = FederationRun::new(settings, &partition).expect("sound settings");
    let tally = run.round().expect("a round");
    assert_eq!(tally.n_interactions, 1_000_000);
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let megabytes = (after - before) / (1 << 20);
        println!("{megabytes} MiB beyond the data");
        assert!(megabytes < 64, "{megabytes} MiB");
    }
}
