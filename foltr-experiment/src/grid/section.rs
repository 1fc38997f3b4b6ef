//! `[grid]`: named axes, lists that advance together, and points that are left out.

use serde::Deserialize;
use toml::Table;

/// The section as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GridSection {
    /// Axis name -> keys whose lists advance together (lists of text; checked in `expand`).
    pub zip: Table,
    /// Axis name -> label -> sections and keys that are replaced, and `remove`.
    pub axis: Table,
    /// Values of every setting, after all axes: key -> value.
    pub set: Table,
    /// Axis -> labels: all other settings are left out. Without axes it only says that the file is run in part.
    pub only: Option<Table>,
    /// Points that match all conditions of one of these are left out.
    pub exclude: Vec<Table>,
}
