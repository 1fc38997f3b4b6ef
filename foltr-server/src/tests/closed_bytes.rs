//! What devices have sent is deleted once its round is closed, also by a process that did not close it.

use super::world::{TestStore, World, averaging, plan_of, settings};
use crate::database::{Pool, Row};
use crate::service::Service;

fn rounds_with_bytes(service: &Service) -> Vec<u32> {
    let sql = "SELECT round FROM contributions WHERE bytes IS NOT NULL ORDER BY round";
    let read = |rows: Vec<Row>| rows.iter().map(|row| row.u32(0).expect("a round")).collect();
    let pool: &Pool = &service.pool;
    pool.read(|tables| tables.query(sql, &[])).map(read).expect("rows")
}

#[test]
fn only_the_open_round_has_bytes() {
    TestStore::each(|store| {
        let name = store.name;
        let mut world = World::new(store, &plan_of(averaging(10), false), settings());
        world.enrol(2);
        world.contribute(0, [1.0, 0.0]);
        world.contribute(1, [1.0, 0.0]);
        // The process ends between the two.
        let federation = world.service.federations.values().next().expect("a federation");
        world.service.close(federation, &world.row()).expect("a closed round");
        world.restart();
        world.contribute(0, [1.0, 0.0]);
        assert_eq!(rounds_with_bytes(&world.service), [0, 0, 1], "{name}");
        world.tick();
        assert_eq!((rounds_with_bytes(&world.service), world.row().round), (vec![1], 1), "{name}");
    });
}
