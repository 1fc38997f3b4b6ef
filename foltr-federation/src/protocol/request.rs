//! Requests of devices: signed over method, path and body, so that none of them can be exchanged.

use crate::protocol::key::{BadSignature, PublicKey, SecretKey};
use crate::writer::Writer;

/// Stands in front of what is signed; no document of the protocol has this name.
const NAME: &str = "foltr request";

/// Signs a request, such as `PUT` to a path as it is on the request line, without host and with its query if it has one.
///
/// There is no time in it: a request that is repeated must have the effect of one. The path names the federation.
pub fn sign_request(method: &str, path: &str, body: &[u8], key: &SecretKey) -> [u8; 64] {
    key.sign(&signed_bytes(method, path, body))
}

pub fn verify_request(
    method: &str,
    path: &str,
    body: &[u8],
    key: &PublicKey,
    signature: &[u8; 64],
) -> Result<(), BadSignature> {
    key.verify(&signed_bytes(method, path, body), signature)
}

fn signed_bytes(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Writer::named(NAME);
    out.text(method).text(path).len(body.len()).bytes(body);
    out.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_path_body_and_key_are_all_signed() {
        let (key, other) = (SecretKey::from_bytes(&[1; 32]), SecretKey::from_bytes(&[2; 32]));
        let (method, path, body) = ("PUT", "/v1/federations/a/rounds/7/contributions/b", b"body".as_slice());
        let signature = sign_request(method, path, body, &key);
        let verify =
            |method, path, body, key: &SecretKey| verify_request(method, path, body, &key.public_key(), &signature);
        assert_eq!(verify(method, path, body, &key), Ok(()));
        assert!(verify("POST", path, body, &key).is_err());
        assert!(verify(method, "/v1/federations/a/rounds/8/contributions/b", body, &key).is_err());
        assert!(verify(method, path, b"bodY", &key).is_err());
        assert!(verify(method, path, body, &other).is_err());
        // What belongs to the path cannot move into the method or the body.
        assert!(verify("PUT/", &path[1..], body, &key).is_err());
    }
}
