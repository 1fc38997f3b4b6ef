//! The specification's golden vectors for attacks, and what each attack promises about the updates that it makes.

mod rehearsing;

use foltr_federation::aggregate::{Counted, Krum, Neighbours};
use foltr_federation::{Aggregation, Combined, Contributions};
use foltr_rank::rng::{Purpose, Streams};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::*;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../tests/vectors/attack_vectors.json")).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

/// What a few clients send, as differences to a global model.
#[derive(Clone, Debug)]
struct Scene {
    global: Vec<f32>,
    values: Vec<f32>,
}

impl Scene {
    fn of_models(global: &[f64], models: &[Vec<f64>]) -> Self {
        let update = |model: &Vec<f64>| model.iter().zip(global).map(|(m, g)| (m - g) as f32).collect::<Vec<_>>();
        Self { global: geometry::to_f32(global.iter().copied()), values: models.iter().flat_map(update).collect() }
    }

    fn n_params(&self) -> usize {
        self.global.len()
    }

    fn n_clients(&self) -> usize {
        self.values.len() / self.n_params()
    }

    fn split(&self, n_attackers: usize) -> (Rows<'_>, Rows<'_>) {
        let (own, honest) = self.values.split_at(n_attackers * self.n_params());
        (Rows::new(own, self.n_params()), Rows::new(honest, self.n_params()))
    }

    fn seen(&self, n_attackers: usize, knowledge: Knowledge) -> Seen<'_> {
        let honest = (knowledge == Knowledge::Full).then_some(self.split(n_attackers).1);
        Seen { round: 0, global: &self.global, n_clients: self.n_clients(), honest, rule: None, defence: None }
    }

    /// What the attackers send, one after the other.
    fn attacked(&self, adversary: &mut dyn Adversary, n_attackers: usize, knowledge: Knowledge) -> Vec<Vec<f32>> {
        self.attacked_in(0, adversary, n_attackers, knowledge, &mut Vec::new())
    }

    fn attacked_in(
        &self,
        round: u32,
        adversary: &mut dyn Adversary,
        n_attackers: usize,
        knowledge: Knowledge,
        memory: &mut Vec<f64>,
    ) -> Vec<Vec<f32>> {
        let mut own = self.values[..n_attackers * self.n_params()].to_vec();
        let seen = Seen { round, ..self.seen(n_attackers, knowledge) };
        let mut stream = Streams::new(1).open(Purpose::Attack, 0, round);
        adversary.corrupt(&seen, &mut Own::new(&mut own, self.n_params(), memory), &mut stream);
        own.chunks_exact(self.n_params()).map(<[f32]>::to_vec).collect()
    }
}

fn assert_near(ours: impl IntoIterator<Item = f64>, expected: &[f64], tolerance: f64, what: &Value) {
    let ours: Vec<f64> = ours.into_iter().collect();
    assert_eq!(ours.len(), expected.len(), "{what}");
    ours.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() <= tolerance, "{what}: {a} instead of {b}"));
}

#[test]
fn golden_z() {
    let of_all = LittleIsEnough { formula: Formula::OfAll, ..LittleIsEnough::default() };
    for case in vectors()["lie_z"].as_array().expect("cases") {
        let [n, m] = ["n", "m"].map(|name| number(&case[name]) as usize);
        assert_near([LittleIsEnough::default().z(n, m)], &[number(&case["z"])], 1e-12, case);
        assert_near([of_all.z(n, m)], &[number(&case["alt_z"])], 1e-12, case);
    }
    assert_eq!(LittleIsEnough { z: Some(1.5), ..of_all }.z(10, 4), 1.5);
    assert!(LittleIsEnough::default().z(10, 10).is_finite() && LittleIsEnough::default().z(2, 1).is_finite());
}

#[test]
fn golden_little_is_enough() {
    let case = &vectors()["lie_example"];
    let mut models: Vec<Vec<f64>> = case["attackers_before"].as_array().expect("rows").iter().map(numbers).collect();
    models.resize(10, vec![7.0, -7.0]);
    let scene = Scene::of_models(&[0.0, 0.0], &models);
    let sent = |mut attack: LittleIsEnough| scene.attacked(&mut attack, 3, Knowledge::Full);
    for row in sent(LittleIsEnough::default()) {
        assert_near(row.into_iter().map(f64::from), &numbers(&case["malicious_population_std"]), 1e-6, case);
    }
    let (mean, deviation) = (numbers(&case["mean"]), numbers(&case["std_sample"]));
    let expected: Vec<f64> = mean.iter().zip(&deviation).map(|(mean, deviation)| mean - 1.5 * deviation).collect();
    let by_hand = LittleIsEnough { z: Some(1.5), deviation: Deviation::Sample, ..LittleIsEnough::default() };
    assert_near(sent(by_hand)[0].iter().map(|&x| f64::from(x)), &expected, 1e-6, case);
    let all = LittleIsEnough { z: Some(0.0), estimate_from: EstimateFrom::Seen, ..LittleIsEnough::default() };
    assert_near(sent(all)[0].iter().map(|&x| f64::from(x)), &[5.5, -4.0], 1e-6, case);
}

#[test]
fn golden_negation() {
    let text = include_str!("../../tests/vectors/federaser_vectors.json");
    let case = &serde_json::from_str::<Value>(text).expect("JSON")["malicious"];
    let (global, update) = (numbers(&case["global_model"]), numbers(&case["local_update"]));
    let model: Vec<f64> = global.iter().zip(&update).map(|(global, update)| global + update).collect();
    let scene = Scene::of_models(&global, &[model, vec![7.0, -7.0]]);
    let mut marker = Negation { z: number(&case["z"]) };
    assert_eq!(marker, Negation::default());
    let sent: Vec<f64> = scene.attacked(&mut marker, 1, Knowledge::Partial)[0].iter().map(|&x| f64::from(x)).collect();
    assert_near(sent.iter().copied(), &numbers(&case["malicious_update"]), 1e-6, case);
    let model = sent.iter().zip(&global).map(|(sent, global)| sent + global);
    assert_near(model, &numbers(&case["malicious_model"]), 1e-6, case);
}

fn fang_scene(fang: &Value) -> Scene {
    let models: Vec<Vec<f64>> = fang["models_before_attack"].as_array().expect("rows").iter().map(numbers).collect();
    Scene::of_models(&numbers(&fang["theta_global"]), &models)
}

/// All attackers send this model, or are honest if there is none.
fn assert_sent(scene: &Scene, rows: &[Vec<f32>], case: &Value) {
    for (row, honest) in rows.iter().zip(scene.values.chunks_exact(scene.n_params())) {
        if case["success"] == true {
            let model = row.iter().zip(&scene.global).map(|(&value, &global)| f64::from(value) + f64::from(global));
            assert_near(model, &numbers(&case["malicious"]), 1e-6, case);
        } else {
            assert_eq!(row, honest, "{case}");
        }
    }
}

#[test]
fn golden_fang_against_krum() {
    let fang = &vectors()["fang"];
    let scene = fang_scene(fang);
    for case in fang["krum_full"].as_array().expect("cases") {
        let m = number(&case["m"]) as usize;
        let (own, honest) = scene.split(m);
        let search = FangKrum::default().search(&scene.seen(m, Knowledge::Full), own);
        assert_eq!(search.direction, numbers(&case["s"]), "{case}");
        assert_eq!(search.rows.len(), honest.len());
        assert_near([search.upper_bound(m)], &[number(&case["lambda_max"])], 1e-6, case);
        for step in case["trace"].as_array().expect("a list").iter().map(numbers) {
            assert_eq!(search.pick(step[0], m), step[1] as usize, "{case}: {step:?}");
        }
        assert_near([search.with_full_knowledge(m).unwrap_or(0.0)], &[number(&case["lam"])], 1e-6, case);
        assert_sent(&scene, &scene.attacked(&mut FangKrum::default(), m, Knowledge::Full), case);
    }
}

#[test]
fn golden_fang_against_krum_with_partial_knowledge() {
    let fang = &vectors()["fang"];
    let scene = fang_scene(fang);
    for (list, simulation) in
        [("krum_partial", Simulation::Growing), ("krum_partial_ratio_kept", Simulation::RatioKept)]
    {
        let mut attack = FangKrum { simulation, ..FangKrum::default() };
        for case in fang[list].as_array().expect("cases") {
            let m = number(&case["m"]) as usize;
            let search = attack.search(&scene.seen(m, Knowledge::Partial), scene.split(m).0);
            assert_near([search.reach()], &[number(&case["lambda_start"])], 1e-6, case);
            let lambda = search.with_partial_knowledge(10);
            assert_near([lambda.unwrap_or(0.0)], &[number(&case["lam"])], 1e-6, case);
            if let Some(n_crafted) = case["crafted"].as_u64() {
                let n_crafted = n_crafted as usize;
                assert_eq!(search.halve(search.reach(), n_crafted - 1), None, "fewer copies do not do: {case}");
                assert_eq!(search.halve(search.reach(), n_crafted), lambda);
            }
            assert_sent(&scene, &scene.attacked(&mut attack, m, Knowledge::Partial), case);
        }
        let alone = scene.attacked(&mut attack, 1, Knowledge::Partial);
        assert_eq!(alone[0], scene.values[..4], "one attacker cannot simulate anything");
    }
}

#[test]
fn golden_fang_against_trimmed_mean() {
    let fang = &vectors()["fang"];
    let scene = fang_scene(fang);
    let check = |case: &Value, m: usize, knowledge: Knowledge| {
        let ranges = FangTrim::default().ranges(&scene.seen(m, knowledge), scene.split(m).0);
        let model = |update: f64, i: usize| update + f64::from(scene.global[i]);
        let [low, high] = ["low", "high"].map(|name| numbers(&case[name]));
        assert_near(ranges.iter().enumerate().map(|(i, range)| model(range.0, i)), &low, 1e-6, case);
        assert_near(ranges.iter().enumerate().map(|(i, range)| model(range.1, i)), &high, 1e-6, case);
        let rows = scene.attacked(&mut FangTrim::default(), m, knowledge);
        for row in &rows {
            for ((&value, &(low, high)), &global) in row.iter().zip(&ranges).zip(&scene.global) {
                assert!((low - 1e-6..=high + 1e-6).contains(&f64::from(value)), "{value} of {low} to {high}, {global}");
            }
        }
        assert!(m == 1 || rows[0] != rows[1], "every attacker draws for itself");
    };
    (1..5).for_each(|m| check(&fang["trim_full"], m, Knowledge::Full));
    check(&fang["trim_partial_m4"], 4, Knowledge::Partial);
}

#[test]
fn fang_in_update_space_and_with_honest_extremes() {
    // One coordinate, learning upwards: the attackers go below the least honest update.
    let scene = Scene::of_models(&[10.0], &[vec![10.5], vec![11.0], vec![12.0]]);
    let ranges = |attack: FangTrim| attack.ranges(&scene.seen(1, Knowledge::Full), scene.split(1).0);
    let updates = FangTrim { space: Space::Updates, ..FangTrim::default() };
    assert_eq!(ranges(updates), [(0.25, 0.5)]);
    assert_eq!(ranges(FangTrim { extremes: Extremes::Honest, ..updates }), [(0.5, 1.0)]);
    assert_eq!(ranges(FangTrim::default()), [(-4.75, 0.5)]);
}

/// Whom the server's Krum picks among these updates.
fn krum(rows: &[&[f32]], n_neighbours: usize, squared: bool) -> usize {
    let mut contributions = Contributions::new(rows[0].len());
    rows.iter().enumerate().for_each(|(client, row)| contributions.push(client as u32, 1.0, row));
    let rule =
        Aggregation::Krum(Krum { attackers: 0, squared, neighbours: Some(Neighbours::Fixed(n_neighbours as u32)) });
    let mut combined = Combined::default();
    rule.start().aggregate(&[], &contributions, &mut combined).expect("enough clients");
    combined.shares.iter().position(|&share| share == 1.0).expect("somebody is picked")
}

fn squared_norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum()
}

fn apart(a: &[f32], b: &[f32]) -> f64 {
    squared_norm(a.iter().zip(b).map(|(&a, &b)| f64::from(a) - f64::from(b))).sqrt()
}

/// Some clients. On a line many sums of distances are equal but for rounding, so there are at least two parameters.
fn scenes(n_clients: std::ops::Range<usize>) -> impl Strategy<Value = Scene> {
    (n_clients, 2..7_usize).prop_flat_map(|(n_clients, n_params)| {
        let numbers = |n| proptest::collection::vec(-1.0_f32..1.0, n);
        (numbers(n_params), numbers(n_params * n_clients)).prop_map(|(global, values)| Scene { global, values })
    })
}

const KNOWLEDGE: [Knowledge; 2] = [Knowledge::Full, Knowledge::Partial];
const PERTURBATIONS: [Perturbation; 3] = [Perturbation::Unit, Perturbation::Sign, Perturbation::Deviation];

proptest! {
    #[test]
    fn little_is_enough_is_nothing_with_one_or_two_of_ten(scene in scenes(10..11), m in 1..3_usize) {
        let mean = geometry::mean_of(scene.split(m).0);
        for row in scene.attacked(&mut LittleIsEnough::default(), m, Knowledge::Full) {
            row.iter().zip(&mean).for_each(|(&sent, &mean)| assert!((f64::from(sent) - mean).abs() < 1e-6));
        }
    }

    #[test]
    fn the_simulated_krum_is_krum(
        scene in scenes(4..12),
        lambda in 0.0..2.0_f32,
        n_copies in 1..5_usize,
        squared: bool,
        neighbours in prop_oneof![
            (1..4_u32).prop_map(|n| Some(Neighbours::Fixed(n))),
            Just(Some(Neighbours::Counted(Counted::All))),
            Just(None),
        ],
    ) {
        let attack = FangKrum { squared, neighbours, ..FangKrum::default() };
        let (own, honest) = scene.split(1);
        let search = attack.search(&scene.seen(1, Knowledge::Full), own);
        let crafted = geometry::to_f32(search.direction.iter().map(|sign| f64::from(lambda) * sign));
        let rows: Vec<&[f32]> = std::iter::repeat_n(&crafted[..], n_copies).chain(honest.iter()).collect();
        let n_neighbours = match neighbours {
            None => honest.len().saturating_sub(2).max(1),
            Some(Neighbours::Fixed(neighbours)) => neighbours as usize,
            Some(Neighbours::Counted(_)) => honest.len(),
        };
        let n_neighbours = n_neighbours.min(rows.len() - 1);
        prop_assert_eq!(search.pick(f64::from(lambda), n_copies), krum(&rows, n_neighbours, squared));
    }

    #[test]
    fn krum_picks_what_fang_sends(scene in scenes(7..12), m in 2..4_usize, squared: bool) {
        let mut attack = FangKrum { squared, ..FangKrum::default() };
        let (own, honest) = scene.split(m);
        let sent = scene.attacked(&mut attack, m, Knowledge::Full);
        let lambda = attack.search(&scene.seen(m, Knowledge::Full), own).with_full_knowledge(m);
        if lambda.is_some() {
            let rows: Vec<&[f32]> = sent.iter().map(Vec::as_slice).chain(honest.iter()).collect();
            prop_assert_eq!(krum(&rows, honest.len() - 2, squared), 0);
            let mean = geometry::mean_of(Rows::new(&scene.values, scene.n_params()));
            prop_assert!(sent[0].iter().zip(&mean).all(|(&sent, mean)| f64::from(sent) * mean <= 0.0));
        } else {
            prop_assert_eq!(sent.concat(), &scene.values[..m * scene.n_params()], "honest after all");
        }
    }

    #[test]
    fn min_max_and_min_sum_go_as_far_as_they_may(
        scene in scenes(6..12),
        knowledge in select(&KNOWLEDGE),
        direction in select(&PERTURBATIONS),
    ) {
        let rows = scene.seen(3, knowledge).typical(scene.split(3).0);
        let sent = |attack: &mut dyn Adversary| scene.attacked(attack, 3, knowledge).swap_remove(0);
        let farthest = |point: &[f32]| rows.iter().map(|row| apart(row, point)).fold(0.0, f64::max);
        let diameter = rows.iter().map(farthest).fold(0.0, f64::max);
        let by_max = farthest(&sent(&mut MinMax { direction }));
        prop_assert!((by_max - diameter).abs() < 1e-5, "{} for {}", by_max, diameter);
        let sum = |point: &[f32]| rows.iter().map(|row| apart(row, point).powi(2)).sum::<f64>();
        let (by_sum, largest) = (sum(&sent(&mut MinSum { direction })), rows.iter().map(sum).fold(0.0, f64::max));
        prop_assert!((by_sum - largest).abs() < 1e-4, "{} for {}", by_sum, largest);
    }

    #[test]
    fn hidden_attacks_point_away_from_the_mean(scene in scenes(6..12), knowledge in select(&KNOWLEDGE), at in 0..4_usize) {
        let attack: &mut dyn Adversary = match at {
            0 => &mut InnerProduct { scale: 0.3 },
            1 => &mut MinMax { direction: Perturbation::Unit },
            2 => &mut MinSum { direction: Perturbation::Sign },
            _ => &mut MinSum { direction: Perturbation::Unit },
        };
        let sent = &scene.attacked(attack, 3, knowledge)[0];
        let mean = geometry::mean_of(scene.seen(3, knowledge).typical(scene.split(3).0));
        let product = |row: &[f32]| row.iter().zip(&mean).map(|(&sent, mean)| f64::from(sent) * mean).sum::<f64>();
        let square = squared_norm(mean.iter().copied());
        if at == 0 {
            prop_assert!((product(sent) + 0.3 * square).abs() < 1e-5);
        } else {
            prop_assert!(product(sent) <= square + 1e-6);
        }
    }

    #[test]
    fn a_drift_hides_in_the_crowd(scene in scenes(6..12), reach in 0.0..1.0_f64, by in 0..3_usize, at in 0..3_usize) {
        let direction = [DriftDirection::AgainstModel, DriftDirection::AgainstMean, DriftDirection::Fixed][at];
        let spread = [Spread::Least, Spread::Median, Spread::Deviation][by];
        let mut drift = Drift { reach, spread, direction, ..Drift::default() };
        let sent = &scene.attacked(&mut drift, 2, Knowledge::Full)[0];
        let honest = scene.split(2).1;
        let mean = geometry::to_f32(geometry::mean_of(honest));
        let hidden = honest.iter().filter(|row| apart(row, &mean) >= apart(sent, &mean) - 1e-6).count();
        // With deviations it is the root mean square that cannot be exceeded.
        let enough = [honest.len(), honest.len().div_ceil(2), 1][by];
        prop_assert!(hidden >= enough, "{} of {}", hidden, honest.len());
    }
}

#[test]
fn a_drift_lasts() {
    let scenes = [
        Scene { global: vec![3.0, 4.0], values: vec![1.0, 0.0, 0.0, 1.0, 2.0, 1.0, 0.0, 3.0] },
        Scene { global: vec![3.0, 4.0], values: vec![0.0, 5.0, 1.0, 1.0, -2.0, 1.0, 4.0, -3.0] },
    ];
    let ways = |direction: DriftDirection, memory: f64| {
        let mut adversary = Drift { reach: 1.0, spread: Spread::Median, direction, memory };
        let mut remembered = Vec::new();
        [0, 1].map(|round| {
            let scene = &scenes[round];
            let sent = scene.attacked_in(round as u32, &mut adversary, 1, Knowledge::Full, &mut remembered);
            let mean = geometry::mean_of(scene.split(1).1);
            min_max::unit(sent[0].iter().zip(&mean).map(|(&sent, mean)| f64::from(sent) - mean).collect())
        })
    };
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    let model = ways(DriftDirection::AgainstModel, 1.0);
    assert!(near(&model[0], &[-0.6, -0.8]) && near(&model[1], &[-0.6, -0.8]), "{model:?}");
    let fixed = ways(DriftDirection::Fixed, 1.0);
    assert!(near(&fixed[0], &fixed[1]) && !near(&fixed[0], &model[0]), "{fixed:?}");
    // Honest means are (2/3, 5/3) and (1, -1/3): forgotten at once, or remembered with weights 1/2 and 1/4.
    let forgetful = ways(DriftDirection::AgainstMean, 1.0);
    assert!(near(&forgetful[1], &min_max::unit(vec![-1.0, 1.0 / 3.0])), "{forgetful:?}");
    let patient = ways(DriftDirection::AgainstMean, 2.0);
    let remembered = min_max::unit(vec![-(1.0 / 6.0 + 0.5), -(5.0 / 12.0 - 1.0 / 6.0)]);
    assert!(near(&patient[1], &remembered), "{patient:?} instead of {remembered:?}");
}

#[test]
fn parameters_out_of_range_have_a_name() {
    let check = |method: &str| {
        let text = format!("{{\"attackers\": 1, \"method\": {method}}}");
        serde_json::from_str::<Attackers>(&text).expect(method).check().map_err(|bad| bad.to_string())
    };
    let bad = [
        (r#"{"kind": "fang-krum", "threshold": 0}"#, "threshold = 0 must be positive and finite"),
        (r#"{"kind": "fang-krum", "start": -1}"#, "start = -1 must be positive and finite"),
        (r#"{"kind": "fang-trim", "factor": 0.5}"#, "factor = 0.5 must be at least 1 and finite"),
        (r#"{"kind": "inner-product", "scale": 0}"#, "scale = 0 must be positive and finite"),
        (r#"{"kind": "negation", "z": 0}"#, "z = 0 must be positive and finite"),
        (r#"{"kind": "drift", "reach": -1}"#, "reach = -1 must be at least 0 and finite"),
        (r#"{"kind": "drift", "memory": 0.5}"#, "memory = 0.5 must be at least 1 round and finite"),
        (r#"{"kind": "adaptive-drift", "rounds": 0}"#, "rounds = 0 must be at least 1"),
        (r#"{"kind": "adaptive-drift", "whitening": 1.5}"#, "whitening = 1.5 must be from 0 to 1"),
        (r#"{"kind": "adaptive-drift", "promotion": {"feature": 0}}"#, "feature = 0 must be a feature, counted from 1"),
        (r#"{"kind": "patient", "length": 0}"#, "length = 0 must be positive and finite"),
        (r#"{"kind": "promotion", "feature": 0}"#, "feature = 0 must be a feature, counted from 1"),
        (r#"{"kind": "promotion", "feature": 1, "quantile": 2}"#, "quantile = 2 must be from 0 to 1"),
        (r#"{"kind": "promotion", "feature": 1, "boost": 0}"#, "boost = 0 must be positive and finite"),
    ];
    for (method, message) in bad {
        assert_eq!(check(method), Err(message.to_owned()));
    }
    assert!(serde_json::from_str::<Attack>(r#"{"kind": "lie", "zz": 1}"#).is_err(), "unknown keys are refused");
}
