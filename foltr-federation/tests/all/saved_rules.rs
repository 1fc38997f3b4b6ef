//! A rule that was saved and restored goes on with the same bits as one that never stopped.

use foltr_federation::aggregate::Radius;
use foltr_federation::{Aggregation, Aggregator, Combined, Contributions, Defence};
use foltr_rank::bytes::{Reader, Writer};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Streams};

const N_PARAMS: usize = 4;

/// Every rule alone, with mixing, with a bound, and with both.
fn defences() -> Vec<Defence> {
    let around = [(None, None), (Some(2), None), (None, Some(Radius::Median)), (Some(2), Some(Radius::Fixed(1.5)))];
    let with = |rule| around.map(|(mixing, bound)| Defence { mixing, bound, ..Defence::of_rule(rule) });
    Aggregation::examples().into_iter().flat_map(with).collect()
}

/// What nine clients send, of which one is away in some rounds and two send something else every time.
fn contributions(round: u32) -> Contributions {
    let mut sent = Contributions::new(N_PARAMS);
    for client in (0..9).filter(|client| !(client + round).is_multiple_of(9)) {
        let mut row = [0.0; N_PARAMS];
        fill_standard_normal(&mut Streams::new(8).open(Purpose::Data, client, round), &mut row);
        sent.push(client, 1.0, &row.map(|value| if client < 2 { 3.0 * value } else { 0.5 + 0.01 * value }));
    }
    sent
}

/// Steps of these rounds, each from the model that the one before made.
fn steps(rule: &mut dyn Aggregator, global: &mut [f32], rounds: std::ops::Range<u32>) -> Vec<Combined> {
    let one = |round| {
        let mut combined = Combined::default();
        rule.aggregate(global, &contributions(round), &mut combined).expect("eight or nine");
        global.iter_mut().zip(&combined.step).for_each(|(value, step)| *value += *step as f32);
        combined
    };
    rounds.map(one).collect()
}

fn saved(rule: &dyn Aggregator) -> Vec<u8> {
    let mut out = Writer::default();
    rule.save(&mut out);
    out.0
}

fn restored(defence: &Defence, bytes: &[u8], n_params: usize) -> Option<Box<dyn Aggregator>> {
    let (mut rule, mut input) = (defence.start(), Reader::new(bytes));
    rule.restore(&mut input, n_params).and_then(|()| input.finish()).ok().map(|()| rule)
}

#[test]
fn a_restored_rule_goes_on_with_the_same_bits() {
    for defence in defences() {
        let (mut rule, mut global) = (defence.start(), vec![0.1; N_PARAMS]);
        let untouched = saved(&*rule);
        steps(&mut *rule, &mut global, 0..3);
        let bytes = saved(&*rule);
        assert_eq!(bytes != untouched, defence.rule.remembers(), "{defence:?}");
        let mut copy = restored(&defence, &bytes, N_PARAMS).expect("its own state");
        assert_eq!(saved(&*copy), bytes, "{defence:?}");
        let mut same = global.clone();
        let expected = steps(&mut *rule, &mut global, 3..6);
        assert_eq!(steps(&mut *copy, &mut same, 3..6), expected, "{defence:?}");
        assert_eq!(saved(&*copy), saved(&*rule), "{defence:?}");
    }
}

#[test]
fn a_rule_that_remembers_needs_its_memory() {
    for rule in Aggregation::examples().into_iter().filter(Aggregation::remembers) {
        let defence = Defence::of_rule(rule);
        let (mut running, mut global) = (defence.start(), vec![0.1; N_PARAMS]);
        steps(&mut *running, &mut global, 0..5);
        let mut same = global.clone();
        let expected = steps(&mut *running, &mut global, 5..8);
        assert_ne!(steps(&mut *defence.start(), &mut same, 5..8), expected, "{rule:?}");
    }
}

#[test]
fn a_damaged_state_or_one_of_another_model_is_refused() {
    for defence in defences().into_iter().filter(|defence| defence.rule.remembers()) {
        let mut rule = defence.start();
        steps(&mut *rule, &mut [0.1; N_PARAMS], 0..4);
        let bytes = saved(&*rule);
        for n_params in [0, 1, N_PARAMS - 1, N_PARAMS + 1, 1 << 20, usize::MAX] {
            assert!(restored(&defence, &bytes, n_params).is_none(), "{defence:?} with {n_params} parameters");
        }
        for length in 0..bytes.len() {
            assert!(restored(&defence, &bytes[..length], N_PARAMS).is_none(), "{defence:?}: {length} bytes");
        }
        assert!(restored(&defence, &[bytes.as_slice(), &[0]].concat(), N_PARAMS).is_none(), "{defence:?}");
        let not_a_number = [&bytes[..bytes.len() - 8], &f64::NAN.to_le_bytes()].concat();
        assert!(restored(&defence, &not_a_number, N_PARAMS).is_none(), "{defence:?}");
        // A refused state leaves the rule as it was.
        rule.restore(&mut Reader::new(&not_a_number), N_PARAMS).expect_err("not a number");
        assert_eq!(saved(&*rule), bytes);
    }
}
