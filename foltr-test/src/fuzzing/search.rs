//! Inputs that a target is tried with, and what comes of them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use bolero::{TypeGenerator, check, produce};

use super::Target;
use super::corpus::compact;
use super::damage::{Damage, Form};
use crate::peak_memory;

/// No input takes longer than this, even on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(5);
/// No input needs more memory than this.
const MOST_MEMORY: u64 = 1 << 30;
/// Whatever is quicker has not touched [`MOST_MEMORY`]: only slower inputs are worth asking the system about.
const TIME_OF_MEMORY: Duration = Duration::from_millis(20);

/// What a target is tried with.
#[derive(Clone, Debug, TypeGenerator)]
struct Input {
    /// The number of a valid document, modulo their number.
    document: u8,
    change: Change,
}

#[derive(Clone, Debug, TypeGenerator)]
enum Change {
    /// These bytes alone.
    Bytes(#[generator(produce::<Vec<u8>>().with().len(0..=1024_usize))] Vec<u8>),
    /// These bytes behind so many of the document, cut or repeated to the document's length if they shall fit.
    Behind {
        at: u32,
        fits: bool,
        #[generator(produce::<Vec<u8>>().with().len(0..=1024_usize))]
        bytes: Vec<u8>,
    },
    /// The document after so many of the damages.
    Damaged { damages: [Damage; 3], n_damages: u8 },
}

impl Change {
    fn apply(&self, document: &[u8], form: &Form) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Behind { at, fits, bytes } => {
                let (sound, rest) = document.split_at(*at as usize % (document.len() + 1));
                let n_behind = if *fits { rest.len() } else { bytes.len() };
                sound.iter().chain(bytes.iter().cycle().take(n_behind)).copied().collect()
            }
            Self::Damaged { damages, n_damages } => {
                let mut bytes = document.to_vec();
                damages.iter().take(usize::from(*n_damages) % 4).for_each(|&damage| form.damage(&mut bytes, damage));
                bytes
            }
        }
    }
}

/// How often each outcome was met, and by which input that is as short as any.
pub(super) type Outcomes = BTreeMap<String, Outcome>;

pub(super) struct Outcome {
    pub(super) n_inputs: u64,
    pub(super) document: usize,
    pub(super) shortest: Vec<u8>,
}

pub(super) struct Search<'a> {
    target: &'a Target<'a>,
    /// Of inputs that are no valid document.
    pub(super) outcomes: Outcomes,
    pub(super) n_intact: u64,
    /// The peak of the process that no input may make it pass.
    most_memory: Option<u64>,
    /// The shortest bytes that panicked, and the document that they were made of.
    culprit: Option<(usize, Vec<u8>)>,
}

impl<'a> Search<'a> {
    /// Tries so many inputs. Panics with the first that breaks a promise.
    pub(super) fn run(target: &'a Target<'a>, n_inputs: usize) -> Self {
        let most_memory = peak_memory().map(|bytes| bytes + MOST_MEMORY);
        let mut search = Self { target, outcomes: Outcomes::new(), n_intact: 0, most_memory, culprit: None };
        // After a panic nothing is read but the culprit.
        let searched = catch_unwind(AssertUnwindSafe(|| {
            let mut search = AssertUnwindSafe(&mut search);
            check!().with_type::<Input>().with_iterations(n_inputs).for_each(move |input| search.attempt(input));
        }));
        if let Err(panic) = searched {
            if let Some((document, bytes)) = search.culprit {
                eprintln!("{}: bytes made of valid document {document}: {}", target.name, compact(&bytes));
            }
            resume_unwind(panic);
        }
        search
    }

    fn attempt(&mut self, input: &Input) {
        let Target { name, valid, form, .. } = self.target;
        let document = usize::from(input.document) % valid.len();
        let bytes = input.change.apply(&valid[document], form);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.outcome(document, &bytes))).unwrap_or_else(|panic| {
            if self.culprit.as_ref().is_none_or(|(_, shortest)| bytes.len() < shortest.len()) {
                self.culprit = Some((document, bytes.clone()));
            }
            resume_unwind(panic)
        });
        if bytes == valid[document] {
            assert_eq!(outcome, "accepted", "{name}: valid document {document}");
            self.n_intact += 1;
        } else {
            self.add(outcome, document, bytes);
        }
    }

    fn outcome(&self, document: usize, bytes: &[u8]) -> String {
        let (name, start) = (self.target.name, Instant::now());
        let outcome = self.target.decoded(document, bytes);
        let elapsed = start.elapsed();
        assert!(elapsed < MOST_TIME, "{name} took {elapsed:?}");
        if elapsed > TIME_OF_MEMORY {
            let peak = peak_memory().zip(self.most_memory);
            assert!(peak.is_none_or(|(peak, most)| peak < most), "{name} needs more than a gibibyte");
        }
        outcome
    }

    fn add(&mut self, outcome: String, document: usize, bytes: Vec<u8>) {
        let new = || Outcome { n_inputs: 0, document, shortest: bytes.clone() };
        let met = self.outcomes.entry(outcome).or_insert_with(new);
        met.n_inputs += 1;
        if bytes.len() < met.shortest.len() {
            (met.document, met.shortest) = (document, bytes);
        }
    }
}
