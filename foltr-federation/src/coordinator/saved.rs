//! All that a coordinator is, as bytes: model, optimiser, clip norm, mean of the last models, who was drawn into the open
//! round, stand-ins, what the rule remembers, and the models of clusters. Messages of the open round are not in it: a server
//! has them stored and hands them over again.

use foltr_rank::bytes::{BytesError, Reader, Writer};

use super::{Cluster, Coordinator};
use crate::global_model::GlobalModel;
use crate::privacy::NORMS;
use crate::rising_clients::RisingClients;
use crate::server_optimiser::OptimiserState;
use crate::stand_ins::{LastMessage, StandIns};
use crate::tail_mean::TailMean;

const NAME: &str = "foltr coordinator 1";

/// Far from the last number: what goes on from a saved state can be saved again.
const MOST_ROUNDS: u32 = 4_000_000_000;

impl Coordinator {
    /// With these bytes a coordinator of the same setup and the same clients goes on as if it had never stopped.
    pub fn save(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        self.model.save(&mut out);
        out.option(self.model.task.clip_norm, |out, norm| {
            out.f32s(&[norm]);
        });
        out.option(self.tail.as_ref(), |out, TailMean { first_round, sum, n_models }| {
            out.u32(*first_round).f64s(sum).u32(*n_models);
        });
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

    /// Goes on from saved bytes; messages of the open round are dropped. Clients that came later than the setup must be
    /// [enrolled](Self::enrol) before. On an error nothing has changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), BytesError> {
        let (input, n_params) = (&mut Reader::new(bytes), self.model.master.len());
        let name = input.text()?;
        input.require(name == NAME, "this is no state of a coordinator")?;
        let model = self.model.loaded(input)?;
        let clip_norm = input.option(|input| Ok(input.f32s(1)?[0]))?;
        let is_norm = clip_norm.is_none_or(|norm| self.privacy.has_moving_norm() && NORMS.contains(&f64::from(norm)));
        input.require(is_norm, "a clip norm that no round has")?;
        let tail = input.option(|input| {
            Ok(TailMean { first_round: input.u32()?, sum: input.f64s(n_params)?, n_models: input.u32()? })
        })?;
        let is_mean = |tail: &TailMean| match tail.mean() {
            Some(mean) => tail.n_models <= model.task.round && mean.iter().all(|value| value.is_finite()),
            None => tail.sum.iter().all(|&value| value == 0.0),
        };
        input.require(tail.as_ref().is_none_or(is_mean), "a mean that no models have")?;
        let first_round = |tail: &TailMean| tail.first_round;
        input
            .require(tail.as_ref().map(first_round) == self.tail.as_ref().map(first_round), "another mean of models")?;
        let n_clients = self.model.task.n_clients;
        let drawn = input.option(|input| {
            let n_drawn = input.len(4)?;
            let mut clients = RisingClients::new(n_clients);
            (0..n_drawn).map(|_| clients.read(input)).collect::<Result<Vec<_>, _>>()
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
        if let (Some(own), Some((stand_ins, aggregator))) = (&mut self.buffer, buffer) {
            (own.stand_ins, own.aggregator) = (stand_ins, aggregator);
        }
        self.clusters.iter_mut().zip(clusters).for_each(|(Cluster { model, .. }, loaded)| *model = loaded);
        self.inbox.rule = self.rule_of_round();
        Ok(())
    }
}

fn read_stand_ins(input: &mut Reader<'_>, n_params: usize, n_clients: u32) -> Result<StandIns, BytesError> {
    let n_stand_ins = input.len(4 + 4 + 8)?;
    let mut clients = RisingClients::new(n_clients);
    let read = |_| {
        let client = clients.read(input)?;
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
        input.require(round < MOST_ROUNDS, "more rounds than any federation has")?;
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
