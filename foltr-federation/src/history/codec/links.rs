//! The links of a history as bytes: rounds, checkpoints, erasures, returns, and what was dropped.

use super::{Size, require_clients};
use crate::history::bytes::Reader;
use crate::history::chain::{Event, Link, What};
use crate::history::{Checkpoint, Committed, Devices, Entry, Erasure, Header, HistoryError, Record};
use crate::server_optimiser::OptimiserState;
use crate::tail_mean::TailMean;
use crate::writer::Writer;

/// The least bytes of an entry: client, weight, commitment, whether there is an update.
const LEAST_ENTRY: usize = 4 + 8 + 32 + 1;

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
            out.u8(3).u32(erasure.round).u32(erasure.clients.len() as u32).u32s(&erasure.clients);
            out.u32(erasure.method.len() as u32).bytes(erasure.method.as_bytes());
            out.u8(erasure.is_proven.into()).u32(erasure.fresh_rounds);
        }
        Event::Rollback { to } => {
            out.u8(4).u32(*to);
        }
        Event::Dropped { what, round, digest } => {
            out.u8(if *what == What::Round { 5 } else { 6 }).u32(*round).fingerprint(digest);
        }
    }
    out.fingerprint(&link.head);
}

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
    out.u32(record.round).fingerprint(&record.model).u32(record.entries.len() as u32);
    for entry in &record.entries {
        out.u32(entry.client).f64(entry.weight).fingerprint(&entry.commitment);
        let before = out.0.len() + 1;
        out.option(entry.update.as_ref(), |out, update| {
            out.bytes(&update.salt).f32s(&update.delta);
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
    require_clients(input, entries.iter().map(|entry| entry.client), header.n_clients)?;
    Ok(Record { round, model, entries })
}

fn write_checkpoint(out: &mut Writer, checkpoint: &Checkpoint) {
    let OptimiserState { first, second, n_steps } = &checkpoint.optimiser;
    out.u32(checkpoint.round).f64s(&checkpoint.master).f64s(first).f64s(second).u32(*n_steps as u32);
    out.option(checkpoint.clip_norm, |out, norm| {
        out.f32s(&[norm]);
    });
    out.option(checkpoint.tail.as_ref(), |out, TailMean { first_round, sum, n_models }| {
        out.u32(*first_round).f64s(sum).u32(*n_models);
    });
    let Devices { len, values } = &checkpoint.devices;
    out.u32(*len as u32).u32(values.len() as u32).f32s(values);
}

fn read_checkpoint(input: &mut Reader<'_>, header: &Header) -> Result<Checkpoint, HistoryError> {
    let n_params = header.initial.len();
    let (round, master) = (input.u32()?, input.f64s(n_params)?);
    let (first, second, n_steps) = (input.f64s(n_params)?, input.f64s(n_params)?, input.u32()?);
    let n_steps = i32::try_from(n_steps).map_err(|_| input.wrong("a negative number of steps"))?;
    let clip_norm = input.option(|input| Ok(input.f32s(1)?[0]))?;
    let tail = input.option(|input| {
        Ok(TailMean { first_round: input.u32()?, sum: input.f64s(n_params)?, n_models: input.u32()? })
    })?;
    let len = input.u32()? as usize;
    let n_values = input.count(4)?;
    let fits = n_values as u64 == len as u64 * u64::from(if len > 0 { header.n_clients } else { 0 });
    input.require(fits, "states of more or fewer devices than there are")?;
    let devices = Devices { len, values: input.f32s(n_values)? };
    let optimiser = OptimiserState { first, second, n_steps };
    Ok(Checkpoint { round, master, optimiser, clip_norm, tail, devices })
}

fn read_erasure(input: &mut Reader<'_>, header: &Header) -> Result<Erasure, HistoryError> {
    let round = input.u32()?;
    let clients = input.many(4, Reader::u32)?;
    require_clients(input, clients.iter().copied(), header.n_clients)?;
    let length = input.count(1)?;
    let method = str::from_utf8(input.take(length)?).map_err(|_| input.wrong("a name that is no text"))?.to_owned();
    Ok(Erasure { round, clients, method, is_proven: input.bool()?, fresh_rounds: input.u32()? })
}
