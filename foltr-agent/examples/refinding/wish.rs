//! What somebody looks for, when, and with which words: a series of wishes that does not depend on how lists are ranked.

use rand::rngs::ChaCha8Rng;

use super::chance::{between, draw, one, stream, uniform};
use super::collection::{BEGIN, Collection};
use super::query::{Memory, USUAL};

const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;
/// Subjects of a person, documents of a subject, and words by which a document of a subject is known.
const SUBJECTS: usize = 12;
const OF_A_SUBJECT: usize = 5;
const KNOWN_BY: usize = 4;

/// One search.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Seconds since 1970.
    pub at: i64,
    /// The place of the document in the collection.
    pub target: usize,
    pub words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// What was wanted often and lately is wanted again.
    Frecent,
    /// What is wanted depends on the words, and on what was wanted for such words before; not on when.
    Topical,
    /// For a week one folder, then another one.
    Shifting,
    /// Somebody in between. Of these the prior is learnt; none of them is judged.
    General,
}

/// What kind of person it is.
#[derive(Clone, Copy, Debug)]
pub struct Person {
    /// Chances that a wish is for a document wanted before, one of a subject, one of the project, and a new one.
    pub kinds: [f64; 4],
    /// Of wishes within the project: the chance that the document was wanted there before.
    pub again_in_project: f64,
    /// After so many days an earlier wish counts half: of all documents, and of those of the project.
    pub half_lives: [f64; 2],
    /// New documents: the exponent of Zipf's law.
    pub zipf: f64,
    /// For the same document: the chances of the same words, and of one word of them with others.
    pub same_words: [f64; 2],
    pub memory: Memory,
}

impl Variant {
    pub const JUDGED: [Self; 3] = [Self::Frecent, Self::Topical, Self::Shifting];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Frecent => "frecent",
            Self::Topical => "topical",
            Self::Shifting => "shifting",
            Self::General => "general",
        }
    }

    pub fn person(self, seed: u64) -> Person {
        let usual = Person {
            kinds: [0.65, 0.0, 0.0, 0.35],
            again_in_project: 0.6,
            half_lives: [7.0, 3.0],
            zipf: 1.0,
            same_words: [0.4, 0.2],
            memory: USUAL,
        };
        match self {
            Self::Frecent => usual,
            Self::Topical => Person { kinds: [0.0, 0.8, 0.0, 0.2], same_words: [0.0, 0.0], ..usual },
            Self::Shifting => Person { kinds: [0.1, 0.0, 0.85, 0.05], ..usual },
            Self::General => general(&mut stream(seed, "person", 0)),
        }
    }
}

fn general(random: &mut ChaCha8Rng) -> Person {
    let mut of = |low, high| between(random, low, high);
    let noise = of(0.0, 2.0);
    Person {
        kinds: [of(0.1, 1.0), of(0.0, 0.6), of(0.0, 0.6), of(0.2, 0.8)],
        again_in_project: of(0.3, 0.8),
        half_lives: [2_f64.powf(of(1.0, 6.0)), 2_f64.powf(of(0.0, 3.0))],
        zipf: of(0.5, 1.3),
        same_words: [of(0.1, 0.6), of(0.1, 0.3)],
        memory: Memory {
            lengths: [of(0.1, 0.5), of(0.2, 0.5), of(0.1, 0.3), of(0.0, 0.1)],
            places: [of(0.2, 0.6), of(0.05, 0.3), of(0.2, 0.6)],
            wrong: USUAL.wrong * noise,
            inflected: USUAL.inflected * noise,
            shortened: USUAL.shortened * noise,
            mistyped: USUAL.mistyped * noise,
        },
    }
}

/// So many wishes of one person.
pub fn wishes(collection: &Collection, variant: Variant, seed: u64, n: usize) -> Vec<Wish> {
    let mut life = Life::new(collection, variant.person(seed), seed);
    (0..n).map(|number| life.next(number)).collect()
}

struct Life<'a> {
    collection: &'a Collection,
    person: Person,
    seed: u64,
    /// The chance of each document to be the next new one.
    popularity: Vec<f64>,
    subjects: Vec<Subject>,
    folders: Vec<Vec<usize>>,
    project: usize,
    /// The week that the project is of.
    week: Option<i64>,
    now: f64,
    wishes: Vec<Wish>,
}

/// A document of a subject, and the words by which it is known.
struct Subject {
    target: usize,
    word: String,
    known_by: Vec<String>,
}

impl<'a> Life<'a> {
    fn new(collection: &'a Collection, person: Person, seed: u64) -> Self {
        let popularity = popularity(collection, person.zipf, &mut stream(seed, "popularity", 0));
        let subjects = subjects(collection, &person.memory, &mut stream(seed, "subjects", 0));
        let folders = collection.folders().into_iter().filter(|it| it.len() >= 10).collect();
        let (project, now) = (0, BEGIN as f64 + 9.0 * HOUR);
        Self { collection, person, seed, popularity, subjects, folders, project, week: None, now, wishes: Vec::new() }
    }

    fn next(&mut self, number: usize) -> Wish {
        let random = &mut stream(self.seed, "wish", number);
        self.pass_time(random);
        let (target, words) = match draw(random, self.person.kinds.into_iter()) {
            Some(1) if !self.subjects.is_empty() => self.of_subject(random),
            kind => {
                let target = match kind {
                    Some(0) => self.again(random, self.person.half_lives[0], |_| true),
                    Some(2) => self.of_project(random),
                    _ => None,
                };
                let target = target.or_else(|| draw(random, self.popularity.iter().copied())).unwrap_or(0);
                (target, self.words(target, random))
            }
        };
        let wish = Wish { at: self.now as i64, target, words: words.join(" ") };
        self.wishes.push(wish.clone());
        wish
    }

    /// Some minutes within a session, hours between sessions, and nights.
    fn pass_time(&mut self, random: &mut ChaCha8Rng) {
        let mean = if uniform(random) < 0.7 { HOUR / 15.0 } else { 2.5 * HOUR };
        self.now -= mean * (1.0 - uniform(random)).ln();
        let midnight = BEGIN as f64 + ((self.now - BEGIN as f64) / DAY).floor() * DAY;
        if self.now > midnight + 20.0 * HOUR {
            self.now = midnight + DAY + 9.0 * HOUR + uniform(random) * HOUR;
        }
        let week = ((self.now - BEGIN as f64) / (7.0 * DAY)) as i64;
        if self.week != Some(week) && !self.folders.is_empty() {
            self.week = Some(week);
            let next = (uniform(random) * (self.folders.len() - 1).max(1) as f64) as usize;
            self.project = if next >= self.project && self.folders.len() > 1 { next + 1 } else { next };
            self.project = self.project.min(self.folders.len() - 1);
        }
    }

    /// A document that was wanted before: rather one that was wanted often and lately.
    fn again(&self, random: &mut ChaCha8Rng, half_life: f64, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
        let weight = |wish: &Wish| {
            let days = (self.now - wish.at as f64) / DAY;
            if is_meant(wish.target) { (-days / half_life).exp2() } else { 0.0 }
        };
        let weights: Vec<f64> = self.wishes.iter().map(weight).collect();
        draw(random, weights.into_iter()).map(|at| self.wishes[at].target)
    }

    fn of_project(&self, random: &mut ChaCha8Rng) -> Option<usize> {
        let folder = self.folders.get(self.project)?;
        let is_again = uniform(random) < self.person.again_in_project;
        let again = self.again(random, self.person.half_lives[1], |it| folder.contains(&it)).filter(|_| is_again);
        again.or_else(|| draw(random, folder.iter().map(|&at| self.popularity[at])).map(|at| folder[at]))
    }

    /// The subject's word with probability .7, and one or two words by which the document is known.
    fn of_subject(&self, random: &mut ChaCha8Rng) -> (usize, Vec<String>) {
        let subject = one(random, &self.subjects);
        let mut words = Vec::new();
        if uniform(random) < 0.7 {
            words.push(subject.word.clone());
        }
        for _ in 0..if uniform(random) < 0.7 { 1 } else { 2 } {
            let word = one(random, &subject.known_by);
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        (subject.target, words)
    }

    fn words(&self, target: usize, random: &mut ChaCha8Rng) -> Vec<String> {
        let memory = &self.person.memory;
        let earlier = self.wishes.iter().rev().find(|it| it.target == target);
        let [same, similar] = self.person.same_words;
        let chance = uniform(random);
        match earlier.map(|it| it.words.split(' ').map(str::to_owned).collect::<Vec<_>>()) {
            Some(words) if chance < same => words,
            Some(words) if chance < same + similar => {
                let mut new = memory.query(self.collection, target, random);
                let kept = one(random, &words).clone();
                new.truncate(3);
                if !new.contains(&kept) {
                    new[0] = kept;
                }
                new
            }
            _ => memory.query(self.collection, target, random),
        }
    }
}

/// Zipf's law over documents in an order by chance, in which those that were changed lately tend to come first.
fn popularity(collection: &Collection, zipf: f64, random: &mut ChaCha8Rng) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = Vec::new();
    for (at, document) in collection.documents.iter().enumerate() {
        let weight = (1.0 + document.age / 30.0).powf(-0.5);
        order.push((-(1.0 - uniform(random)).ln() / weight, at));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut popularity = vec![0.0; order.len()];
    for (rank, (_, at)) in order.into_iter().enumerate() {
        popularity[at] = ((rank + 1) as f64).powf(-zipf);
    }
    popularity
}

/// Subjects are words that some documents have; of each, a few documents, known by words of their own.
fn subjects(collection: &Collection, memory: &Memory, random: &mut ChaCha8Rng) -> Vec<Subject> {
    let most = (collection.documents.len() / 20).max(3 * OF_A_SUBJECT);
    let is_one = |n: usize| (2 * OF_A_SUBJECT..=most).contains(&n);
    let possible: Vec<&String> = collection.vocabulary.iter().filter(|it| is_one(it.1)).map(|it| &it.0).collect();
    let mut subjects: Vec<Subject> = Vec::new();
    for _ in 0..if possible.is_empty() { 0 } else { SUBJECTS } {
        let word = *one(random, &possible);
        let has = |at: &usize| collection.words[*at].body.iter().any(|(it, _)| it == word);
        let mut with: Vec<usize> = (0..collection.documents.len()).filter(has).collect();
        for _ in 0..OF_A_SUBJECT {
            let at = (uniform(random) * with.len() as f64) as usize;
            let target = with.swap_remove(at);
            let known_by = memory.words(collection, target, KNOWN_BY, random);
            subjects.push(Subject { target, word: word.clone(), known_by });
        }
    }
    subjects
}
