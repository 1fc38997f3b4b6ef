//! Requests as bytes on a socket, right or wrong.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::admin::Authority;
use crate::application::Application;
use crate::call::Call;
use crate::http::{Config, Limits, Running};
use crate::service::Service;

/// Longer than any test takes if it succeeds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The operator's token of these tests.
pub const TOKEN: &str = "token of a test";

/// The whole server on loopback.
pub fn start(service: &Arc<Service>, limits: Limits) -> Running {
    let authority = Arc::new(Authority::new(vec![Authority::hash_of(TOKEN)]));
    let application = Application::new(Arc::clone(service), authority, false);
    let config = Config { limits, ..Config::new("127.0.0.1:0".parse().expect("an address")) };
    Running::start(config, Arc::new(application)).expect("loopback can be bound")
}

/// A request as a device sends it.
pub fn bytes_of(call: &Call) -> Vec<u8> {
    let headers = format!("foltr-device: {}\r\nfoltr-signature: {}\r\n", call.device, call.signature);
    request(call.method.name(), &call.path, &headers, &call.body)
}

/// With headers that each end with a line break.
pub fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The standard library binds no source.
static RUNTIME: LazyLock<Mutex<Runtime>> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Mutex::new(runtime.expect("a runtime"))
});

pub struct Client(pub TcpStream);

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The name of its problem; empty without one.
    pub problem: String,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_nodelay(true).expect("a socket");
        Self(stream)
    }

    /// From another address of this machine, so that its share of connections is not that of everybody else.
    pub fn connect_from(source: &str, address: SocketAddr) -> std::io::Result<Self> {
        let runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(SocketAddr::new(source.parse().map_err(std::io::Error::other)?, 0))?;
            socket.connect(address).await?.into_std()
        })?;
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    /// Sends bytes, of which the server may refuse the end, and reads one answer.
    pub fn ask(&mut self, bytes: &[u8]) -> std::io::Result<Reply> {
        self.send(bytes)?;
        self.reply()
    }

    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self.0.write_all(bytes) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends bytes and says that nothing comes behind them.
    pub fn ask_last(&mut self, bytes: &[u8]) -> std::io::Result<Reply> {
        self.send(bytes)?;
        self.0.shutdown(Shutdown::Write)?;
        self.reply()
    }

    pub fn reply(&mut self) -> std::io::Result<Reply> {
        let (mut buffer, mut chunk) = (Vec::new(), [0; 4096]);
        let (head_len, head) = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break (at + 4, String::from_utf8_lossy(&buffer[..at]).to_lowercase());
            }
            match self.0.read(&mut chunk)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => buffer.extend_from_slice(&chunk[..n]),
            }
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        while buffer.len() < head_len + length {
            match self.0.read(&mut chunk)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => buffer.extend_from_slice(&chunk[..n]),
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut body = buffer.split_off(head_len);
        body.truncate(length);
        let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let problem = json["type"].as_str().and_then(|kind| kind.strip_prefix("urn:foltr:problem:"));
        Ok(Reply { status, problem: problem.unwrap_or_default().to_owned() })
    }
}
