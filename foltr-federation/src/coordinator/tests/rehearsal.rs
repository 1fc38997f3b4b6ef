//! What attackers learn by trying their messages on the server: exactly its step, and nothing changes by it.

use super::*;
use crate::aggregate::{CentredClipping, FlDetector, Mean, Radius, SpectralFilter, TrimmedMean};
use rand::RngExt;

/// Defences with something to remember, or to do before the rule.
fn defences() -> Vec<Defence> {
    let trimmed = Defence::of_rule(Aggregation::TrimmedMean(TrimmedMean { attackers: 1 }));
    vec![
        Defence::NONE,
        Defence { longest: 100.0, ..Defence::of_rule(Aggregation::Mean(Mean {})) },
        Defence { longest: 100.0, stand_ins: 2, ..trimmed },
        Defence { mixing: Some(2), ..trimmed },
        Defence { bound: Some(Radius::Median), mixing: Some(1), ..trimmed },
        Defence { bound: Some(Radius::Fixed(0.5)), ..Defence::of_rule(Aggregation::Mean(Mean {})) },
        Defence::of_rule(Aggregation::CentredClipping(CentredClipping { radius: Radius::Median, iterations: 2 })),
        Defence::of_rule(Aggregation::FlDetector(FlDetector { window: 2 })),
        Defence { bound: Some(Radius::Median), ..Defence::of_rule(Aggregation::FlDetector(FlDetector { window: 2 })) },
        Defence { mixing: Some(1), ..Defence::of_rule(Aggregation::SpectralFilter(SpectralFilter { attackers: 2 })) },
    ]
}

/// Messages of a round: some clients are lost, and one message is longer than some defences take.
fn messages(round: u32) -> Contributions {
    let mut stream = Streams::new(3).open(Purpose::Data, 0, round);
    let mut messages = Contributions::new(2);
    for client in (0..7_u32).filter(|client| !(client + round).is_multiple_of(5)) {
        let scale = if (client, round % 3) == (2, 1) { 400.0 } else { 1.0 };
        let row = [(); 2].map(|()| scale * (stream.random::<f32>() + 0.1));
        messages.push(client, f64::from(1 + client % 3), &row);
    }
    messages
}

#[test]
fn the_rehearsed_step_is_the_step_and_nothing_changes() {
    for defence in defences() {
        let setup = Setup { defence, ..Setup::averaging(vec![0.0; 2], 8, 5) };
        let new = || Coordinator::new(setup.clone()).expect("a good setup");
        let (mut tried, mut plain) = (new(), new());
        let mut n_refused = 0;
        for round in 0..12 {
            let drawn: Vec<u32> = (0..8).filter(|&client| client != round % 8).collect();
            let messages = messages(round);
            let mut sent = Contributions::new(2);
            messages.iter().filter(|it| drawn.contains(&it.0)).for_each(|(client, weight, row)| {
                sent.push(client, weight, row);
            });
            tried.open(&drawn).expect("known clients");
            plain.open(&drawn).expect("known clients");
            // Other messages that are tried first leave nothing behind.
            let mut far = sent.clone();
            far.values_mut().iter_mut().for_each(|value| *value *= -30.0);
            assert!(tried.rehearse(&far).is_some());
            let want = tried.rehearse(&sent).expect("some");
            let before = tried.master().to_vec();
            for (client, weight, row) in sent.iter() {
                let answers = [&mut tried, &mut plain]
                    .map(|server| server.receive_step(client, server.task().round, weight as u32, row));
                assert_eq!(answers[0], answers[1]);
                n_refused += u32::from(answers[0].is_err());
            }
            let reports = [&mut tried, &mut plain].map(|server| server.close(&mut noise()).expect("some came"));
            assert_eq!(reports[0], reports[1]);
            let moved: Vec<f64> = before.iter().zip(&want).map(|(before, step)| before + step).collect();
            assert_eq!(tried.master(), moved, "{defence:?} in round {round}");
            assert_eq!(tried.checkpoint(), plain.checkpoint(), "{defence:?} in round {round}");
        }
        assert_eq!(n_refused > 0, defence.longest == 100.0, "{defence:?}");
    }
}

/// The mistake: what the server would refuse counts when it is tried, so that attackers believe in a step that never comes.
#[test]
fn what_would_be_refused_is_not_in_the_rehearsed_step() {
    for rule in [Aggregation::Mean(Mean {}), Aggregation::TrimmedMean(TrimmedMean { attackers: 0 })] {
        for defence in [Defence::of_rule(rule), Defence { longest: f64::INFINITY, ..Defence::of_rule(rule) }] {
            let setup = Setup { defence, ..Setup::averaging(vec![0.0; 2], 2, 5) };
            let mut coordinator = Coordinator::new(setup).expect("a good setup");
            coordinator.open(&[0, 1]).expect("known clients");
            let alone = |row: [f32; 2]| coordinator.rehearse(&Contributions::of_rows(&[row]));
            assert_eq!(alone([f32::NAN, 1.0]), None, "{defence:?}");
            assert_eq!(alone([f32::INFINITY, 1.0]), None, "{defence:?}");
            assert_eq!(alone([1e7, 1.0]).is_none(), defence.bounds_length(), "{defence:?}");
            let beside = coordinator.rehearse(&Contributions::of_rows(&[[f32::NAN, 1.0], [2.0, 4.0]])).expect("one");
            // The zero vector stands in where messages are compared.
            let want = if defence.only_sums() { [2.0, 4.0] } else { [1.0, 2.0] };
            assert_eq!(beside, want, "{defence:?}");
        }
    }
}
