use std::path::Path;

use foltr_client::Document as _;

use super::*;
use crate::catalogue::{DocumentRecord, FileId};
use crate::history::Use;
use crate::index::Matches;

fn document() -> DocumentRecord {
    DocumentRecord {
        file: FileId(1),
        part: String::new(),
        kind: Kind::Markdown,
        title: "Red Boats".into(),
        changed: 0,
        n_words: 0,
        language: None,
    }
}

fn value(name: &str, seen: &Seen<'_>) -> f32 {
    let mut values = Vec::new();
    append(seen, &mut values);
    values[position(name).expect("a feature")]
}

#[test]
fn names_are_different_and_values_fit_their_kinds() {
    let schema = schema();
    assert!((38..=48).contains(&schema.features.len()), "about forty");
    let mut names: Vec<_> = FEATURES.iter().map(|it| it.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FEATURES.len());
    let (document, matches, usage, moment) = (document(), Matches::default(), Use::default(), Moment::default());
    let path = PathFacts::default();
    let seen =
        Seen { moment: &moment, document: &document, file: Path::new("/x"), matches: &matches, usage: &usage, path };
    let mut values = Vec::new();
    append(&seen, &mut values);
    for (feature, value) in FEATURES.iter().zip(values) {
        assert!(value.is_finite(), "{}", feature.name);
        assert!(feature.kind != FeatureKind::Flag || value == 0.0 || value == 1.0, "{}", feature.name);
    }
}

#[test]
fn features_by_hand() {
    let recent = [("/home/notes/a.md".into(), None)];
    let moment = Moment::new(7 * 86_400, "red  boats", &recent);
    let (document, matches) = (document(), Matches { window: Some(4), ..Matches::default() });
    let usage = Use { n_openings: 1, last: Some(0), frecency: 0.5, n_same_query: 0, similar_query: 0.5 };
    let file = Path::new("/home/notes/trips/red_boats.md");
    let path = PathFacts::new(file, Some(Path::new("/home")), &moment);
    let seen = Seen { moment: &moment, document: &document, file, matches: &matches, usage: &usage, path };
    for (name, expected) in [
        ("title-is", 1.0),
        ("name-is", 1.0),
        ("opened-week", 0.5),
        ("changed-day", 1.0 / 8.0),
        ("depth", 2.0),
        ("near-opened", 0.5),
        ("openings", 2.0_f32.ln()),
        ("is-note", 1.0),
        ("is-mail", 0.0),
    ] {
        assert!((value(name, &seen) - expected).abs() < 1e-6, "{name}: {}", value(name, &seen));
    }
}

/// The table of `docs/agent.md`; written by `FOLTR_WRITE_DOCS=1`.
#[test]
fn the_manual_has_all_features_and_their_hash() {
    let row = |it: &Feature| format!("| `{}` | {} |\n", it.name, it.words);
    let rows: String = FEATURES.iter().map(row).collect();
    let hash = schema().hash().expect("a sound schema");
    let table = format!("| feature | what it says |\n|---|---|\n{rows}\nTheir schema has the hash `{hash}`.\n");
    let path = foltr_test::workspace().join("docs/agent.md");
    let text = std::fs::read_to_string(&path).expect("the manual");
    let (begin, end) = ("<!-- features -->\n", "<!-- end of features -->");
    let (before, rest) = text.split_once(begin).expect("a mark where the table begins");
    let (written, after) = rest.split_once(end).expect("a mark where it ends");
    if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{begin}{table}{end}{after}")).expect("written");
    } else {
        assert_eq!(written, table, "FOLTR_WRITE_DOCS=1 cargo test -p foltr-agent the_manual writes it");
    }
}
