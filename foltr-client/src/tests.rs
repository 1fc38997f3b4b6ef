//! Devices with SQLite, against a server core in the same process.

#[path = "../../foltr-simulation/tests/all/equality/harness.rs"]
#[allow(dead_code, reason = "faults and interruptions of servers are tested where it comes from")]
mod harness;
#[path = "../../foltr-simulation/tests/all/equality/modes.rs"]
mod modes;
#[path = "../../foltr-simulation/tests/all/equality/server.rs"]
#[allow(dead_code, reason = "faults and interruptions of servers are tested where it comes from")]
mod server;

mod crashes;
mod device;
mod equality;
mod events;
mod faults;
mod federation;
mod footprint;
mod http;
mod kills;
