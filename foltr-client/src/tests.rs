//! Devices with SQLite, against a server core in the same process.

#[allow(dead_code, reason = "only the simulator's own tests break devices on purpose")]
#[path = "../../foltr-simulation/tests/all/equality/harness.rs"]
mod harness;
#[path = "../../foltr-simulation/tests/all/equality/modes.rs"]
mod modes;
#[allow(dead_code, reason = "only the simulator's own tests restart the server")]
#[path = "../../foltr-simulation/tests/all/equality/server.rs"]
mod server;

mod attacks;
mod crashes;
mod device;
mod equality;
mod events;
mod faults;
mod federation;
mod footprint;
mod forgetting;
mod fuzz;
mod http;
mod kills;
mod owner;
mod plan_changes;
mod simulated_people;
mod typing;

use crate::core::Shown;
use crate::randomness::Randomness;
