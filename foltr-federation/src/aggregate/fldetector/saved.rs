//! What FLDetector remembers, as bytes: the last round, the pairs of the Hessian, and of every client its last
//! contribution and its errors.

use std::collections::BTreeMap;

use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::{Hessian, History, Memory};

pub(super) fn write(memory: &Memory, out: &mut Writer) {
    let Memory { clients, hessian, last_global, last_step, clusters: _ } = memory;
    out.u8((!last_step.is_empty()).into()).f64s(last_global).f64s(last_step);
    out.len(hessian.pairs.len());
    for (moved, bend) in &hessian.pairs {
        out.f64s(moved).f64s(bend);
    }
    out.len(clients.len());
    for (client, History { last, errors }) in clients {
        out.u32(*client).f32s(last).len(errors.len());
        errors.iter().for_each(|&error| {
            out.f64(error);
        });
    }
}

pub(super) fn read(input: &mut Reader<'_>, n_params: usize, window: usize) -> Result<Memory, BytesError> {
    let n_values = if input.bool()? { n_params } else { 0 };
    let (last_global, last_step) = (input.f64s(n_values)?, input.f64s(n_values)?);
    let n_pairs = input.len(n_params.saturating_mul(16))?;
    input.require(n_pairs <= window, "more movements of the model than the window takes")?;
    let pairs = (0..n_pairs).map(|_| Ok((input.f64s(n_params)?, input.f64s(n_params)?))).collect::<Result<_, _>>()?;
    // A client's number, its last contribution and the length of its list of errors.
    let n_clients = input.len(n_params.saturating_mul(4).saturating_add(12))?;
    let mut clients = BTreeMap::new();
    for _ in 0..n_clients {
        let client = input.u32()?;
        let is_next = clients.last_key_value().is_none_or(|(last, _)| *last < client);
        input.require(is_next, "a client that is not in rising order")?;
        let (last, n_errors) = (input.f32s(n_params)?, input.len(8)?);
        input.require(n_errors <= window, "more errors of a client than the window takes")?;
        clients.insert(client, History { last, errors: input.f64s(n_errors)?.into() });
    }
    Ok(Memory { clients, hessian: Hessian { pairs }, last_global, last_step, ..Memory::default() })
}
