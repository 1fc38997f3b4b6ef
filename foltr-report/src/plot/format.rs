//! How a figure is set for print: its size on paper, its letters, its title and the names of its axes.

use std::str::FromStr;

use serde::Deserialize;

use super::canvas::LABEL;

/// Letters of a sized figure, where none are asked for: one less than those of most papers.
const USUAL_FONT_SIZE: f64 = 8.0;

const UNITS: [(&str, f64); 4] = [("cm", 72.0 / 2.54), ("mm", 72.0 / 25.4), ("in", 72.0), ("pt", 1.0)];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Format {
    pub width: Option<Length>,
    pub height: Option<Length>,
    /// In points; titles grow with the labels.
    pub font_size: Option<f64>,
    pub without_title: bool,
    pub x_label: Option<String>,
    pub y_label: Option<String>,
}

/// In points, of which an inch has 72.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Length(pub f64);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no length; expected a positive number with cm, mm, in or pt, such as 8.5cm")]
pub struct LengthError(String);

impl FromStr for Length {
    type Err = LengthError;

    fn from_str(text: &str) -> Result<Self, LengthError> {
        let read = |(unit, points): &(&str, f64)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * points);
        let points = UNITS.iter().find_map(read).filter(|points| points.is_finite() && *points > 0.0);
        points.map(Self).ok_or_else(|| LengthError(text.into()))
    }
}

impl TryFrom<String> for Length {
    type Error = LengthError;

    fn try_from(text: String) -> Result<Self, LengthError> {
        text.parse()
    }
}

/// What a layout may use, in units of the figure; as much as it wants where nothing is given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Room {
    pub width: Option<f64>,
    pub height: Option<f64>,
}

impl Format {
    pub fn has_size(&self) -> bool {
        self.width.is_some() || self.height.is_some() || self.font_size.is_some()
    }

    /// Points a unit of the figure: letters have the size that is asked for.
    fn scale(&self) -> f64 {
        self.font_size.unwrap_or(USUAL_FONT_SIZE) / LABEL.size
    }

    pub fn room(&self) -> Room {
        let units = |length: Option<Length>| length.map(|Length(points)| points / self.scale());
        Room { width: units(self.width), height: units(self.height) }
    }

    /// Width and height in points of a figure of so many units. Letters are smaller where a figure needs more than its
    /// room.
    pub fn size(&self, units: (f64, f64)) -> (f64, f64) {
        let fitting =
            |length: Option<Length>, units: f64| length.map_or(f64::INFINITY, |Length(points)| points / units);
        let scale = self.scale().min(fitting(self.width, units.0)).min(fitting(self.height, units.1));
        (scale * units.0, scale * units.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        for (text, points) in [("2.54cm", 72.0), ("25.4 mm", 72.0), ("3.5in", 252.0), ("240pt", 240.0)] {
            assert!((text.parse::<Length>().expect(text).0 - points).abs() < 1e-9, "{text}");
        }
        for text in ["8.5", "cm", "-1cm", "0in", "nancm", "infpt", "8,5cm"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }

    #[test]
    fn letters_shrink_only_where_there_is_too_little_room() {
        let format = Format { width: Some(Length(240.0)), font_size: Some(7.0), ..Format::default() };
        assert_eq!(format.room(), Room { width: Some(480.0), height: None });
        assert_eq!(format.size((480.0, 200.0)), (240.0, 100.0));
        assert_eq!(format.size((960.0, 200.0)), (240.0, 50.0));
    }
}
