//! The decoder against arbitrary bytes and damaged messages.

use crate::noise::seeded;
use bolero::check;
use foltr_federation::privacy::DiscreteGaussian;
use foltr_federation::{Expected, Kind, Message, Payload, decode, encode};
use foltr_rank::rng::Purpose;

use crate::fuzzing::{damage, n_iterations};

const N_PARAMS: usize = 5;
const MAX_INTERACTIONS: u32 = 8;

fn expected(kind: Kind) -> Expected {
    Expected { n_params: N_PARAMS, kind, max_interactions: MAX_INTERACTIONS }
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(message, &mut bytes);
    bytes
}

/// What must hold for any input: no panic, and what is accepted is valid and has exactly these bytes.
fn check_total(bytes: &[u8]) -> bool {
    let mut is_accepted = false;
    for kind in Kind::ALL {
        if let Ok(message) = decode(bytes, &expected(kind)) {
            assert!(!is_accepted, "{bytes:?} is of two kinds");
            is_accepted = true;
            assert_eq!(expected(kind).check(&message.payload), Ok(()));
            assert_eq!(encoded(&message), bytes);
            assert_eq!(bytes.len(), 10 + kind.content_len(N_PARAMS));
        }
    }
    is_accepted
}

/// A message of any finite numbers, tiny and huge ones among them.
fn valid(kind: Kind, round: u32, client: u32, values: [u32; N_PARAMS]) -> Message {
    let value = |index: usize| Some(f32::from_bits(values[index])).filter(|value| value.is_finite()).unwrap_or(0.5);
    let payload = match kind {
        Kind::Step => Payload::Step {
            n_interactions: 1 + values[0] % MAX_INTERACTIONS,
            delta: (0..N_PARAMS).map(value).collect(),
        },
        Kind::Evolution => Payload::Evolution { seed: client ^ round, plus: value(0), minus: None },
        Kind::EvolutionAntithetic => Payload::Evolution { seed: client ^ round, plus: value(0), minus: Some(value(1)) },
        Kind::Clipped => {
            Payload::Clipped { within: values[0].is_multiple_of(2), delta: (0..N_PARAMS).map(value).collect() }
        }
        Kind::Share => share(&(0..N_PARAMS).map(value).collect::<Vec<_>>(), round, client),
    };
    Message { round, start: round, client, payload }
}

fn share(delta: &[f32], round: u32, client: u32) -> Payload {
    let mechanism = DiscreteGaussian::new(600.0, 1.0, 2, 0).expect("sound");
    let mut noise = seeded(u64::from(round), Purpose::Noise, client, 0);
    Payload::Share(mechanism.share(delta, &mut noise).expect("clipped"))
}

#[test]
fn arbitrary_bytes_never_panic() {
    check!().with_type::<Vec<u8>>().with_iterations(n_iterations(100_000)).for_each(|bytes| {
        check_total(bytes);
    });
}

#[test]
fn damaged_messages_never_panic() {
    type Case = (u8, u32, u32, [u32; N_PARAMS], [(u8, u16, u32); 3], u8);
    let (mut n_intact, mut n_accepted, mut n_refused) = (0_u64, 0_u64, 0_u64);
    check!().with_type::<Case>().with_iterations(n_iterations(100_000)).for_each(
        |(kind, round, client, values, damages, n_damages)| {
            let mut bytes = encoded(&valid(Kind::ALL[usize::from(*kind) % Kind::ALL.len()], *round, *client, *values));
            let original = bytes.clone();
            damages.iter().take(usize::from(*n_damages) % 4).for_each(|&one| damage(&mut bytes, one));
            let is_accepted = check_total(&bytes);
            assert!(is_accepted || bytes != original, "a valid message was refused");
            match (bytes == original, is_accepted) {
                (true, _) => n_intact += 1,
                (false, true) => n_accepted += 1,
                (false, false) => n_refused += 1,
            }
        },
    );
    println!("{n_intact} intact, {n_accepted} damaged but valid, {n_refused} refused");
    assert!(n_intact > 0 && n_accepted > 0 && n_refused > 0, "the damage does not reach both sides of the decoder");
}
