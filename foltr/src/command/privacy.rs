//! `foltr privacy explain`: what an experiment hides, from whom, and under which assumptions.

use std::path::Path;

use anyhow::Result;

use super::End;
use crate::explain::Explained;
use crate::output;
use foltr_experiment::grid::Grid;

pub fn explain(spec: &Path, overrides: &[String], delta: Option<f64>) -> Result<End> {
    let explained = Explained::of(&Grid::read(spec, overrides)?, delta)?;
    let text = if output::is_json() { serde_json::to_string_pretty(&explained)? + "\n" } else { explained.render() };
    super::print(&text)
}
