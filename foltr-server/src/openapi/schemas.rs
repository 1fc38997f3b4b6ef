//! Schemas of the JSON documents, read off samples of the values that are serialised.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

use crate::operator::{Action, Done, FederationOverview, ForgetLine, InvitationLine, Overview, ReleaseLine, RoundLine};

/// One of each action.
pub(super) fn actions() -> Vec<Action> {
    let device = "0".repeat(64);
    vec![
        Action::NewInvitation { uses: 1, seconds: 86_400, note: String::new() },
        Action::RevokeInvitation { id: 1 },
        Action::Hold,
        Action::Resume,
        Action::CloseRound,
        Action::RollBack { version: 1 },
        Action::RevokeDevice { device: device.clone() },
        Action::Forget { device },
        Action::RotateKey,
    ]
}

/// One of each outcome.
pub(super) fn outcomes() -> Vec<Done> {
    vec![Done::Done, Done::Invitation { id: 1, invitation: "foltr".into() }, Done::Release { version: 2 }]
}

/// Every list has an element, and every optional value is there once and missing once.
fn overview() -> Overview {
    let federation = FederationOverview {
        opened_at: Some(1),
        deadline: Some(2),
        staged_until: Some(3),
        rounds: vec![
            RoundLine { n_contributions: Some(1), step_norm: Some(0.5), ..RoundLine::default() },
            RoundLine::default(),
        ],
        refusals: vec![("round-closed".into(), 1)],
        privacy: vec![String::new()],
        forget_requests: vec![ForgetLine::default()],
        releases: vec![ReleaseLine::default()],
        invitations: vec![InvitationLine::default()],
        ..FederationOverview::default()
    };
    Overview { federations: vec![federation, FederationOverview::default()], ..Overview::default() }
}

fn json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("texts, numbers and lists")
}

pub(super) fn of_overview() -> RefOr<Schema> {
    of(&[&json(overview())])
}

/// Names the variants by their tag. What has a default may be left out.
pub(super) fn of_actions() -> RefOr<Schema> {
    let variants = actions().into_iter().map(|action| variant(&json(action), "action", &["note"]));
    variants.fold(OneOfBuilder::new(), OneOfBuilder::item).into()
}

pub(super) fn of_outcomes() -> RefOr<Schema> {
    let variants = outcomes().into_iter().map(|done| variant(&json(done), "done", &[]));
    variants.fold(OneOfBuilder::new(), OneOfBuilder::item).into()
}

fn variant(sample: &Value, tag: &str, optional: &[&str]) -> ObjectBuilder {
    let fields = sample.as_object().into_iter().flatten().collect::<BTreeMap<_, _>>().into_iter();
    let object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)));
    fields.fold(object, |object, (name, value)| {
        let schema = if name == tag { string().enum_values(Some([value.clone()])).into() } else { of(&[value]) };
        let object = object.property(name, schema);
        if optional.contains(&name.as_str()) { object } else { object.required(name) }
    })
}

pub(super) fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

pub(super) fn number() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0))
}

/// The schema of values that stand at the same place.
fn of(samples: &[&Value]) -> RefOr<Schema> {
    let objects: Vec<_> = samples.iter().filter_map(|sample| sample.as_object()).collect();
    if let Some(first) = objects.first() {
        let names = first.keys().collect::<BTreeSet<_>>().into_iter();
        let fields = names.map(|name| (name, objects.iter().filter_map(|object| object.get(name)).collect()));
        let add = |object: ObjectBuilder, (name, values): (&String, Vec<&Value>)| {
            object.property(name, of(&values)).required(name)
        };
        return fields.fold(ObjectBuilder::new(), add).into();
    }
    let lists: Vec<_> = samples.iter().filter_map(|sample| sample.as_array()).collect();
    if !lists.is_empty() {
        return ArrayBuilder::new().items(of(&lists.into_iter().flatten().collect::<Vec<_>>())).into();
    }
    let mut kinds = Vec::new();
    for kind in samples.iter().map(|sample| kind(sample)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let kind =
        if let [kind] = kinds.as_slice() { kind.clone().into() } else { kinds.into_iter().collect::<SchemaType>() };
    ObjectBuilder::new().schema_type(kind).into()
}

fn kind(sample: &Value) -> Type {
    match sample {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Boolean,
        Value::Number(number) if number.is_f64() => Type::Number,
        Value::Number(_) => Type::Integer,
        Value::String(_) => Type::String,
        Value::Array(_) | Value::Object(_) => unreachable!("lists and objects have been described"),
    }
}
