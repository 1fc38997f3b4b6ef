//! Measures a server of its own on this machine: contributions under load, idle devices, rounds, and beside them what the
//! machine itself can do.
//!
//! ```sh
//! cargo run --release -p foltr-server --example load
//! ```
//!
//! Everything takes less than six minutes; a name as an argument takes one measurement, see `-- --help`. The server is the
//! real one with TLS on loopback, in a process of its own. Its store is below `--folder`, on the disk that is measured.
//! Flower is measured beside it if it is installed as `docs/campaigns/flower/run.py` says. `docs/campaigns/load.md` has results.

mod client;
pub mod contributions;
pub mod device;
mod flower;
mod idle;
mod latency;
mod limits;
mod process;
mod rounds;
pub mod server;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use contributions::Arrivals;
use device::Device;
use server::{Program, RunningServer, Setting, Store};

#[derive(Debug, Parser)]
#[command(about = "Measures a foltr-server on this machine")]
struct Arguments {
    /// Where stores are made and deleted: on the disk that is to be measured.
    #[arg(long, default_value = "target/load", global = true)]
    folder: PathBuf,
    /// One store only.
    #[arg(long, global = true)]
    store: Option<Store>,
    #[arg(long, default_value_t = 100_000, global = true)]
    devices: usize,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What the machine itself can do.
    Limits,
    /// Contributions at a fixed rate.
    Contributions {
        /// Contributions a second; 0: as many as there can be.
        #[arg(long, default_value_t = 2_000.0)]
        rate: f64,
        #[arg(long, default_value_t = 80_000)]
        n: usize,
        #[arg(long, default_value_t = 128)]
        connections: usize,
        /// Contributions that close a round.
        #[arg(long, default_value_t = 20_000)]
        quorum: usize,
    },
    /// Devices that ask for a task every ten minutes.
    Idle {
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, default_value_t = 5_000)]
        connections: usize,
    },
    /// Rounds of two clients that do nothing, of this server and of Flower.
    Rounds {
        #[arg(long, default_value_t = 20)]
        rounds: u32,
        #[arg(long, default_value_t = 2)]
        clients: usize,
    },
    #[command(hide = true)]
    Serve { served: PathBuf },
    #[command(hide = true)]
    ServeNothing { served: PathBuf },
}

/// What is measured where.
struct Campaign {
    program: Program,
    folder: PathBuf,
    stores: Vec<Store>,
    n_devices: usize,
    devices: OnceLock<&'static [Device]>,
}

#[allow(dead_code, reason = "a test includes this file for what is below")]
fn main() {
    let arguments = Arguments::parse();
    let program = std::env::current_exe().expect("this program has a path");
    let campaign = Campaign {
        program: Program { path: program, arguments: vec!["serve".into()] },
        folder: arguments.folder,
        stores: arguments.store.map_or(vec![Store::Sqlite, Store::Postgres], |store| vec![store]),
        n_devices: arguments.devices,
        devices: OnceLock::new(),
    };
    match arguments.command {
        Some(Command::Serve { served }) => serve(served),
        Some(Command::ServeNothing { served }) => limits::serve_nothing(&served),
        command => {
            println!("{}, load average {}", process::machine(), process::load_average());
            let began = Instant::now();
            campaign.take(command);
            println!(
                "load average at the end {}, after {:.0} s",
                process::load_average(),
                began.elapsed().as_secs_f64()
            );
        }
    }
}

/// What `foltr-server run` does.
fn serve(folder: PathBuf) {
    let arguments = ["foltr-server".into(), "run".into(), folder.into_os_string()];
    let arguments = foltr_server::command::Arguments::parse_from(arguments);
    if let Err(error) = foltr_server::command::run(&arguments) {
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

impl Campaign {
    fn take(&self, command: Option<Command>) {
        match command {
            Some(Command::Limits) => drop(limits::measure(&self.program, &self.folder)),
            Some(Command::Contributions { rate, n, connections, quorum }) => {
                let rate = Some(rate).filter(|rate| *rate > 0.0);
                self.contributions(quorum, &[Arrivals { rate, n, n_connections: connections }]);
            }
            Some(Command::Idle { seconds, connections }) => self.idle(Duration::from_secs(seconds), connections),
            Some(Command::Rounds { rounds, clients }) => self.rounds(rounds, clients),
            _ => self.everything(),
        }
    }

    fn everything(&self) {
        let limit = limits::measure(&self.program, &self.folder).contributions();
        let fixed = Arrivals { rate: Some(2_000.0), n: 80_000, n_connections: 128 };
        let most = Arrivals { rate: None, n: 40_000, n_connections: 128 };
        for rate in self.contributions(20_000, &[fixed, most]) {
            println!("{rate:.0} a second are {:.0} % of what both cores allow", 100.0 * rate / limit);
        }
        self.idle(Duration::from_secs(60), 5_000);
        self.rounds(20, 2);
    }

    /// Their keys take a while to make.
    fn devices(&self) -> &'static [Device] {
        self.devices.get_or_init(|| Device::many(self.n_devices).leak())
    }

    /// Says how many were taken in a second, of each measurement.
    fn contributions(&self, quorum: usize, measurements: &[Arrivals]) -> Vec<f64> {
        let devices = self.devices();
        let mut rates = Vec::new();
        for &store in &self.stores {
            let folder = self.folder.as_path();
            let setting = Setting { folder, store, devices, quorum: Some(quorum), per_minute: 60 };
            let Some(server) = RunningServer::start(&self.program, &setting) else {
                println!("there is no {}", store.name());
                continue;
            };
            for &arrivals in measurements {
                let rate = arrivals.rate.map_or("as many as there can be".into(), |rate| format!("{rate} a second"));
                let measured = contributions::run(&server, devices, arrivals);
                measured.print(&format!("{}, {rate}, {} connections", store.name(), arrivals.n_connections));
                rates.push(measured.rate());
            }
            if let Some(line) = server.log().lines().find(|line| line.contains("ERROR")) {
                println!("  log        {line}");
            }
        }
        rates
    }

    fn idle(&self, time: Duration, n_connections: usize) {
        let devices = self.devices();
        let setting = Setting { folder: &self.folder, store: Store::Sqlite, devices, quorum: None, per_minute: 60 };
        let server = RunningServer::start(&self.program, &setting).expect("SQLite is always there");
        idle::run(&server, devices, n_connections, time).print();
    }

    fn rounds(&self, n_rounds: u32, n_clients: usize) {
        let devices: &'static [Device] = Device::many(n_clients).leak();
        let per_minute = 10_000_000;
        let setting = Setting { folder: &self.folder, store: Store::Sqlite, devices, quorum: None, per_minute };
        let server = RunningServer::start(&self.program, &setting).expect("SQLite is always there");
        let measured = rounds::run(&server, devices, n_rounds);
        measured.print(n_clients);
        drop(server);
        match flower::seconds_per_round(n_rounds, n_clients) {
            Some(seconds) => println!("Flower takes {:.0} times as long", seconds / measured.median()),
            None => println!("Flower is not installed; {} says how", flower::SCRIPT),
        }
    }
}
