//! The log of the server, on standard error.

use std::str::FromStr;

use thiserror::Error;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt;

/// Names the level where no option does: `error`, `warn`, `info`, `debug`, `trace` or `off`.
pub const LEVEL_VARIABLE: &str = "FOLTR_LOG";

/// What is written from where.
const OWN: [&str; 3] = ["foltr_server", "foltr_federation", "foltr_rank"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    #[default]
    Text,
    /// An object a line.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    pub level: LevelFilter,
    pub format: Format,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, format: Format::Text }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoggingError {
    #[error("the level {0:?} of the log is unknown; there are error, warn, info, debug, trace and off")]
    UnknownLevel(String),
    #[error("this process has a log already")]
    AlreadyStarted,
}

impl LogOptions {
    /// The level of an option, else of [`LEVEL_VARIABLE`], else `info`.
    pub fn new(level: Option<&str>, format: Format) -> Result<Self, LoggingError> {
        let variable = std::env::var(LEVEL_VARIABLE).ok();
        let Some(level) = level.or(variable.as_deref()) else { return Ok(Self { format, ..Self::default() }) };
        let level = LevelFilter::from_str(level).map_err(|_| LoggingError::UnknownLevel(level.into()))?;
        Ok(Self { level, format })
    }

    /// Libraries are heard from `warn` on: what they say below it may be what clients sent.
    pub fn subscriber<W>(self, writer: W) -> Box<dyn Subscriber + Send + Sync>
    where
        W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
    {
        let targets = Targets::new().with_default(self.level.min(LevelFilter::WARN));
        let targets = OWN.iter().fold(targets, |targets, own| targets.with_target(*own, self.level));
        let registry = tracing_subscriber::registry();
        match self.format {
            Format::Text => Box::new(registry.with(layer().with_writer(writer).with_filter(targets))),
            Format::Json => Box::new(registry.with(layer().json().with_writer(writer).with_filter(targets))),
        }
    }

    /// Writes the log of the whole process to standard error, panics included.
    pub fn start(self) -> Result<(), LoggingError> {
        let subscriber = self.subscriber(std::io::stderr);
        tracing::subscriber::set_global_default(subscriber).map_err(|_| LoggingError::AlreadyStarted)?;
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            let payload = panic.payload();
            let reason = payload.downcast_ref::<&str>().copied();
            let reason = reason.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            tracing::error!(target: "foltr_server", place, reason, "panic");
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_one_of_six_words() {
        for level in ["off", "error", "warn", "info", "debug", "trace"] {
            let options = LogOptions::new(Some(level), Format::Json).expect("a level");
            assert_eq!((options.level.to_string().as_str(), options.format), (level, Format::Json));
        }
        let refused = LogOptions::new(Some("loud"), Format::Text);
        assert_eq!(refused, Err(LoggingError::UnknownLevel("loud".into())));
    }
}
