//! Devices that are keys only, and the requests that they sign.

use foltr_federation::Payload;
use foltr_federation::protocol::{Contribution, DeviceId, SecretKey, Task, sign_request};

use super::server::BASE;

/// Numbers of the model, and of an update.
pub const N_FEATURES: usize = 136;

pub struct Device {
    pub key: SecretKey,
    pub id: DeviceId,
    name: String,
}

impl Device {
    pub fn new(seed: usize) -> Self {
        let secret = *foltr_federation::Fingerprint::of(&seed.to_le_bytes()).as_bytes();
        let key = SecretKey::from_bytes(&secret);
        let id = key.public_key().device_id();
        Self { key, id, name: id.to_string() }
    }

    pub fn many(n: usize) -> Vec<Self> {
        (0..n).map(Self::new).collect()
    }

    /// The bytes of a signed request.
    fn request(&self, method: &str, path: &str, etag: Option<&str>, body: &[u8]) -> Vec<u8> {
        let signature = hexadecimal(&sign_request(method, path, body, &self.key));
        let etag = etag.map(|etag| format!("if-none-match: {etag}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nfoltr-device: {}\r\nfoltr-signature: {signature}\r\n{etag}\
             content-length: {}\r\n\r\n",
            self.name,
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    pub fn asks_for_task(&self, etag: Option<&str>) -> Vec<u8> {
        self.request("GET", &format!("{BASE}/task?shard=0"), etag, &[])
    }

    pub fn asks_for_release(&self) -> Vec<u8> {
        self.request("GET", &format!("{BASE}/releases/newest?shard=0"), None, &[])
    }

    /// A step of one size in every direction.
    pub fn contributes(&self, task: &Task, step: f32) -> Vec<u8> {
        let payload = Payload::Step { n_interactions: 1, delta: vec![step; N_FEATURES] };
        let (plan, round, start) = (task.plan, task.round, task.start);
        let contribution = Contribution { plan, round, start, device: self.id, payload };
        let path = format!("{BASE}/rounds/{round}/contributions/{}", self.name);
        self.request("PUT", &path, None, &contribution.encode())
    }
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).map(char::from).collect()
}
