//! All that a coordinator is, as bytes: model, optimiser, clip norm, mean of the last models, who was drawn into the open
//! round, stand-ins, what the rule remembers, and the models of clusters. Messages of the open round are not in it: a server
//! has them stored and hands them over again.

use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::{Cluster, Coordinator};
use crate::global_model::GlobalModel;
use crate::server_optimiser::OptimiserState;
use crate::stand_ins::{LastMessage, StandIns};
use crate::tail_mean::TailMean;

const NAME: &str = "foltr coordinator 1";

/// More than any federation has; a rule that compares messages has a byte of memory for each.
const MOST_CLIENTS: u32 = 1 << 27;

impl Coordinator {
    /// With these bytes a coordinator of the same setup goes on as if it had never stopped.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        self.model.save(&mut out);
        out.option(self.model.task.clip_norm, |out, norm| {
            out.f32s(&[norm]);
        });
        out.option(self.tail.as_ref(), |out, TailMean { first_round, sum, n_models }| {
            out.u32(*first_round).f64s(sum).u32(*n_models);
        });
        out.u32(self.model.task.n_clients);
        out.option(self.drawn.as_ref(), |out, drawn| {
            out.len(drawn.len());
            drawn.iter().for_each(|&client| {
                out.u32(client);
            });
        });
        out.option(self.buffer.as_ref(), |out, buffer| {
            out.len(buffer.stand_ins.len());
            for (client, LastMessage { round, weight, values }) in buffer.stand_ins.iter() {
                out.u32(client).u32(*round).f64(*weight).f32s(values);
            }
            buffer.aggregator.save(out);
        });
        out.len(self.clusters.len());
        self.clusters.iter().for_each(|cluster| cluster.model.save(&mut out));
        out.0
    }

    /// Goes on from saved bytes; messages of the open round are dropped. On an error nothing has changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        let (input, n_params) = (&mut Reader::new(bytes), self.model.master.len());
        let name = input.text()?;
        input.require(name == NAME, "this is no state of a coordinator")?;
        let model = self.model.loaded(input)?;
        let clip_norm = input.option(|input| Ok(input.f32s(1)?[0]))?;
        input.require(clip_norm.is_none_or(|norm| norm > 0.0), "a clip norm that is not positive")?;
        let tail = input.option(|input| {
            Ok(TailMean { first_round: input.u32()?, sum: input.f64s(n_params)?, n_models: input.u32()? })
        })?;
        let first_round = |tail: &TailMean| tail.first_round;
        input
            .require(tail.as_ref().map(first_round) == self.tail.as_ref().map(first_round), "another mean of models")?;
        let n_clients = input.u32()?;
        input.require(n_clients <= MOST_CLIENTS, "more clients than any federation has")?;
        let drawn = input.option(|input| {
            let n_drawn = input.len(4)?;
            let mut rising = Rising { n_clients, before: None };
            (0..n_drawn).map(|_| rising.read(input)).collect::<Result<Vec<_>, _>>()
        })?;
        let buffer = input.option(|input| {
            let stand_ins = read_stand_ins(input, n_params, n_clients)?;
            let own = self.buffer.as_ref().ok_or_else(|| input.wrong("messages of a rule that compares them"))?;
            let mut aggregator = own.aggregator.copy();
            aggregator.restore(input, n_params)?;
            Ok((stand_ins, aggregator))
        })?;
        input.require(buffer.is_some() == self.buffer.is_some(), "a sum where the rule compares messages")?;
        let n_clusters = input.len(8)?;
        input.require(n_clusters == self.clusters.len(), "another number of clusters")?;
        let clusters = self.clusters.iter().map(|cluster| cluster.model.loaded(input));
        let clusters = clusters.collect::<Result<Vec<_>, _>>()?;
        input.clone().finish()?;

        self.drop_messages();
        (self.model, self.tail, self.drawn) = (model, tail, drawn);
        self.model.task.clip_norm = clip_norm;
        self.enrol(n_clients);
        if let (Some(own), Some((stand_ins, aggregator))) = (&mut self.buffer, buffer) {
            (own.stand_ins, own.aggregator) = (stand_ins, aggregator);
        }
        self.clusters.iter_mut().zip(clusters).for_each(|(Cluster { model, .. }, loaded)| *model = loaded);
        self.inbox.rule = self.rule_of_round();
        Ok(())
    }
}

/// Clients in rising order.
struct Rising {
    n_clients: u32,
    before: Option<u32>,
}

impl Rising {
    fn read(&mut self, input: &mut Reader<'_>) -> Result<u32, BytesError> {
        let client = input.u32()?;
        let is_next = client < self.n_clients && self.before.is_none_or(|before| before < client);
        input.require(is_next, "clients out of order")?;
        self.before = Some(client);
        Ok(client)
    }
}

fn read_stand_ins(input: &mut Reader<'_>, n_params: usize, n_clients: u32) -> Result<StandIns, BytesError> {
    let n_stand_ins = input.len(4 + 4 + 8)?;
    let mut rising = Rising { n_clients, before: None };
    let read = |_| {
        let client = rising.read(input)?;
        let (round, weight) = (input.u32()?, input.f64()?);
        Ok((client, LastMessage { round, weight, values: input.f32s(n_params)? }))
    };
    (0..n_stand_ins).map(read).collect()
}

impl GlobalModel {
    pub(crate) fn save(&self, out: &mut Writer) {
        let OptimiserState { first, second, n_steps } = &self.state;
        out.u32(self.task.round).len(self.master.len()).f64s(&self.master).f64s(first).f64s(second);
        out.u32(*n_steps as u32);
    }

    /// The same with another state.
    pub(crate) fn loaded(&self, input: &mut Reader<'_>) -> Result<Self, BytesError> {
        let (round, n_params) = (input.u32()?, input.len(8)?);
        input.require(round < u32::MAX, "a round after which there is none")?;
        input.require(n_params == self.master.len(), "a model of another length")?;
        let (master, first, second) = (input.f64s(n_params)?, input.f64s(n_params)?, input.f64s(n_params)?);
        let n_steps = i32::try_from(input.u32()?).map_err(|_| input.wrong("a negative number of steps"))?;
        let global: Vec<f32> = master.iter().map(|&value| value as f32).collect();
        input.require(global.iter().all(|value| value.is_finite()), "a parameter beyond single precision")?;
        let mut model = self.clone();
        (model.task.round, model.task.global, model.master) = (round, global, master);
        model.state = OptimiserState { first, second, n_steps };
        Ok(model)
    }
}
