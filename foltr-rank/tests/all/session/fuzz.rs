//! The decoder of sessions against arbitrary bytes, damaged sessions and its corpus. What is accepted must also be fit for
//! use.

use std::sync::OnceLock;

use foltr_rank::{Models, Session, Update};
use foltr_test::fuzzing::{Form, Target, label};

use super::{Settings, clicks, query, stream};

/// Sessions of every kind in the middle of a round, with open lists, some of them of the round before.
fn sessions() -> &'static [(Settings, Vec<u8>)] {
    static SESSIONS: OnceLock<Vec<(Settings, Vec<u8>)>> = OnceLock::new();
    SESSIONS.get_or_init(|| Settings::all().into_iter().map(|settings| (settings, busy(&settings).encode())).collect())
}

fn busy(settings: &Settings) -> Session {
    let (mut session, mut random) = (settings.session(), stream(3));
    let (global, clusters) = (settings.global(), settings.clusters());
    for round in 0..2 {
        session.begin(Models { global: &global, clusters: &clusters }, round, &mut random).expect("its models");
        for number in 0..3 {
            let candidates = query(3 * round + number + 1);
            let shown = session.rank(candidates.view(), u64::from(number), &mut random).expect("sound");
            for position in clicks(candidates.view(), &shown.ranking) {
                session.clicked(shown.impression, position, u64::from(number)).expect("open");
            }
        }
        let second = session.open()[1].id();
        session.dismiss(second).expect("open");
    }
    session
}

const fn n_taught(update: &Update<'_>) -> u32 {
    match update {
        Update::Step { n_interactions, .. } => *n_interactions,
        Update::Evolution { plus, minus, .. } => (plus.len() + minus.len()) as u32,
    }
}

/// What must hold for any bytes: no panic, what is accepted has exactly these bytes, and it can be used to its end.
fn check_total(settings: &Settings, bytes: &[u8]) -> Result<(), String> {
    let Settings { shape, learning, personalisation } = *settings;
    let mut session = Session::decode(bytes, shape, learning, personalisation).map_err(|error| label(&error))?;
    assert_eq!(session.encode(), bytes);
    let mut random = stream(4);
    let _ = session.rank(query(5).view(), 7, &mut random);
    let ids: Vec<_> = session.open().iter().map(|open| open.id()).collect();
    for id in ids {
        session.clicked(id, 0, 9).expect("open, with a document");
    }
    if let Some(first) = session.open().first().map(|open| open.id()) {
        session.dismiss(first).expect("open");
    }
    while session.expire(u64::MAX, 0).is_some() {}
    let n_interactions = session.n_interactions();
    if let Ok(finished) = session.finish() {
        assert_eq!(n_taught(&finished.update), n_interactions, "what is sent rests on as many as the session says");
    }
    let models = Models { global: &settings.global(), clusters: &settings.clusters() };
    session.begin(models, 1, &mut random).expect("its models");
    settings.restored(&session);
    Ok(())
}

#[test]
fn sessions_survive_fuzzing() {
    let valid = sessions().iter().map(|(_, bytes)| bytes.clone()).collect();
    let decode = |session: usize, bytes: &[u8]| check_total(&sessions()[session].0, bytes);
    let corpus = Some(env!("CARGO_MANIFEST_DIR"));
    Target { name: "session", corpus, form: Form::Binary, valid, has_valid_damage: true, decode: &decode }.run(20_000);
}

#[test]
fn every_truncation_is_refused() {
    for (settings, whole) in sessions() {
        for length in 0..whole.len() {
            assert!(check_total(settings, &whole[..length]).is_err(), "{length} bytes of {settings:?}");
        }
    }
}
