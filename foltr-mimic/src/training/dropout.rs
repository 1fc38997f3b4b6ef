//! Which units are left out of a training step?

use bytemuck::cast_slice_mut;
use foltr_rank::rng::{Purpose, Streams};
use rand::Rng;

use crate::network::vector::{rectify, rectify_with_dropout};

/// Units that noise is drawn for at a time.
const UNITS_AT_A_TIME: usize = 256;
/// Rows of a batch are fewer than this, for a stream's number to hold layer and row.
pub(crate) const MAX_ROWS: usize = 1 << 24;

/// Inverted dropout: the units that remain are scaled, so that scoring needs no change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropout<'a> {
    pub streams: &'a Streams,
    pub step: u32,
    /// A unit is left out if 16 random bits are below this.
    threshold: u16,
    /// What is left is divided by the exact probability of being left.
    pub scale: f32,
}

impl<'a> Dropout<'a> {
    pub fn new(rate: f32, streams: &'a Streams, step: u32) -> Self {
        let threshold = (rate * 65_536.0).round().min(65_535.0);
        Self { streams, step, threshold: threshold as u16, scale: 65_536.0 / (65_536.0 - threshold) }
    }

    /// ReLU of a row plus its bias, with dropout.
    ///
    /// The noise of each layer and row has a stream of its own, so threads do not matter.
    pub fn activate(&self, layer: usize, row: usize, values: &mut [f32], bias: &[f32]) {
        if self.threshold == 0 {
            return rectify(values, bias);
        }
        // Client 0 draws the pairs.
        let client = 1 + (layer * MAX_ROWS + row) as u32;
        let mut stream = self.streams.open(Purpose::Training, client, self.step);
        let mut noise = [0_u16; UNITS_AT_A_TIME];
        for (values, bias) in values.chunks_mut(UNITS_AT_A_TIME).zip(bias.chunks(UNITS_AT_A_TIME)) {
            let noise = &mut noise[..values.len()];
            stream.fill_bytes(cast_slice_mut(noise));
            rectify_with_dropout(values, bias, noise, self.threshold, self.scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_units_are_left_out_as_asked_and_the_mean_stays() {
        let streams = Streams::new(3);
        for rate in [0.0, 0.1, 0.2, 0.5] {
            let dropout = Dropout::new(rate, &streams, 7);
            let n = 1_000_000;
            let mut values = vec![1.0; n];
            dropout.activate(1, 5, &mut values, &vec![1.0; n]);
            let share = values.iter().filter(|&&value| value == 0.0).count() as f64 / n as f64;
            let deviation = (f64::from(rate) / n as f64).sqrt();
            assert!((share - f64::from(rate)).abs() <= 5.0 * deviation + 1e-5, "{share} for {rate}");
            let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / n as f64;
            assert!((mean - 2.0).abs() < 0.02, "{mean}");
        }
    }

    #[test]
    fn layers_rows_and_steps_differ() {
        let streams = Streams::new(3);
        let pattern = |step, layer, row| {
            let mut values = vec![1.0; 64];
            Dropout::new(0.5, &streams, step).activate(layer, row, &mut values, &[0.0; 64]);
            values
        };
        let first = pattern(1, 1, 1);
        assert_eq!(first, pattern(1, 1, 1));
        assert!([pattern(2, 1, 1), pattern(1, 2, 1), pattern(1, 1, 2)].iter().all(|other| *other != first));
    }
}
