//! What documents say about the program.

use std::fmt::Write as _;

use crate::problem::Name;

const BEGIN: &str = "<!-- problems -->\n";
const END: &str = "<!-- end of problems -->";

/// The table of refusals in `docs/operate.md`; written anew with `FOLTR_WRITE_DOCS`.
#[test]
fn every_refusal_is_documented() {
    let path = foltr_test::workspace().join("docs/operate.md");
    let text = std::fs::read_to_string(&path).expect("the document");
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the table");
    let (table, after) = rest.split_once(END).expect("its end");
    let mut expected = String::from("\n| name | status | meaning |\n|---|---|---|\n");
    for name in Name::ALL {
        writeln!(expected, "| `{}` | {} | {} |", name.name(), name.status(), name.meaning()).expect("a string");
    }
    expected.push('\n');
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(&path, [before, BEGIN, &expected, END, after].concat()).expect("written");
        return;
    }
    assert_eq!(table, expected, "docs/operate.md: write it anew with FOLTR_WRITE_DOCS=1");
}

#[test]
fn the_default_plan_is_sound_and_promises_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("plan.toml"), include_str!("../command/init/plan.toml")).expect("written");
    let source = crate::plan_file::read(folder.path()).expect("a sound plan");
    assert_eq!(source.initial().expect("zeros").len(), 46);
    let federation = source.plan.federation();
    let guarantee = federation.guarantee(46, 1e-6).expect("a guarantee");
    assert_eq!(guarantee.rounds, 200);
    let run = guarantee.observers.last().and_then(|observer| observer.run).expect("a promise");
    assert!(run.epsilon <= 4.5 && run.delta <= 1e-6, "{run:?}");
}
