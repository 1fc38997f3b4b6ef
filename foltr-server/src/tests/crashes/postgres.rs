//! PostgreSQL: the connection or the process ends at every statement of every kind of transaction, and the database itself at
//! any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foltr_test::campaign_size;
use foltr_test::postgres::Cluster;

use super::cut::{Cut, Cuts, Death, When};
use super::script;
use super::site::Site;
use crate::database::{Database, Postgres};
use crate::tests::simulation::operation::{Operation, Random};
use crate::tests::simulation::plans::Kind;
use crate::tests::simulation::servers::create;

/// Of a scenario, by their places: each has another kind of transaction.
fn kinds_of_change() -> Vec<(&'static str, usize)> {
    let scenario = script::scenario();
    let place = |is_it: fn(&Operation) -> bool| scenario.iter().rposition(is_it).expect("the scenario has all");
    let is_upload = |operation: &Operation| matches!(operation, Operation::Upload { .. });
    vec![
        ("enrol", place(|it| matches!(it, Operation::Enrol { .. }))),
        ("upload", scenario.iter().position(is_upload).expect("there are uploads")),
        ("close a round", scenario.len() - 1),
        ("roll back", place(|it| matches!(it, Operation::RollBack { .. }))),
        ("new plan", place(|it| matches!(it, Operation::NewPlan { .. }))),
        ("new key", place(|it| matches!(it, Operation::RotateKey { .. }))),
        ("revoke", place(|it| matches!(it, Operation::Revoke { .. }))),
        ("invite", place(|it| matches!(it, Operation::Invite { .. }))),
    ]
}

/// A federation just before an operation.
fn before(cluster: &Cluster, kind: Kind, place: usize) -> (Site, Cuts) {
    let url = cluster.url(&cluster.new_database());
    let direct: Arc<dyn Database> = Arc::new(Postgres::new(&url).expect("an address"));
    let mut site = Site::new(kind);
    let cuts = Cuts::new(Arc::clone(&direct), Arc::clone(&site.process.has_ended));
    create(&direct, &kind.plan(1_000), &site.key());
    site.start(Arc::new(cuts.clone()));
    for operation in &script::scenario()[..place] {
        site.apply(*operation);
        site.look();
    }
    (site, cuts)
}

fn n_statements(cluster: &Cluster, kind: Kind, place: usize) -> usize {
    let (mut site, cuts) = before(cluster, kind, place);
    cuts.arm(None);
    site.apply(script::scenario()[place]);
    cuts.n_statements()
}

/// Cuts at one statement of one operation, and goes on with the rest.
fn run(cluster: &Cluster, kind: Kind, place: usize, cut: Cut) {
    let (mut site, cuts) = before(cluster, kind, place);
    cuts.arm(Some(cut));
    let scenario = script::scenario();
    site.apply(scenario[place]);
    cuts.arm(None);
    if site.has_ended() {
        site.service = None;
        site.start(Arc::new(cuts.clone()));
    }
    site.check();
    // Who had no answer asks again.
    site.apply(scenario[place]);
    for operation in scenario[place..].iter().chain(&script::ending()) {
        site.apply(*operation);
        site.look();
    }
    site.check();
}

#[test]
fn a_connection_that_ends_at_any_statement_loses_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let (step, began) = (campaign_size(127, 1), Instant::now());
    let mut cases = Vec::new();
    for kind in [Kind::Everyone, Kind::Buffered] {
        for (name, place) in kinds_of_change() {
            let n_statements = if step == 1 { n_statements(cluster, kind, place) } else { 12 };
            for (statement, when) in (0..n_statements).flat_map(|n| [(n, When::Before), (n, When::After)]) {
                cases.extend(
                    [Death::Connection, Death::Process]
                        .map(|death| (kind, name, place, Cut { statement, when, death })),
                );
            }
        }
    }
    let chosen: Vec<_> = cases.iter().step_by(step).collect();
    for (kind, name, place, cut) in &chosen {
        println!("{kind:?}, {name}, {cut:?}");
        run(cluster, *kind, *place, *cut);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} of {} cases, {seconds:.0} s: nothing was lost or counted twice", chosen.len(), cases.len());
}

/// Devices send while the database is stopped without notice and started again.
#[test]
fn a_database_that_stops_at_any_moment_loses_nothing() {
    let Some(cluster) = Cluster::new() else { return };
    let (n_stops, began) = (campaign_size(2, 100), Instant::now());
    let url = cluster.url(&cluster.new_database());
    let database: Arc<dyn Database> = Arc::new(Postgres::new(&url).expect("an address"));
    let mut site = Site::new(Kind::Everyone);
    create(&database, &Kind::Everyone.plan(1_000_000), &site.key());
    site.start(Arc::clone(&database));
    script::scenario()[..5].iter().for_each(|operation| assert!(site.apply(*operation)));
    let mut random = Random(1);
    for stop in 0..n_stops {
        let has_stopped = AtomicBool::new(false);
        let wait = Duration::from_millis(200 + random.below(500) as u64);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(wait);
                cluster.stop_immediate();
                has_stopped.store(true, Ordering::SeqCst);
            });
            while !has_stopped.load(Ordering::SeqCst) {
                script::ending().into_iter().all(|operation| site.apply(operation));
            }
        });
        cluster.start();
        // The same process goes on, or another one begins.
        if stop % 2 == 0 {
            site.start(Arc::clone(&database));
        }
        site.check();
    }
    let n = site.acknowledged.len();
    let n_rounds = site.row().expect("a row").round;
    println!(
        "{n_stops} stops, {n} contributions to {n_rounds} rounds, {:.0} s: nothing was lost",
        began.elapsed().as_secs_f64()
    );
    assert!(n > n_stops, "contributions come between two stops");
}
