//! `foltr audit`: do the privacy labels hold?

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result};

use serde::Serialize;

use super::{End, WrongUsage, audit_figure};
use crate::output::{self, chat, say};
use crate::progress::Progress;
use crate::timestamp::timestamp;
use foltr_audit::inversion::Inversion;
use foltr_audit::power::{self, Detection};
use foltr_audit::{Audit, AuditBudget, Finding, Scene};
use foltr_experiment::collection::Collection;
use foltr_experiment::data::DATA_VARIABLE;
use foltr_experiment::store::lock_folder;
use foltr_report::plot;
use foltr_report::table::table;

#[derive(Serialize)]
struct Answer<'a> {
    findings: &'a [Finding],
    inversions: &'a [Inversion],
    lists_of: &'a str,
    is_real_data: bool,
    seconds: f64,
    files: Vec<&'a Path>,
}

/// Runs all rows, or those whose name has `only` in it.
pub fn run(out: Option<&Path>, seed: u64, only: Option<&str>) -> Result<End> {
    let started = Instant::now();
    let only = only.unwrap_or_default();
    check_only(only)?;
    let _lock = out.map(lock_folder).transpose()?;
    let progress = Progress::of_steps();
    let audit = foltr_audit::run(scene(seed)?, seed, AuditBudget::FULL, only, progress.bar());
    drop(progress);
    let written = out.map(|folder| write(&audit, folder)).transpose();
    say(render(&audit));
    say(format_args!("detects: the smallest error that 19 of 20 audits refute, as measured on {}", power::date()));
    if !audit.is_real_data {
        say(format_args!(
            "MQ2008 was not found here or below {DATA_VARIABLE}: clicks were recovered from generated lists"
        ));
    }
    let seconds = started.elapsed().as_secs_f64();
    say(format_args!("lists of {}; {seconds:.1} s", audit.data_name));
    let files = written.as_ref().ok().and_then(Option::as_deref).unwrap_or_default();
    for (what, path) in files {
        chat(format_args!("{what:10} {}", path.display()));
    }
    output::answer(&Answer {
        findings: &audit.findings,
        inversions: &audit.inversions,
        lists_of: &audit.data_name,
        is_real_data: audit.is_real_data,
        seconds,
        files: files.iter().map(|(_, path)| path.as_path()).collect(),
    })?;
    written?;
    Ok(if audit.has_failed() { End::Failed } else { End::Done })
}

fn check_only(only: &str) -> Result<()> {
    let names = foltr_audit::names();
    if names.iter().any(|name| name.contains(only)) {
        return Ok(());
    }
    let likeness = |name: &&String| strsim::jaro_winkler(only, name);
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).map_or("", String::as_str);
    Err(WrongUsage(format!("--only `{only}`: no row of the audit has this in its name; one is `{nearest}`")).into())
}

/// Measures the smallest error that each row detects, and writes that into a folder or to standard output.
pub fn measure_power(out: Option<&Path>, seed: u64, only: Option<&str>) -> Result<End> {
    let only = only.unwrap_or_default();
    check_only(only)?;
    let _lock = out.map(lock_folder).transpose()?;
    let scene = scene(seed)?;
    let show = |it: &Detection| output::progress(format_args!("{}: {}", it.row, it.error.as_deref().unwrap_or("-")));
    let time = timestamp(SystemTime::now());
    let today = time.split('T').next().unwrap_or_default();
    let detections = power::measure(&scene, seed, only, show);
    let text = power::text(&detections, today, &scene.name);
    match out {
        None => say(text.trim_end()),
        Some(folder) => {
            let path = folder.join("audit-power.md");
            let written = std::fs::write(&path, &text);
            if written.is_err() {
                say(text.trim_end());
            }
            written.with_context(|| format!("{} cannot be written", path.display()))?;
            chat(format_args!("detectable errors: {}", path.display()));
        }
    }
    output::answer(&detections)?;
    Ok(End::Done)
}

/// MQ2008 where it is found, else generated data of its shape.
fn scene(seed: u64) -> Result<Scene> {
    let collection = Collection::named("mq2008").and_then(Collection::find).context("MQ2008")?.only_folds(&[1]);
    let (_, fold) = collection.load()?.into_iter().next().context("no fold")?;
    let mut scene = Scene::new(collection.name, fold.train, seed)?;
    scene.is_real = collection.is_the_papers;
    Ok(scene)
}

fn render(audit: &Audit) -> String {
    let row = |finding: &Finding| {
        vec![
            finding.mechanism.clone(),
            finding.expected.name(),
            finding.verdict.name(),
            format!("{:.4}", finding.claimed),
            format!("{:.4}", finding.lower_bound),
            finding.detects.clone().unwrap_or_default(),
        ]
    };
    let header = ["mechanism", "expected", "verdict", "claimed", "lower bound", "detects"];
    table(&header, 3, audit.findings.iter().map(row).collect())
}

/// Writes what was found; returns what is in which file.
fn write(audit: &Audit, folder: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    let verdicts = folder.join("audit.json");
    let text = serde_json::to_string_pretty(&audit.findings)? + "\n";
    std::fs::write(&verdicts, text).with_context(|| format!("{} cannot be written", verdicts.display()))?;
    let path = folder.join("inversion.csv");
    let mut csv = csv::Writer::from_path(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    for inversion in &audit.inversions {
        csv.serialize(inversion)?;
    }
    csv.flush()?;
    let [svg, png, _] = plot::write(&audit_figure::svg(audit), &folder.join("audit"))?;
    Ok(vec![("verdicts:", verdicts), ("inversion:", path), ("figure:", svg), ("", png)])
}

#[cfg(test)]
mod tests {
    use foltr_audit::inversion::Inversion;
    use foltr_audit::{Expected, Part, Verdict};
    use serde_json::Value;

    use super::*;

    /// A claim that holds and a control that is caught.
    fn fabricated() -> Audit {
        let finding = |expected, lower_bound| Finding {
            mechanism: "Gaussian".into(),
            claimed: 1.0,
            lower_bound,
            expected,
            verdict: Verdict::of(expected, 1.0, lower_bound),
            part: Part::Epsilon,
            what: "events".into(),
            unit: "epsilon".into(),
            samples: 1000,
            detects: None,
        };
        let inversion = |n_interactions| Inversion {
            view: "messages".into(),
            n_interactions,
            n_clients: 20,
            recovered: 0.9,
            lower_limit: 0.7,
            chance: 0.1,
            expected: Expected::Broken,
            is_judged: true,
        };
        Audit {
            findings: vec![finding(Expected::Sound, 0.9), finding(Expected::Broken, 1.4)],
            inversions: vec![inversion(1), inversion(4)],
            data_name: "generated".into(),
            is_real_data: false,
        }
    }

    #[test]
    fn files_have_their_form() {
        let folder = tempfile::tempdir().expect("a folder");
        write(&fabricated(), folder.path()).expect("written");
        let text = std::fs::read_to_string(folder.path().join("audit.json")).expect("written");
        let rows: Vec<Value> = serde_json::from_str(&text).expect("a list");
        let verdicts: Vec<_> = rows.iter().map(|row| (row["expected"].as_str(), row["verdict"].as_str())).collect();
        assert_eq!(verdicts, [(Some("sound"), Some("sound")), (Some("broken"), Some("caught"))]);
        // The keys that a reader looks for come first.
        let places = ["mechanism", "claimed", "lower_bound", "expected", "verdict", "part"].map(|key| text.find(key));
        assert!(places.windows(2).all(|pair| pair[0].is_some() && pair[0] < pair[1]), "{places:?}");
        let table = std::fs::read_to_string(folder.path().join("inversion.csv")).expect("written");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "view,n_interactions,n_clients,recovered,lower_limit,chance");
        assert_eq!(lines[2], "messages,4,20,0.9,0.7,0.1");
        for name in ["audit.svg", "audit.png"] {
            assert!(folder.path().join(name).metadata().is_ok_and(|file| file.len() > 1000), "{name}");
        }
    }
}
