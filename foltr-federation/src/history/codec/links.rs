//! The links of a history as bytes: rounds, checkpoints, erasures, returns, seals of the ledger, and what was dropped.

use super::Size;
use super::parts::{Input, Output};
use crate::fingerprint::Fingerprint;
use crate::history::accounts::Seal;
use crate::history::bytes::Reader;
use crate::history::chain::{DroppedState, Event, Link, Round, Updates};
use crate::history::checkpoint::{ClientSeal, StoredState};
use crate::history::{Checkpoint, Committed, Devices, Entry, Erasure, Header, HistoryError, Participants, Record};
use crate::server_optimiser::OptimiserState;
use crate::stand_ins::LastMessage;
use crate::tail_mean::TailMean;
use crate::unlearn::Unlearning;
use crate::writer::{WriteFingerprint, Writer};

/// The least bytes of an entry: client, weight, commitment, whether there is an update.
const LEAST_ENTRY: usize = 4 + 8 + 32 + 1;
/// The least bytes of a stand-in: client, commitment, whether it is there.
const LEAST_STAND_IN: usize = 4 + 32 + 1;

pub(super) fn write_link(out: &mut Output, link: &Link, size: &mut Size) {
    match &link.event {
        Event::Round(round) => {
            out.shared.u8(1);
            write_round(out, round, size);
        }
        Event::Checkpoint(stored) => {
            out.shared.u8(2);
            let before = out.shared.0.len();
            write_checkpoint(out, stored);
            size.checkpoints += out.shared.0.len() - before;
        }
        Event::Erasure(erasure) => erasure.write(out.shared.u8(3)),
        Event::Rollback { to } => {
            out.shared.u8(4).u32(*to);
        }
        Event::Dropped(DroppedState { round, ranker, digest }) => {
            out.shared.u8(5).u32(*round).fingerprint(ranker).fingerprint(digest);
        }
        Event::Ledger(seal) => write_seal(out.shared.u8(6), seal),
    }
    out.shared.fingerprint(&link.head);
}

pub(super) fn read_link(input: &mut Reader<'_>, apart: &mut Input<'_>, header: &Header) -> Result<Link, HistoryError> {
    let event = match input.u8()? {
        1 => Event::Round(read_round(input, apart, header)?),
        2 => Event::Checkpoint(Box::new(read_checkpoint(input, apart, header)?)),
        3 => Event::Erasure(read_erasure(input, header)?),
        4 => Event::Rollback { to: input.u32()? },
        5 => {
            let (round, ranker) = (input.u32()?, input.fingerprint()?);
            Event::Dropped(DroppedState { round, ranker, digest: input.fingerprint()? })
        }
        6 => Event::Ledger(read_seal(input, header)?),
        _ => return Err(input.wrong("a link of an unknown kind")),
    };
    Ok(Link { event, head: input.fingerprint()? })
}

fn write_round(out: &mut Output, round: &Round, size: &mut Size) {
    out.shared.u32(round.round);
    round.participants.write(&mut out.shared);
    match &round.updates {
        Updates::None => {
            out.shared.u8(0);
        }
        Updates::Stored(record) => {
            out.shared.u8(1);
            write_record(out, record, size);
        }
        Updates::Dropped(digest) => {
            out.shared.u8(2).fingerprint(digest);
        }
    }
}

fn read_round(input: &mut Reader<'_>, apart: &mut Input<'_>, header: &Header) -> Result<Round, HistoryError> {
    let (round, participants) = (input.u32()?, Participants::read(input, header.n_clients)?);
    let updates = match input.u8()? {
        0 => Updates::None,
        1 => Updates::Stored(read_record(input, apart, round, header)?),
        2 => Updates::Dropped(input.fingerprint()?),
        _ => return Err(input.wrong("updates of an unknown kind")),
    };
    Ok(Round { round, participants, updates })
}

fn write_record(out: &mut Output, record: &Record, size: &mut Size) {
    out.shared.fingerprint(&record.model).u32(record.entries.len() as u32);
    for entry in &record.entries {
        out.shared.u32(entry.client).f64(entry.weight).fingerprint(&entry.commitment);
        let before = out.shared.0.len() + 1;
        out.option_of(entry.client, entry.update.as_ref(), |out, update| {
            out.bytes(&update.salt).f32s(&update.delta);
        });
        size.updates += out.shared.0.len() - before;
    }
}

fn read_record(
    input: &mut Reader<'_>,
    apart: &mut Input<'_>,
    round: u32,
    header: &Header,
) -> Result<Record, HistoryError> {
    let model = input.fingerprint()?;
    let entries = input.many(LEAST_ENTRY, |input| {
        let (client, weight, commitment) = (input.u32()?, input.f64()?, input.fingerprint()?);
        let update = apart.option_of(client, input, |input| {
            Ok(Committed { salt: input.salt()?, delta: input.f32s(header.initial.len())? })
        })?;
        Ok(Entry { client, weight, commitment, update })
    })?;
    input.require_clients(entries.iter().map(|entry| entry.client), header.n_clients)?;
    Ok(Record { round, model, entries })
}

fn write_checkpoint(out: &mut Output, stored: &StoredState) {
    let Checkpoint { round, master, optimiser, clip_norm, tail, devices, stand_ins } = &stored.state;
    let OptimiserState { first, second, n_steps } = optimiser;
    let shared = &mut out.shared;
    shared.u32(*round).f64s(master).f64s(first).f64s(second).u32(*n_steps as u32);
    shared.option(*clip_norm, |out, norm| {
        out.f32s(&[norm]);
    });
    shared.option(tail.as_ref(), |out, TailMean { first_round, sum, n_models }| {
        out.u32(*first_round).f64s(sum).u32(*n_models);
    });
    write_devices(out, devices, &stored.devices);
    out.shared.u32(stored.stand_ins.len() as u32);
    for (client, ClientSeal { commitment, salt }) in &stored.stand_ins {
        out.shared.u32(*client).fingerprint(commitment);
        out.option_of(*client, salt.zip(stand_ins.of(*client)), |out, (salt, last)| {
            out.bytes(&salt).u32(last.round).f64(last.weight).f32s(&last.values);
        });
    }
}

/// In parts, what a device remembers is in the client's own, and zeros are in its place, as if it were erased.
fn write_devices(out: &mut Output, devices: &Devices, seals: &[ClientSeal]) {
    let (Devices { len, values }, is_apart) = (devices, out.is_apart());
    out.shared.u32(*len as u32).u32(values.len() as u32);
    if is_apart {
        out.shared.f32s(&vec![0.0; values.len()]);
    } else {
        out.shared.f32s(values);
    }
    for (client, ClientSeal { commitment, salt }) in (0..).zip(seals) {
        out.shared.fingerprint(commitment);
        out.option_of(client, *salt, |out, salt| {
            out.bytes(&salt).f32s(if is_apart { devices.of(client) } else { &[] });
        });
    }
}

fn read_devices(
    input: &mut Reader<'_>,
    apart: &mut Input<'_>,
    header: &Header,
) -> Result<(Devices, Vec<ClientSeal>), HistoryError> {
    let len = input.u32()? as usize;
    let n_values = input.count(4)?;
    let n_devices = if len > 0 { header.n_clients } else { 0 };
    input.require(
        n_values as u64 == len as u64 * u64::from(n_devices),
        "states of more or fewer devices than there are",
    )?;
    let mut devices = Devices { len, values: input.f32s(n_values)? };
    let n_apart = if apart.is_apart() { len } else { 0 };
    let is_blank = devices.values.iter().all(|value| value.to_bits() == 0);
    input.require(n_apart == 0 || is_blank, "something of a single client among what is shared")?;
    let read = |client: u32| {
        let commitment = input.fingerprint()?;
        let own = apart.option_of(client, input, |input| Ok((input.salt()?, input.f32s(n_apart)?)))?;
        let (salt, stretch) = own.unzip();
        if let Some(stretch) = stretch.filter(|_| n_apart > 0) {
            devices.of_mut(client).copy_from_slice(&stretch);
        }
        Ok(ClientSeal { commitment, salt })
    };
    let seals = (0..n_devices).map(read).collect::<Result<_, _>>()?;
    Ok((devices, seals))
}

fn read_checkpoint(
    input: &mut Reader<'_>,
    apart: &mut Input<'_>,
    header: &Header,
) -> Result<StoredState, HistoryError> {
    let n_params = header.initial.len();
    let (round, master) = (input.u32()?, input.f64s(n_params)?);
    let (first, second, n_steps) = (input.f64s(n_params)?, input.f64s(n_params)?, input.u32()?);
    let n_steps = i32::try_from(n_steps).map_err(|_| input.wrong("a negative number of steps"))?;
    let clip_norm = input.option(|input| Ok(input.f32s(1)?[0]))?;
    let tail = input.option(|input| {
        Ok(TailMean { first_round: input.u32()?, sum: input.f64s(n_params)?, n_models: input.u32()? })
    })?;
    let (state_devices, devices) = read_devices(input, apart, header)?;
    let optimiser = OptimiserState { first, second, n_steps };
    let last = input.many(LEAST_STAND_IN, |input| read_stand_in(input, apart, n_params))?;
    input.require_clients(last.iter().map(|(client, ..)| *client), header.n_clients)?;
    let stand_ins = last.iter().map(|(client, seal, _)| (*client, *seal)).collect();
    let last = last.into_iter().filter_map(|(client, _, last)| Some((client, last?))).collect();
    let state = Checkpoint { round, master, optimiser, clip_norm, tail, devices: state_devices, stand_ins: last };
    Ok(StoredState { state, devices, stand_ins })
}

/// A client, the commitment to its last message, and the message if it is not erased.
fn read_stand_in(
    input: &mut Reader<'_>,
    apart: &mut Input<'_>,
    n_params: usize,
) -> Result<(u32, ClientSeal, Option<LastMessage>), HistoryError> {
    let (client, commitment) = (input.u32()?, input.fingerprint()?);
    let opened = apart.option_of(client, input, |input| {
        let salt = input.salt()?;
        Ok((salt, LastMessage { round: input.u32()?, weight: input.f64()?, values: input.f32s(n_params)? }))
    })?;
    let (salt, last) = opened.unzip();
    Ok((client, ClientSeal { commitment, salt }, last))
}

fn read_erasure(input: &mut Reader<'_>, header: &Header) -> Result<Erasure, HistoryError> {
    let round = input.u32()?;
    let clients = input.many(4, Reader::u32)?;
    input.require_clients(clients.iter().copied(), header.n_clients)?;
    Ok(Erasure { round, clients, method: Unlearning::read(input)?, fresh_rounds: input.u32()? })
}

fn write_seal(out: &mut Writer, seal: &Seal) {
    match seal {
        Seal::Ended => {
            out.u8(0);
        }
        Seal::Sealed(commitments) => {
            out.u8(1).u32(commitments.len() as u32);
            for (client, commitment) in commitments {
                out.u32(*client).fingerprint(commitment);
            }
        }
        Seal::Replaced(digest) => {
            out.u8(2).fingerprint(digest);
        }
    }
}

fn read_seal(input: &mut Reader<'_>, header: &Header) -> Result<Seal, HistoryError> {
    Ok(match input.u8()? {
        0 => Seal::Ended,
        1 => {
            let read = |input: &mut Reader<'_>| Ok((input.u32()?, input.fingerprint()?));
            let commitments: Vec<(u32, Fingerprint)> = input.many(4 + 32, read)?;
            input.require_clients(commitments.iter().map(|(client, _)| *client), header.n_clients)?;
            Seal::Sealed(commitments)
        }
        2 => Seal::Replaced(input.fingerprint()?),
        _ => return Err(input.wrong("a ledger of an unknown kind")),
    })
}
