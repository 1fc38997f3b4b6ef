//! `foltr scorecard`: the card as tables, heat maps and files.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use super::{End, STOP, catch_interrupts, make_folder};
use crate::data::DATA_VARIABLE;
use crate::execute::progress_bar;
use crate::plot;
use crate::scorecard::{self, Effort, Line, Promotion, RuleTime, Scorecard, breakdown_points, heat_maps};
use crate::table::table;

/// A defence holds as long as it keeps this much of clean.
const HOLDS: f64 = 0.9;

/// Makes a card, prints it, and writes its files into a folder if one is given.
///
/// # Errors
/// If a name is unknown, data cannot be read, or a file cannot be written.
pub fn run(effort: &Effort, with_times: bool, out: Option<&Path>) -> Result<End> {
    let started = Instant::now();
    if let Some(folder) = out {
        make_folder(folder)?;
    }
    catch_interrupts()?;
    let bar = progress_bar();
    let card = scorecard::run(effort, out, &bar, &STOP);
    bar.finish_and_clear();
    let card = card?;
    let times = if with_times && !card.interrupted { scorecard::rule_times(|_| {}) } else { Vec::new() };
    println!("{}", told(&card, &times));
    for name in &card.missing {
        println!("{name} was not found here or below {DATA_VARIABLE}, and is not on the card");
    }
    if let Some(folder) = out {
        write(&card, &times, folder)?;
    }
    println!("{:.1} s", started.elapsed().as_secs_f64());
    if card.interrupted {
        eprintln!("interrupted: finished runs are kept if a folder was given; the same command goes on from here");
        return Ok(End::Interrupted);
    }
    Ok(End::Done)
}

fn told(card: &Scorecard, times: &[RuleTime]) -> String {
    let mut text = String::new();
    let header =
        ["data", "users", "attackers", "defence", "clean loss", "worst", "of clean", "of gain", "worst attack"];
    text += &table(&header, 4, card.lines.iter().map(row).collect());
    let row = |(defence, share): (String, Option<f64>)| {
        vec![
            defence,
            share.map_or_else(|| "fails at the least share".into(), |share| format!("{:.0} %", 100.0 * share)),
        ]
    };
    text += &format!(
        "\nlargest share of attackers at which every worst case is at least {:.0} % of clean\n",
        100.0 * HOLDS
    );
    text += &table(&["defence", "holds to"], 2, breakdown_points(&card.lines, HOLDS).into_iter().map(row).collect());
    if !card.promotions.is_empty() {
        text += "\npromotion, by the place of the promoted documents in their list (0 top, 1 bottom)\n";
        let header = ["data", "users", "attackers", "defence", "clean", "attacked", "nDCG@10"];
        text += &table(&header, 4, card.promotions.iter().map(promotion_row).collect());
    }
    if !times.is_empty() {
        text += "\nmicroseconds of a round, one thread\n";
        text += &times_table(times);
    }
    text
}

fn row(line: &Line) -> Vec<String> {
    let attacked = |text: String| if line.attacks.is_empty() { "-".into() } else { text };
    vec![
        line.data.clone(),
        line.users.clone(),
        format!("{:.0} %", 100.0 * line.share),
        if line.recommended { format!("{} *", line.defence) } else { line.defence.clone() },
        format!("{:+.4}", line.clean_loss),
        attacked(format!("{:.4}", line.worst)),
        attacked(format!("{:.1} %", 100.0 * line.kept())),
        attacked(format!("{:.0} %", 100.0 * line.gain_kept())),
        line.worst_attack().to_owned(),
    ]
}

fn promotion_row(line: &Promotion) -> Vec<String> {
    vec![
        line.data.clone(),
        line.users.clone(),
        format!("{:.0} %", 100.0 * line.share),
        line.defence.clone(),
        format!("{:.3}", line.clean),
        format!("{:.3}", line.attacked),
        format!("{:.4}", line.ndcg),
    ]
}

/// Defences by clients and parameters.
fn times_table(times: &[RuleTime]) -> String {
    let mut sizes: Vec<(u32, usize)> = times.iter().map(|time| (time.clients, time.params)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let titles: Vec<String> = sizes.iter().map(|(clients, params)| format!("{clients} x {params}")).collect();
    let header: Vec<&str> = std::iter::once("defence").chain(titles.iter().map(String::as_str)).collect();
    let rows = times.chunk_by(|a, b| a.defence == b.defence).map(|own| {
        let of = |size: &(u32, usize)| {
            let found = own.iter().find(|time| (time.clients, time.params) == *size);
            found.map_or_else(|| "-".into(), |time| format!("{:.1}", time.microseconds))
        };
        std::iter::once(own[0].defence.clone()).chain(sizes.iter().map(of)).collect()
    });
    table(&header, 1, rows.collect())
}

fn write(card: &Scorecard, times: &[RuleTime], folder: &Path) -> Result<()> {
    println!("card:      {}", json(&card.lines, &folder.join("scorecard.json"))?);
    if !card.promotions.is_empty() {
        println!("promotion: {}", json(&card.promotions, &folder.join("promotion.json"))?);
    }
    if !times.is_empty() {
        println!("times:     {}", json(times, &folder.join("times.json"))?);
    }
    for (name, figure) in heat_maps(&card.lines) {
        let (svg, _) = plot::write(&figure.svg(), &folder.join(name))?;
        println!("heat map:  {} (and .png)", svg.display());
    }
    Ok(())
}

fn json<T: Serialize + ?Sized>(value: &T, path: &Path) -> Result<String> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path.display().to_string())
}
