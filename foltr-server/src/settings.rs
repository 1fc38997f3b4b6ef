//! How a federation is run: what is not in its plan, because devices need not agree on it.

use serde::{Deserialize, Serialize};

/// `settings.toml` of a federation.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FederationSettings {
    /// Where devices reach the federation from outside, such as `https://search.example.org/v1/federations/wards`.
    pub address: String,
    /// A round closes at the latest after so many seconds.
    pub round_seconds: u64,
    /// No round opens before so many devices are enrolled.
    pub minimum_devices: u32,
    /// A release is shown to this share of the devices first, and to all after so many seconds.
    pub stage_share: f64,
    pub stage_seconds: u64,
    /// Devices that come in vain are asked to wait for about so long.
    pub retry_seconds: u32,
    /// Requests of one device: so many at once, and so many a minute.
    pub device_burst: u32,
    pub device_per_minute: u32,
    /// Receipts are given out for so many days after the contribution.
    pub receipt_days: u64,
    /// Parameters of so many releases are stored; headers of all are.
    pub stored_releases: u32,
    /// A device that nobody has seen for so many days is revoked; never with 0.
    pub idle_days: u64,
}

impl Default for FederationSettings {
    fn default() -> Self {
        Self {
            address: String::new(),
            round_seconds: 3_600,
            minimum_devices: 3,
            stage_share: 1.0,
            stage_seconds: 0,
            retry_seconds: 60,
            device_burst: 100,
            device_per_minute: 60,
            receipt_days: 90,
            stored_releases: 100,
            idle_days: 0,
        }
    }
}

impl FederationSettings {
    /// What is wrong with the settings, by key.
    pub fn check(&self) -> Result<(), String> {
        let wrong = [
            (self.round_seconds == 0, "round_seconds must be at least 1"),
            (self.minimum_devices == 0, "minimum_devices must be at least 1"),
            (!(self.stage_share > 0.0 && self.stage_share <= 1.0), "stage_share must be above 0 and at most 1"),
            (self.device_burst == 0, "device_burst must be at least 1"),
            (self.device_per_minute == 0, "device_per_minute must be at least 1"),
            (self.stored_releases < 2, "stored_releases must be at least 2, to be able to roll back"),
        ];
        wrong.into_iter().find(|(is_wrong, _)| *is_wrong).map_or(Ok(()), |(_, why)| Err(why.into()))
    }
}
