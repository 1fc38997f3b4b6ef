//! Devices with SQLite, against a server core in the same process.

#[path = "../../foltr-simulation/tests/all/equality/harness.rs"]
mod harness;
#[path = "../../foltr-simulation/tests/all/equality/modes.rs"]
mod modes;
#[path = "../../foltr-simulation/tests/all/equality/server.rs"]
mod server;

mod attacks;
mod crashes;
mod device;
mod equality;
mod faults;
mod federation;
mod http;
mod kills;
mod owner;
mod plan_changes;
