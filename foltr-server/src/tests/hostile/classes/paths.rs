//! Paths and queries, all signed as they are.

use super::{Class, call};
use crate::call::{Call, Method};
use crate::problem::Name::{self, *};
use crate::tests::hostile::scene::Scene;
use crate::tests::world::BASE;

/// Below the federation, for GET.
const READ: &[(&str, &str, Name)] = &[
    ("path with a slash at its end", "/task/", NotFound),
    ("path in capitals", "/TASK", NotFound),
    ("path with an encoded letter", "/%74ask?shard=0", NotFound),
    ("path with a dot", "/./task?shard=0", NotFound),
    ("path with two dots", "/../test/task?shard=0", NotFound),
    ("path with two slashes", "//task?shard=0", NotFound),
    ("path that ends early", "/rounds/3", NotFound),
    ("federation without a path", "", NotFound),
    ("version with a zero in front", "/releases/01?shard=0", BadRequest),
    ("version below zero", "/releases/-1?shard=0", BadRequest),
    ("version with a plus", "/releases/+1?shard=0", BadRequest),
    ("version of 33 bits", "/releases/4294967296?shard=0", BadRequest),
    ("version in hexadecimal", "/releases/0x1?shard=0", BadRequest),
    ("version that is empty", "/releases/?shard=0", BadRequest),
    ("version that does not exist", "/releases/4294967295?shard=0", NotFound),
    ("newest in capitals", "/releases/NEWEST?shard=0", BadRequest),
    ("query with an unknown key", "/task?shard=0&x=1", BadRequest),
    ("query with a key twice", "/task?shard=0&shard=0", BadRequest),
    ("query without a value", "/task?shard", BadRequest),
    ("query with an empty value", "/task?shard=", BadRequest),
    ("query with an encoded digit", "/task?shard=%30", BadRequest),
    ("query with a semicolon", "/headers?shard=0;after=1", BadRequest),
    ("query with a key in capitals", "/task?SHARD=0", BadRequest),
    ("query with a second question mark", "/task?shard=0?", BadRequest),
    ("query with a number of 33 bits", "/headers?shard=0&after=4294967296", BadRequest),
    ("shard that does not exist", "/task?shard=1", BadRequest),
    ("query of a path without one", "/plans/00?x=1", BadRequest),
    ("plan by a short hash", "/plans/00", BadRequest),
];

pub fn all(scene: &Scene) -> Vec<Class> {
    let mut classes: Vec<Class> =
        READ.iter().map(|(name, path, refusal)| call(*name, &scene.get(path), *refusal)).collect();
    let id = scene.device(0).id;
    let at = |method, path: &str| scene.device(0).call(method, path, Vec::new());
    let get = |path: &str| at(Method::Get, path);
    let put = |round: &str| at(Method::Put, &format!("{BASE}/rounds/{round}/contributions/{id}"));
    let round = |name: &str, text: &str| call(name, &put(text), BadRequest);
    let to = |path: &str| Call { path: path.into(), ..scene.upload(|_| {}) };
    let unknown = "0".repeat(64);
    classes.extend([
        round("round with a zero in front", "03"),
        round("round below zero", "-3"),
        round("round with a plus", "+3"),
        round("round of 33 bits", "4294967299"),
        round("round that is empty", ""),
        round("round with a point", "3.0"),
        round("round with an encoded digit", "%33"),
        call("plan that does not exist", &scene.get(&format!("/plans/{unknown}")), NotFound),
        call("plan in capitals", &scene.get(&format!("/plans/{}", "A".repeat(64))), BadRequest),
        call("unknown federation", &get("/v1/federations/other/task?shard=0"), UnknownFederation),
        call("federation with an encoded letter", &get("/v1/federations/%74est/task?shard=0"), UnknownFederation),
        call("federation that is empty", &get("/v1/federations//task?shard=0"), UnknownFederation),
        call("two slashes in front", &get(&format!("/{BASE}/task?shard=0")), NotFound),
        call("another version of the API", &get("/v2/federations/test/task?shard=0"), NotFound),
        call(
            "query behind an upload",
            &scene.device(0).call(Method::Put, &format!("{}?x=1", scene.upload_path()), Vec::new()),
            BadRequest,
        ),
        call("POST to a task", &at(Method::Post, &format!("{BASE}/task?shard=0")), MethodNotAllowed),
        call("GET of devices", &get(&format!("{BASE}/devices")), MethodNotAllowed),
        call("GET of a contribution", &get(&scene.upload_path()), MethodNotAllowed),
        call(
            "path of another device",
            &to(&format!("{BASE}/rounds/{}/contributions/{}", scene.task.round, scene.device(1).id)),
            OtherDevice,
        ),
        call(
            "path of a device in capitals",
            &to(&scene.upload_path().replace(&id.to_string(), &id.to_string().to_uppercase())),
            OtherDevice,
        ),
    ]);
    classes
}
