//! The cascade click model: the user walks down the list and may stop, but only after a click.
//!
//! `GLW09` Guo, Liu, Wang: *Efficient Multiple-Click Models in Web Search*, WSDM 2009, with the instantiations of
//! `KO19` and `WLZZ21`; spec section 2.1, which warns of a simulator that throws the stop coin at every position.

use foltr_rank::Clicks;
use foltr_rank::parameter::{ParameterError, require};
use foltr_rank::rng::Stream;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{ClickParameters, SimulatedUser, UsersError, threshold};

/// The papers' users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Clicks by relevance alone and never stops.
    #[default]
    Perfect,
    /// Looks for one good document and then stops.
    Navigational,
    /// Clicks on much, also on the irrelevant.
    Informational,
    /// The reverse of perfect: an attacker.
    Poison,
}

impl Preset {
    pub const ALL: [Self; 4] = [Self::Perfect, Self::Navigational, Self::Informational, Self::Poison];

    /// Every preset: its name in an experiment file, and what it does.
    pub const LIST: &[(&str, &str)] = &[
        ("perfect", "Clicks what is relevant, reads everything"),
        ("navigational", "Looks for one good document and leaves"),
        ("informational", "Clicks a lot, also on what is not relevant"),
        ("poison", "Clicks what is not relevant: an attacker"),
    ];

    /// The name in experiment files and tables.
    pub const fn name(self) -> &'static str {
        Self::LIST[self as usize].0
    }

    /// P(click | label) and P(stop | label, click), for labels 0 to `max_label`.
    const fn tables(self, max_label: u8) -> Option<(&'static [f64], &'static [f64])> {
        Some(match (max_label, self) {
            (1, Self::Perfect) => (&[0.0, 1.0], &[0.0, 0.0]),
            (1, Self::Navigational) => (&[0.05, 0.95], &[0.2, 0.9]),
            (1, Self::Informational) => (&[0.3, 0.7], &[0.1, 0.5]),
            (1, Self::Poison) => (&[1.0, 0.0], &[0.0, 0.0]),
            (2, Self::Perfect) => (&[0.0, 0.5, 1.0], &[0.0, 0.0, 0.0]),
            (2, Self::Navigational) => (&[0.05, 0.5, 0.95], &[0.2, 0.5, 0.9]),
            (2, Self::Informational) => (&[0.4, 0.7, 0.9], &[0.1, 0.3, 0.5]),
            (2, Self::Poison) => (&[1.0, 0.5, 0.0], &[0.0, 0.0, 0.0]),
            (4, Self::Perfect) => (&[0.0, 0.2, 0.4, 0.8, 1.0], &[0.0; 5]),
            (4, Self::Navigational) => (&[0.05, 0.3, 0.5, 0.7, 0.95], &[0.2, 0.3, 0.5, 0.7, 0.9]),
            (4, Self::Informational) => (&[0.4, 0.6, 0.7, 0.8, 0.9], &[0.1, 0.2, 0.3, 0.4, 0.5]),
            (4, Self::Poison) => (&[1.0, 0.8, 0.4, 0.2, 0.0], &[0.0; 5]),
            _ => return None,
        })
    }
}

/// A cascade user as files name it (spec section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CascadeParameters {
    /// Click and stop probabilities.
    pub preset: Preset,
    /// How many grades the labels have: 2, 3 or 5. Found in the data when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grades: Option<u8>,
}

impl ClickParameters for CascadeParameters {
    type User = Cascade;

    fn examples() -> Vec<Self> {
        Preset::ALL.map(|preset| Self { preset, grades: None }).to_vec()
    }

    fn check(&self) -> Vec<ParameterError> {
        check_grades(self.grades).err().into_iter().collect()
    }

    fn grades(&mut self) -> &mut Option<u8> {
        &mut self.grades
    }

    fn name(&self) -> String {
        self.preset.name().into()
    }

    fn user(&self, max_label: u8) -> Result<Cascade, UsersError> {
        Cascade::preset(self.preset, max_label)
    }
}

pub(super) fn check_grades(grades: Option<u8>) -> Result<(), ParameterError> {
    let grades = grades.unwrap_or(2);
    require("grades", grades.into(), [2, 3, 5].contains(&grades), "2, 3 or 5: users are defined for no other number")
}

/// A cascade user, ready to click.
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    click: Vec<f64>,
    stop: Vec<f64>,
    /// By label: a word below the first is a click, below the second a click and a stop. One word serves both coins.
    thresholds: Vec<(u64, u64)>,
}

impl Cascade {
    /// One of the papers' users, for labels 0 to `max_label`.
    pub fn preset(preset: Preset, max_label: u8) -> Result<Self, UsersError> {
        let (click, stop) = preset.tables(max_label).ok_or(UsersError::UnknownGrades { max_label })?;
        Ok(Self::new(click, stop))
    }

    /// Any cascade user: P(click | label) and P(stop | label, click), both for the same labels.
    pub fn new(click: &[f64], stop: &[f64]) -> Self {
        assert_eq!(click.len(), stop.len(), "one stop probability for each click probability");
        assert!(click.iter().chain(stop).all(|p| (0.0..=1.0).contains(p)), "probabilities lie between 0 and 1");
        let thresholds = click.iter().zip(stop).map(|(&c, &s)| (threshold(c), threshold(c * s))).collect();
        Self { click: click.to_vec(), stop: stop.to_vec(), thresholds }
    }

    /// P(click | label), by label.
    pub fn click_probabilities(&self) -> &[f64] {
        &self.click
    }

    /// P(stop | label, click), by label.
    pub fn stop_probabilities(&self) -> &[f64] {
        &self.stop
    }
}

impl SimulatedUser for Cascade {
    #[inline]
    fn click(&self, shown: &[u8], stream: &mut Stream) -> Clicks {
        let mut clicks = Clicks::default();
        for (position, &label) in shown.iter().enumerate() {
            let (click, click_and_stop) = self.thresholds[label as usize];
            let word = u64::from(stream.next_u32());
            if word < click {
                clicks.click(position);
                if word < click_and_stop {
                    break;
                }
            }
        }
        clicks
    }

    fn marginals(&self, shown: &[u8]) -> Vec<f64> {
        let mut examined = 1.0;
        shown
            .iter()
            .map(|&label| {
                let (click, stop) = (self.click[label as usize], self.stop[label as usize]);
                let clicked = examined * click;
                examined *= 1.0 - click * stop;
                clicked
            })
            .collect()
    }

    fn click_probability(&self, _position: usize, label: u8) -> f64 {
        self.click[label as usize]
    }
}
