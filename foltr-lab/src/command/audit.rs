//! `foltr audit`: do the privacy labels hold?

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{End, make_folder};
use crate::audit::{self, Audit, Effort, Finding, figure};
use crate::data::DATA_VARIABLE;
use crate::plot;
use crate::table::table;

/// Runs the audit, prints its table, and writes its files into a folder if one is given.
///
/// # Errors
/// If data cannot be read or a file cannot be written.
pub fn run(out: Option<&Path>, seed: u64) -> Result<End> {
    let started = Instant::now();
    if let Some(folder) = out {
        make_folder(folder)?;
    }
    let bar = progress_bar();
    let found = audit::run(seed, Effort::FULL, &bar)?;
    bar.finish_and_clear();
    println!("{}", told(&found));
    if !found.is_real_data {
        println!("MQ2008 was not found here or below {DATA_VARIABLE}: clicks were recovered from generated lists");
    }
    println!("lists of {}; {:.1} s", found.data_name, started.elapsed().as_secs_f64());
    if let Some(folder) = out {
        write(&found, folder)?;
    }
    Ok(if found.has_failed() { End::Failed } else { End::Done })
}

/// A bar on standard error; hidden when that is not a terminal.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar:.cyan/238} {percent:>3} %  {elapsed} + {eta}  {msg:50}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)).with_style(style)
}

fn told(found: &Audit) -> String {
    let row = |finding: &Finding| {
        vec![
            finding.mechanism.clone(),
            finding.expected.name().into(),
            finding.verdict.name().into(),
            format!("{:.4}", finding.claimed),
            format!("{:.4}", finding.lower_bound),
        ]
    };
    let header = ["mechanism", "expected", "verdict", "claimed", "lower bound"];
    table(&header, 3, found.findings.iter().map(row).collect())
}

/// Writes verdicts, the table of inversions and figures into a folder that exists; says where they are.
///
/// # Errors
/// If a file cannot be written.
pub fn write(found: &Audit, folder: &Path) -> Result<()> {
    let path = folder.join("audit.json");
    let text = serde_json::to_string_pretty(&found.findings)? + "\n";
    std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    println!("verdicts:  {}", path.display());
    let path = folder.join("inversion.csv");
    let mut csv = csv::Writer::from_path(&path).with_context(|| format!("{} cannot be written", path.display()))?;
    for inversion in &found.inversions {
        csv.serialize(inversion)?;
    }
    csv.flush()?;
    println!("inversion: {}", path.display());
    let (svg, png) = plot::write(&figure::svg(found), &folder.join("audit"))?;
    println!("figure:    {}\n           {}", svg.display(), png.display());
    Ok(())
}
