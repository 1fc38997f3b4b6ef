//! The headers that say who asks.

use super::{Class, class};
use crate::problem::Name;
use crate::tests::hostile::raw::request;
use crate::tests::hostile::scene::{REVOKED, Scene};
use crate::tests::world::{BASE, TestDevice};

pub fn all(scene: &Scene) -> Vec<Class> {
    let path = format!("{BASE}/task?shard=0");
    let (id, signature) = (scene.get("/task?shard=0").device, scene.get("/task?shard=0").signature);
    let with = |name: &str, headers: &str, refusal| class(name, request("GET", &path, headers, b""), refusal);
    let both = |device: &str, signature: &str| format!("foltr-device: {device}\r\nfoltr-signature: {signature}\r\n");
    let device = |name: &str, value: &str| with(name, &both(value, &signature), Name::BadRequest);
    let signed = |name: &str, value: &str, refusal| with(name, &both(&id, value), refusal);
    let stranger = TestDevice::new(999).id.to_string();
    let revoked = scene.device(REVOKED).call(crate::call::Method::Get, &path, Vec::new());
    vec![
        with("no device header", &format!("foltr-signature: {signature}\r\n"), Name::BadRequest),
        device("empty device header", ""),
        device("short device header", &id[1..]),
        device("long device header", &format!("{id}0")),
        device("device header in capitals", &id.to_uppercase()),
        device("device header that is not hexadecimal", &id.replacen(|_| true, "g", 1)),
        device("device header with a blank", &format!("{} {}", &id[..31], &id[32..])),
        device("two ids in one device header", &format!("{id}, {id}")),
        with("two device headers", &format!("foltr-device: {id}\r\n{}", both(&id, &signature)), Name::BadRequest),
        class("device header that is not ASCII", latin(&path, &signature), Name::BadRequest),
        with("device that nobody knows", &both(&stranger, &signature), Name::UnknownDevice),
        with("no signature header", &format!("foltr-device: {id}\r\n"), Name::BadRequest),
        signed("empty signature header", "", Name::BadRequest),
        signed("short signature header", &signature[1..], Name::BadRequest),
        signed("long signature header", &format!("{signature}0"), Name::BadRequest),
        signed("signature header in capitals", &signature.to_uppercase(), Name::BadRequest),
        signed("signature header that is not hexadecimal", &signature.replacen(|_| true, "z", 1), Name::BadRequest),
        signed("signature of zeros", &"0".repeat(128), Name::BadSignature),
        with("two signature headers", &format!("{}foltr-signature: x\r\n", both(&id, &signature)), Name::BadRequest),
        with("device that was revoked", &both(&revoked.device, &revoked.signature), Name::Revoked),
    ]
}

fn latin(path: &str, signature: &str) -> Vec<u8> {
    let headers = format!("foltr-device: \u{e4}\r\nfoltr-signature: {signature}\r\n");
    request("GET", path, &headers, b"")
}
