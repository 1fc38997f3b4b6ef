//! The links of a history as bytes: rounds, checkpoints, erasures, returns, and what was dropped.

use super::{Size, are_clients};
use crate::history::bytes::{Reader, Writer};
use crate::history::chain::{Event, Link, What};
use crate::history::{Checkpoint, Committed, Devices, Entry, Erasure, Header, HistoryError, Record};
use crate::server_optimiser::OptimiserState;
use crate::tail_mean::TailMean;

/// The least bytes of an entry: client, weight, commitment, whether there is an update.
const LEAST_ENTRY: usize = 4 + 8 + 32 + 1;

/// Appends a link, and counts its parts.
pub(super) fn write_link(out: &mut Writer, link: &Link, size: &mut Size) {
    match &link.event {
        Event::Round(record) => {
            out.u8(1);
            write_record(out, record, size);
        }
        Event::Checkpoint(checkpoint) => {
            out.u8(2);
            let before = out.0.len();
            write_checkpoint(out, checkpoint);
            size.checkpoints += out.0.len() - before;
        }
        Event::Erasure(erasure) => {
            out.u8(3);
            out.u32(erasure.round);
            out.u32(erasure.clients.len() as u32);
            erasure.clients.iter().for_each(|client| out.u32(*client));
            out.u32(erasure.method.len() as u32);
            out.0.extend(erasure.method.as_bytes());
            out.u8(erasure.is_proven.into());
            out.u32(erasure.fresh_rounds);
        }
        Event::Rollback { to } => {
            out.u8(4);
            out.u32(*to);
        }
        Event::Dropped { what, round, digest } => {
            out.u8(if *what == What::Round { 5 } else { 6 });
            out.u32(*round);
            out.fingerprint(digest);
        }
    }
    out.fingerprint(&link.head);
}

/// Reads a link.
pub(super) fn read_link(input: &mut Reader<'_>, header: &Header) -> Result<Link, HistoryError> {
    let event = match input.u8()? {
        1 => Event::Round(read_record(input, header)?),
        2 => Event::Checkpoint(read_checkpoint(input, header)?),
        3 => Event::Erasure(read_erasure(input, header)?),
        4 => Event::Rollback { to: input.u32()? },
        5 => Event::Dropped { what: What::Round, round: input.u32()?, digest: input.fingerprint()? },
        6 => Event::Dropped { what: What::Checkpoint, round: input.u32()?, digest: input.fingerprint()? },
        _ => return Err(input.wrong("a link of an unknown kind")),
    };
    Ok(Link { event, head: input.fingerprint()? })
}

fn write_record(out: &mut Writer, record: &Record, size: &mut Size) {
    out.u32(record.round);
    out.fingerprint(&record.model);
    out.u32(record.entries.len() as u32);
    for entry in &record.entries {
        out.u32(entry.client);
        out.f64(entry.weight);
        out.fingerprint(&entry.commitment);
        let before = out.0.len() + 1;
        out.option(entry.update.as_ref(), |out, update| {
            out.0.extend(update.salt);
            out.f32s(&update.delta);
        });
        size.updates += out.0.len() - before;
    }
}

fn read_record(input: &mut Reader<'_>, header: &Header) -> Result<Record, HistoryError> {
    let (round, model) = (input.u32()?, input.fingerprint()?);
    let entries = input.many(LEAST_ENTRY, |input| {
        let (client, weight, commitment) = (input.u32()?, input.f64()?, input.fingerprint()?);
        let update =
            input.option(|input| Ok(Committed { salt: input.salt()?, delta: input.f32s(header.initial.len())? }))?;
        Ok(Entry { client, weight, commitment, update })
    })?;
    let clients = entries.iter().map(|entry| entry.client);
    input.require(are_clients(clients, header.n_clients), "clients that do not exist or are out of order")?;
    Ok(Record { round, model, entries })
}

fn write_checkpoint(out: &mut Writer, checkpoint: &Checkpoint) {
    out.u32(checkpoint.round);
    out.f64s(&checkpoint.master);
    let (first, second, n_steps) = checkpoint.optimiser.parts();
    out.f64s(first);
    out.f64s(second);
    out.u32(n_steps as u32);
    out.option(checkpoint.clip_norm, |out, norm| out.f32s(&[norm]));
    out.option(checkpoint.tail.as_ref(), |out, tail| {
        let (first_round, sum, n_models) = tail.parts();
        out.u32(first_round);
        out.f64s(sum);
        out.u32(n_models);
    });
    out.u32(checkpoint.devices.len as u32);
    out.u32(checkpoint.devices.values.len() as u32);
    out.f32s(&checkpoint.devices.values);
}

fn read_checkpoint(input: &mut Reader<'_>, header: &Header) -> Result<Checkpoint, HistoryError> {
    let n_params = header.initial.len();
    let (round, master) = (input.u32()?, input.f64s(n_params)?);
    let (first, second, n_steps) = (input.f64s(n_params)?, input.f64s(n_params)?, input.u32()?);
    let n_steps = i32::try_from(n_steps).map_err(|_| input.wrong("a negative number of steps"))?;
    let clip_norm = input.option(Reader::f32)?;
    let tail = input.option(|input| Ok(TailMean::from_parts(input.u32()?, input.f64s(n_params)?, input.u32()?)))?;
    let len = input.u32()? as usize;
    let n_values = input.count(4)?;
    let fits = n_values as u64 == len as u64 * u64::from(if len > 0 { header.n_clients } else { 0 });
    input.require(fits, "states of more or fewer devices than there are")?;
    let devices = Devices { len, values: input.f32s(n_values)? };
    let optimiser = OptimiserState::from_parts(first, second, n_steps);
    Ok(Checkpoint { round, master, optimiser, clip_norm, tail, devices })
}

fn read_erasure(input: &mut Reader<'_>, header: &Header) -> Result<Erasure, HistoryError> {
    let round = input.u32()?;
    let clients = input.many(4, Reader::u32)?;
    let known = are_clients(clients.iter().copied(), header.n_clients);
    input.require(known, "clients that do not exist or are out of order")?;
    let length = input.count(1)?;
    let method = str::from_utf8(input.take(length)?).map_err(|_| input.wrong("a name that is no text"))?.to_owned();
    Ok(Erasure { round, clients, method, is_proven: input.bool()?, fresh_rounds: input.u32()? })
}
