//! One round of a simulated federation: people search, click and teach their devices; the server averages what they send.
//!
//! `cargo run --release -p foltr-simulation --example one_round_simulation`

use std::error::Error;

use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::{Learning, Shape};
use foltr_simulation::click::{ClickModel, Preset};
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::{RoundStats, TrainingSet};
use foltr_simulation::datasets::{Synthetic, SyntheticShape};
use foltr_simulation::federation_run::{FederationRun, FederationSettings};

/// Returns the mean nDCG of the lists that people saw in the first round, and in the fiftieth.
pub fn rounds() -> Result<(f64, f64), Box<dyn Error>> {
    // Labelled queries: a real collection (`Source`), or generated ones. Only simulated people see the labels.
    let queries = Synthetic { n_train: 200, n_validation: 0, n_test: 1, ..Synthetic::new(SyntheticShape::Tiny) };
    let fold = queries.generate(1)?;
    let shape = Shape::Linear { n_features: fold.train.n_features() };

    // How people click, and what each client has: here the same queries for all, two searches a round.
    let click_model: ClickModel = Preset::Navigational.into();
    let user = click_model.build(fold.train.max_label())?.remove(0);
    let data = ClientData::iid(TrainingSet::new(fold.train, 10), user, 2);

    // How devices learn. What else a federation may have (privacy, attackers, defences) is a field of the settings.
    let learning = Learning::Pdgd(PdgdSettings {
        learning_rate: 0.1,
        updates: Updates::Immediate,
        n_shown: 10,
        clip_radius: None,
        proximal: 0.0,
        max_displacement: None,
    });
    let settings = FederationSettings::averaging(1, shape, learning, 100);

    let mut run = FederationRun::new(settings, &data)?;
    let ndcg = |stats: &RoundStats| stats.ndcg / stats.n_clients as f64;
    let first = run.round()?;
    println!("{} people searched {} times and saw nDCG {:.3}", first.n_clients, first.n_interactions, ndcg(&first));
    let moved = run.ranker().iter().map(|weight| weight * weight).sum::<f32>().sqrt();
    println!("their devices moved the model by {moved:.4}");

    let mut last = first;
    for _ in 1..50 {
        last = run.round()?;
    }
    println!("in round 50 they saw nDCG {:.3}", ndcg(&last));
    Ok((ndcg(&first), ndcg(&last)))
}

#[allow(dead_code, reason = "a test calls `rounds`")]
fn main() -> Result<(), Box<dyn Error>> {
    rounds().map(|_| ())
}
