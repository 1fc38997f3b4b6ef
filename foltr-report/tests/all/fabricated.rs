//! Made-up results with known numbers: 2 data sets x 3 kinds of users x 4 methods, 5 seeds each.

use foltr_report::report::{Fact, Measure, MeasureOf, Report, SettingResult};
use foltr_report::statistics::Estimate;

/// A label that would run, were it not escaped.
pub const HOSTILE: &str = r#"<script>window.hostile=1</script>"'&</title>"#;

/// Methods from the best to the worst; the first is the baseline.
pub const METHODS: [&str; 4] = ["Centralised PDGD", "FPDGD + server momentum", "FPDGD", HOSTILE];
/// Kinds of users.
pub const USERS: [&str; 3] = ["perfect", "navigational", "informational"];
/// Data sets.
pub const DATA: [&str; 2] = ["MQ2007", "MSLR-WEB10K"];

/// A number between -0.5 and 0.5 that looks drawn, the same everywhere.
fn noise(key: usize) -> f64 {
    let mixed = (key as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

/// Final value of a method (0 the best) with a seed: methods are 0.05 apart, seeds shift all methods alike.
pub fn final_value(data: usize, users: usize, method: usize, seed: u64) -> f64 {
    let level = 0.78 - 0.05 * method as f64 - 0.03 * users as f64 - 0.2 * data as f64;
    level + 0.02 * noise(seed as usize) + 0.002 * noise(31 * method + seed as usize)
}

/// All of it; `n_rounds` points a curve.
pub fn report(n_rounds: usize) -> Report {
    let places = (0..DATA.len()).flat_map(|data| (0..USERS.len()).map(move |users| (data, users)));
    let settings =
        places.flat_map(|(data, users)| (0..METHODS.len()).map(move |method| setting(data, users, method, n_rounds)));
    let measure = |name: &str, of| Measure { name: name.into(), of, less_is_better: false };
    Report {
        title: "Federated online learning to rank".into(),
        facts: vec![
            Fact::new("Data", "MQ2007, MSLR-WEB10K"),
            Fact::new("Users", "cascade: perfect, navigational, informational"),
            Fact::new("Methods", METHODS.join(", ")),
            Fact::new("Runs", "120: 24 settings x 5 seeds"),
            Fact::new("Budget", "400 000 interactions a run"),
        ],
        axes: ["data.folder", "users.preset", "method"].map(str::to_owned).to_vec(),
        measures: vec![
            measure("test-ndcg@10", MeasureOf::FinalRanker),
            measure("online-ndcg@10, discounted sum", MeasureOf::ShownLists),
        ],
        metrics: vec!["test-ndcg@10".into(), "online-ndcg@10".into()],
        settings: settings.collect(),
        n_planned: 120,
        resolved: format!("# {HOSTILE}\nseeds = [1, 2, 3, 4, 5]\n"),
        provenance: vec![Fact::new("Version", "0.1.0"), Fact::new("Code", "0123456789abcdef0123456789abcdef")],
        commands: vec!["foltr run resolved.toml --out again".into()],
    }
}

fn setting(data: usize, users: usize, method: usize, n_rounds: usize) -> SettingResult {
    let finals: Vec<f64> = (1..=5).map(|seed| final_value(data, users, method, seed)).collect();
    let course = |ceiling: f64| -> Vec<(usize, Estimate)> {
        let at = |round: usize| {
            let share = 1.0 - (-5.0 * round as f64 / n_rounds as f64).exp();
            let value = |last: &f64| 0.3 + (last * ceiling - 0.3) * share + 0.004 * noise(round + 1000 * method);
            Estimate::of(&finals.iter().map(value).collect::<Vec<f64>>()).expect("five values")
        };
        (0..=n_rounds).map(|round| (round, at(round))).collect()
    };
    SettingResult {
        labels: [DATA[data], USERS[users], METHODS[method]].map(|label| Some(label.to_owned())).to_vec(),
        method: "pdgd".into(),
        n_planned: Some(5),
        runs: (1..=5).map(|seed| (1, seed)).collect(),
        values: vec![finals.clone(), finals.iter().map(|value| 1800.0 * value).collect()],
        courses: vec![course(1.0), course(0.9)],
        clients: Vec::new(),
        interactions_per_round: Some(2000),
        experiment: format!("seeds = [1, 2, 3, 4, 5]\n\n[learner]\nkind = \"{}\"\n", METHODS[method]),
    }
}
