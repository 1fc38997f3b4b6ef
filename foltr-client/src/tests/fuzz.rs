//! Whatever is stored or answered: a device, or a named error. Nothing panics, nothing is allocated on a claim alone.

use foltr_test::disk::Disk;
use foltr_test::fuzzing::{Form, Target, label};

use super::device::{Seeded, TestDevice, averaging, documents, options};
use super::federation::{Federation, lock};
use crate::core::{Action, Answer, Consent, Core, Event, Request};
use crate::item::{Item, Record, Records};
use crate::randomness::Randomness;
use crate::store::Store;

/// What a member has stored: open lists, a message that waits, receipts, evidence about releases.
fn records() -> Records {
    let device = TestDevice::member(averaging(), options(), 1);
    device.interact_times(4);
    device.sync().expect("a message");
    device.close_round();
    device.sync().expect("the next release");
    device.interact_times(4);
    device.shell.transport().way = super::federation::Way::RequestLost;
    device.sync().expect_err("lost");
    let list = device.shell.rank(&documents(1, 5)).expect("sound");
    device.shell.clicked(list.impression, 1).expect("open");
    let disk: Disk = device.disk.clone();
    drop(device);
    Store::open(std::path::Path::new(super::device::FILE), Some(disk.name())).expect("sound").1
}

/// A device that was loaded must work: it ranks, and talks to a server.
fn works(core: &mut Core, random: &mut dyn Randomness) {
    let shown = core.poll(1_800_000_000, Event::Rank(&documents(1, 5)), random);
    assert!(matches!(shown.last(), Some(Action::Answer(Ok(_)))), "{shown:?}");
    let mut federation = Federation::new(averaging());
    let mut actions = core.poll(1_900_000_000, Event::Sync, random);
    for _ in 0..100 {
        let Some(Action::Send(request)) = actions.pop() else { return };
        let answer = federation.handle(&request, None);
        actions = core.poll(1_900_000_000, Event::Answered(answer), random);
    }
    panic!("a visit without end");
}

#[test]
fn stored_records_survive_fuzzing() {
    let records = records();
    let items: Vec<Item> = records.keys().copied().collect();
    assert!(items.len() > 15, "{items:?}");
    let decode = |document: usize, bytes: &[u8]| {
        let mut damaged = records.clone();
        damaged.insert(items[document], Record { bytes: bytes.to_vec(), written: 0 });
        let mut random = Seeded::new(1);
        let (mut core, _) = Core::load(options(), damaged, &mut random).map_err(|error| label(&error))?;
        works(&mut core, &mut random);
        Ok(())
    };
    let valid = items.iter().map(|item| records[item].bytes.clone()).collect();
    let target = Target {
        name: "device-records",
        corpus: None,
        form: Form::Binary,
        valid,
        has_valid_damage: true,
        decode: &decode,
    };
    target.run(3_000);
}

/// Every answer of a visit from the invitation to the receipt.
fn answers() -> Vec<Vec<u8>> {
    let device = TestDevice::new(averaging(), options(), 1);
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let all = seen.clone();
    device.shell.transport().alter = Some(Box::new(move |_: &Request, answer: Answer| {
        all.lock().expect("no panic before").push(answer.body.clone());
        answer
    }));
    device.join(Consent::NoPromise).expect("it joins");
    device.interact_times(4);
    device.sync().expect("a message");
    lock(&device.federation).publish_model(0, vec![0.5, 0.0, 0.0]);
    device.sync().expect("headers and a release");
    let seen = seen.lock().expect("no panic before").clone();
    assert!(seen.len() >= 7, "{} answers", seen.len());
    seen
}

#[test]
fn answers_of_a_server_survive_fuzzing() {
    let valid = answers();
    let decode = |document: usize, bytes: &[u8]| {
        let device = TestDevice::new(averaging(), options(), 1);
        let (bytes, mut number) = (bytes.to_vec(), 0);
        device.shell.transport().alter = Some(Box::new(move |_: &Request, answer: Answer| {
            number += 1;
            if number == document + 1 { Answer { body: bytes.clone(), ..answer } } else { answer }
        }));
        let joined = device.join(Consent::NoPromise);
        device.interact_times(4);
        let sent = device.sync();
        lock(&device.federation).publish_model(0, vec![0.5, 0.0, 0.0]);
        let followed = device.sync();
        device.interact(0, 5);
        assert!(!lock(&device.federation).has_other_bytes);
        let first_error = [joined, sent, followed].into_iter().find_map(Result::err);
        first_error.map_or(Ok(()), |error| Err(label(&error)))
    };
    let decode: &foltr_test::fuzzing::Decode<'_> = &decode;
    Target { name: "answers", corpus: None, form: Form::Binary, valid, has_valid_damage: true, decode }.run(1_500);
}
