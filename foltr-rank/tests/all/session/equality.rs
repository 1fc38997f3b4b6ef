//! A session whose lists end one after the other is the lab's loop, bit for bit, also if it was bytes after every event.

use foltr_rank::rng::Stream;
use foltr_rank::{Models, Session};

use super::{Outcome, Settings, clicks, follow, lab_round, query, stream};

const N_ROUNDS: u32 = 4;

/// A round of a session. `between` is called after every single event.
fn session_round(
    session: &mut Session,
    models: Models<'_>,
    queries: &[u32],
    random: &mut Stream,
    between: &dyn Fn(&mut Session),
) -> (Outcome, Option<usize>) {
    session.begin(models, 3, random).expect("the session's models");
    between(session);
    for (i, &number) in queries.iter().enumerate() {
        let (candidates, now) = (query(number), 10 * i as u64);
        let shown = session.rank(candidates.view(), now, random).expect("a sound query");
        between(session);
        for position in clicks(candidates.view(), &shown.ranking) {
            session.clicked(shown.impression, position, now + 1).expect("an open impression");
            between(session);
        }
        session.dismiss(shown.impression).expect("an open impression");
        between(session);
        assert_eq!(session.n_interactions() as usize, i + 1);
    }
    let finished = session.finish().expect("an open round");
    assert_eq!(finished.release, 3);
    let (outcome, cluster) = (finished.update.into(), finished.cluster);
    between(session);
    (outcome, cluster)
}

fn compare(settings: &Settings, between: &dyn Fn(&mut Session)) {
    let (mut learner, mut session) = (settings.learner(), settings.session());
    let (mut global, clusters) = (settings.global(), settings.clusters());
    let mut state = vec![0.0; learner.state_len()];
    learner.start(1, &global, &mut stream(0), &mut state);
    let (mut ours, mut theirs) = (stream(1), stream(1));
    let mut last = None;
    for round in 0..N_ROUNDS {
        let models = Models { global: &global, clusters: &clusters };
        let queries: Vec<u32> = (0..4).map(|i| 4 * round + i).collect();
        let expected = lab_round(learner.as_mut(), models, &mut state, &queries, &mut theirs);
        let got = session_round(&mut session, models, &queries, &mut ours, between);
        assert_eq!(got, expected, "round {round} of {settings:?}");
        let bits = |state: &[f32]| state.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(session.state()), bits(&state), "round {round} of {settings:?}");
        let own = learner.own_ranker(models, &state);
        assert!(own.is_none_or(|own| session.ranker(models) == Ok(own)), "round {round} of {settings:?}");
        assert_ne!(last.as_ref(), Some(&got.0), "a round that teaches nothing proves nothing: {settings:?}");
        follow(&mut global, &got.0, round);
        last = Some(got.0);
    }
}

#[test]
fn a_session_is_the_labs_loop() {
    Settings::all().iter().for_each(|settings| compare(settings, &|_| {}));
}

#[test]
fn a_session_restored_after_every_event_is_the_labs_loop() {
    for settings in Settings::all() {
        compare(&settings, &|session| *session = settings.restored(session));
    }
}

#[test]
fn open_impressions_survive_the_bytes_and_later_rounds() {
    // The same events with and without bytes in between: lists overlap, and some end a round later.
    for settings in Settings::all() {
        let play = |between: &dyn Fn(&mut Session)| {
            let (mut session, mut random) = (settings.session(), stream(2));
            let (mut global, clusters) = (settings.global(), settings.clusters());
            let mut outcomes = Vec::new();
            for round in 0..3 {
                let models = Models { global: &global, clusters: &clusters };
                session.begin(models, round, &mut random).expect("the session's models");
                for i in 0..4 {
                    let candidates = query(4 * round + i);
                    let shown =
                        session.rank(candidates.view(), u64::from(100 * round + i), &mut random).expect("sound");
                    between(&mut session);
                    for position in clicks(candidates.view(), &shown.ranking) {
                        session.clicked(shown.impression, position, u64::from(100 * round + i)).expect("open");
                        between(&mut session);
                    }
                }
                let ids: Vec<_> = session.open().iter().map(|open| open.id()).collect();
                for id in ids.into_iter().rev().skip(1).take(3) {
                    session.dismiss(id).expect("open");
                    between(&mut session);
                }
                while session.expire(u64::from(100 * round + 60), 80).is_some() {
                    between(&mut session);
                }
                let outcome = Outcome::from(session.finish().expect("an open round").update);
                between(&mut session);
                follow(&mut global, &outcome, round);
                outcomes.push(outcome);
            }
            (outcomes, session.encode())
        };
        let restored = play(&|session| *session = settings.restored(session));
        assert_eq!(play(&|_| {}), restored, "{settings:?}");
    }
}
