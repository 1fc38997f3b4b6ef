//! Every decoder of the protocol's binary documents against arbitrary bytes, damaged documents and its corpus.

use foltr_federation::aggregate::{FlDetector, Radius};
use foltr_federation::privacy::DiscreteGaussian;
use foltr_federation::protocol::{
    Contribution, ContributionReceipt, DeviceId, Document, Enrolment, EnrolmentRequest, ForgetRequest, Invitation,
    Lottery, Release, ReleaseHeader, ReleaseId, SecretKey, Signed, Task, decode_headers, encode_headers,
};
use foltr_federation::{Aggregation, Combined, Contributions, Defence, Expected, Fingerprint, Kind, Message, Payload};
use foltr_rank::bytes::{Reader, Writer};
use foltr_rank::rng::Purpose;
use foltr_test::fuzzing::{Form, Target, label};

use crate::noise::seeded;
use crate::wire;

const N_PARAMS: usize = 3;

fn key() -> SecretKey {
    SecretKey::from_bytes(&[1; 32])
}

/// A signed document, decoded: what is accepted has exactly these bytes.
pub fn check_signed<T: Document>(bytes: &[u8]) -> Result<Signed<T>, String>
where
    T::Error: std::fmt::Debug,
{
    let signed = Signed::<T>::decode(bytes).map_err(|error| label(&error))?;
    assert_eq!(signed.as_bytes(), bytes);
    let body = signed.unverified().encode().unwrap_or_else(|error| panic!("accepted, and not encoded: {error:?}"));
    assert_eq!(&bytes[64..], body);
    Ok(signed)
}

pub fn signed<T: Document>(content: T) -> Vec<u8>
where
    T::Error: std::fmt::Debug,
{
    Signed::sign(content, &key()).expect("a sound document").as_bytes().to_vec()
}

fn fuzz(name: &'static str, valid: Vec<Vec<u8>>, decode: &dyn Fn(&[u8]) -> Result<(), String>) {
    let decode = |_: usize, bytes: &[u8]| decode(bytes);
    let corpus = Some(env!("CARGO_MANIFEST_DIR"));
    Target { name, corpus, form: Form::Binary, valid, has_valid_damage: true, decode: &decode }.run(50_000);
}

/// The first one, the next, and one that changes the key.
fn releases() -> [Release; 3] {
    let plan = wire::plan();
    let first = Release::first(plan, 0, vec![0.0, 1.0, -2.5], &key()).expect("finite");
    let second = first.next(plan, vec![0.0; N_PARAMS], &key()).expect("finite");
    let other = SecretKey::from_bytes(&[2; 32]).public_key();
    let rotation = second.next_with_key(plan, vec![f32::MAX; N_PARAMS], &key(), other).expect("finite");
    [first, second, rotation]
}

#[test]
fn releases_survive_fuzzing() {
    let decode = |bytes: &[u8]| {
        let release = Release::decode(bytes, N_PARAMS).map_err(|error| label(&error))?;
        assert_eq!(release.encode(), bytes);
        assert_eq!(Fingerprint::of_model(release.params()), release.header().model);
        check_signed::<ReleaseHeader>(&bytes[..bytes.len() - 4 * N_PARAMS]).map(drop)
    };
    fuzz("release", releases().iter().map(Release::encode).collect(), &decode);
}

#[test]
fn header_ranges_survive_fuzzing() {
    let headers = releases().map(|release| release.signed_header().clone());
    let decode = |bytes: &[u8]| {
        let headers = decode_headers(bytes, 3).map_err(|error| label(&error))?;
        assert_eq!(encode_headers(&headers), bytes);
        assert_eq!(decode_headers(bytes, headers.len()).as_ref(), Ok(&headers));
        headers.iter().try_for_each(|header| check_signed::<ReleaseHeader>(header.as_bytes()).map(drop))
    };
    fuzz("headers", vec![encode_headers(&headers), encode_headers(&headers[1..2]), encode_headers(&[])], &decode);
}

#[test]
fn invitations_survive_fuzzing() {
    let text = |address: &str| {
        let invitation = Invitation::new(address, key().public_key().fingerprint(), [7; 32]).expect("sound");
        invitation.to_string().into_bytes()
    };
    let decode = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).map_err(|_| "Utf8".to_owned())?;
        let invitation: Invitation = text.parse().map_err(|error| label(&error))?;
        assert_eq!(invitation.to_string(), text.trim());
        assert!(invitation.path().starts_with("/v1/") && invitation.address.ends_with(invitation.path()));
        let again = Invitation::new(invitation.address.clone(), invitation.key, *invitation.secret());
        assert_eq!(again.as_ref(), Ok(&invitation));
        Ok(())
    };
    let addresses = ["https://a.org:8443/v1/federations/wards", "http://127.0.0.1:8080/v1/a", "http://[::1]/v1/a"];
    fuzz("invitation", addresses.map(text).into(), &decode);
}

#[test]
fn enrolment_requests_survive_fuzzing() {
    let request = EnrolmentRequest { secret: [7; 32], key: key().public_key() };
    let decode = |bytes: &[u8]| {
        let request = EnrolmentRequest::decode(bytes).map_err(|error| label(&error))?;
        assert_eq!(request.encode(), bytes);
        Ok(())
    };
    fuzz("enrolment-request", vec![request.encode()], &decode);
}

#[test]
fn enrolments_survive_fuzzing() {
    let device = DeviceId::from_bytes([5; 32]);
    let enrolment = Enrolment { device, number: 3, key: key().public_key(), plan: wire::plan() };
    let invitation = Invitation::new("https://a.org/v1/a", key().public_key().fingerprint(), [7; 32]).expect("sound");
    let valid = signed(enrolment);
    let decode = |bytes: &[u8]| {
        let received = check_signed::<Enrolment>(bytes)?;
        // What is well-formed is still believed only as it was signed.
        assert_eq!(Enrolment::verify(&received, &invitation, &device).is_ok(), bytes == valid);
        Ok(())
    };
    fuzz("enrolment", vec![valid.clone()], &decode);
}

#[test]
fn forget_requests_survive_fuzzing() {
    let request = ForgetRequest { device: DeviceId::from_bytes([5; 32]), plan: wire::plan() };
    let decode = |bytes: &[u8]| {
        let request = ForgetRequest::decode(bytes).map_err(|error| label(&error))?;
        assert_eq!(request.encode(), bytes);
        Ok(())
    };
    fuzz("forget-request", vec![request.encode()], &decode);
}

#[test]
fn tasks_survive_fuzzing() {
    let start = ReleaseId { version: 6, hash: Fingerprint::of(b"release") };
    let lottery = Lottery { value: [3; 32], threshold: 1 << 62 };
    let task = Task {
        plan: wire::plan(),
        round: 7,
        shard: 0,
        start,
        clip_norm: Some(0.5),
        deadline: 1_800_000_000,
        n_wanted: 100,
        lottery: Some(lottery),
    };
    let tasks = [task, Task { clip_norm: None, ..task }, Task { lottery: None, ..task }];
    fuzz("task", tasks.map(signed).into(), &|bytes| check_signed::<Task>(bytes).map(drop));
}

#[test]
fn receipts_survive_fuzzing() {
    let device = DeviceId::from_bytes([5; 32]);
    let (plan, contribution) = (wire::plan(), Fingerprint::of(b"contribution"));
    let receipt = ContributionReceipt { plan, round: 3, device, contribution, time: 1_800_000_000 };
    let decode = |bytes: &[u8]| check_signed::<ContributionReceipt>(bytes).map(drop);
    fuzz("contribution-receipt", vec![signed(receipt)], &decode);
}

fn expected(kind: Kind) -> Expected {
    Expected { n_params: N_PARAMS, kind, max_interactions: 8 }
}

/// A message of each kind, with tiny and huge numbers among them.
fn payloads() -> Vec<Payload> {
    let delta = vec![1.0, -1e-45, f32::MAX];
    let mechanism = DiscreteGaussian::new(600.0, 1.0, 2, 0).expect("sound");
    let share = mechanism.share(&delta[..], &mut seeded(1, Purpose::Noise, 1, 0));
    vec![
        Payload::Step { n_interactions: 8, delta: delta.clone() },
        Payload::Evolution { seed: 9, plus: 0.5, minus: None },
        Payload::Evolution { seed: 9, plus: 0.5, minus: Some(-0.0) },
        Payload::Clipped { within: false, delta },
        Payload::Share(share.expect("clipped")),
    ]
}

#[test]
fn contributions_survive_fuzzing() {
    let sent = |payload: Payload| wire::contribution(&Message { round: 2, start: 1, client: 3, payload }).encode();
    let decode = |bytes: &[u8]| {
        let mut first_error = None;
        let mut is_accepted = false;
        for kind in Kind::ALL {
            match Contribution::decode(bytes, &wire::plan(), &expected(kind)) {
                Ok(contribution) => {
                    assert!(!is_accepted, "{bytes:?} is of two kinds");
                    is_accepted = true;
                    assert_eq!(expected(kind).check(&contribution.payload), Ok(()));
                    assert_eq!(contribution.encode(), bytes);
                }
                // Of the kind that the bytes claim to be, or the same for all.
                Err(error) if bytes.get(1) == Some(&(kind as u8)) || kind == Kind::Step => {
                    first_error = Some(label(&error));
                }
                Err(_) => {}
            }
        }
        if is_accepted { Ok(()) } else { Err(first_error.expect("an error for each kind")) }
    };
    fuzz("contribution", payloads().into_iter().map(sent).collect(), &decode);
}

#[test]
fn states_of_rules_survive_fuzzing() {
    const RULE: Defence =
        Defence { bound: Some(Radius::Median), ..Defence::of_rule(Aggregation::FlDetector(FlDetector { window: 2 })) };
    let state = |n_rounds: u8| {
        let mut rule = RULE.start();
        for round in 0..n_rounds {
            let rows = [[1.0, 2.0, f32::from(round)], [1.5, 2.0, 0.0], [0.5, -2.0, 0.1]];
            let global = [0.1 * f32::from(round); N_PARAMS];
            rule.aggregate(&global, &Contributions::of_rows(&rows), &mut Combined::default()).expect("three");
        }
        let mut out = Writer::default();
        rule.save(&mut out);
        out.0
    };
    let decode = |bytes: &[u8]| {
        let (mut rule, mut input) = (RULE.start(), Reader::new(bytes));
        rule.restore(&mut input, N_PARAMS).and_then(|()| input.finish()).map_err(|error| label(&error))?;
        let mut out = Writer::default();
        rule.save(&mut out);
        assert_eq!(out.0, bytes);
        // Whatever is accepted can go on.
        let round = Contributions::of_rows(&[[1.0; N_PARAMS], [0.0; N_PARAMS]]);
        rule.aggregate(&[0.5; N_PARAMS], &round, &mut Combined::default()).map_err(|error| label(&error))
    };
    fuzz("rule-state", vec![state(0), state(1), state(5)], &decode);
}
