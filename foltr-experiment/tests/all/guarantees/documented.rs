//! The tables of `docs/privacy.md`, written from the plans that the checks accept.

use std::path::Path;

use foltr_federation::{Guarantee, ObserverGuarantee};

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

fn pair(guarantee: Option<Guarantee>) -> String {
    guarantee.map_or_else(|| "nothing".into(), |it| format!("{:.2}", it.epsilon))
}

fn whole_run(observer: &ObserverGuarantee) -> String {
    pair(observer.run)
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
        for (participation, key) in PARTICIPATIONS {
            let file = || with(base(mechanism, privacy), key.as_slice());
            let Some(plain) = accepted(&file()) else { continue };
            let of = |experiment: &Experiment| experiment.plan().guarantee(N_PARAMS, DELTA).expect("a plan");
            let stated = of(&plain);
            let [server, others, _] = stated.observers.as_slice() else { panic!("three observers") };
            let adjacency = stated.adjacency.map_or("-", short);
            let retrained =
                accepted(&forgetting(file(), UNLEARNINGS[0])).map(|experiment| of(&experiment).observers[1]);
            let (stays, left) =
                retrained.map_or(("refused".into(), "refused".into()), |it| (whole_run(&it), pair(it.run_of_leavers)));
            table += &row(&[
                &format!("`{mechanism}`").replace(", adaptive norm`", "`, adaptive norm"),
                mode,
                participation,
                adjacency,
                &whole_run(server),
                &whole_run(others),
                &stays,
                &left,
            ]);
        }
    }
    table
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
        let name = format!("`{mechanism}`").replace(", adaptive norm`", "`, adaptive norm");
        table += &row(&[&name, mode, &names(true), &ways, &names(false)]);
    }
    table
}
