//! The operator's API.

use super::{Class, class};
use crate::problem::Name::{self, *};
use crate::tests::hostile::raw::{TOKEN, request};

const ACTIONS: &str = "/v1/admin/federations/test/actions";

/// Bodies of actions, with the right token.
const BODIES: &[(&str, &str, Name)] = &[
    ("action without a body", "", Malformed),
    ("action that is no JSON", "{", Malformed),
    ("action with more behind it", r#"{"action":"hold"}{}"#, Malformed),
    ("action without a name", r#"{"uses":1}"#, Malformed),
    ("unknown action", r#"{"action":"delete-everything"}"#, Malformed),
    ("action with an unknown field", r#"{"action":"roll-back","version":0,"really":true}"#, Malformed),
    ("action with a field twice", r#"{"action":"roll-back","version":0,"version":1}"#, Malformed),
    ("action without its field", r#"{"action":"roll-back"}"#, Malformed),
    ("version of an action below zero", r#"{"action":"roll-back","version":-1}"#, Malformed),
    ("version of an action of 33 bits", r#"{"action":"roll-back","version":4294967296}"#, Malformed),
    ("version of an action as a text", r#"{"action":"roll-back","version":"1"}"#, Malformed),
    ("rollback to no version", r#"{"action":"roll-back","version":4294967295}"#, Refused),
    ("device of an action that is none", r#"{"action":"revoke-device","device":"x"}"#, Refused),
    ("invitation for nobody", r#"{"action":"new-invitation","uses":0,"seconds":1}"#, Refused),
    ("invitation that is unknown", r#"{"action":"revoke-invitation","id":18446744073709551615}"#, Refused),
];

pub fn all() -> Vec<Class> {
    let right = format!("authorization: Bearer {TOKEN}\r\n");
    let get = |name: &str, path: &str, headers: &str, refusal| class(name, request("GET", path, headers, b""), refusal);
    let act = |name: &str, path: &str, body: &str, refusal| {
        class(name, request("POST", path, &right, body.as_bytes()), refusal)
    };
    let mut classes: Vec<Class> =
        BODIES.iter().map(|(name, body, refusal)| act(name, ACTIONS, body, *refusal)).collect();
    let overview = "/v1/admin/overview";
    let model = "/v1/admin/federations/test/model";
    let device = format!(r#"{{"action":"revoke-device","device":"{}"}}"#, "0".repeat(64));
    classes.extend([
        act("device of an action that nobody knows", ACTIONS, &device, Refused),
        act("action of ten thousand brackets", ACTIONS, &"[".repeat(10_000), Malformed),
        act(
            "action on an unknown federation",
            "/v1/admin/federations/other/actions",
            r#"{"action":"hold"}"#,
            UnknownFederation,
        ),
        act("POST to the overview", overview, "", MethodNotAllowed),
        get("no token", overview, "", NotAuthorised),
        get("wrong token", overview, "authorization: Bearer 00\r\n", NotAuthorised),
        get("token of another scheme", overview, &format!("authorization: Basic {TOKEN}\r\n"), NotAuthorised),
        get("token in the query", &format!("{overview}?token=00"), "", NotAuthorised),
        get("two tokens", overview, &format!("{right}{right}"), BadRequest),
        get("GET of actions", ACTIONS, &right, MethodNotAllowed),
        get("unknown path of the operator", "/v1/admin/nothing", &right, NotFound),
        get("federation that is not encoded right", "/v1/admin/federations/%ff/model", &right, BadRequest),
        get("model of no version", &format!("{model}?version=x"), &right, BadRequest),
        get("model of two versions", &format!("{model}?version=0&version=1"), &right, BadRequest),
        get("model that is not stored", &format!("{model}?version=99"), &right, Refused),
    ]);
    classes.push(class(
        "action that is not UTF-8",
        request("POST", ACTIONS, &right, b"{\"action\":\"\xff\"}"),
        Malformed,
    ));
    classes
}
