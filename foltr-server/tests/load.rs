//! The load generator at a small size, so that it cannot rot: the real program, TLS, rounds that close, on both stores.

#[path = "../examples/load/main.rs"]
#[allow(dead_code, reason = "the example measures more than this")]
mod load;

use load::contributions::{self, Arrivals};
use load::device::Device;
use load::server::{Program, RunningServer, Setting, Store};

#[test]
fn contributions_at_a_fixed_rate_are_all_taken() {
    let program = Program { path: env!("CARGO_BIN_EXE_foltr-server").into(), arguments: vec!["run".into()] };
    let folder = tempfile::tempdir().expect("a folder");
    let devices: &'static [Device] = Device::many(400).leak();
    for store in [Store::Sqlite, Store::Postgres] {
        let setting = Setting { folder: folder.path(), store, devices, quorum: Some(250), per_minute: 60 };
        let Some(server) = RunningServer::start(&program, &setting) else { continue };
        let measured = contributions::run(&server, devices, Arrivals { rate: Some(200.0), n: 400, n_connections: 8 });
        assert_eq!((measured.latencies.len(), &measured.errors), (400, &Default::default()), "{store:?}");
        assert!(measured.rate() > 100.0, "{store:?}: {measured:?}");
        assert_eq!(measured.n_rounds, 1, "{store:?}: {}", server.log());
    }
}
