//! How much a client may take of the server, however it behaves.

use std::time::Duration;

/// Every limit has a default that suits two cores and devices that poll every ten minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. At about 20 KiB each, 10,000 need 200 MiB.
    pub connections: usize,
    /// Open connections of one address (of IPv6, of one /64 network, which one customer has). Behind a proxy all
    /// clients have one address: raise it there.
    pub connections_per_address: usize,
    /// For a TLS handshake: two round trips and the time to compute on a slow phone.
    pub handshake_time: Duration,
    /// From the first byte of a request to the end of its headers, and from a connection to its first request.
    pub header_time: Duration,
    /// Of request line and headers. A device sends less than 1 KiB; browsers with cookies, up to 8.
    pub header_bytes: usize,
    /// Devices send 6 headers, browsers and proxies about 20 more.
    pub headers: usize,
    /// Of path and query. The longest path of the API has about 250 bytes.
    pub path_bytes: usize,
    /// The largest body: a contribution of 4 million parameters.
    pub body_bytes: usize,
    /// Of all bodies that have come, wholly or in part, and are not answered yet. More than it gets 503.
    pub body_memory: usize,
    /// How long a body may take, whatever its size. Then it must have come at [`Limits::rate`].
    pub body_time: Duration,
    /// How long an answer may take to be read, whatever its size. Then the client must read at [`Limits::rate`].
    pub answer_time: Duration,
    /// Bytes a second: below what a phone reaches on a bad line, above what makes holding connections cheap.
    pub rate: usize,
    /// How long a connection is kept without a request. Devices ask every 10 minutes on average, and a kept
    /// connection saves both sides the handshake.
    pub idle_time: Duration,
    /// Calls of the handler at a time, each on a thread that mostly waits for a shared commit. A quarter of them is
    /// kept for reading devices and a sixteenth for operators, so that neither waits behind uploads.
    pub calls: usize,
    /// Calls that wait for their turn, of each kind.
    pub waiting_calls: usize,
    /// The longest wait for a turn. Devices come back after a refusal; those that wait hold their body in memory.
    pub waiting_time: Duration,
    /// How long requests in flight may take when the server stops.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: 1_000,
            handshake_time: Duration::from_secs(10),
            header_time: Duration::from_secs(10),
            header_bytes: 16 << 10,
            headers: 64,
            path_bytes: 2 << 10,
            body_bytes: 16 << 20,
            body_memory: 256 << 20,
            body_time: Duration::from_secs(30),
            answer_time: Duration::from_secs(30),
            rate: 16 << 10,
            idle_time: Duration::from_secs(15 * 60),
            calls: 256,
            waiting_calls: 1_024,
            waiting_time: Duration::from_secs(5),
            drain_time: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// How long a transfer of so many bytes may take that is allowed `time` in any case.
    pub(super) fn transfer_time(&self, time: Duration, n_bytes: usize) -> Duration {
        time + Duration::from_millis((n_bytes as u64).saturating_mul(1_000) / self.rate.max(1) as u64)
    }

    /// Threads for all calls at a time, and for readiness, metrics and certificates beside them.
    pub(super) fn blocking_threads(&self) -> usize {
        self.calls.max(3) + 8
    }
}
