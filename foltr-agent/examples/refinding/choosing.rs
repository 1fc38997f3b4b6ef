//! Chooses what the agent learns with, and the weight of the baseline: on people of the kind `general`, none of whom is judged.

use anyhow::Result;
use foltr_agent::agent::alone;
use foltr_agent::prior;
use foltr_client::LocalLearning;

use super::measure::{Mean, window};
use super::wish::{Variant, wishes};
use super::world::{System, World};

const SEARCHES: usize = 300;
/// Neither those from whom the prior is learnt, nor those who are judged.
const FIRST: u64 = 20_000;
const FRECENCY: [f32; 5] = [0.1, 0.2, 0.4, 0.8, 1.6];

/// The learner with another rate, displacement and length of lists, and the prior times a number: 1/4 is the model as it was
/// fitted.
pub fn other(rate: f64, displacement: Option<usize>, list_length: usize, times: f32) -> LocalLearning {
    let mut other = LocalLearning { list_length, ..alone() };
    other.learner.learning_rate = rate;
    other.learner.max_displacement = displacement;
    other.model = Some(prior::model().iter().map(|weight| weight * times).collect());
    other
}

pub fn with_frecency(weight: f32) -> System {
    System::fixed(&format!("BM25 + {weight} frecency"), &[("bm25", 1.0), ("frecency", weight)])
}

fn systems() -> Vec<System> {
    let mut systems = vec![System::fixed("BM25", &[("bm25", 1.0)]), System::prior("prior")];
    systems.extend(FRECENCY.map(with_frecency));
    for (rate, displacement, length, times) in [
        (0.1, Some(2), 10, 0.25),
        (0.3, Some(2), 10, 0.25),
        (0.3, Some(1), 10, 0.25),
        (0.1, None, 10, 0.25),
        (0.1, Some(2), 10, 0.5),
        (0.3, Some(2), 10, 0.5),
        (1.0, Some(2), 10, 0.5),
        (0.1, Some(2), 10, 1.0),
        (0.3, Some(2), 10, 1.0),
        (1.0, Some(2), 10, 1.0),
        (1.0, Some(1), 10, 1.0),
        (0.3, Some(2), 20, 1.0),
    ] {
        let name = format!("agent: rate {rate}, displacement {displacement:?}, {length} places, prior times {times}");
        systems.push(System { alone: other(rate, displacement, length, times), ..System::agent(&name) });
    }
    systems
}

pub fn run(n_people: u64) -> Result<()> {
    let worlds: Vec<World> = super::learnt_from()?;
    let systems = systems();
    let people: Vec<(usize, u64)> =
        (0..worlds.len()).flat_map(|at| (FIRST..FIRST + n_people).map(move |seed| (at, seed))).collect();
    println!("| system | searches 1-20 | 21-100 | 101-300 |\n|---|---|---|---|");
    for system in &systems {
        let runs = super::in_parallel(&people, |&(at, seed)| {
            let wishes = wishes(&worlds[at].collection, Variant::General, seed, SEARCHES);
            Ok(worlds[at].run(system, &wishes, seed)?.reciprocal)
        })?;
        let of = |limits| {
            let values: Vec<f64> = runs.iter().map(|it| window(it, limits)).collect();
            let Mean { mean, error, .. } = Mean::of(&values);
            format!("{mean:.4} ± {error:.4}")
        };
        println!("| {} | {} | {} | {} |", system.name, of((0, 20)), of((20, 100)), of((100, 300)));
    }
    Ok(())
}
