//! Requests to be forgotten that would erase somebody else, or nobody.

use foltr_federation::protocol::ForgetRequest;

use super::{Class, call};
use crate::call::{Call, Method};
use crate::problem::Name::*;
use crate::tests::hostile::scene::Scene;
use crate::tests::world::{BASE, TestDevice};

pub fn all(scene: &Scene) -> Vec<Class> {
    let (own, other, stranger) = (scene.device(0), scene.device(1), TestDevice::new(400));
    let path = format!("{BASE}/forget");
    let request = |of: &TestDevice| ForgetRequest { device: of.id, plan: scene.task.plan }.encode();
    let body = |bytes: Vec<u8>| own.call(Method::Post, &path, bytes);
    let mut of_protocol_1 = request(own);
    of_protocol_1[0] = 1;
    let receipt =
        |by: &TestDevice, of: &TestDevice| by.call(Method::Get, &format!("{BASE}/receipts/{}", of.id), Vec::new());
    let signed_by_other =
        Call { signature: other.call(Method::Post, &path, request(own)).signature, ..body(request(own)) };
    let of_an_upload = Call { signature: scene.old_upload.signature.clone(), ..body(request(own)) };
    vec![
        call("wish to be forgotten without a body", &body(Vec::new()), Malformed),
        call("wish to be forgotten that is cut off", &body(request(own)[..40].to_vec()), Malformed),
        call("wish to be forgotten with a byte too many", &body([request(own), vec![0]].concat()), Malformed),
        call("wish to be forgotten of protocol 1", &body(of_protocol_1), Malformed),
        call("wish that another device be forgotten", &body(request(other)), OtherDevice),
        call("wish to be forgotten that another device signed", &signed_by_other, BadSignature),
        call("wish to be forgotten with the signature of an upload", &of_an_upload, BadSignature),
        call(
            "wish of a stranger to be forgotten",
            &stranger.call(Method::Post, &path, request(&stranger)),
            NothingToForget,
        ),
        call(
            "wish to be forgotten with a query",
            &own.call(Method::Post, &format!("{path}?a=1"), request(own)),
            BadRequest,
        ),
        call("wish to be forgotten by PUT", &own.call(Method::Put, &path, request(own)), MethodNotAllowed),
        call("receipt of who did not ask to be forgotten", &receipt(own, own), NotFound),
        call("receipt of another device", &receipt(own, other), OtherDevice),
        call("receipt of a stranger", &receipt(&stranger, &stranger), NothingToForget),
    ]
}
