//! How many pairs a second does a network learn from? Texts of the size of the Cranfield collection, made up.
//!
//! `throughput teacher|student|interaction THREADS SECONDS [STEPS]` prints pairs a second, pairs a second of processor time (which also
//! means something on a busy machine) and peak memory in MiB; `benches/compare` runs it beside PyTorch. STEPS (3) are taken
//! before the clock starts: what `interaction` computes of a query and document is computed once.

use std::time::Instant;

use foltr_mimic::training::Training;
use foltr_mimic::{Bag, Composition, InitialTerms, Inputs, Network, NetworkSettings, Pair, Structure, Supervision};
use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;

const N_TERMS: usize = 6_000;
const N_QUERIES: usize = 225;
const N_DOCUMENTS: usize = 1_400;
const QUERY_TERMS: usize = 9;
const DOCUMENT_TERMS: usize = 90;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [network, n_threads, seconds, rest @ ..] = arguments.as_slice() else {
        panic!("expected `teacher`, `student` or `interaction`, a number of threads and a number of seconds")
    };
    let n_before: u32 = rest.first().map_or(3, |steps| steps.parse().expect("a number of steps"));
    let n_threads: usize = n_threads.parse().expect("a number of threads");
    let seconds: f64 = seconds.parse().expect("a number of seconds");
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global().expect("the first pool");

    let settings = match network.as_str() {
        "teacher" => NetworkSettings::teacher(),
        "student" => NetworkSettings::student(),
        "interaction" => NetworkSettings { structure: Structure::Interaction, ..NetworkSettings::student() },
        other => panic!("`{other}` is no network; expected `teacher`, `student` or `interaction`"),
    };
    let settings = NetworkSettings { composition: Composition::Sum, ..settings };
    let streams = Streams::new(1);
    let mut stream = streams.open(Purpose::Data, 0, 0);
    let queries = (0..N_QUERIES).map(|_| bag(&mut stream, QUERY_TERMS)).collect();
    let documents = (0..N_DOCUMENTS).map(|_| bag(&mut stream, DOCUMENT_TERMS)).collect();
    let inputs = Inputs::Text { queries, documents };
    let pairs = Supervision::Pairs((0..100_000).map(|_| pair(&mut stream)).collect()).pairs().expect("pairs");

    let shape = settings.text_shape(N_TERMS, DOCUMENT_TERMS);
    let network = Network::new(shape, InitialTerms::default(), &streams).expect("a good shape");
    let batch = settings.batch;
    let mut training = Training::new(network, settings, 1).expect("good settings");
    training.advance(&inputs, &pairs, n_before);
    let (start, used) = (Instant::now(), processor_seconds());
    let mut n_steps = 0;
    while start.elapsed().as_secs_f64() < seconds {
        training.advance(&inputs, &pairs, 1);
        n_steps += 1;
    }
    let n_pairs = (n_steps * batch) as f64;
    let [wall, processor] = [start.elapsed().as_secs_f64(), processor_seconds() - used].map(|time| n_pairs / time);
    let mebibytes = foltr_test::peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / f64::from(1 << 20));
    println!("{wall:.0} {processor:.0} {mebibytes:.0}");
}

/// Processor time of all threads so far, which Linux has in a file; not a number elsewhere.
fn processor_seconds() -> f64 {
    let parse = |text: String| {
        let after_name = text.rsplit_once(')')?.1;
        let field = |number: usize| after_name.split_whitespace().nth(number)?.parse::<f64>().ok();
        // In hundredths of a second: time in the program, and in the system for it.
        Some((field(11)? + field(12)?) / 100.0)
    };
    std::fs::read_to_string("/proc/self/stat").ok().and_then(parse).unwrap_or(f64::NAN)
}

/// Different terms; low numbers are frequent, as in real texts.
fn bag(stream: &mut Stream, n_terms: usize) -> Bag {
    let mut terms = Vec::new();
    while terms.len() < n_terms {
        let term = (N_TERMS as f64).powf(stream.random::<f64>()) as u32 - 1;
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms.sort_unstable();
    Bag { counts: vec![1.0; terms.len()], terms }
}

fn pair(stream: &mut Stream) -> Pair {
    Pair {
        query: stream.random_range(0..N_QUERIES as u32),
        better: stream.random_range(0..N_DOCUMENTS as u32),
        worse: stream.random_range(0..N_DOCUMENTS as u32),
    }
}
