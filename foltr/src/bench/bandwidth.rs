//! What the memory allows: one thread that only reads, whole queries in random order.

use foltr_rank::rng::{Purpose, Streams};
use foltr_simulation::dataset::Dataset;
use rand::RngExt;

use super::{Work, best_seconds};

/// Bytes a second. The data should be larger than 1 GiB, so that no cache holds it.
pub fn measure(data: &Dataset) -> f64 {
    let mut stream = Streams::new(1).open(Purpose::Data, 0, 0);
    let mut checksum = 0_u32;
    let seconds_a_byte = best_seconds(|| {
        let mut n_bytes = 0;
        for _ in 0..256 {
            let rows = data.query(stream.random_range(0..data.n_queries())).rows();
            checksum ^= read(rows);
            n_bytes += size_of_val(rows);
        }
        Work::units(n_bytes as f64)
    });
    std::hint::black_box(checksum);
    1.0 / seconds_a_byte
}

/// Reads every cache line, with as little arithmetic as the compiler can be made to do.
fn read(rows: &[f32]) -> u32 {
    let mut lanes = [0_u32; 64];
    for block in rows.chunks_exact(64) {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane ^= value.to_bits();
        }
    }
    lanes.iter().fold(0, |a, b| a ^ b)
}
