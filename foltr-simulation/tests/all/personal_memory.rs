//! A hundred thousand clients with rankers of their own: what they keep is what is counted, and it is little.

use foltr_federation::Participation;
use foltr_federation::privacy::Unprotected;
use foltr_federation::{Defence, Mechanism, ServerOptimiser};
use foltr_rank::Shape;
use foltr_rank::learn::evolution::Reward;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{Additive, Clusters, Ditto, Interpolation, Personalisation};
use foltr_simulation::click::{Cascade, Preset, Users};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings, Learning};
use foltr_test::{in_own_process, peak_memory};

const N_CLIENTS: u32 = 100_000;
const N_FEATURES: usize = 46;

fn settings(method: Personalisation) -> FederationSettings {
    FederationSettings {
        seed: 1,
        shape: Shape::Linear { n_features: N_FEATURES },
        initial: vec![0.0; N_FEATURES],
        learning: Learning::Pdgd(PdgdSettings {
            learning_rate: 0.1,
            updates: Updates::Immediate,
            n_shown: 10,
            clip_radius: None,
            proximal: 0.0,
        }),
        personalisation: Some(method),
        n_clients: N_CLIENTS,
        participation: Participation::Everyone,
        dropout: 0.0,
        average_from: None,
        absent: Vec::new(),
        privacy: Mechanism::Unprotected(Unprotected { reward: Reward::MaxRr }),
        defence: Defence::NONE,
        attackers: None,
        optimiser: ServerOptimiser::LearningRate { rate: 1.0 },
    }
}

#[test]
fn a_hundred_thousand_personal_rankers_fit_in_a_fraction_of_a_gibibyte() {
    in_own_process(one_round_of_personal_rankers);
}

fn one_round_of_personal_rankers() {
    let synthetic = Synthetic { n_train: 100, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Mq2007) };
    let training = TrainingSet::new(synthetic.generate(1).expect("a sound description").train, 10);
    let users = Users::Cascade(Cascade::preset(Preset::Navigational, 2).expect("three grades"));
    let partition = ClientData::iid(training, users, 1);
    let before = peak_memory();
    // Bytes of a client by method: a ranker, evidence for four clusters or five weights, or both.
    for (method, n_values) in [
        (Personalisation::Additive(Additive { n_clusters: 4, memory: 0.99, own_rate: 1.0, own_decay: 0.002 }), 50),
        (Personalisation::Interpolation(Interpolation { memory: 0.99 }), 51),
        (Personalisation::Ditto(Ditto { pull: 0.01 }), 46),
        (Personalisation::Clusters(Clusters { n_clusters: 4, memory: 0.99 }), 4),
    ] {
        let mut run = FederationRun::new(settings(method), &partition).expect("sound settings");
        assert_eq!(run.states().n_bytes(), N_CLIENTS as usize * n_values * 4, "{method:?}");
        assert_eq!(run.round().expect("a round").n_interactions, u64::from(N_CLIENTS));
        let (first, last) = (run.own_ranker(0), run.own_ranker(N_CLIENTS - 1));
        assert!(first.is_some() && last.is_some());
    }
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let megabytes = (after - before) / (1 << 20);
        println!("{megabytes} MiB beyond the data");
        assert!(megabytes < 128, "{megabytes} MiB");
    }
}
