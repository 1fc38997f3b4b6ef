//! Requests to join.

use foltr_federation::protocol::{EnrolmentRequest, Invitation};

use super::{Class, call};
use crate::call::{Call, Method};
use crate::problem::Name::*;
use crate::tests::hostile::scene::{REVOKED, Scene};
use crate::tests::world::{BASE, TestDevice};

fn points_of_small_order() -> [(&'static str, [u8; 32]); 3] {
    let (mut one, mut minus_one) = ([0; 32], [255; 32]);
    one[0] = 1;
    (minus_one[0], minus_one[31]) = (236, 127);
    [("key of zeros", [0; 32]), ("key that is the neutral point", one), ("key of order two", minus_one)]
}

pub fn all(scene: &Scene) -> Vec<Class> {
    let (new, path) = (TestDevice::new(300), format!("{BASE}/devices"));
    let request = EnrolmentRequest::new(&scene.usable, new.key.public_key()).encode();
    let body = |bytes: Vec<u8>| new.call(Method::Post, &path, bytes);
    let by = |invitation: &Invitation| new.enrolment(invitation);
    let with = |at: usize, bytes: &[u8]| [&request[..at], bytes, &request[at + bytes.len()..]].concat();
    let guess = Invitation::new(scene.usable.address.clone(), scene.usable.key, [9; 32]).expect("an invitation");
    let mut classes = vec![
        call("enrolment without a body", &body(Vec::new()), Malformed),
        call("enrolment that is cut off", &body(request[..64].to_vec()), Malformed),
        call("enrolment with a byte too many", &body([request.as_slice(), &[0]].concat()), Malformed),
        call("enrolment of protocol 1", &body(with(0, &[1])), Malformed),
        call("key that is no point", &body(with(33, &[2; 32])), Malformed),
        call("secret that nobody gave", &by(&guess), InvitationRefused),
        call("invitation that is used up", &by(&scene.used_up), InvitationRefused),
        call("invitation that has expired", &by(&scene.expired), InvitationRefused),
        call("invitation that was revoked", &by(&scene.revoked), InvitationRefused),
        call("enrolment of a revoked device", &scene.device(REVOKED).enrolment(&scene.usable), Revoked),
        call("enrolment with a query", &new.call(Method::Post, &format!("{path}?a=1"), request.clone()), BadRequest),
        call("key of another device", &body(with(33, scene.device(0).key.public_key().as_bytes())), OtherDevice),
    ];
    let signature = scene.device(0).call(Method::Post, &path, request.clone()).signature;
    let forged = Call { signature, ..body(request.clone()) };
    classes.push(call("enrolment that another key signed", &forged, BadSignature));
    let other = Call { device: scene.device(0).id.to_string(), ..body(request.clone()) };
    classes.push(call("enrolment under the id of another device", &other, OtherDevice));
    for (name, key) in points_of_small_order() {
        classes.push(call(name, &body(with(33, &key)), Malformed));
    }
    classes
}
