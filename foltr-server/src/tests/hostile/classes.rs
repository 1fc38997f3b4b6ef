//! Malformed requests by name: each is refused by its documented name, and changes nothing.

mod contributions;
mod enrolments;
mod forgetting;
mod headers;
mod operators;
mod paths;
mod signatures;
mod transport;

use std::collections::BTreeSet;
use std::time::Instant;

use super::raw::{Client, bytes_of, start};
use super::scene::Scene;
use crate::call::Call;
use crate::http::Limits;
use crate::problem::Name;

/// A malformed request, and how it is refused.
pub struct Class {
    pub name: String,
    pub bytes: Vec<u8>,
    pub refusal: Name,
    /// Whether the client closes its side behind it.
    pub is_last: bool,
}

pub fn class(name: impl Into<String>, bytes: Vec<u8>, refusal: Name) -> Class {
    Class { name: name.into(), bytes, refusal, is_last: false }
}

pub fn call(name: impl Into<String>, call: &Call, refusal: Name) -> Class {
    class(name, bytes_of(call), refusal)
}

fn all(scene: &Scene) -> Vec<Class> {
    let groups = [
        headers::all,
        paths::all,
        contributions::all,
        enrolments::all,
        signatures::all,
        forgetting::all,
        transport::all,
    ];
    let mut classes: Vec<Class> = groups.iter().flat_map(|group| group(scene)).collect();
    classes.extend(operators::all());
    classes
}

#[test]
fn every_malformed_request_is_refused_by_name_and_changes_nothing() {
    let scene = Scene::new();
    let running = start(&scene.world.service, Limits::default());
    let classes = all(&scene);
    let names: BTreeSet<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    assert!(names.len() == classes.len() && names.len() >= 40, "{} names of {}", names.len(), classes.len());
    let (before, began) = (scene.digest(), Instant::now());
    let mut wrong = Vec::new();
    for Class { name, bytes, refusal, is_last } in &classes {
        let mut client = Client::connect(running.address());
        let reply = if *is_last { client.ask_last(bytes) } else { client.ask(bytes) };
        match reply {
            Ok(reply) if (reply.status, reply.problem.as_str()) == (refusal.status(), refusal.name()) => {
                println!("| {name} | {} | {} |", refusal.status(), refusal.name());
            }
            Ok(reply) => wrong.push(format!("{name}: {} {:?} instead of {refusal:?}", reply.status, reply.problem)),
            Err(error) => wrong.push(format!("{name}: {error} instead of {refusal:?}")),
        }
        if scene.digest() != before {
            wrong.push(format!("{name} has changed the store"));
            break;
        }
    }
    println!("{} classes in {:?}", classes.len(), began.elapsed());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_right_is_taken_in_the_same_scene() {
    let scene = Scene::new();
    let running = start(&scene.world.service, Limits::default());
    let ask = |call: &Call| Client::connect(running.address()).ask(&bytes_of(call)).expect("an answer").status;
    let before = scene.digest();
    assert_eq!(ask(&scene.get("/task?shard=0")), 200);
    assert_eq!(ask(&scene.old_upload), 200, "a replay has the receipt of the first time");
    assert_eq!(scene.digest(), before, "and nothing else");
    assert_eq!(ask(&scene.upload(|_| {})), 201);
    assert_eq!(ask(&crate::tests::world::TestDevice::new(200).enrolment(&scene.usable)), 201);
    assert_ne!(scene.digest(), before);
}
