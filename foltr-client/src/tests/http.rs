//! The server behind real connections: plain on loopback, by TLS with an authority of one's own, and through a proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foltr_federation::FederationPlan;
use foltr_federation::protocol::Plan;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::federation::{Federation, Shared, lock};
use crate::core::{Answer, Consent, FederationError, Method, Request, Synced};
use crate::error::DeviceError;
use crate::options::{Network, Options};
use crate::{Device, FeatureSchema, Normalisation};

/// A server on a port of its own. Its threads end with the process.
pub struct HttpServer {
    pub origin: String,
    pub federation: Shared,
}

/// What is read from and written to.
trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

impl HttpServer {
    pub fn start(federation: Shared, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = federation.clone();
        let scheme = if tls.is_some() { "https" } else { "http" };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (federation, tls) = (shared.clone(), tls.clone());
                std::thread::spawn(move || match tls {
                    Some(config) => {
                        let connection = ServerConnection::new(config).expect("a sound configuration");
                        serve(&mut StreamOwned::new(connection, stream), &federation);
                    }
                    None => serve(&mut { stream }, &federation),
                });
            }
        });
        Self { origin: format!("{scheme}://localhost:{port}"), federation }
    }

    pub fn invitation(&self) -> String {
        lock(&self.federation).invitation(&self.origin).to_string()
    }
}

/// Requests of one connection, until it ends.
fn serve(stream: &mut dyn Connection, federation: &Shared) {
    while let Some(request) = read_request(stream) {
        let Answer { status, body, retry_after } = lock(federation).handle(&request, None);
        let retry_after = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n{retry_after}\r\n", body.len());
        let sent = stream.write_all(&[head.as_bytes(), &body].concat()).and_then(|()| stream.flush());
        if sent.is_err() {
            break;
        }
    }
}

fn read_request(stream: &mut dyn Connection) -> Option<Request> {
    let mut input = BufReader::with_capacity(1, stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let method = match words.next()? {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        _ => return None,
    };
    let path = words.next()?.to_owned();
    let header = |name: &str| {
        let of = |line: &String| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        lines.iter().find_map(of).unwrap_or_default()
    };
    assert_eq!(header("user-agent"), "foltr", "nothing more is said about the device");
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    input.read_exact(&mut body).ok()?;
    let (device, signature) = (header("foltr-device"), header("foltr-signature"));
    Some(Request { method, origin: String::new(), path, body, device, signature, most: 0 })
}

pub fn features() -> FeatureSchema {
    FeatureSchema::numbered(super::device::N_FEATURES, Normalisation::None)
}

/// A federation of people: its noise may not be foreseen.
pub fn federation() -> Shared {
    let plan = FederationPlan { n_rounds: 10_000, ..super::modes::pdgd(1) };
    let plan = Plan::new(plan, &features(), false);
    Federation::shared(plan.expect("deployable"))
}

fn joins_and_contributes(invitation: &str, network: Network) -> Result<Synced, DeviceError> {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { network, upload_delay: 0, ..Options::new(features()) };
    let device = Device::open(folder.path(), options).expect("a new folder");
    device.join_with(invitation, Consent::NoPromise)?;
    for wanted in 0..4 {
        let shown = device.rank(&super::device::documents(wanted, 5)).expect("sound");
        device.clicked(shown.impression, 0)?;
        device.dismiss(shown.impression)?;
    }
    device.sync()
}

#[test]
fn plain_on_loopback() {
    let server = HttpServer::start(federation(), None);
    let synced = joins_and_contributes(&server.invitation(), Network::default());
    assert_eq!(synced, Ok(Synced::Contributed { round: 0 }));
    assert_eq!(lock(&server.federation).received.len(), 1);
}

/// A certificate for localhost, and the authority that signed it in PEM form.
fn certificates() -> (Arc<ServerConfig>, Vec<u8>) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .expect("a sound certificate");
    (Arc::new(config), signed.cert.pem().into_bytes())
}

#[test]
fn tls_with_an_authority_of_ones_own() {
    let (config, authority) = certificates();
    let server = HttpServer::start(federation(), Some(config));
    let own = Network { certificate_authority: Some(authority), ..Network::default() };
    assert_eq!(joins_and_contributes(&server.invitation(), own), Ok(Synced::Contributed { round: 0 }));
    // The public authorities do not know it.
    let refused = joins_and_contributes(&server.invitation(), Network::default()).expect_err("unknown authority");
    assert!(matches!(refused, DeviceError::NotReached(FederationError::NotReached { .. }, _)), "{refused}");
    assert!(refused.to_string().to_lowercase().contains("certificate"), "{refused}");
}

/// Takes `CONNECT` and passes bytes on.
fn start_proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let n_connections = Arc::new(AtomicUsize::new(0));
    let count = n_connections.clone();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let Ok(mut server) = TcpStream::connect(target) else { return };
                let _ = client.write_all(b"HTTP/1.1 200 connected\r\n\r\n");
                let (mut back, mut forth) = (server.try_clone().expect("a copy"), client.try_clone().expect("a copy"));
                std::thread::spawn(move || drop(std::io::copy(&mut back, &mut forth)));
                let _ = std::io::copy(&mut client, &mut server);
            });
        }
    });
    (address, n_connections)
}

#[test]
fn through_a_proxy() {
    let (config, authority) = certificates();
    let server = HttpServer::start(federation(), Some(config));
    let (proxy, n_connections) = start_proxy();
    let network = Network { proxy: Some(proxy), certificate_authority: Some(authority), ..Network::default() };
    assert_eq!(joins_and_contributes(&server.invitation(), network), Ok(Synced::Contributed { round: 0 }));
    assert!(n_connections.load(Ordering::Relaxed) > 0, "nothing went through the proxy");
}

#[test]
fn an_answer_without_end_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 99999999999\r\n\r\n");
            while stream.write_all(&[0; 1 << 16]).is_ok() {}
        }
    });
    let invitation = lock(&federation()).invitation(&origin).to_string();
    let refused = joins_and_contributes(&invitation, Network::default()).expect_err("too long");
    assert!(matches!(refused, DeviceError::NotReached(..)), "{refused}");
}

#[test]
fn wrong_options_of_the_network_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |network| {
        let options = Options { network, ..Options::new(features()) };
        Device::open(folder.path(), options).expect_err("of no use").to_string()
    };
    let said = open(Network { proxy: Some("no proxy at all".into()), ..Network::default() });
    assert!(said.contains("network.proxy") && said.contains("3128"), "{said}");
    let said = open(Network { certificate_authority: Some(b"no PEM".to_vec()), ..Network::default() });
    assert!(said.contains("certificate"), "{said}");
}
