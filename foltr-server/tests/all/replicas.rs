//! Two equal servers on one PostgreSQL under load, of which any is killed at any moment: the other one goes on.

use std::time::{Duration, Instant};

use foltr_server::database::Postgres;
use foltr_test::campaign_size;
use foltr_test::postgres::Cluster;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::kills::{N_DEVICES, conclude, wait_for_moment};
use super::load::Load;
use super::process::{Process, copy_folder, folder_in_memory, free_address, make_folder, run};

#[test]
fn a_killed_replica_on_postgres_loses_nothing_and_stops_nobody() {
    let Some(cluster) = Cluster::new() else { return };
    let (began, url) = (Instant::now(), cluster.url(&cluster.new_database()));
    let (folders, addresses) = (folder_in_memory(), [free_address(), free_address()]);
    let [first, second] = ["first", "second"].map(|name| folders.path().join(name));
    let invitation = make_folder(&first, &url, &addresses[0], N_DEVICES);
    copy_folder(&first, &second);
    let mut replicas = [Process::new(&first, &addresses[0]), Process::new(&second, &addresses[1])];
    let load = Load::start(&invitation, &addresses, N_DEVICES);
    let (mut random, mut kills) = (ChaCha8Rng::seed_from_u64(2), Vec::new());
    for n_before in 0..campaign_size(3, 100) {
        wait_for_moment(n_before, &load.shared, &mut random);
        let replica = &mut replicas[random.random_range(0..2)];
        kills.push(Instant::now());
        replica.kill();
        std::thread::sleep(Duration::from_millis(random.random_range(0..1_500)));
        replica.start();
    }
    // A round that was being closed is taken over when the lease of who closed it is over.
    std::thread::sleep(Duration::from_secs(5));
    let report = conclude(load, &kills, &Postgres::new(&url).expect("an address"), began);
    for replica in &mut replicas {
        assert!(!replica.log().contains("panicked"), "{}", replica.log());
        replica.kill();
    }
    let said = run(&["verify", first.to_str().expect("a path in UTF-8")]);
    println!("PostgreSQL: {report}\n{said}");
}
