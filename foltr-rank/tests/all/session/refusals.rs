//! What a session refuses, by name, and that nothing has changed afterwards.

use foltr_rank::learn::evolution::EvolutionSettings;
use foltr_rank::learn::pair_rank::PairRankSettings;
use foltr_rank::learn::pdgd::{PdgdSettings, Updates};
use foltr_rank::personal::{Ditto, Personalisation};
use foltr_rank::plackett_luce::MAX_DISPLACEMENT;
use foltr_rank::session::{ClickError, DecodeError, FinishError, RankError, SessionError};
use foltr_rank::{
    Candidates, ImpressionId, Learning, MAX_SHOWN, Models, ParameterError, ParamsError, QueryError, QueryView, Session,
    Shape,
};

use super::{DUEL, EVOLUTION, LINEAR, N_FEATURES, NEURAL, PDGD, Settings, query, stream};

fn parameter(shape: Shape, learning: Learning) -> &'static str {
    match Session::new(shape, learning) {
        Err(SessionError::Parameter(ParameterError { name, .. })) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let pdgd = |settings: PdgdSettings| parameter(LINEAR, Learning::Pdgd(settings));
    for rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(pdgd(PdgdSettings { learning_rate: rate, ..PDGD }), "learning_rate");
    }
    assert_eq!(pdgd(PdgdSettings { proximal: -0.1, ..PDGD }), "proximal");
    assert_eq!(pdgd(PdgdSettings { clip_radius: Some(0.0), ..PDGD }), "clip_radius");
    for n_shown in [0, MAX_SHOWN + 1, usize::MAX] {
        assert_eq!(pdgd(PdgdSettings { n_shown, ..PDGD }), "n_shown");
    }
    for displacement in [0, MAX_DISPLACEMENT + 1, usize::MAX] {
        assert_eq!(pdgd(PdgdSettings { max_displacement: Some(displacement), ..PDGD }), "max_displacement");
    }
    let evolution = |settings| parameter(LINEAR, Learning::Evolution { settings, published_stream: false });
    assert_eq!(evolution(EvolutionSettings { sigma: 0.0, ..EVOLUTION }), "sigma");
    assert_eq!(evolution(EvolutionSettings { n_interactions: 3, ..EVOLUTION }), "n_interactions");
    assert_eq!(evolution(EvolutionSettings { n_interactions: 0, antithetic: false, ..EVOLUTION }), "n_interactions");
    assert_eq!(evolution(EvolutionSettings { n_shown: 17, ..EVOLUTION }), "n_shown");
    let shape = |shape| parameter(shape, Learning::Pdgd(PDGD));
    assert_eq!(shape(Shape::Linear { n_features: 0 }), "n_features");
    assert_eq!(shape(Shape::Linear { n_features: usize::MAX }), "n_features");
    let Shape::Mlp { activation, .. } = NEURAL else { unreachable!("a network") };
    assert_eq!(shape(Shape::Mlp { n_features: 5, n_hidden: 0, activation }), "n_hidden");
    assert_eq!(shape(Shape::Mlp { n_features: 1 << 20, n_hidden: 1 << 20, activation }), "n_params");
}

#[test]
fn combinations_that_cannot_be_are_named() {
    let published = Learning::Evolution { settings: EVOLUTION, published_stream: true };
    assert_eq!(Session::new(LINEAR, published).err(), Some(SessionError::PublishedStream));
    let statistics = Learning::PairRank(PairRankSettings { exploration: 1.0, n_shown: 10 });
    assert_eq!(Session::new(LINEAR, statistics).err(), Some(SessionError::Statistics));
    let global = Settings::pdgd(LINEAR, PDGD).global();
    let personal = |pull, learning, initial: &[f32]| {
        let method = Personalisation::Ditto(Ditto { pull });
        Session::personal(LINEAR, learning, method, 0, initial, &mut stream(0)).err()
    };
    let accumulated = Learning::Pdgd(PdgdSettings { updates: Updates::Accumulated, ..PDGD });
    let evolution = Learning::Evolution { settings: EVOLUTION, published_stream: false };
    for learning in [accumulated, evolution, Learning::Dueling(DUEL)] {
        assert_eq!(personal(0.1, learning, &global), Some(SessionError::Personalisation));
    }
    let pdgd = Learning::Pdgd(PDGD);
    assert!(matches!(
        personal(-1.0, pdgd, &global),
        Some(SessionError::Parameter(ParameterError { name: "pull", .. }))
    ));
    let short = ParamsError::Length { shape: LINEAR, expected: 5, got: 2 };
    assert_eq!(personal(0.1, pdgd, &global[..2]), Some(SessionError::Initial(short)));
}

#[test]
fn models_of_another_federation_are_refused() {
    let settings = Settings::pdgd(LINEAR, PDGD);
    let (mut session, global) = (settings.session(), settings.global());
    let mut begin = |global: &[f32], clusters: &[Vec<f32>]| {
        session.begin(Models { global, clusters }, 0, &mut stream(0)).expect_err("not its models").to_string()
    };
    assert!(begin(&global[1..], &[]).contains("4 parameters are not the 5 of"));
    assert!(begin(&[0.0, 1.0, f32::NAN, 0.0, 0.0], &[]).contains("parameter 2"));
    assert!(begin(&global, std::slice::from_ref(&global)).contains("1 models of clusters"));
    assert_eq!(session.release(), None);
    assert!(session.ranker(Models { global: &[], clusters: &[] }).is_err());
}

#[test]
fn queries_that_cannot_be_ranked_are_refused_and_open_nothing() {
    let settings = Settings::pdgd(NEURAL, PDGD);
    let mut session = settings.session();
    let mut random = stream(0);
    let mut rank = |session: &mut Session, query: QueryView<'_>| session.rank(query, 0, &mut random).err();
    assert_eq!(rank(&mut session, query(1).view()), Some(RankError::NoRound));
    session.begin(Models { global: &settings.global(), clusters: &[] }, 0, &mut stream(0)).expect("its model");
    let other = Candidates::new(&[1.0; 6], 6).expect("one document");
    assert_eq!(
        rank(&mut session, other.view()),
        Some(RankError::Query(QueryError::OtherFeatures { ours: 5, theirs: 6 }))
    );
    assert_eq!(rank(&mut session, QueryView::new(&[], N_FEATURES)), Some(RankError::Query(QueryError::Empty)));
    let mut rows = [0.0; 16];
    rows[10] = f32::INFINITY;
    let wrong = QueryError::NotFinite { doc: 1, feature: 2 };
    assert_eq!(rank(&mut session, QueryView::new(&rows, N_FEATURES)), Some(RankError::Query(wrong)));
    rows[10] = 0.0;
    rows[7] = 1.0;
    assert_eq!(
        rank(&mut session, QueryView::new(&rows, N_FEATURES)),
        Some(RankError::Query(QueryError::Padding { doc: 0 }))
    );
    assert!(session.open().is_empty());
    assert_eq!(session.next_impression(), ImpressionId(0));
}

#[test]
fn documents_of_the_wrong_form_are_named() {
    assert_eq!(Candidates::new(&[], 3).err(), Some(QueryError::Empty));
    assert_eq!(Candidates::new(&[1.0], 0).err(), Some(QueryError::NoFeatures));
    let part = QueryError::NotWholeDocuments { n_values: 4, n_features: 3 };
    assert_eq!(Candidates::new(&[1.0; 4], 3).err(), Some(part));
    assert!(Candidates::new(&[1.0], usize::MAX).is_err());
    let view = |n_floats: usize, n_features| QueryView::try_new(&[0.0; 64][..n_floats], n_features).err();
    assert_eq!(view(0, 3), Some(QueryError::Empty));
    assert_eq!(view(8, 0), Some(QueryError::NoFeatures));
    for (n_floats, n_features) in [(12, 3), (3, 3), (8, usize::MAX)] {
        assert_eq!(view(n_floats, n_features), Some(QueryError::NotWholeRows { n_floats, n_features }));
    }
    assert_eq!(view(16, 8), None);
}

#[test]
fn closed_unknown_and_out_of_the_list_change_nothing() {
    let settings = Settings::pdgd(LINEAR, PDGD);
    let mut session = settings.session();
    session.begin(Models { global: &settings.global(), clusters: &[] }, 0, &mut stream(0)).expect("its model");
    session.continue_from(ImpressionId(100));
    let shown = session.rank(query(1).view(), 50, &mut stream(0)).expect("sound");
    let other = session.rank(query(2).view(), 50, &mut stream(0)).expect("sound");
    assert_eq!((shown.impression, other.impression), (ImpressionId(100), ImpressionId(101)));
    session.dismiss(other.impression).expect("open");
    let before = session.encode();
    let n_shown = shown.ranking.len();
    let cases = [
        (101, 0, ClickError::Closed(ImpressionId(101))),
        (99, 0, ClickError::Closed(ImpressionId(99))),
        (102, 0, ClickError::Unknown(ImpressionId(102))),
        (u64::MAX, 0, ClickError::Unknown(ImpressionId(u64::MAX))),
        (100, n_shown, ClickError::Position { position: n_shown, n_shown }),
        (100, usize::MAX, ClickError::Position { position: usize::MAX, n_shown }),
    ];
    for (id, position, error) in cases {
        assert_eq!(session.clicked(ImpressionId(id), position, 10_000), Err(error));
        if id != 100 {
            assert_eq!(session.dismiss(ImpressionId(id)), Err(error));
        }
        assert_eq!(session.encode(), before, "{error}");
    }
    // Ids never go back, and never run out.
    session.continue_from(ImpressionId(7));
    assert_eq!(session.next_impression(), ImpressionId(102));
    session.continue_from(ImpressionId(u64::MAX));
    let last = session.rank(query(1).view(), 50, &mut stream(0)).expect("sound").impression;
    assert!(session.next_impression() > last);
    // Whoever began at the largest id could not read their own session any more.
    let again = Session::decode(&session.encode(), settings.shape, settings.learning, None).expect("its own bytes");
    assert_eq!(again.next_impression(), session.next_impression());
}

#[test]
fn a_round_that_overflows_is_lost_and_the_state_stays() {
    let method = Personalisation::Ditto(Ditto { pull: 0.0 });
    let learning = Learning::Pdgd(PdgdSettings { learning_rate: 1e30, ..PDGD });
    let global = [0.0; N_FEATURES];
    let mut session = Session::personal(LINEAR, learning, method, 0, &global, &mut stream(0)).expect("sound");
    let models = Models { global: &global, clusters: &[] };
    let (state, mut random) = (session.state().to_vec(), stream(0));
    session.begin(models, 0, &mut random).expect("its model");
    let huge = Candidates::new(&[1e20, 0.0, 0.0, 0.0, 0.0, -1e20, 0.0, 0.0, 0.0, 0.0], N_FEATURES).expect("finite");
    let shown = session.rank(huge.view(), 0, &mut random).expect("scores are zero");
    session.clicked(shown.impression, 1, 0).expect("open");
    session.dismiss(shown.impression).expect("open");
    assert_eq!(session.rank(huge.view(), 0, &mut random), Err(RankError::Scores));
    // It can be stored in this state, too.
    let bytes = session.encode();
    let mut session = Session::decode(&bytes, LINEAR, learning, Some(method)).expect("its own bytes");
    assert_eq!(session.finish(), Err(FinishError::Overflow));
    assert_eq!(session.finish(), Err(FinishError::NoRound));
    assert_eq!(session.state(), state);
    session.begin(models, 0, &mut random).expect("its model");
    assert!(session.rank(huge.view(), 0, &mut random).is_ok());
}

#[test]
fn bytes_of_other_settings_are_refused() {
    let settings = Settings::pdgd(LINEAR, PDGD);
    let mut session = settings.session();
    session.begin(Models { global: &settings.global(), clusters: &[] }, 0, &mut stream(0)).expect("its model");
    session.rank(query(1).view(), 0, &mut stream(0)).expect("sound");
    let bytes = session.encode();
    let others = [
        Settings::pdgd(NEURAL, PDGD),
        Settings::pdgd(LINEAR, PdgdSettings { updates: Updates::Accumulated, ..PDGD }),
        Settings::pdgd(LINEAR, PdgdSettings { n_shown: 1, ..PDGD }),
        Settings::evolution(LINEAR, EVOLUTION),
        Settings { personalisation: Some(Personalisation::Ditto(Ditto { pull: 0.1 })), ..settings },
    ];
    for other in others {
        let decoded = Session::decode(&bytes, other.shape, other.learning, other.personalisation);
        assert!(matches!(decoded, Err(DecodeError::Bytes(_))), "{other:?}");
    }
    let broken = Learning::Pdgd(PdgdSettings { n_shown: 0, ..PDGD });
    assert!(matches!(Session::decode(&bytes, LINEAR, broken, None), Err(DecodeError::Settings(_))));
}

#[test]
fn open_lists_survive_another_displacement() {
    let of = |max_displacement| Settings::pdgd(LINEAR, PdgdSettings { max_displacement, ..PDGD });
    for (before, after) in [(None, Some(2)), (Some(2), None), (Some(2), Some(1))] {
        let step = |settings: &Settings| {
            let mut random = stream(1);
            let mut session = of(before).session();
            session.begin(Models { global: &of(before).global(), clusters: &[] }, 1, &mut random).expect("its model");
            let shown = session.rank(query(4).view(), 0, &mut random).expect("a sound query");
            session.clicked(shown.impression, 1, 1).expect("open");
            let Settings { shape, learning, personalisation } = *settings;
            let mut session = Session::decode(&session.encode(), shape, learning, personalisation).expect("its bytes");
            session.dismiss(shown.impression).expect("open");
            super::Outcome::from(session.finish().expect("a round").update)
        };
        // What is learnt is by the law that drew the list, not by that of the next one.
        assert_eq!(step(&of(before)), step(&of(after)));
    }
}
