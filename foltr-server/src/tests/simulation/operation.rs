//! What happens in a simulated federation, drawn from a seed. An operation means something after any others, so that a
//! failing list can be made shorter by leaving some out.

use foltr_test::disk::Survivors;

/// SplitMix64: the same seed gives the same list.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// What the network does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    Works,
    LosesRequest,
    LosesAnswer,
}

/// How an upload differs from what an honest device sends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twist {
    Honest,
    /// The same device with another update.
    OtherBytes,
    /// Starts from the model before so many.
    Stale(usize),
    /// To a round so many before or after.
    Round(i64),
    /// To a plan that never was.
    UnknownPlan,
    /// Under the path of the next device.
    OtherPath,
    /// The next device in the body.
    OtherBody,
    ForgedSignature,
    /// What it was acknowledged for earlier, again.
    Earlier(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Forward(u64),
    Back(u64),
}

/// Numbers of devices, versions and the like count modulo what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Invite {
        uses: u32,
    },
    RevokeInvitation,
    /// A new device joins, or one that has joined.
    Enrol {
        replica: usize,
        again: Option<usize>,
    },
    Upload {
        device: usize,
        replica: usize,
        twist: Twist,
        network: Network,
    },
    Task {
        device: usize,
        replica: usize,
    },
    /// A device fetches the headers that it has missed.
    Follow {
        device: usize,
        replica: usize,
    },
    Tick {
        replica: usize,
    },
    Clock(Clock),
    Hold,
    Resume,
    CloseRound {
        replica: usize,
    },
    RollBack {
        version: usize,
    },
    NewPlan {
        kind: usize,
    },
    RotateKey {
        replica: usize,
    },
    Revoke {
        device: usize,
        replica: usize,
    },
    /// A device asks to be forgotten.
    Forget {
        device: usize,
        replica: usize,
        network: Network,
    },
    /// A replica begins to close the round and stops; later it folds, and later it publishes.
    BeginClosing {
        replica: usize,
        is_open: bool,
    },
    GoOnClosing {
        which: usize,
    },
    /// One process is killed and started again.
    Restart {
        replica: usize,
    },
    /// The machine loses power.
    PowerLoss {
        survivors: Survivors,
        seed: u64,
    },
}

pub const N_REPLICAS: usize = 2;

pub fn operations(seed: u64, n: usize) -> Vec<Operation> {
    let mut random = Random(seed);
    let first = [Operation::Invite { uses: 6 }];
    let joins = (0..3).map(|_| Operation::Enrol { replica: 0, again: None });
    let drawn = (0..n.saturating_sub(4)).map(|_| draw(&mut random)).collect::<Vec<_>>();
    first.into_iter().chain(joins).chain(drawn).collect()
}

fn draw(random: &mut Random) -> Operation {
    let (device, replica) = (random.below(8), random.below(N_REPLICAS));
    match random.below(100) {
        0..44 => upload(random, device, replica),
        44..62 => Operation::Tick { replica },
        62..71 => Operation::Clock(clock(random)),
        71..76 => Operation::Enrol { replica, again: (random.below(4) == 0).then_some(device) },
        76..79 => Operation::Task { device, replica },
        79..82 => Operation::Follow { device, replica },
        82..86 => Operation::BeginClosing { replica, is_open: random.below(4) > 0 },
        86..90 => Operation::GoOnClosing { which: random.below(3) },
        _ => rare(random, device, replica),
    }
}

fn upload(random: &mut Random, device: usize, replica: usize) -> Operation {
    let twist = match random.below(24) {
        0..14 => Twist::Honest,
        14 | 15 => Twist::OtherBytes,
        16 | 17 => Twist::Stale(1 + random.below(3)),
        18 => Twist::Round(random.below(5) as i64 - 2),
        19 => Twist::UnknownPlan,
        20 => Twist::OtherPath,
        21 => Twist::OtherBody,
        22 => Twist::ForgedSignature,
        _ => Twist::Earlier(random.below(64)),
    };
    Operation::Upload { device, replica, twist, network: network(random) }
}

fn network(random: &mut Random) -> Network {
    match random.below(8) {
        0 => Network::LosesRequest,
        1 => Network::LosesAnswer,
        _ => Network::Works,
    }
}

fn clock(random: &mut Random) -> Clock {
    const YEAR: u64 = 365 * 86_400;
    match random.below(12) {
        0..4 => Clock::Forward(random.below(90) as u64),
        4..9 => Clock::Forward(3_600),
        9 => Clock::Forward(random.below(3) as u64 * YEAR),
        10 => Clock::Back(random.below(5_000) as u64),
        _ => Clock::Back(YEAR),
    }
}

fn rare(random: &mut Random, device: usize, replica: usize) -> Operation {
    match random.below(23) {
        0 => Operation::Hold,
        1..7 => Operation::Resume,
        7..9 => Operation::CloseRound { replica },
        9 | 10 => Operation::RollBack { version: random.below(1_000) },
        11 => Operation::NewPlan { kind: random.below(6) },
        12 | 13 => Operation::RotateKey { replica },
        14 => Operation::Revoke { device, replica },
        15 => Operation::Invite { uses: 1 + random.below(3) as u32 },
        16 => Operation::RevokeInvitation,
        17..19 => Operation::Restart { replica },
        19 => Operation::Forget { device, replica, network: network(random) },
        _ => {
            let survivors = Survivors::ALL[random.below(3)];
            Operation::PowerLoss { survivors, seed: random.below(1 << 30) as u64 }
        }
    }
}
