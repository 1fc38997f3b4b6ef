//! What the server stores, and the statements that read and write it.
//!
//! Every function works within a transaction of its caller. Whoever changes a federation locks its row first
//! ([`federations::lock`]): changes of one federation come one after the other, whichever replica makes them.

pub mod contributions;
pub mod devices;
pub mod federations;
pub mod forgetting;
pub mod invitations;
pub mod plans;
pub mod releases;
pub mod rounds;
pub mod schema;
pub mod states;
