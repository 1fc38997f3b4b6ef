//! A federation from its first device on, with every kind of change.

use crate::tests::simulation::operation::{Clock, Network, Operation, Twist};

fn upload(device: usize) -> Operation {
    Operation::Upload { device, replica: 0, twist: Twist::Honest, network: Network::Works }
}

fn repeat(device: usize) -> Operation {
    Operation::Upload { device, replica: 0, twist: Twist::Earlier(device), network: Network::Works }
}

const TICK: Operation = Operation::Tick { replica: 0 };
const ENROL: Operation = Operation::Enrol { replica: 0, again: None };

pub fn scenario() -> Vec<Operation> {
    [
        vec![Operation::Invite { uses: 6 }, ENROL, ENROL, ENROL, TICK],
        vec![upload(0), upload(1), upload(2), repeat(0), TICK],
        vec![upload(0), upload(1), Operation::RotateKey { replica: 0 }, upload(2), TICK],
        vec![upload(0), upload(2), Operation::Clock(Clock::Forward(4_000)), TICK],
        vec![upload(1), Operation::RollBack { version: 1 }, repeat(1), upload(1), Operation::CloseRound { replica: 0 }],
        vec![ENROL, Operation::Revoke { device: 1, replica: 0 }, upload(0), Operation::NewPlan { kind: 0 }],
        ending(),
    ]
    .concat()
}

/// A round that everybody comes to.
pub fn ending() -> Vec<Operation> {
    let (hold, resume) = (Operation::Hold, Operation::Resume);
    let devices = (0..4).map(upload);
    [vec![hold, resume, TICK], devices.collect(), vec![Operation::Clock(Clock::Forward(4_000)), TICK]].concat()
}
