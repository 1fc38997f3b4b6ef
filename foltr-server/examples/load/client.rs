//! A client that keeps its TLS connection and speaks as much HTTP/1.1 as devices need.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A server, and how to know it.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    connector: TlsConnector,
}

impl Target {
    /// Trusts this certificate. Sessions are not resumed: every handshake is a whole one.
    pub fn new(address: SocketAddr, certificate: &str) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate in PEM");
        roots.add(certificate).expect("a certificate that may be a root");
        let builder = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions of this provider");
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.resumption = rustls::client::Resumption::disabled();
        Self { address, connector: TlsConnector::from(Arc::new(config)) }
    }

    pub async fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = self.connector.connect(name, stream).await?;
        Ok(Connection { stream, buffer: Vec::with_capacity(1 << 10) })
    }
}

pub struct Connection {
    stream: TlsStream<TcpStream>,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

impl Reply {
    /// What the reply says is wrong: the name of its problem, or its status.
    pub fn problem(&self) -> String {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let name = json["type"].as_str().and_then(|kind| kind.rsplit(':').next());
        name.map_or_else(|| format!("status {}", self.status), str::to_owned)
    }
}

impl Connection {
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Reply> {
        self.stream.write_all(request).await?;
        self.stream.flush().await?;
        self.buffer.clear();
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            self.read().await?;
        };
        let mut reply = read_head(&self.buffer[..end]).ok_or(io::ErrorKind::InvalidData)?;
        while self.buffer.len() < end + reply.1 {
            self.read().await?;
        }
        reply.0.body = self.buffer[end..].to_vec();
        Ok(reply.0)
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// A reply without its body, and the length of that.
fn read_head(head: &[u8]) -> Option<(Reply, usize)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let (mut length, mut etag) = (0, None);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        match name {
            _ if name.eq_ignore_ascii_case("content-length") => length = value.trim().parse().ok()?,
            _ if name.eq_ignore_ascii_case("etag") => etag = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let length = if matches!(status, 204 | 304) { 0 } else { length };
    Some((Reply { status, etag, body: Vec::new() }, length))
}
