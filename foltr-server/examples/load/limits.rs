//! What the machine itself can do, measured beside the server.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foltr_federation::protocol::{sign_request, verify_request};
use foltr_server::call::{Answer, Call, Handler};
use foltr_server::http::{Config, Running, TlsOptions};
use tokio::task::JoinSet;

use super::client::Target;
use super::device::Device;
use super::server::{Program, spawn, write_certificate};

const WINDOW: Duration = Duration::from_secs(2);
/// A contribution of 136 numbers has about so many bytes.
const BODY: usize = 655;

/// A second: requests of both cores, the others of one.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    requests: f64,
    signatures: f64,
    verifications: f64,
}

pub fn measure(program: &Program, folder: &Path) -> Limits {
    std::fs::create_dir_all(folder).expect("a folder that can be made");
    let syncs = syncs(folder);
    let (handshakes, requests) = tls(program, folder);
    let (signatures, verifications) = signatures();
    let limits = Limits { requests, signatures, verifications };
    println!("the machine itself");
    println!("  disk        {:.0} fdatasync of 4 KiB a second, {:.2} ms each", syncs, 1e3 / syncs);
    println!("  TLS         {handshakes:.0} whole handshakes a second, client and server on this machine");
    println!("  HTTP        {requests:.0} requests of {BODY} bytes a second that do nothing, on kept TLS connections");
    println!("  Ed25519     {signatures:.0} signatures, {verifications:.0} verifications a second on one core");
    println!("  both cores  {:.0} contributions a second if a server did nothing else", limits.contributions());
    limits
}

impl Limits {
    /// Both sides of a request, two signatures (of the device and of the receipt) and one verification, on two cores.
    pub fn contributions(&self) -> f64 {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let signing = (2.0 / self.signatures + 1.0 / self.verifications) / n_cores;
        1.0 / (1.0 / self.requests + signing)
    }
}

/// How often `run` runs in a second.
fn repeat(mut run: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut n = 0;
    while began.elapsed() < WINDOW {
        run();
        n += 1;
    }
    f64::from(n) / began.elapsed().as_secs_f64()
}

fn syncs(folder: &Path) -> f64 {
    let path = folder.join("syncs");
    let mut file = File::create(&path).expect("a new file");
    let rate = repeat(|| {
        file.write_all(&[7; 4096]).expect("a disk with space");
        file.sync_data().expect("a disk that works");
    });
    std::fs::remove_file(&path).expect("the file that was made");
    rate
}

fn signatures() -> (f64, f64) {
    let (device, body) = (Device::new(1), [7; BODY]);
    let public = device.key.public_key();
    let signature = sign_request("PUT", "/path", &body, &device.key);
    let signing = repeat(|| {
        std::hint::black_box(sign_request("PUT", "/path", &body, &device.key));
    });
    let verifying = repeat(|| verify_request("PUT", "/path", &body, &public, &signature).expect("its own signature"));
    (signing, verifying)
}

/// Answers every call with nothing.
struct Echo;

impl Handler for Echo {
    fn handle(&self, _: &Call) -> Answer {
        Answer::empty(204)
    }

    fn readiness(&self) -> Result<(), String> {
        Ok(())
    }

    fn metrics(&self) -> String {
        String::new()
    }
}

/// Serves nothing in a process of its own, until that is ended.
pub fn serve_nothing(folder: &Path) {
    let mut config = Config::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));
    config.tls = Some(TlsOptions::new(folder.join("certificate.pem"), folder.join("key.pem")));
    let running = Running::start(config, Arc::new(Echo)).expect("a server");
    println!("listening on https://{} (nothing is there)", running.address());
    loop {
        std::thread::park();
    }
}

/// Whole handshakes a second, and requests a second on kept connections.
fn tls(program: &Program, folder: &Path) -> (f64, f64) {
    let folder = tempfile::Builder::new().prefix("echo-").tempdir_in(folder).expect("a folder");
    let certificate = write_certificate(folder.path());
    let program = Program { path: program.path.clone(), arguments: vec!["serve-nothing".into()] };
    let (mut child, address) = spawn(&program, folder.path());
    let target = Target::new(address, &certificate);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let rates = runtime.block_on(async {
        let handshakes = together(8, &target, async |target: Target, until| {
            let mut n = 0;
            while Instant::now() < until {
                drop(target.connect().await.expect("a handshake"));
                n += 1;
            }
            n
        });
        let handshakes = handshakes.await;
        let requests = together(64, &target, async |target: Target, until| {
            let head =
                format!("PUT /v1/federations/none HTTP/1.1\r\nhost: localhost\r\ncontent-length: {BODY}\r\n\r\n");
            let request = [head.as_bytes(), &[7; BODY]].concat();
            let mut connection = target.connect().await.expect("a handshake");
            let mut n = 0;
            while Instant::now() < until {
                assert_eq!(connection.ask(&request).await.expect("an answer").status, 204);
                n += 1;
            }
            n
        });
        (handshakes, requests.await)
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    rates
}

/// How much so many tasks get done in a second, together.
async fn together<F>(n_tasks: usize, target: &Target, run: impl Fn(Target, Instant) -> F) -> f64
where
    F: Future<Output = u32> + Send + 'static,
{
    let began = Instant::now();
    let mut tasks: JoinSet<u32> = JoinSet::new();
    for _ in 0..n_tasks {
        tasks.spawn(run(target.clone(), began + WINDOW));
    }
    let done: u32 = tasks.join_all().await.into_iter().sum();
    f64::from(done) / began.elapsed().as_secs_f64()
}
