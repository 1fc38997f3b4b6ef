//! The description of the API (OpenAPI 3.1), which is served and checked in as `docs/openapi.json`.

mod operations;
mod schemas;

use std::collections::BTreeMap;

use utoipa::openapi::path::{OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem, PathsBuilder};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::AllOfBuilder;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ComponentsBuilder, Content, Header, HttpMethod, InfoBuilder, ObjectBuilder, OpenApi, OpenApiBuilder,
    Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};

use crate::call::Method;
use crate::problem::{Name, TYPE};
use operations::{BYTES, JSON, OPERATIONS, Operation, Who};

const PROBLEM: &str = "application/problem+json";

/// The document as it is served, one value a line.
pub fn description() -> String {
    let mut text = document().to_pretty_json().expect("texts, numbers and lists");
    text.push('\n');
    text
}

fn document() -> OpenApi {
    let info = InfoBuilder::new().title("foltr-server").version(env!("CARGO_PKG_VERSION")).description(Some(
        "The server of a federation. docs/protocol.md describes the documents that devices send and get, and what they \
         sign. Every refusal is a problem (RFC 9457) whose type ends with a name.",
    ));
    let paths = OPERATIONS.iter().fold(PathsBuilder::new(), |paths, operation| {
        let method = match operation.method {
            Method::Get => HttpMethod::Get,
            Method::Post => HttpMethod::Post,
            Method::Put => HttpMethod::Put,
        };
        paths.path(operation.path, PathItem::new(method, describe(operation)))
    });
    OpenApiBuilder::new().info(info.build()).paths(paths.build()).components(Some(components())).build()
}

fn components() -> Components {
    let signature = "Over method, path with query, and body: 128 hexadecimal digits.";
    let responses = OPERATIONS.iter().flat_map(|operation| refusals(operation).into_values());
    ComponentsBuilder::new()
        .responses_from_iter(responses.map(|names| (joined(&names), refusal(&names))))
        .schema("Problem", problem())
        .schema("Overview", schemas::of_overview())
        .schema("Action", schemas::of_actions())
        .schema("Done", schemas::of_outcomes())
        .security_scheme("device", key("foltr-device", "The device's id: 64 hexadecimal digits."))
        .security_scheme("signature", key("foltr-signature", signature))
        .security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)))
        .build()
}

fn key(header: &'static str, meaning: &'static str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(header, meaning)))
}

/// With the table of all names.
fn problem() -> ObjectBuilder {
    let rows = Name::ALL.iter().map(|name| format!("| `{}` | {} | {} |\n", name.name(), name.status(), name.meaning()));
    let table: String = rows.collect();
    let text = || schemas::string();
    ObjectBuilder::new()
        .description(Some(format!("Why a request is refused.\n\n| name | status | meaning |\n|---|---|---|\n{table}")))
        .property("type", text().enum_values(Some(types(Name::ALL))))
        .property("title", text().description(Some("The meaning of the name.")))
        .property("status", schemas::number())
        .property("detail", text().description(Some("What is wrong with this request.")))
        .required("type")
        .required("title")
        .required("status")
        .required("detail")
}

fn types(names: &[Name]) -> Vec<String> {
    let mut types: Vec<_> = names.iter().map(|name| format!("{TYPE}{}", name.name())).collect();
    types.dedup();
    types
}

fn describe(operation: &Operation) -> OperationBuilder {
    let (tag, security) = match operation.who {
        Who::Device => ("device", Some(SecurityRequirement::new("device", NONE).add("signature", NONE))),
        Who::Operator => ("operator", Some(SecurityRequirement::new("token", NONE))),
        Who::Anybody => ("monitoring", None),
    };
    let mut described = OperationBuilder::new()
        .tag(tag)
        .operation_id(Some(operation.id))
        .summary(Some(operation.summary))
        .request_body(operation.body.map(|(media, meaning)| body(media, meaning)));
    if let Some(security) = security {
        described = described.security(security);
    }
    for parameter in parameters(operation) {
        described = described.parameter(parameter);
    }
    for (status, media, meaning) in operation.answers {
        described = described.response(status.to_string(), answer(operation, *status, media, meaning));
    }
    refusals(operation).into_iter().fold(described, |described, (status, names)| {
        described.response(status.to_string(), Ref::new(format!("#/components/responses/{}", joined(&names))))
    })
}

/// The names that an operation can answer, by status.
fn refusals(operation: &Operation) -> BTreeMap<u16, Vec<Name>> {
    let mut by_status = BTreeMap::<u16, Vec<Name>>::new();
    for name in operation.all_problems() {
        by_status.entry(name.status()).or_default().push(name);
    }
    by_status
}

/// What the response with one of these problems is called.
fn joined(names: &[Name]) -> String {
    names.iter().map(|name| name.name()).collect::<Vec<_>>().join(".")
}

/// Schemes of ours have no scopes.
const NONE: [&str; 0] = [];

fn content(operation_id: &str, media: &str) -> Content {
    let schema: RefOr<Schema> = match (operation_id, media) {
        ("overview", _) => Ref::from_schema_name("Overview").into(),
        ("act", _) => Ref::from_schema_name("Done").into(),
        (_, BYTES) => ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue).into(),
        (_, JSON) => ObjectBuilder::new().into(),
        _ => schemas::string().into(),
    };
    Content::new(Some(schema))
}

fn body(media: &str, meaning: &str) -> RequestBody {
    let schema = if media == JSON { Content::new(Some(Ref::from_schema_name("Action"))) } else { content("", media) };
    RequestBodyBuilder::new().description(Some(meaning)).required(Some(Required::True)).content(media, schema).build()
}

fn parameters(operation: &Operation) -> Vec<Parameter> {
    let in_path = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| match name {
        "federation" => (name, schemas::string(), "The name of the federation."),
        "hash" => (name, schemas::string().pattern(Some("^[0-9a-f]{64}$")), "64 hexadecimal digits."),
        "device" => (name, schemas::string().pattern(Some("^[0-9a-f]{64}$")), "The id of the device that signs."),
        _ => (name, schemas::number(), "A decimal number."),
    });
    let in_path = in_path.map(|(name, schema, meaning)| (name, ParameterIn::Path, true, schema, meaning));
    let query = operation
        .query
        .iter()
        .map(|(name, is_required, meaning)| (*name, ParameterIn::Query, *is_required, schemas::number(), *meaning));
    let parameter = |(name, place, is_required, schema, meaning)| {
        let required = if is_required { Required::True } else { Required::False };
        let builder = ParameterBuilder::new().name(name).parameter_in(place).required(required);
        builder.description(Some(meaning)).schema::<ObjectBuilder>(Some(schema)).build()
    };
    in_path.chain(query).map(parameter).collect()
}

fn seconds() -> Header {
    Header::new(schemas::number())
}

fn answer(operation: &Operation, status: u16, media: &str, meaning: &str) -> Response {
    let mut builder = ResponseBuilder::new().description(meaning);
    if !media.is_empty() {
        builder = builder.content(media, content(operation.id, media));
    }
    if matches!(status, 202 | 204) {
        builder = builder.header("Retry-After", seconds());
    }
    builder.build()
}

fn refusal(names: &[Name]) -> Response {
    let meanings: Vec<_> = names.iter().map(|name| format!("`{}`: {}", name.name(), name.meaning())).collect();
    let of_these = ObjectBuilder::new().property("type", schemas::string().enum_values(Some(types(names))));
    let schema = AllOfBuilder::new().item(Ref::from_schema_name("Problem")).item(of_these);
    let builder = ResponseBuilder::new().description(meanings.join(" ")).content(PROBLEM, Content::new(Some(schema)));
    let may_come_back = names.iter().any(|name| matches!(name.status(), 409 | 429 | 503));
    if may_come_back { builder.header("Retry-After", seconds()).build() } else { builder.build() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::Value;

    use super::*;
    use crate::http::ROUTES;
    use crate::operator::{Action, Done};

    #[test]
    fn the_documentation_has_the_description() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
        if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
            std::fs::write(&path, description()).expect("docs can be written");
        }
        let written = std::fs::read_to_string(&path).expect("docs/openapi.json");
        assert!(written == description(), "docs/openapi.json is out of date: run this test with FOLTR_WRITE_DOCS=1");
    }

    #[test]
    fn every_route_is_described_once() {
        let described = OPERATIONS.iter().map(|operation| (operation.method.name(), operation.path));
        let routes: BTreeSet<_> = ROUTES.iter().map(|(method, path)| (method.name(), *path)).collect();
        assert_eq!(described.clone().collect::<BTreeSet<_>>(), routes);
        assert_eq!(described.count(), ROUTES.len());
        let ids: BTreeSet<_> = OPERATIONS.iter().map(|operation| operation.id).collect();
        assert_eq!(ids.len(), OPERATIONS.len());
    }

    #[test]
    fn every_name_is_in_the_table_and_on_the_operations_that_answer_it() {
        let document: Value = serde_json::from_str(&description()).expect("JSON");
        let table = document["components"]["schemas"]["Problem"]["description"].as_str().expect("a text");
        let used: BTreeSet<Name> = OPERATIONS.iter().flat_map(Operation::all_problems).collect();
        for name in Name::ALL {
            assert!(table.contains(&format!("| `{}` | {} |", name.name(), name.status())), "{name:?}");
            // No operation has another method, and forms are not part of the API.
            let is_elsewhere = matches!(name, Name::MethodNotAllowed | Name::Forbidden);
            assert_eq!(used.contains(name), !is_elsewhere, "{name:?}");
        }
        for operation in OPERATIONS {
            let names = operation.all_problems();
            let responses = &document["paths"][operation.path][operation.method.name().to_lowercase()]["responses"];
            for name in &names {
                let reference = responses[name.status().to_string()]["$ref"].as_str().expect("a reference");
                let response = document.pointer(&reference[1..]).expect("a response");
                let text = response["description"].as_str().expect("a text");
                assert!(text.contains(&format!("`{}`: ", name.name())), "{} {name:?}", operation.id);
            }
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}: no name twice", operation.id);
        }
    }

    /// A new variant does not compile here until the samples have it.
    #[test]
    fn there_is_a_sample_of_every_variant() {
        let action = |action: &Action| match action {
            Action::NewInvitation { .. } => 0,
            Action::RevokeInvitation { .. } => 1,
            Action::Hold => 2,
            Action::Resume => 3,
            Action::CloseRound => 4,
            Action::RollBack { .. } => 5,
            Action::RevokeDevice { .. } => 6,
            Action::Forget { .. } => 7,
            Action::RotateKey => 8,
        };
        let done = |done: &Done| match done {
            Done::Done => 0,
            Done::Invitation { .. } => 1,
            Done::Release { .. } => 2,
        };
        assert!(schemas::actions().iter().map(action).eq(0..9));
        assert!(schemas::outcomes().iter().map(done).eq(0..3));
        let document: Value = serde_json::from_str(&description()).expect("JSON");
        let variants = document["components"]["schemas"]["Action"]["oneOf"].as_array().expect("variants");
        for (variant, action) in variants.iter().zip(schemas::actions()) {
            let tag = serde_json::to_value(action).expect("JSON")["action"].clone();
            assert_eq!(variant["properties"]["action"]["enum"], Value::Array(vec![tag.clone()]));
            let required =
                variant["required"].as_array().expect("a list").iter().map(|name| name.as_str().expect("text"));
            let least: serde_json::Map<String, Value> =
                required.map(|name| (name.to_owned(), sample(&variant["properties"][name]))).collect();
            assert!(serde_json::from_value::<Action>(Value::Object(least)).is_ok(), "{tag} with what is required");
        }
    }

    fn sample(schema: &Value) -> Value {
        match (&schema["enum"], schema["type"].as_str()) {
            (Value::Array(values), _) => values[0].clone(),
            (_, Some("integer")) => 1.into(),
            (_, Some("string")) => "text".into(),
            _ => panic!("{schema}"),
        }
    }

    #[test]
    fn optional_values_are_described_as_such() {
        let document: Value = serde_json::from_str(&description()).expect("JSON");
        let federation = &document["components"]["schemas"]["Overview"]["properties"]["federations"]["items"];
        let kind = |name: &str| federation["properties"][name]["type"].clone();
        assert_eq!(kind("deadline"), serde_json::json!(["integer", "null"]));
        assert_eq!((kind("is_held"), kind("name")), ("boolean".into(), "string".into()));
        let round = &federation["properties"]["rounds"]["items"]["properties"];
        assert_eq!(round["step_norm"]["type"], serde_json::json!(["number", "null"]));
    }
}
