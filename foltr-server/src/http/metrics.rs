//! What the network side counts, in the text format of OpenMetrics.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(super) const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const END: &str = "# EOF\n";

/// In seconds: from an answer out of memory to the wait for a turn and a slow disk after it.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

pub(super) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram>,
    refused_connections: Family<ReasonLabels, Counter>,
    pub connections: Gauge,
    pub calls_in_flight: Gauge,
    pub calls_waiting: Gauge,
}

impl Metrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            refused_connections: Family::default(),
            connections: Gauge::default(),
            calls_in_flight: Gauge::default(),
            calls_waiting: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = self.registry.sub_registry_with_prefix("foltr_http");
        registry.register("requests", "Requests by route and status", self.requests.clone());
        registry.register("request_seconds", "Time from the headers to the answer", self.seconds.clone());
        let refused = self.refused_connections.clone();
        registry.register("refused_connections", "Connections that the server closed, by reason", refused);
        registry.register("connections", "Open connections", self.connections.clone());
        registry.register("calls_in_flight", "Requests that are handled", self.calls_in_flight.clone());
        registry.register("calls_waiting", "Requests that wait for their turn", self.calls_waiting.clone());
    }

    pub fn answered(&self, route: &'static str, status: u16, time: Duration) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(time.as_secs_f64());
    }

    pub fn refused_connection(&self, reason: &'static str) {
        self.refused_connections.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// One document: those of the handler, and these.
    pub fn text(&self, handler: &str) -> String {
        let mut text = handler.trim_end().trim_end_matches(END.trim_end()).trim_end().to_owned();
        if !text.is_empty() {
            text.push('\n');
        }
        encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_documents_become_one() {
        let metrics = Metrics::new();
        metrics.answered("/", 200, Duration::from_millis(3));
        for handler in ["", "# EOF\n", "# TYPE devices gauge\ndevices 7\n# EOF\n", "# TYPE devices gauge\ndevices 7"] {
            let text = metrics.text(handler);
            assert_eq!(text.matches("# EOF").count(), 1, "{text}");
            assert!(text.ends_with(END) && !text.contains("\n\n"), "{text}");
            assert_eq!(text.contains("\ndevices 7\n"), handler.contains("devices 7"), "{text}");
            assert!(text.contains("foltr_http_requests_total{route=\"/\",status=\"200\"} 1\n"), "{text}");
        }
    }
}
