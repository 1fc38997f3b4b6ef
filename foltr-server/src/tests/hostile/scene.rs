//! A federation in the middle of its life, over HTTP: with closed rounds, a rollback, invitations of every kind and a device
//! that was revoked.

use foltr_federation::protocol::{Contribution, Invitation, Task};
use foltr_federation::{Fingerprint, Staleness};

use crate::call::{Call, Method};
use crate::database::{Connection, DatabaseError, Pool};
use crate::operator::{Action, Done};
use crate::tests::world::{BASE, TestDevice, TestStore, World, averaging, plan_of, settings};

pub struct Scene {
    pub world: World,
    /// Of the open round.
    pub task: Task,
    /// What the first device sent to the first round.
    pub old_upload: Call,
    /// What the first device would have sent from the release that was rolled back.
    pub rolled_back: Contribution,
    pub used_up: Invitation,
    pub expired: Invitation,
    pub revoked: Invitation,
    pub usable: Invitation,
}

/// The device that was revoked; those before it are active, and the second one has contributed.
pub const REVOKED: usize = 3;

impl Scene {
    pub fn new() -> Self {
        let staleness = Some(Staleness { most: 2, exponent: 0.5 });
        let plan = plan_of(foltr_federation::FederationPlan { staleness, ..averaging(10) }, false);
        let mut world = World::new(TestStore::sqlite(), &plan, settings());
        world.enrol(4);
        let revoked_device = world.devices[REVOKED].id.to_string();
        world.act(Action::RevokeDevice { device: revoked_device });
        let old_upload = world.devices[0].upload(&world.contribution(0, [0.0, 1.0]));
        for _ in 0..2 {
            for device in 0..REVOKED {
                world.contribute(device, [0.0, 1.0]);
            }
            world.tick();
        }
        let before = world.task(0, 0).expect("an open round");
        world.act(Action::RollBack { version: 1 });
        world.tick();
        let task = world.task(0, 0).expect("an open round");
        let rolled_back = world.devices[0].step(&task, before.start, [1.0, 0.0]);
        world.contribute(1, [1.0, 0.0]);
        let (used_up, expired) = (world.invitation(1), world.invitation(1));
        world.service.answer(&TestDevice::new(100).enrolment(&used_up));
        world.advance(86_400);
        let Done::Invitation { id, invitation } = world.act(new_invitation()) else { panic!("no invitation") };
        world.act(Action::RevokeInvitation { id });
        let revoked = invitation.parse().expect("an invitation");
        let usable = world.invitation(10);
        Self { task, old_upload, rolled_back, used_up, expired, revoked, usable, world }
    }

    pub fn device(&self, index: usize) -> &TestDevice {
        &self.world.devices[index]
    }

    /// What the first device may send.
    pub fn contribution(&self) -> Contribution {
        self.device(0).step(&self.task, self.task.start, [1.0, 0.0])
    }

    pub fn upload_path(&self) -> String {
        format!("{BASE}/rounds/{}/contributions/{}", self.task.round, self.device(0).id)
    }

    /// A contribution with other bytes, signed as they are.
    pub fn upload(&self, change: impl FnOnce(&mut Vec<u8>)) -> Call {
        let mut bytes = self.contribution().encode();
        change(&mut bytes);
        self.device(0).call(Method::Put, &self.upload_path(), bytes)
    }

    pub fn get(&self, path: &str) -> Call {
        self.device(0).call(Method::Get, &format!("{BASE}{path}"), Vec::new())
    }

    /// Over every row of every table.
    pub fn digest(&self) -> Fingerprint {
        let pool = Pool::new(self.world.store.database.clone(), 2);
        let rows = pool.read(|tables| -> Result<_, DatabaseError> { all_rows(tables) }).expect("a store");
        Fingerprint::of(rows.as_bytes())
    }
}

fn new_invitation() -> Action {
    Action::NewInvitation { uses: 5, seconds: 86_400, note: String::new() }
}

fn all_rows(tables: &mut dyn Connection) -> Result<String, DatabaseError> {
    let names = tables.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", &[])?;
    let mut text = String::new();
    for name in &names {
        let rows = tables.query(&format!("SELECT * FROM {}", name.text(0)?), &[])?;
        let mut lines: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        lines.sort();
        text += &format!("{}\n{}\n", name.text(0)?, lines.join("\n"));
    }
    Ok(text)
}
