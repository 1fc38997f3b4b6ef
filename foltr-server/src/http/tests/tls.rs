use std::path::Path;
use std::time::Instant;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::*;
use crate::http::TlsOptions;

fn new_certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate")
}

fn write(folder: &Path, certificate: &CertifiedKey<KeyPair>) {
    std::fs::write(folder.join("certificate.pem"), certificate.cert.pem()).expect("a folder");
    std::fs::write(folder.join("key.pem"), certificate.signing_key.serialize_pem()).expect("a folder");
}

fn options(folder: &Path) -> TlsOptions {
    let check_every = Duration::from_millis(50);
    TlsOptions { check_every, ..TlsOptions::new(folder.join("certificate.pem"), folder.join("key.pem")) }
}

fn start_tls(folder: &Path, limits: Limits) -> Running {
    start_with(Config { tls: Some(options(folder)), ..config(limits) }, echo)
}

/// Trusts one certificate, and keeps no connection.
fn client(certificate: &CertifiedKey<KeyPair>) -> ureq::Agent {
    let pem = certificate.cert.pem();
    let roots = parse_pem(pem.as_bytes()).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let roots: Vec<Certificate<'static>> = roots.collect();
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&roots)).build();
    let config = ureq::Agent::config_builder().tls_config(tls).max_idle_connections(0).timeout_global(Some(PATIENCE));
    config.build().into()
}

fn url(running: &Running, path: &str) -> String {
    format!("https://localhost:{}{path}", running.address().port())
}

#[test]
fn requests_travel_over_tls() {
    let folder = TempDir::new().expect("a folder");
    let certificate = new_certificate();
    write(folder.path(), &certificate);
    let running = start_tls(folder.path(), Limits::default());
    let client = client(&certificate);
    let mut reply = client.put(url(&running, "/x?y=1")).send(&b"body"[..]).expect("an answer");
    assert_eq!(reply.body_mut().read_to_string().expect("text"), "PUT /x?y=1 4");
    assert_eq!(reply.headers()["strict-transport-security"], "max-age=63072000");
    assert!(super::tls::client(&new_certificate()).get(url(&running, "/")).call().is_err(), "another certificate");
}

#[test]
fn a_renewed_certificate_is_used_without_a_restart() {
    let folder = TempDir::new().expect("a folder");
    let (old, new) = (new_certificate(), new_certificate());
    write(folder.path(), &old);
    let running = start_tls(folder.path(), Limits::default());
    assert!(client(&old).get(url(&running, "/")).call().is_ok());

    // Half of a renewal: the key does not belong to the certificate.
    std::fs::write(folder.path().join("certificate.pem"), new.cert.pem()).expect("a folder");
    std::thread::sleep(Duration::from_millis(200));
    assert!(client(&old).get(url(&running, "/")).call().is_ok(), "the old pair stays");

    write(folder.path(), &new);
    let until = Instant::now() + PATIENCE;
    while client(&new).get(url(&running, "/")).call().is_err() {
        assert!(Instant::now() < until, "the new certificate is never used");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(client(&old).get(url(&running, "/")).call().is_err());
}

#[test]
fn a_handshake_has_its_time_and_plain_http_gets_no_answer() {
    let folder = TempDir::new().expect("a folder");
    let certificate = new_certificate();
    write(folder.path(), &certificate);
    let running = start_tls(folder.path(), Limits { handshake_time: Duration::from_millis(200), ..Limits::default() });
    assert!(Client::connect(running.address()).is_closed());
    let mut plain = Client::connect(running.address());
    plain.send(get("/"));
    let mut bytes = Vec::new();
    let _ = plain.0.read_to_end(&mut bytes);
    assert!(!bytes.starts_with(b"HTTP"));
    let client = client(&certificate);
    let metrics = client.get(url(&running, "/metrics")).call().expect("an answer").body_mut().read_to_string();
    let metrics = metrics.expect("text");
    for reason in ["handshake too slow", "handshake failed"] {
        assert!(metrics.contains(&format!("reason=\"{reason}\"}} 1\n")), "{metrics}");
    }
}

#[test]
fn a_wrong_certificate_is_an_error_at_the_start() {
    let folder = TempDir::new().expect("a folder");
    let error = || {
        let config = Config { tls: Some(options(folder.path())), ..config(Limits::default()) };
        let started = Running::start(config, Arc::new(Fake { handle: echo, readiness: Ok(()) }));
        started.err().expect("no certificate").to_string()
    };
    assert!(error().contains("certificate.pem cannot be read"), "{}", error());
    let (one, other) = (new_certificate(), new_certificate());
    write(folder.path(), &one);
    std::fs::write(folder.path().join("key.pem"), "nothing").expect("a folder");
    assert!(error().contains("key.pem has no private key in PEM"), "{}", error());
    std::fs::write(folder.path().join("key.pem"), other.signing_key.serialize_pem()).expect("a folder");
    assert!(error().contains("certificate and key do not work"), "{}", error());
    write(folder.path(), &one);
    std::fs::write(folder.path().join("certificate.pem"), "").expect("a folder");
    assert!(error().contains("certificate.pem has no certificate in PEM"), "{}", error());
}
