//! The tables of `docs/privacy.md`, written from the plans that the checks accept.

use std::path::Path;

use foltr_federation::Guarantee;

use super::sections::SECTIONS;
use super::*;

const BEGIN: &str =
    "<!-- Written by a test of foltr-experiment: what the checks accept, and what the plan then guarantees. -->\n";
const END: &str = "<!-- End of what is written. -->\n";

const N_PARAMS: usize = 46;

#[test]
fn the_documentation_has_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/privacy.md");
    let written = std::fs::read_to_string(&path).expect("docs/privacy.md");
    let (before, rest) = written.split_once(BEGIN).expect("the beginning of the tables");
    let (tables, after) = rest.split_once(END).expect("the end of the tables");
    let new = format!("{}\n{}", guarantees(), beside());
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, [before, BEGIN, &new, END, after].concat()).expect("docs can be written");
        return;
    }
    assert!(tables == new, "docs/privacy.md is out of date: run this test with FOLTR_WRITE_DOCS=1");
}

fn row(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn epsilon(guarantee: Option<Guarantee>) -> String {
    guarantee.map_or_else(|| "nothing".into(), |it| format!("{:.2}", it.epsilon))
}

/// Mechanism, mode, participation: which runs are compared, what holds for a run, and after one request to forget.
fn guarantees() -> String {
    let header = [
        "mechanism",
        "mode",
        "who takes part",
        "adjacent runs",
        "against the server",
        "against others",
        "after a retraining: who stays",
        "who left",
    ];
    let mut table = row(&header) + &row(&["---"; 8]);
    for (mechanism, mode, privacy) in MECHANISMS {
        let mut groups: Vec<(Vec<&str>, [String; 5])> = Vec::new();
        for (participation, key) in PARTICIPATIONS {
            let Some(cells) = cells(&with(base(mechanism, privacy), key.as_slice())) else { continue };
            match groups.iter_mut().find(|(_, known)| *known == cells) {
                Some((names, _)) => names.push(participation),
                None => groups.push((vec![participation], cells)),
            }
        }
        for (names, [adjacency, server, others, stays, left]) in groups {
            let who = names.join("; ");
            table += &row(&[&code(mechanism), mode, &who, &adjacency, &server, &others, &stays, &left]);
        }
    }
    table
}

/// Adjacency, against the server, against others, and after a retraining; nothing where the file is refused.
fn cells(file: &ExperimentFile) -> Option<[String; 5]> {
    let of = |experiment: &Experiment| experiment.plan().guarantee(N_PARAMS, DELTA).expect("a plan");
    let stated = of(&accepted(file)?);
    let retrained = accepted(&forgetting(file.clone(), UNLEARNINGS[0])).expect("everything can be trained again");
    let replayed = of(&retrained).observers[1];
    Some([
        stated.adjacency.map_or("-", short).into(),
        epsilon(stated.observers[0].run),
        epsilon(stated.observers[1].run),
        epsilon(replayed.run),
        epsilon(replayed.run_of_leavers),
    ])
}

fn code(mechanism: &str) -> String {
    format!("`{mechanism}`").replace(", adaptive norm`", "`, adaptive norm")
}

const fn short(adjacency: foltr_federation::privacy::Adjacency) -> &'static str {
    use foltr_federation::privacy::Adjacency::*;
    match adjacency {
        Removed => "one client added or removed",
        Replaced => "another client in the place of one",
        Zeroed => "zero in place of one client's updates",
        OtherClicks => "other queries and clicks of one client",
    }
}

/// What may stand beside a mechanism without a change of its guarantee, and what is refused.
fn beside() -> String {
    let mut table = row(&["mechanism", "mode", "accepted beside it", "ways to forget", "refused beside it"]);
    table += &row(&["---"; 5]);
    for (mechanism, mode, privacy) in MECHANISMS {
        let is_accepted = |keys: &[(&str, &str)]| accepted(&with(base(mechanism, privacy), keys)).is_some();
        let others = || SECTIONS.iter().filter(|(name, _)| !name.starts_with("clients.") && *name != "retrain");
        let names = |wanted: bool| {
            let chosen = others().filter(|(_, keys)| is_accepted(keys) == wanted);
            chosen.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        let ways = UNLEARNINGS.iter().filter(|way| accepted(&forgetting(base(mechanism, privacy), **way)).is_some());
        let ways = ways.map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        table += &row(&[&code(mechanism), mode, &names(true), &ways, &names(false)]);
    }
    table
}
