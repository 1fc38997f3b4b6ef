//! schemathesis reads the description of the API and makes requests of it, right and wrong ones: the server never fails, and
//! answers what is described.

use std::process::Command;
use std::sync::Arc;

use foltr_test::campaign_size;

use super::raw::{TOKEN, start};
use super::scene::Scene;
use crate::admin::Authority;
use crate::application::Application;
use crate::call::{Answer, Call, Handler};
use crate::http::{Config, Limits, Running};
use crate::tests::world::{NAME, TestDevice};

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method";

/// Requests to any federation are for that of the test, and signed by an enrolled device, so that what is behind the signature
/// is reached as well.
struct Signs {
    application: Application,
    device: TestDevice,
}

impl Handler for Signs {
    fn handle(&self, call: &Call) -> Answer {
        let mut call = call.clone();
        for prefix in ["/v1/federations/", "/v1/admin/federations/"] {
            if let Some((_, rest)) = call.path.strip_prefix(prefix).and_then(|path| path.split_once('/')) {
                call.path = format!("{prefix}{NAME}/{rest}");
            }
        }
        if let Some((path, _)) = call.path.clone().split_once("/contributions/") {
            call.path = format!("{path}/contributions/{}", self.device.id);
        }
        let signed = self.device.call(call.method, &call.path, call.body.clone());
        self.application.handle(&Call { device: signed.device, signature: signed.signature, ..call })
    }

    fn longest_body(&self) -> usize {
        self.application.longest_body()
    }

    fn readiness(&self) -> Result<(), String> {
        self.application.readiness()
    }

    fn metrics(&self) -> String {
        self.application.metrics()
    }
}

fn start_signing(scene: &Scene) -> Running {
    let authority = Arc::new(Authority::new(vec![Authority::hash_of(TOKEN)]));
    let application = Application::new(Arc::clone(&scene.world.service), authority, false);
    let config = Config { limits: Limits::default(), ..Config::new("127.0.0.1:0".parse().expect("an address")) };
    Running::start(config, Arc::new(Signs { application, device: TestDevice::new(1) })).expect("loopback can be bound")
}

/// What it found; empty if nothing.
fn fuzz(python: &std::path::Path, running: &Running, headers: &[String]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", &format!("http://{}/openapi.json", running.address())]);
    command.args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"]);
    command.args(["--max-examples", campaign_size("10", "500"), "--warnings", "off"]);
    for header in headers {
        command.args(["-H", header]);
    }
    let done = command.current_dir(folder.path()).output().expect("schemathesis");
    let said = String::from_utf8_lossy(&done.stdout);
    let found = format!("{said}\n{}", String::from_utf8_lossy(&done.stderr));
    if done.status.success() { String::new() } else { found }
}

#[test]
fn the_server_answers_what_it_describes() {
    let Some(python) = foltr_test::python("schemathesis") else { return };
    let scene = Scene::new();
    let stranger = fuzz(&python, &start(&scene.world.service, Limits::default()), &[]);
    // Whatever the operator does.
    let operator = fuzz(&python, &start_signing(&scene), &[format!("Authorization: Bearer {TOKEN}")]);
    assert!(stranger.is_empty() && operator.is_empty(), "{stranger}{operator}");
    let report = crate::verifying::everything(&scene.world.service).expect("a store");
    assert_eq!(report.problems, Vec::<String>::new());
}
