//! How fast LETOR text is read: `parse_speed FILE [THREADS]`, the file repeated to about 100 MB, best of five.

use std::path::Path;
use std::time::Instant;

use foltr_simulation::letor::{ReadOptions, parse_letor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: parse_speed FILE [THREADS]")?;
    let n_threads = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let once = std::fs::read(&path)?;
    let text = once.repeat((100_000_000 / once.len().max(1)).max(1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let data = pool.install(|| parse_letor(&text, Path::new(&path), &ReadOptions::default()))?;
        best = best.min(start.elapsed().as_secs_f64());
        assert!(data.n_docs() > 0);
    }
    println!("{:.0} MB/s with {n_threads} thread(s), {} MB", text.len() as f64 / best / 1e6, text.len() / 1_000_000);
    Ok(())
}
