//! Bodies of contributions, all signed as they are.

use foltr_federation::Fingerprint;
use foltr_federation::protocol::{Contribution, ReleaseId};

use super::{Class, call};
use crate::call::{Call, Method};
use crate::problem::Name::{self, *};
use crate::tests::hostile::scene::{REVOKED, Scene};
use crate::tests::world::BASE;

/// Where things are (docs/protocol.md, *Contribution*).
const PLAN: usize = 2;
const ROUND: usize = 34;
const INTERACTIONS: usize = 106;
const DELTA: usize = 110;

fn of(scene: &Scene, contribution: &Contribution) -> Call {
    let path = format!("{BASE}/rounds/{}/contributions/{}", contribution.round, scene.device(0).id);
    scene.device(0).call(Method::Put, &path, contribution.encode())
}

pub fn all(scene: &Scene) -> Vec<Class> {
    let length = scene.contribution().encode().len();
    let mut classes: Vec<Class> = [0, 1, 2, 33, 34, 38, 74, 105, 106, 109, 110, 113, length - 1]
        .into_iter()
        .map(|n| call(format!("contribution of {n} bytes"), &scene.upload(|bytes| bytes.truncate(n)), Malformed))
        .collect();
    classes.extend(fields(scene));
    classes.extend(states(scene));
    classes
}

fn fields(scene: &Scene) -> Vec<Class> {
    let byte =
        |name: &str, at: usize, value: u8, refusal| call(name, &scene.upload(|bytes| bytes[at] = value), refusal);
    let put = |name: &str, at: usize, value: [u8; 4], refusal| {
        call(name, &scene.upload(|bytes| bytes[at..at + 4].copy_from_slice(&value)), refusal)
    };
    let long = |name: &str, n: usize| call(name, &scene.upload(|bytes| bytes.resize(bytes.len() + n, 0)), Malformed);
    vec![
        long("contribution with a byte too many", 1),
        long("contribution with a parameter too many", 4),
        byte("contribution of protocol 1", 0, 1, Malformed),
        byte("contribution of protocol 3", 0, 3, Malformed),
        byte("contribution of kind 0", 1, 0, Malformed),
        byte("contribution of kind 6", 1, 6, Malformed),
        byte("rewards in place of a step", 1, 2, Malformed),
        byte("clipped step in place of a step", 1, 4, Malformed),
        byte("share in place of a step", 1, 5, Malformed),
        byte("contribution to another plan", PLAN, scene.contribution().encode()[PLAN] ^ 1, OtherPlan),
        put("contribution of another round than its path", ROUND, [9, 0, 0, 0], Malformed),
        put("no interaction", INTERACTIONS, 0_u32.to_le_bytes(), Malformed),
        put("an interaction too many", INTERACTIONS, 5_u32.to_le_bytes(), Malformed),
        put("2^32 - 1 interactions", INTERACTIONS, u32::MAX.to_le_bytes(), Malformed),
        put("update with a NaN", DELTA, f32::NAN.to_le_bytes(), Malformed),
        put("update with a signalling NaN", DELTA, 0x7f80_0001_u32.to_le_bytes(), Malformed),
        put("update with an infinity", DELTA, f32::INFINITY.to_le_bytes(), Malformed),
        put("update with an infinity below zero", DELTA + 4, f32::NEG_INFINITY.to_le_bytes(), Malformed),
    ]
}

fn states(scene: &Scene) -> Vec<Class> {
    let own = scene.contribution();
    let other = |name: &str, contribution: Contribution, refusal: Name| call(name, &of(scene, &contribution), refusal);
    let start = |version: u32, hash| ReleaseId { version, hash };
    let (newest, nobody) = (own.start, Fingerprint::of(b"nobody"));
    let old = scene.old_upload.body.clone();
    let second = scene.device(1).step(&scene.task, newest, [7.0, 7.0]);
    let revoked = scene.device(REVOKED).step(&scene.task, newest, [1.0, 0.0]);
    vec![
        other("round that was abandoned", Contribution { round: 2, ..own.clone() }, RoundClosed),
        other("round of the future", Contribution { round: own.round + 1, ..own.clone() }, RoundClosed),
        other("round at the end of numbers", Contribution { round: u32::MAX, ..own.clone() }, RoundClosed),
        other("other bytes to a closed round", Contribution { round: 0, ..own.clone() }, AlreadyContributed),
        other(
            "start with another hash",
            Contribution { start: start(newest.version, nobody), ..own.clone() },
            UnknownStart,
        ),
        other("start of another version", Contribution { start: start(1, newest.hash), ..own.clone() }, UnknownStart),
        other(
            "start of the future",
            Contribution { start: start(newest.version + 1, nobody), ..own.clone() },
            UnknownStart,
        ),
        other(
            "start at the end of numbers",
            Contribution { start: start(u32::MAX, nobody), ..own.clone() },
            UnknownStart,
        ),
        other("start from before a rollback", scene.rolled_back.clone(), UnknownStart),
        other(
            "contribution of another device",
            Contribution { device: scene.device(1).id, ..own.clone() },
            OtherDevice,
        ),
        call("contribution of an earlier round", &scene.upload(|bytes| *bytes = old), Malformed),
        call("second contribution of a device", &scene.device(1).upload(&second), AlreadyContributed),
        call("contribution of a revoked device", &scene.device(REVOKED).upload(&revoked), Revoked),
    ]
}
