//! Numbers of federations for monitoring, in the text format of Prometheus.

use std::fmt::Write as _;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::database::DatabaseError;
use crate::service::Service;
use crate::store::federations::{self, FederationRow, Phase};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfFederation {
    federation: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    federation: String,
    reason: &'static str,
}

/// Name, meaning, and the number of a federation.
type Described = (&'static str, &'static str, fn(&FederationRow) -> i64);

impl Service {
    /// Why nothing works; nothing if all is well.
    pub fn readiness(&self) -> Result<(), String> {
        for federation in self.federations.values() {
            federation.refresh(&self.pool).map_err(|error| format!("{}: {error}", federation.name))?;
        }
        Ok(())
    }

    pub fn metrics(&self) -> String {
        let mut text = String::new();
        match self.pool.read(|tables| -> Result<Vec<FederationRow>, DatabaseError> { federations::all(tables) }) {
            Ok(rows) => self.write_metrics(&rows, &mut text),
            Err(_) => drop(writeln!(text, "# the database cannot be read")),
        }
        text
    }

    fn write_metrics(&self, rows: &[FederationRow], text: &mut String) {
        let mut registry = Registry::with_prefix("foltr");
        let gauges: [Described; 6] = [
            ("round", "The open round, or the next one", |row| row.round.into()),
            ("round_open", "Whether a round is open", |row| i64::from(row.phase == Phase::Open)),
            ("round_contributions", "Contributions to the open round", |row| row.n_contributions.into()),
            ("round_wanted", "Contributions that are wanted", |row| row.n_wanted.into()),
            ("devices_active", "Devices that are enrolled and not revoked", |row| row.n_active.into()),
            ("held", "Whether the operator holds the federation", |row| i64::from(row.is_held)),
        ];
        for (name, help, value) in gauges {
            let family = Family::<OfFederation, Gauge>::default();
            for row in rows {
                family.get_or_create(&OfFederation { federation: row.name.clone() }).set(value(row));
            }
            registry.register(name, help, family);
        }
        let refusals = Family::<Refused, Counter>::default();
        for ((federation, name), n) in self.refusals() {
            let labels = Refused { federation, reason: name.name() };
            refusals.get_or_create(&labels).inc_by(n);
        }
        registry.register("refusals", "Refused requests by reason", refusals);
        encode(text, &registry).expect("a string takes everything");
    }
}
