//! `docs/protocol-vectors.json`: documents of the protocol for programs in other languages, checked here and by a program
//! in another language.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use foltr_federation::privacy::{Budget, CentralDiscreteGaussianParameters, Clip};
use foltr_federation::protocol::{
    Contribution, ContributionReceipt, DeviceId, Document, Enrolment, EnrolmentRequest, FeatureSchema, ForgetRequest,
    Invitation, Lottery, MOST_HEADERS, Normalisation, Plan, PublicKey, Release, ReleaseHeader, SecretKey, Signed, Task,
    decode_headers, encode_headers, sign_request,
};
use foltr_federation::{FederationPlan, Fingerprint, Participation, Payload, Privacy, Staleness};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::{Initialisation, Learner, RankerShape};
use serde_json::{Value, json};

use foltr_test::fuzzing::{from_hexadecimal, hexadecimal};

const FEDERATION: [u8; 32] = [1; 32];
const NEXT: [u8; 32] = [2; 32];
const DEVICE: [u8; 32] = [3; 32];
const TIME: u64 = 1_800_000_000;
const ADDRESS: &str = "https://search.example.org:8443/v1/federations/demo";

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocol-vectors.json")
}

fn key(secret: &[u8; 32]) -> Value {
    let public = SecretKey::from_bytes(secret).public_key();
    json!({
        "secret": hexadecimal(secret),
        "public": public,
        "fingerprint": public.fingerprint(),
        "device_id": public.device_id(),
    })
}

fn signed<T: Document>(document: &Signed<T>) -> Value {
    json!({ "name": T::NAME, "bytes": hexadecimal(document.as_bytes()), "hash": document.hash() })
}

fn plan() -> (FeatureSchema, Plan) {
    let features = FeatureSchema::numbered(2, Normalisation::Query);
    let pdgd = PdgdParameters {
        learning_rate: 0.1,
        updates: Updates::Immediate,
        proximal: Some(1e-7),
        max_displacement: None,
    };
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    let federation = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 100, 4, 50);
    let plan = Plan::new(federation, &features, false).expect("deployable");
    (features, plan)
}

/// Sections that the first plan does not have.
fn private_plan() -> Plan {
    let noise = CentralDiscreteGaussianParameters {
        clip: Clip::Fixed(0.5),
        noise_multiplier: None,
        epsilon: Some(4.5),
        delta: Some(1e-5),
    };
    let (features, plan) = plan();
    let federation = FederationPlan {
        privacy: Privacy::CentralDiscreteGaussian(noise),
        budget: Some(Budget { epsilon: 4.5, delta: 1e-5 }),
        staleness: Some(Staleness { most: 3, exponent: 0.5 }),
        participation: Participation::Sample(20),
        ..plan.federation().clone()
    };
    Plan::new(federation, &features, false).expect("deployable")
}

/// The first 40 numbers of a direction, as bits: more than two blocks.
fn direction(seed: u32) -> Value {
    let mut values = [0.0; 40];
    foltr_rank::learn::evolution::fill_direction(seed, &mut values);
    json!({ "seed": seed, "bits": values.map(|value: f32| format!("{:08x}", value.to_bits())).to_vec() })
}

fn releases(plan: Fingerprint) -> [Release; 3] {
    let federation = SecretKey::from_bytes(&FEDERATION);
    let next = SecretKey::from_bytes(&NEXT);
    let first = Release::first(plan, 0, vec![0.0, 0.0], &federation).expect("finite");
    let rotation = first.next_with_key(plan, vec![0.5, -1.0], &federation, next.public_key()).expect("finite");
    let third = rotation.next(plan, vec![0.25, -1.5], &next).expect("finite");
    [first, rotation, third]
}

/// A request of the device, signed.
fn request(method: &str, path: &str, body: &[u8]) -> Value {
    let signature = sign_request(method, path, body, &SecretKey::from_bytes(&DEVICE));
    json!({ "method": method, "path": path, "body": hexadecimal(body), "signature": hexadecimal(&signature) })
}

/// A device joins after the change of the key, catches up, and leaves.
fn membership(plan: Fingerprint, releases: &[Release]) -> [(&'static str, Value); 5] {
    let next = SecretKey::from_bytes(&NEXT);
    let key = SecretKey::from_bytes(&DEVICE).public_key();
    let device = key.device_id();
    let invitation = Invitation::new(ADDRESS, next.public_key().fingerprint(), [7; 32]).expect("sound");
    let enrolment = Enrolment { device, number: 4, key: next.public_key(), plan };
    let path = |below: &str| format!("{}/{below}", invitation.path());
    let joins = EnrolmentRequest::new(&invitation, key).encode();
    let leaves = ForgetRequest { device, plan }.encode();
    let headers: Vec<_> = releases.iter().map(|release| release.signed_header().clone()).collect();
    [
        (
            "invitation",
            json!({
                "text": invitation.to_string(),
                "address": invitation.address,
                "path": invitation.path(),
                "key": invitation.key,
                "secret": hexadecimal(invitation.secret()),
            }),
        ),
        ("enrolment_request", request("POST", &path("devices"), &joins)),
        ("enrolment", signed(&Signed::sign(enrolment, &next).expect("sound"))),
        ("headers", json!({ "bytes": hexadecimal(&encode_headers(&headers)) })),
        ("forget_request", request("POST", &path("forget"), &leaves)),
    ]
}

fn vectors() -> Value {
    let (federation, next, device) =
        (SecretKey::from_bytes(&FEDERATION), SecretKey::from_bytes(&NEXT), SecretKey::from_bytes(&DEVICE));
    let (features, plan) = plan();
    let signed_plan = Signed::sign(plan, &federation).expect("exact");
    let plan = signed_plan.hash();
    let releases = releases(plan);
    let start = releases[2].id();
    let device_id = device.public_key().device_id();
    let lottery = Lottery { value: [9; 32], threshold: 1 << 63 };
    let (round, shard, deadline, n_wanted) = (3, 0, TIME + 3600, 20);
    let task = Task { plan, round, shard, start, clip_norm: Some(0.5), deadline, n_wanted, lottery: Some(lottery) };
    let payloads = [
        Payload::Step { n_interactions: 4, delta: vec![1.0, -2.0] },
        Payload::Evolution { seed: 7, plus: 0.5, minus: None },
        Payload::Evolution { seed: 7, plus: 0.5, minus: Some(1.0) },
        Payload::Clipped { within: true, delta: vec![1.0, -2.0] },
    ];
    let contributions = payloads.map(|payload| Contribution { plan, round, start, device: device_id, payload });
    let receipt = ContributionReceipt::of(&contributions[0], TIME);
    let path = format!("/v1/federations/demo/rounds/{round}/contributions/{device_id}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("JSON");
    let release = |(release, key): (&Release, &SecretKey)| {
        let mut value = signed(release.signed_header());
        value["bytes"] = hexadecimal(&release.encode()).into();
        value["params"] = release.params().iter().map(|&value| f64::from(value)).collect::<Vec<_>>().into();
        value["model"] = json!(release.header().model);
        value["signed_by"] = json!(key.public_key());
        value
    };
    let contribution = |it: &Contribution| json!({ "bytes": hexadecimal(&it.encode()), "hash": it.hash() });
    let invited = |number: u8| {
        let device = DeviceId::from_bytes([number; 32]);
        json!({ "device": device, "invited": lottery.invites(&device) })
    };
    let directions = [0, 7, u32::MAX].map(direction);
    let mut vectors = json!({
        "keys": { "federation": key(&FEDERATION), "next": key(&NEXT), "device": key(&DEVICE) },
        "feature_schema": {
            "name": FeatureSchema::NAME,
            "text": text(features.encode().expect("exact")),
            "hash": features.hash().expect("exact"),
        },
        "plan": { "text": text(signed_plan.as_bytes()[64..].to_vec()), "signed": signed(&signed_plan) },
        "releases": releases.iter().zip([&federation, &federation, &next]).map(release).collect::<Vec<_>>(),
        "task": signed(&Signed::sign(task, &next).expect("sound")),
        "lottery": {
            "value": hexadecimal(&lottery.value),
            "threshold": lottery.threshold.to_string(),
            "devices": (0..8).map(invited).collect::<Vec<_>>(),
        },
        "contributions": contributions.iter().map(contribution).collect::<Vec<_>>(),
        "request": request("PUT", &path, &contributions[0].encode()),
        "contribution_receipt": signed(&Signed::sign(receipt, &next).expect("sound")),
        "private_plan": text(private_plan().encode().expect("exact")),
        "directions": directions,
    });
    for (name, vector) in membership(plan, &releases) {
        vectors[name] = vector;
    }
    vectors
}

/// The documented vectors, written anew if that is asked for.
fn documented() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        if std::env::var_os("FOLTR_WRITE_DOCS").is_some() {
            std::fs::write(path(), computed()).expect("docs can be written");
        }
        std::fs::read_to_string(path()).expect("docs/protocol-vectors.json")
    });
    &TEXT
}

fn computed() -> String {
    serde_json::to_string_pretty(&vectors()).expect("JSON") + "\n"
}

#[test]
fn the_documented_vectors_are_those_of_the_code() {
    assert!(
        documented() == computed(),
        "docs/protocol-vectors.json is out of date: run this test with FOLTR_WRITE_DOCS=1"
    );
}

#[test]
fn every_key_of_a_plan_is_documented() {
    let text = std::fs::read_to_string(path().with_file_name("protocol.md")).expect("docs/protocol.md");
    let plan: Value = serde_json::from_slice(&private_plan().encode().expect("exact")).expect("JSON");
    let (plan, federation) = (plan.as_object().expect("keys"), plan["federation"].as_object().expect("keys"));
    let rows = plan.keys().map(|key| format!("| `{key}` |"));
    for row in rows.chain(federation.keys().map(|key| format!("| `federation.{key}` |"))) {
        assert!(text.contains(&row), "{row} is not in docs/protocol.md");
    }
}

#[test]
fn the_documented_vectors_are_read() {
    let vectors: Value = serde_json::from_str(documented()).expect("JSON");
    let bytes = |value: &Value| from_hexadecimal(value["bytes"].as_str().expect("digits"));
    let public =
        |name: &str| -> PublicKey { serde_json::from_value(vectors["keys"][name]["public"].clone()).expect("a key") };
    let plan = Signed::<Plan>::decode(&bytes(&vectors["plan"]["signed"])).expect("a plan");
    plan.verify(&public("federation")).expect("signed");
    let n_params = plan.unverified().shape().n_params();
    let mut chain = foltr_federation::protocol::ReleaseChain::new(plan.hash(), 0, public("federation"));
    for release in vectors["releases"].as_array().expect("a list") {
        let release = Release::decode(&bytes(release), n_params).expect("a release");
        assert_eq!(chain.accept(&release), Ok(true));
    }
    assert_eq!(chain.key(), public("next"));
    let task = Signed::<Task>::decode(&bytes(&vectors["task"])).expect("a task");
    assert_eq!(task.verify(&chain.key()).expect("signed").start, chain.newest().expect("three releases"));
    let header = Signed::<ReleaseHeader>::decode(&bytes(&vectors["releases"][0])[..64 + 75]).expect("its header");
    assert_eq!(header.unverified().version, 0);
}

#[test]
fn the_documented_device_joins_catches_up_and_leaves() {
    let vectors: Value = serde_json::from_str(documented()).expect("JSON");
    let bytes = |name: &str, key: &str| from_hexadecimal(vectors[name][key].as_str().expect("digits"));
    let invitation: Invitation = vectors["invitation"]["text"].as_str().expect("a text").parse().expect("sound");
    let request = EnrolmentRequest::decode(&bytes("enrolment_request", "body")).expect("a request");
    assert_eq!(&request.secret, invitation.secret());
    let signed = Signed::<Enrolment>::decode(&bytes("enrolment", "bytes")).expect("an enrolment");
    let device = request.key.device_id();
    let enrolment = Enrolment::verify(&signed, &invitation, &device).expect("of the invitation");
    let headers = decode_headers(&bytes("headers", "bytes"), MOST_HEADERS).expect("headers");
    // It joins at a release of the new key.
    let mut chain = foltr_federation::protocol::ReleaseChain::new(enrolment.plan, 0, enrolment.key);
    assert!(chain.follow(&headers[0]).is_err());
    assert_eq!(chain.follow(&headers[2]), Ok(true));
    let forget = ForgetRequest::decode(&bytes("forget_request", "body")).expect("a request");
    assert_eq!(forget, ForgetRequest { device, plan: enrolment.plan });
}

/// Another language, with nothing but its standard library, finds the same hashes, layouts and signatures.
#[test]
fn another_language_reads_the_vectors() {
    documented();
    let Some(python) = foltr_test::python("hashlib") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protocol_vectors.py");
    let run = |vectors: &Path| Command::new(&python).arg(&script).arg(vectors).output().expect("Python starts");
    let output = run(&path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A changed byte is found by this check, too.
    let damaged = documented().replacen("\"invited\": true", "\"invited\": false", 1);
    assert_ne!(damaged, documented());
    let copy = std::env::temp_dir().join(format!("protocol-vectors-{}.json", std::process::id()));
    std::fs::write(&copy, damaged).expect("a temporary file");
    let is_refused = !run(&copy).status.success();
    std::fs::remove_file(&copy).expect("the temporary file");
    assert!(is_refused, "the script takes anything");
}
