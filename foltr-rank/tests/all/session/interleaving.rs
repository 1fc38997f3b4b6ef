//! Random orders of events: overlapping lists, clicks late, twice, on nothing, on what has ended, clocks that jump back.
//!
//! A book of plain lists says what every event must answer and in which order impressions end; the update must then be that
//! of the same lists one after the other.

use foltr_rank::learn::pdgd::pair_weights::{log_add_exp, pair_weights_log};
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::session::ClickError;
use foltr_rank::{Clicks, Impression, ImpressionId, Models, Ranking, Session};
use proptest::prelude::*;

use super::{LINEAR, N_FEATURES, NEURAL, Outcome, PDGD, Settings, query, stream};

#[derive(Clone, Copy, Debug)]
enum Event {
    Rank,
    Click { which: usize, position: usize },
    Dismiss { which: usize },
    Expire { after: u64 },
    Save,
    NextRound,
}

fn events() -> impl Strategy<Value = Vec<(Event, u64)>> {
    let event = prop_oneof![
        5 => Just(Event::Rank),
        8 => (0_usize..12, 0_usize..8).prop_map(|(which, position)| Event::Click { which, position }),
        3 => (0_usize..12).prop_map(|which| Event::Dismiss { which }),
        2 => (0_u64..30).prop_map(|after| Event::Expire { after }),
        1 => Just(Event::Save),
        1 => Just(Event::NextRound),
    ];
    prop::collection::vec((event, 0_u64..60), 1..40)
}

/// One list as the book has it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    n_shown: usize,
    clicks: Clicks,
    last_event: u64,
    is_open: bool,
}

/// What should have happened.
#[derive(Debug, Default)]
struct Book {
    entries: Vec<Entry>,
    elapsed: u64,
    last_now: u64,
    /// Of the round, in this order.
    ended: Vec<usize>,
}

impl Book {
    fn advance(&mut self, now: u64) {
        self.elapsed += now.saturating_sub(self.last_now);
        self.last_now = now;
    }

    fn find(&self, which: usize) -> Result<usize, ClickError> {
        let id = ImpressionId(which as u64);
        match self.entries.get(which) {
            None => Err(ClickError::Unknown(id)),
            Some(entry) if !entry.is_open => Err(ClickError::Closed(id)),
            Some(_) => Ok(which),
        }
    }

    fn click(&mut self, which: usize, position: usize, now: u64) -> Result<(), ClickError> {
        let n_shown = self.entries[self.find(which)?].n_shown;
        if position >= n_shown {
            return Err(ClickError::Position { position, n_shown });
        }
        self.advance(now);
        self.entries[which].clicks.click(position);
        self.entries[which].last_event = self.elapsed;
        Ok(())
    }

    fn end(&mut self, which: usize) -> Result<ImpressionId, ClickError> {
        let which = self.find(which)?;
        self.entries[which].is_open = false;
        self.ended.push(which);
        Ok(ImpressionId(which as u64))
    }

    fn expire(&mut self, now: u64, after: u64) -> Option<ImpressionId> {
        self.advance(now);
        let open = (0..self.entries.len()).filter(|&which| self.entries[which].is_open);
        let due = open.filter(|&which| self.elapsed - self.entries[which].last_event >= after);
        let first = due.min_by_key(|&which| (self.entries[which].last_event, which))?;
        self.end(first).ok()
    }

    /// The update of the ended lists one after the other, each drawn anew by the same random numbers.
    fn one_after_the_other(&self, settings: &Settings, global: &[f32]) -> Outcome {
        let mut learner = settings.learner();
        learner.begin(global, &mut stream(0));
        let mut ranking = Ranking::default();
        for &which in &self.ended {
            let candidates = query(which as u32);
            learner.rank(candidates.view(), &mut stream(which as u32), &mut ranking);
            learner.observe(&Impression::new(candidates.view(), &ranking, self.entries[which].clicks));
        }
        learner.finish().into()
    }
}

struct Play {
    settings: Settings,
    session: Session,
    global: Vec<f32>,
    book: Book,
    n_rounds: u32,
}

impl Play {
    fn new(settings: Settings) -> Self {
        let (session, global) = (settings.session(), settings.global());
        let mut play = Self { settings, session, global, book: Book::default(), n_rounds: 0 };
        play.begin();
        play
    }

    fn begin(&mut self) {
        let models = Models { global: &self.global, clusters: &[] };
        self.session.begin(models, self.n_rounds, &mut stream(0)).expect("its models");
        self.book.ended.clear();
        self.n_rounds += 1;
    }

    fn event(&mut self, event: Event, now: u64) {
        let Self { session, book, .. } = self;
        match event {
            Event::Rank => {
                let which = book.entries.len();
                let shown = session.rank(query(which as u32).view(), now, &mut stream(which as u32)).expect("sound");
                assert_eq!(shown.impression, ImpressionId(which as u64));
                book.advance(now);
                let (n_shown, last_event) = (shown.ranking.len(), book.elapsed);
                book.entries.push(Entry { n_shown, clicks: Clicks::default(), last_event, is_open: true });
            }
            Event::Click { which, position } => {
                let got = session.clicked(ImpressionId(which as u64), position, now);
                assert_eq!(got, book.click(which, position, now));
            }
            Event::Dismiss { which } => {
                let got = session.dismiss(ImpressionId(which as u64)).map(|ended| ended.id());
                assert_eq!(got, book.end(which));
            }
            Event::Expire { after } => loop {
                let got = session.expire(now, after);
                assert_eq!(got.as_ref().map(|ended| ended.id()), book.expire(now, after));
                let Some(ended) = got else { break };
                assert_eq!(ended.clicks(), book.entries[ended.id().0 as usize].clicks);
            },
            Event::Save => self.session = self.settings.restored(&self.session),
            Event::NextRound => {
                self.finish();
                self.begin();
            }
        }
    }

    /// Finishes the round, which must have taught what the book says.
    fn finish(&mut self) {
        assert_eq!(self.session.n_interactions() as usize, self.book.ended.len());
        let outcome = Outcome::from(self.session.finish().expect("an open round").update);
        assert_eq!(outcome, self.book.one_after_the_other(&self.settings, &self.global));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_events_gives_the_update_of_one_list_after_the_other(
        events in events(), is_neural in any::<bool>(), is_long in any::<bool>(),
    ) {
        let shape = if is_neural { NEURAL } else { LINEAR };
        let n_shown = if is_long { 20 } else { 6 };
        let mut play = Play::new(Settings::pdgd(shape, PdgdSettings { updates: Updates::Accumulated, n_shown, ..PDGD }));
        events.into_iter().for_each(|(event, now)| play.event(event, now));
        play.finish();
    }
}

#[test]
fn two_overlapping_lists_by_name() {
    let settings = Settings::pdgd(LINEAR, PdgdSettings { updates: Updates::Accumulated, ..PDGD });
    let mut play = Play::new(settings);
    for event in [
        Event::Rank,
        Event::Rank,
        Event::Click { which: 0, position: 0 },
        Event::Rank,
        Event::Click { which: 2, position: 3 },
        Event::Click { which: 1, position: 2 },
        Event::Dismiss { which: 1 },
        Event::Dismiss { which: 2 },
        Event::Dismiss { which: 0 },
    ] {
        play.event(event, 0);
    }
    assert_eq!(play.book.ended, [1, 2, 0]);
    play.finish();
}

/// PDGD with immediate updates written down plainly: weights from the scores that the list was drawn with, steps of the
/// model as it is when the impression ends.
#[derive(Debug)]
struct Plain {
    model: [f64; N_FEATURES],
    /// Of each list, by document.
    scores: Vec<Vec<f64>>,
    rankings: Vec<Ranking>,
}

impl Plain {
    fn rank(&mut self, which: usize, ranking: Ranking) {
        let candidates = query(3 * which as u32);
        let score = |doc| (0..N_FEATURES).map(|j| self.model[j] * f64::from(candidates.view().row(doc)[j])).sum();
        self.scores.push((0..candidates.view().n_docs()).map(score).collect());
        self.rankings.push(ranking);
    }

    fn end(&mut self, which: usize, clicks: Clicks) {
        let (candidates, docs) = (query(3 * which as u32), self.rankings[which].docs());
        let scores = &self.scores[which];
        let shown: Vec<f64> = docs.iter().map(|&doc| scores[doc as usize]).collect();
        let hidden = (0..scores.len()).filter(|&doc| !docs.contains(&(doc as u32)));
        let hidden = hidden.fold(f64::NEG_INFINITY, |sum, doc| log_add_exp(sum, scores[doc]));
        for (&doc, weight) in docs.iter().zip(pair_weights_log(&shown, hidden, clicks)) {
            for (param, &x) in self.model.iter_mut().zip(candidates.view().row(doc as usize)) {
                *param += f64::from(PDGD.learning_rate) * f64::from(weight) * f64::from(x);
            }
        }
    }
}

proptest! {
    #[test]
    fn immediate_updates_take_weights_from_their_own_list_and_step_from_the_present_model(
        events in prop::collection::vec((0_usize..6, 0_usize..6, any::<bool>()), 10..60),
    ) {
        let settings = Settings::pdgd(LINEAR, PDGD);
        let (mut session, global) = (settings.session(), settings.global());
        session.begin(Models { global: &global, clusters: &[] }, 0, &mut stream(0)).expect("its models");
        let model = std::array::from_fn(|j| f64::from(global[j]));
        let mut plain = Plain { model, scores: Vec::new(), rankings: Vec::new() };
        for (which, position, ends) in events {
            let n_open = session.open().len();
            if n_open <= which {
                let number = session.next_impression().0 as usize;
                let shown = session.rank(query(3 * number as u32).view(), 0, &mut stream(number as u32)).expect("sound");
                plain.rank(number, shown.ranking);
                continue;
            }
            let (id, n_shown) = (session.open()[which].id(), session.open()[which].n_shown());
            session.clicked(id, position % n_shown, 0).expect("open");
            if ends {
                let ended = session.dismiss(id).expect("open");
                plain.end(id.0 as usize, ended.clicks());
            }
        }
        let Outcome::Step(delta, _) = session.finish().expect("a round").update.into() else { panic!("PDGD makes steps") };
        for (j, &bits) in delta.iter().enumerate() {
            let (ours, expected) = (f64::from(f32::from_bits(bits)), plain.model[j] - f64::from(global[j]));
            prop_assert!((ours - expected).abs() < 2e-5, "{ours} instead of {expected}");
        }
    }
}
