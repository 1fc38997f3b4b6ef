//! All people, collections and rankers of `docs/campaigns/refinding-users.md`, as a report in Markdown.

use anyhow::Result;
use foltr_agent::feature::FEATURES;

use super::choosing::{other, with_frecency};
use super::fit::{fit, reciprocal};
use super::measure::{ALL, LATER, Mean, WINDOWS, differences, window};
use super::wish::{Variant, wishes};
use super::world::{Run, System, World};

pub const SEARCHES: usize = 500;
/// Chosen by `choose`.
pub const FRECENCY: f32 = 0.4;

pub fn systems() -> Vec<System> {
    let alone = foltr_agent::agent::alone();
    let (rate, length) = (alone.learner.learning_rate, alone.list_length);
    let free = System { alone: other(rate, None, length, 1.0), ..System::agent("agent, any displacement") };
    vec![
        System::fixed("BM25", &[("bm25", 1.0)]),
        with_frecency(FRECENCY),
        System::prior("prior"),
        System { keeps_lists: true, ..System::agent("agent") },
        free,
    ]
}

pub fn run(n_people: u64) -> Result<()> {
    let worlds = super::judged()?;
    let systems = systems();
    let mut verdicts = Vec::new();
    for world in &worlds {
        for variant in Variant::JUDGED {
            let jobs: Vec<(usize, u64)> =
                (1..=n_people).flat_map(|seed| (0..systems.len()).map(move |at| (at, seed))).collect();
            let runs = super::in_parallel(&jobs, |&(at, seed)| {
                let wishes = wishes(&world.collection, variant, seed, SEARCHES);
                world.run(&systems[at], &wishes, seed)
            })?;
            let of_system = |at: usize| -> Vec<&Run> { runs.iter().skip(at).step_by(systems.len()).collect() };
            println!("\n### {}, `{}`\n", world.collection.name, variant.name());
            println!("| ranker | 1-20 | 21-100 | 101-200 | 401-500 |\n|---|---|---|---|---|");
            for (at, system) in systems.iter().enumerate() {
                row(&system.name, &of_system(at).iter().map(|it| it.reciprocal.clone()).collect::<Vec<_>>());
            }
            in_hindsight(&of_system(3));
            verdicts.push(verdict(world, variant, &of_system));
        }
    }
    println!(
        "\n### Criteria\n\n| collection | person | prior - BM25, all | agent - BM25 and frecency, 101-500 | agent - prior, 101-500 |\n|---|---|---|---|---|"
    );
    verdicts.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Other weights of frecency, to see what the choice has cost the baseline.
pub fn frecency(n_people: u64) -> Result<()> {
    let systems = [0.2, FRECENCY, 0.8, 1.6].map(with_frecency);
    let names = systems.each_ref().map(|it| it.name.as_str()).join(" | ");
    println!("| collection | person | {names} |\n|---|---|---|---|---|---|");
    for world in &super::judged()? {
        for variant in Variant::JUDGED {
            let jobs: Vec<(usize, u64)> =
                (0..systems.len()).flat_map(|at| (1..=n_people).map(move |seed| (at, seed))).collect();
            let runs = super::in_parallel(&jobs, |&(at, seed)| {
                let wishes = wishes(&world.collection, variant, seed, SEARCHES);
                Ok(window(&world.run(&systems[at], &wishes, seed)?.reciprocal, LATER))
            })?;
            let means = runs.chunks(n_people as usize).map(|of| format!("{:.3}", Mean::of(of).mean));
            println!("| {} | {} | {} |", world.collection.name, variant.name(), means.collect::<Vec<_>>().join(" | "));
        }
    }
    Ok(())
}

fn row(name: &str, people: &[Vec<f64>]) {
    let cell = |limits| {
        let Mean { mean, error, .. } = Mean::of(&people.iter().map(|it| window(it, limits)).collect::<Vec<_>>());
        format!("{mean:.3} ± {error:.3}")
    };
    println!("| {name} | {} |", WINDOWS.map(cell).join(" | "));
}

/// The agent's own lists, ranked by its last weights without chance, and by the best weights for all lists of the person.
fn in_hindsight(agent: &[&Run]) {
    let by = |weights: &dyn Fn(&Run) -> Vec<f32>| -> Vec<Vec<f64>> {
        let of = |run: &&Run| {
            let weights = weights(run);
            run.lists.iter().map(|list| reciprocal(list, &weights)).collect()
        };
        agent.iter().map(of).collect()
    };
    row("its lists: the weights at the end, no chance", &by(&|run| run.weights.clone()));
    row("its lists: the best weights in hindsight", &by(&|run| fit(&run.lists, 1e-4, &|_| true)));
    let mut first = vec![0.0; FEATURES.len()];
    first.copy_from_slice(&foltr_agent::prior::model());
    row("its lists: the prior, no chance", &by(&|_| first.clone()));
    let found =
        |run: &&Run| vec![run.lists.iter().filter(|it| it.target.is_some()).count() as f64 / run.lists.len() as f64];
    let share = Mean::of(&agent.iter().flat_map(found).collect::<Vec<_>>());
    println!(
        "\nThe document that is wanted is among those that are ranked in {:.1} % of the searches.",
        100.0 * share.mean
    );
}

fn verdict<'a>(world: &World, variant: Variant, of_system: &dyn Fn(usize) -> Vec<&'a Run>) -> String {
    let of =
        |at: usize, limits| -> Vec<f64> { of_system(at).iter().map(|it| window(&it.reciprocal, limits)).collect() };
    let cell = |a: usize, b: usize, limits| {
        let difference = Mean::of(&differences(&of(a, limits), &of(b, limits)));
        format!("{:+.3} ± {:.3}", difference.mean, difference.half_interval())
    };
    let name = world.collection.name;
    format!("| {name} | {} | {} | {} | {} |", variant.name(), cell(2, 0, ALL), cell(3, 1, LATER), cell(3, 2, LATER))
}
