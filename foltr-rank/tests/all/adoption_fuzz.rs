//! The decoder of adoption states against arbitrary bytes, damaged states and its corpus. What is accepted must also be fit
//! for use.

use foltr_rank::adoption::{Adoption, AdoptionRule, ShownList};
use foltr_rank::{Activation, Candidates, Clicks, Ranking, Shape};
use foltr_test::fuzzing::{Form, Target, label};

const RULE: AdoptionRule = AdoptionRule { error: 0.05, lists: 3 };
const SHAPES: [Shape; 2] =
    [Shape::Linear { n_features: 2 }, Shape::Mlp { n_features: 2, n_hidden: 2, activation: Activation::Logistic }];
/// How many lists and releases the devices have seen; one of them more lists than it stores.
const COURSES: [(u32, u32); 4] = [(0, 0), (1, 0), (2, 3), (5, 1)];

fn model(shape: Shape, number: u32) -> Vec<f32> {
    (0..shape.n_params()).map(|idx| ((idx as u32 * 7 + number * 5) % 11) as f32 - 5.0).collect()
}

/// Three documents, of which some were clicked.
fn list(number: u32) -> ShownList {
    let features = [1.0, 0.0, 0.0, 1.0, 0.25, 0.5 * number as f32];
    let query = Candidates::new(&features, 2).expect("finite");
    let ranking = Ranking::from_docs(&[2, 0, 1]).expect("a short list");
    let clicks = Clicks::from_flags(&[number.is_multiple_of(2), true, false]);
    let shown = ShownList::new(query.view(), &ranking, &[0.5, 0.25, -0.5], f64::NEG_INFINITY, clicks);
    shown.expect("a sound list").expect("some documents are preferred")
}

fn device(shape: Shape, (n_lists, n_releases): (u32, u32)) -> Adoption {
    let mut device = Adoption::new(RULE, shape, 0, &model(shape, 0)).expect("a sound rule");
    (0..n_lists).for_each(|number| device.observe(list(number)).expect("two features"));
    for number in 1..=n_releases {
        device.consider(number, &model(shape, number)).expect("a finite model");
    }
    device
}

/// What must hold for any bytes: no panic, what is accepted has exactly these bytes, and it goes on.
fn check_total(shape: Shape, bytes: &[u8]) -> Result<(), String> {
    let mut device = Adoption::decode(bytes, shape).map_err(|error| label(&error))?;
    assert_eq!(device.encode(), bytes);
    for number in 1..3 {
        device.observe(list(number)).expect("two features");
        let n_tests = device.n_tests();
        let verdict = device.consider(number, &model(shape, number)).expect("a finite model");
        assert!(verdict.threshold > 0.0, "{verdict:?}");
        // The release, and the model in use if the release is refused.
        assert!(
            (n_tests..=n_tests.saturating_add(2)).contains(&device.n_tests()),
            "{} after {n_tests}",
            device.n_tests()
        );
    }
    let after = device.encode();
    assert_eq!(Adoption::decode(&after, shape).expect("its own bytes, two releases later").encode(), after);
    Ok(())
}

#[test]
fn states_survive_fuzzing() {
    let states = SHAPES.iter().flat_map(|&shape| COURSES.map(|course| device(shape, course).encode()));
    let decode = |state: usize, bytes: &[u8]| check_total(SHAPES[state / COURSES.len()], bytes);
    let (valid, corpus) = (states.collect(), Some(env!("CARGO_MANIFEST_DIR")));
    Target { name: "adoption", corpus, form: Form::Binary, valid, has_valid_damage: true, decode: &decode }.run(20_000);
}
