//! Signatures that are right for something else.

use super::{Class, call, class};
use crate::call::{Call, Method};
use crate::hex;
use crate::problem::Name::BadSignature;
use crate::tests::hostile::raw::request;
use crate::tests::hostile::scene::Scene;
use crate::tests::world::BASE;

/// The order of the group of Ed25519, of which a signature has one number below it.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The same signature in another form, which a lax server would take.
fn malleated(signature: &str) -> String {
    let mut bytes: [u8; 64] = hex::decode(signature).expect("a signature");
    let mut carry = 0;
    for (byte, order) in bytes[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    hex::encode(&bytes)
}

pub fn all(scene: &Scene) -> Vec<Class> {
    let (upload, path) = (scene.upload(|_| {}), scene.upload_path());
    let (own, other) = (scene.device(0), scene.device(1));
    let signed = |name: &str, signature: String| call(name, &Call { signature, ..upload.clone() }, BadSignature);
    let task = format!("{BASE}/task?shard=0");
    let get = |signature: String| Call { signature, ..scene.get("/task?shard=0") };
    let head = own.call(Method::Get, &task, Vec::new());
    let headers = format!("foltr-device: {}\r\nfoltr-signature: {}\r\n", head.device, "ab".repeat(64));
    let mut flipped = upload.clone();
    flipped.body[110] ^= 1;
    let swapped = Call {
        device: other.id.to_string(),
        path: path.replace(&own.id.to_string(), &other.id.to_string()),
        ..upload.clone()
    };
    vec![
        signed("signature of a GET for a PUT", own.call(Method::Get, &path, upload.body.clone()).signature),
        signed("signature of a POST for a PUT", own.call(Method::Post, &path, upload.body.clone()).signature),
        signed("signature over another body", own.call(Method::Put, &path, b"other".to_vec()).signature),
        signed("signature over no body", own.call(Method::Put, &path, Vec::new()).signature),
        signed(
            "signature over another round",
            own.call(Method::Put, &path.replace("/3/", "/4/"), upload.body.clone()).signature,
        ),
        signed(
            "signature over another federation",
            own.call(Method::Put, &path.replace("test", "prod"), upload.body.clone()).signature,
        ),
        signed("signature of another device", other.call(Method::Put, &path, upload.body.clone()).signature),
        signed("signature in another form", malleated(&upload.signature)),
        signed("signature of an earlier upload", scene.old_upload.signature.clone()),
        call("body that was altered on the way", &flipped, BadSignature),
        call("device that was swapped", &swapped, BadSignature),
        call(
            "signature without the query",
            &get(own.call(Method::Get, &format!("{BASE}/task"), Vec::new()).signature),
            BadSignature,
        ),
        call(
            "signature of another query",
            &get(own.call(Method::Get, &format!("{BASE}/task?shard=1"), Vec::new()).signature),
            BadSignature,
        ),
        call(
            "signature with the host",
            &get(own.call(Method::Get, &format!("http://localhost{task}"), Vec::new()).signature),
            BadSignature,
        ),
        class(
            "GET with a body that was not signed",
            request("GET", &task, &device_headers(&head), b"body"),
            BadSignature,
        ),
        class("signature of nothing", request("GET", &task, &headers, b""), BadSignature),
    ]
}

fn device_headers(call: &Call) -> String {
    format!("foltr-device: {}\r\nfoltr-signature: {}\r\n", call.device, call.signature)
}
