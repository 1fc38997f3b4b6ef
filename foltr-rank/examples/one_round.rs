//! One round on one device: three lists overlap, clicks come late, the device restarts, and an update comes out.
//!
//! `cargo run --release -p foltr-rank --example one_round_rank`

use std::error::Error;

use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::rng::{Purpose, Streams};
use foltr_rank::session::ClickError;
use foltr_rank::{Candidates, Learning, Models, Session, Shape, Update};

/// Features of a document: how well its text matches, how new it is, how long it is.
const N_FEATURES: usize = 3;

/// What this person clicks is new. Returns the step that the round proposes.
pub fn round() -> Result<Vec<f32>, Box<dyn Error>> {
    let shape = Shape::Linear { n_features: N_FEATURES };
    let learning = Learning::Pdgd(PdgdSettings {
        learning_rate: 0.1,
        updates: Updates::Immediate,
        n_shown: 10,
        clip_radius: None,
        proximal: 0.0,
        max_displacement: None,
    });
    let mut session = Session::new(shape, learning)?;
    // The operating system's generator on a device; here one whose numbers can be repeated.
    let mut random = Streams::new(1).open(Purpose::Interaction, 0, 0);

    // The server's release 7: it knows that the text should match, and nothing else.
    session.begin(Models { global: &[1.0, 0.0, 0.0], clusters: &[] }, 7, &mut random)?;

    // Three queries are open at the same time. Each has an old, a middle-aged and a new document.
    let query = Candidates::new(&[0.9, 0.0, 0.2, 0.7, 0.5, 0.4, 0.6, 1.0, 0.1], N_FEATURES)?;
    let mut open = Vec::new();
    for minute in 0..3 {
        open.push(session.rank(query.view(), 60 * minute, &mut random)?);
    }
    for (i, shown) in open.iter().enumerate() {
        println!("{} shows documents {:?}", shown.impression, shown.ranking.docs());
        let newest = shown.ranking.docs().iter().position(|&doc| doc == 2).expect("all three are shown");
        session.clicked(shown.impression, newest, 600 + i as u64)?;
    }

    // The person closes one page; then the device restarts.
    session.dismiss(open[1].impression)?;
    let stored = session.encode();
    let mut session = Session::decode(&stored, shape, learning, None)?;
    println!("{} bytes were stored, with {} open lists", stored.len(), session.open().len());

    // An hour later the other lists end. A click that comes now is too late.
    while let Some(ended) = session.expire(4_300, 3_600) {
        println!("{} ended", ended.id());
    }
    assert_eq!(session.clicked(open[0].impression, 0, 4_400), Err(ClickError::Closed(open[0].impression)));

    let Update::Step { delta, n_interactions } = session.finish()?.update else { unreachable!("PDGD makes steps") };
    println!("after {n_interactions} interactions the step is {delta:?}");
    Ok(delta.to_vec())
}

pub fn main() -> Result<(), Box<dyn Error>> {
    round().map(|_| ())
}
