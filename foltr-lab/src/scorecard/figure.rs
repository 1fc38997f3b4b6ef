//! A scorecard as heat maps: defences by attacks, one map for each data, users and share.

use super::{ATTACKS, Line};
use crate::plot::{Cell, HeatMap, Palette};
use crate::statistics::Mark;

/// One heat map for each data, users and share, with a name for its file.
pub fn heat_maps(lines: &[Line]) -> Vec<(String, HeatMap)> {
    let same = |a: &Line, b: &Line| a.data == b.data && a.users == b.users && a.share == b.share;
    lines.chunk_by(same).map(|lines| (name(&lines[0]), heat_map(lines))).collect()
}

fn name(line: &Line) -> String {
    let words: Vec<&str> =
        line.data.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    format!("{}-{}-{:.0}", words.join("-").to_lowercase(), line.users, 100.0 * line.share)
}

/// Everything in percent of clean.
fn heat_map(lines: &[Line]) -> HeatMap {
    let first = &lines[0];
    let attacks: Vec<&str> =
        ATTACKS.iter().map(|attack| attack.name).filter(|name| first.attacks.contains_key(*name)).collect();
    let cell = |value: f64| Cell { value: 100.0 * value / first.clean, mark: Mark::None };
    let row = |line: &Line| {
        let ends = [first.clean - line.clean_loss, line.worst];
        let by_attack = attacks.iter().map(|name| line.attacks.get(*name).copied().unwrap_or(f64::NAN));
        ends.into_iter().chain(by_attack).map(cell).collect()
    };
    let title =
        |line: &Line| if line.recommended { format!("{} (default)", line.defence) } else { line.defence.clone() };
    HeatMap {
        title: format!("{}, {} users, {:.0} % attackers", first.data, first.users, 100.0 * first.share),
        subtitle: format!(
            "nDCG@10 on test queries in percent of federated averaging without attackers ({:.4}); random ranking {:.0} %",
            first.clean,
            100.0 * first.random / first.clean
        ),
        // A name breaks at spaces only.
        columns: ["no attack", "worst"]
            .into_iter()
            .chain(attacks.iter().copied())
            .map(|name| name.replace('-', " "))
            .collect(),
        rows: lines.iter().map(title).collect(),
        cells: lines.iter().map(row).collect(),
        digits: 0,
        palette: Palette::Sequential,
        note: format!(
            "mean of {} seeds; colluding attackers with full knowledge unless the name says partial",
            first.seeds
        ),
    }
}
