//! After the kills: is every acknowledged message in exactly one release, and nothing else?

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use foltr_federation::protocol::Release;
use foltr_server::database::{Access, Connection, Database, Row};

use super::load::{Device, Sent};
use super::process::ROUND_SECONDS;

/// What was found, for the report.
#[derive(Debug)]
pub struct Counts {
    pub n_rounds: usize,
    pub n_acknowledged: usize,
    pub n_too_late: usize,
    /// Rounds whose server was killed while it closed them.
    pub n_taken_over: u64,
}

/// Compares what devices know with what the server has published and stored.
pub fn reckon(mut devices: Vec<(Device, Sent)>, database: &dyn Database) -> Counts {
    let mut acknowledged: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut n_too_late = 0;
    for (device, sent) in &devices {
        for (round, receipt) in sent {
            match receipt {
                Some(_) => acknowledged.entry(*round).or_default().push(device.index),
                None => n_too_late += 1,
            }
        }
    }
    let numbers: Vec<u32> = devices.iter().map(|(device, _)| device.number).collect();
    let last = *acknowledged.keys().next_back().expect("something was acknowledged");
    let n_rounds = wait_for_end(&mut devices[0].0, last);
    let models = models(&mut devices[0].0, n_rounds, numbers.len());
    for (round, pair) in (0..).zip(models.windows(2)) {
        let counted = counted(&pair[0], &pair[1]).unwrap_or_else(|why| panic!("round {round}: {why}"));
        assert_eq!(counted, acknowledged.get(&round).cloned().unwrap_or_default(), "devices in release {}", round + 1);
    }
    assert_stored(database, &acknowledged, &numbers, n_rounds);
    let n_acknowledged = acknowledged.values().map(Vec::len).sum();
    let n_taken_over = n_closings(database) - u64::from(n_rounds);
    Counts { n_rounds: n_rounds as usize, n_acknowledged, n_too_late, n_taken_over }
}

/// Until the last round with a message is closed. Says how many are.
fn wait_for_end(device: &mut Device, last: u32) -> u32 {
    let began = Instant::now();
    loop {
        if let Some(task) = device.task().filter(|task| task.round > last) {
            assert_eq!(task.start.version, task.round, "each round has a release");
            return task.round;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "round {last} is not closed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn models(device: &mut Device, newest: u32, n_params: usize) -> Vec<Vec<f32>> {
    let mut fetch = |version: u32| {
        let answer = device.ask_until_answered("GET", &format!("/releases/{version}?shard=0"), &[]);
        assert_eq!(answer.status, 200, "release {version}");
        Release::decode(&answer.body, n_params).expect("a release").params().to_vec()
    };
    (0..=newest).map(&mut fetch).collect()
}

/// Who is in the mean that leads from one model to the next, where each has added one at its own parameter.
fn counted(before: &[f32], after: &[f32]) -> Result<Vec<usize>, String> {
    let steps: Vec<f64> = before.iter().zip(after).map(|(old, new)| f64::from(*new) - f64::from(*old)).collect();
    let present: Vec<usize> = (0..steps.len()).filter(|&at| steps[at] != 0.0).collect();
    match present.iter().find(|&&at| (steps[at] * present.len() as f64 - 1.0).abs() > 0.01) {
        Some(&at) => {
            Err(format!("device {at} counts {} times among {}", steps[at] * present.len() as f64, present.len()))
        }
        None => Ok(present),
    }
}

fn query(connection: &mut dyn Connection, sql: &str) -> Vec<Row> {
    connection.begin(Access::Read).expect("a database");
    let rows = connection.query(sql, &[]).expect("rows");
    connection.roll_back();
    rows
}

/// How often a server has begun to close a round.
fn n_closings(database: &dyn Database) -> u64 {
    let mut connection = database.connect().expect("a database");
    query(&mut *connection, "SELECT fence FROM federations")[0].u64(0).expect("a number")
}

/// Rounds were closed once, in their order, at the last device or the deadline, and have the messages that devices have
/// receipts of.
fn assert_stored(database: &dyn Database, acknowledged: &BTreeMap<u32, Vec<usize>>, numbers: &[u32], n_rounds: u32) {
    let mut connection = database.connect().expect("a database");
    let sql = "SELECT round, n_contributions, opened_at, closed_at, outcome FROM rounds ORDER BY round";
    let rounds = query(&mut *connection, sql);
    assert_eq!(rounds.len(), n_rounds as usize);
    for (round, row) in (0..).zip(&rounds) {
        let [own, n, opened_at, closed_at] = std::array::from_fn(|column| row.u64(column).expect("a number"));
        assert_eq!(own, u64::from(round));
        assert_eq!(n as usize, acknowledged.get(&round).map_or(0, Vec::len), "messages of round {round}");
        let has_waited = closed_at >= opened_at + ROUND_SECONDS;
        assert!(
            n > 0 && (n as usize == numbers.len() || has_waited),
            "round {round} was closed early with {n} messages"
        );
        assert_eq!(row.text(4), Ok("closed"), "round {round}");
    }
    let stored = query(&mut *connection, "SELECT round, number FROM contributions ORDER BY round, number");
    let stored: Vec<(u32, u32)> = stored.iter().map(|row| (row.u32(0).unwrap(), row.u32(1).unwrap())).collect();
    let of_round = |(round, devices): (&u32, &Vec<usize>)| {
        let mut of_round: Vec<(u32, u32)> = devices.iter().map(|&device| (*round, numbers[device])).collect();
        of_round.sort_unstable();
        of_round
    };
    assert_eq!(stored, acknowledged.iter().flat_map(of_round).collect::<Vec<_>>());
}

/// The longest time without an acknowledgement of which a part is behind each of these moments, and before the next one.
pub fn longest_gaps(acknowledged: &[Instant], kills: &[Instant]) -> Vec<Duration> {
    let gap_after = |(at, kill): (usize, &Instant)| {
        let end = kills.get(at + 1);
        let pairs = acknowledged.windows(2).filter(|pair| pair[1] > *kill && end.is_none_or(|end| pair[0] < *end));
        pairs.map(|pair| pair[1] - pair[0].max(*kill)).max().expect("messages were acknowledged behind every kill")
    };
    kills.iter().enumerate().map(gap_after).collect()
}

#[test]
fn a_double_count_and_a_lost_message_show() {
    assert_eq!(counted(&[0.0; 4], &[0.5, 0.0, 0.5, 0.0]), Ok(vec![0, 2]));
    assert_eq!(counted(&[1.5, 2.5], &[1.5, 2.5]), Ok(vec![]));
    assert!(counted(&[0.0; 4], &[2.0 / 3.0, 0.0, 1.0 / 3.0, 0.0]).is_err(), "the first is there twice");
    assert!(counted(&[0.0; 4], &[1.0 / 3.0, 0.0, 1.0 / 3.0, 0.0]).is_err(), "the divisor counts a third one");
}

#[test]
fn gaps_are_measured_from_the_kill() {
    let start = Instant::now();
    let at = |milliseconds: u64| start + Duration::from_millis(milliseconds);
    let acknowledged = [0, 100, 700, 800, 2_000].map(at);
    let gaps = longest_gaps(&acknowledged, &[at(200), at(750)]);
    assert_eq!(gaps, [500, 1_200].map(Duration::from_millis));
}
