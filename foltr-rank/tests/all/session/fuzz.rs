//! The decoder of sessions against arbitrary bytes and damaged sessions, each of which must also be fit for use.

use std::sync::OnceLock;

use bolero::check;
use foltr_rank::{Models, Session};

use super::{Settings, clicks, query, stream};

/// `FOLTR_FUZZ_ITERATIONS`, or a number that keeps the suite quick.
fn n_iterations(default: usize) -> usize {
    match std::env::var("FOLTR_FUZZ_ITERATIONS") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("FOLTR_FUZZ_ITERATIONS = {text} must be a number")),
        Err(_) => default,
    }
}

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

/// What must hold for any bytes: no panic, what is accepted has exactly these bytes, and it can be used to its end.
fn check_total(settings: &Settings, bytes: &[u8]) -> bool {
    let Ok(mut session) = Session::decode(bytes, settings.shape, settings.learning, settings.personalisation) else {
        return false;
    };
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
    let _ = session.finish();
    let models = Models { global: &settings.global(), clusters: &settings.clusters() };
    session.begin(models, 1, &mut random).expect("its models");
    settings.restored(&session);
    true
}

#[test]
fn arbitrary_bytes_never_panic() {
    let all = sessions();
    check!().with_type::<(u8, u16, Vec<u8>)>().with_iterations(n_iterations(20_000)).for_each(|(which, n, bytes)| {
        let (settings, whole) = &all[usize::from(*which) % all.len()];
        check_total(settings, bytes);
        // Behind a sound beginning.
        let sound = &whole[..usize::from(*n) % whole.len()];
        check_total(settings, &[sound, bytes].concat());
    });
}

#[test]
fn damaged_sessions_never_panic() {
    // Words that decoders trip over: the ends of the integers, zero, NaNs, infinities, small lengths.
    const WORDS: [u64; 8] = [0, 1, u64::MAX, 1 << 63, 0x7FF0 << 48, 0x7F80_0000, 0xFFC0_0000, 100];
    let all = sessions();
    all.iter().for_each(|(settings, bytes)| assert!(check_total(settings, bytes), "{settings:?}"));
    let (mut n_refused, mut n_accepted) = (0_u64, 0_u64);
    let shape = check!().with_type::<(u8, [(u8, u16, u8); 2])>().with_iterations(n_iterations(20_000));
    shape.for_each(|(which, damages)| {
        let (settings, whole) = &all[usize::from(*which) % all.len()];
        let mut bytes = whole.clone();
        for &(how, at, value) in damages {
            let place = usize::from(at) % bytes.len().max(1);
            match how % 6 {
                _ if bytes.is_empty() => {}
                0 => bytes[place] ^= 1 << (value % 8),
                1 => bytes[place] = value,
                2 => bytes.truncate(place),
                3 => bytes.insert(place, value),
                4 => drop(bytes.remove(place)),
                _ => {
                    let word = WORDS[usize::from(value) % WORDS.len()].to_le_bytes();
                    let n = if value < 128 { 4 } else { 8 };
                    bytes.iter_mut().skip(place).zip(&word[..n]).for_each(|(byte, &new)| *byte = new);
                }
            }
        }
        if check_total(settings, &bytes) { n_accepted += 1 } else { n_refused += 1 }
    });
    println!("{n_refused} refused, {n_accepted} accepted");
    assert!(n_refused > 0 && n_accepted > 0, "the damage does not reach both answers");
}

#[test]
fn every_truncation_is_refused() {
    for (settings, whole) in sessions() {
        for length in 0..whole.len() {
            assert!(!check_total(settings, &whole[..length]), "{length} bytes of {settings:?}");
        }
    }
}
