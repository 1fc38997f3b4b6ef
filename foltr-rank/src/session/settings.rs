//! Which settings a session can work with.

use super::SessionError;
use crate::learn::Learning;
use crate::learn::dueling::DuelSettings;
use crate::learn::evolution::{EvolutionSettings, MAX_REPORTED};
use crate::learn::pdgd::{PdgdSettings, Updates, check_displacement};
use crate::parameter::{ParameterError, positive, require};
use crate::params::Shape;
use crate::personal::Personalisation;
use crate::query::MAX_SHOWN;

/// The longest list, or what is wrong.
pub(super) fn check(
    shape: Shape,
    learning: &Learning,
    personalisation: Option<&Personalisation>,
) -> Result<usize, SessionError> {
    shape.check_size()?;
    let n_shown = match learning {
        Learning::Pdgd(settings) => check_pdgd(settings)?,
        Learning::Evolution { published_stream: true, .. } => return Err(SessionError::PublishedStream),
        Learning::Evolution { settings, .. } => check_evolution(settings)?,
        Learning::Dueling(settings) => check_dueling(settings)?,
        Learning::PairRank(_) => return Err(SessionError::Statistics),
    };
    if let Some(personalisation) = personalisation {
        personalisation.check()?;
        let is_immediate = matches!(learning, Learning::Pdgd(settings) if settings.updates == Updates::Immediate);
        if !is_immediate {
            return Err(SessionError::Personalisation);
        }
    }
    Ok(n_shown)
}

fn check_list(n_shown: usize, most: usize, right: &'static str) -> Result<usize, ParameterError> {
    require("n_shown", n_shown as f64, (1..=most).contains(&n_shown), right)?;
    Ok(n_shown)
}

fn check_pdgd(settings: &PdgdSettings) -> Result<usize, ParameterError> {
    let PdgdSettings { learning_rate, proximal, clip_radius, n_shown, max_displacement, .. } = *settings;
    positive("learning_rate", learning_rate.into())?;
    require("proximal", proximal.into(), proximal >= 0.0, "0 or a positive number")?;
    if let Some(radius) = clip_radius {
        positive("clip_radius", radius.into())?;
    }
    check_displacement(max_displacement)?;
    check_list(n_shown, MAX_SHOWN, "1 to 100")
}

fn check_dueling(settings: &DuelSettings) -> Result<usize, ParameterError> {
    settings.check().into_iter().next().map_or(Ok(()), Err)?;
    if let Some(radius) = settings.clip_radius {
        positive("clip_radius", radius.into())?;
    }
    check_list(settings.n_shown, MAX_SHOWN, "1 to 100")
}

fn check_evolution(settings: &EvolutionSettings) -> Result<usize, ParameterError> {
    let EvolutionSettings { sigma, antithetic, n_interactions, n_shown, .. } = *settings;
    positive("sigma", sigma.into())?;
    let is_sound = n_interactions > 0 && (!antithetic || n_interactions.is_multiple_of(2));
    require("n_interactions", n_interactions as f64, is_sound, "at least 1, and even where antithetic")?;
    check_list(n_shown, MAX_REPORTED, "1 to 16: a message has a bit for each document")
}
