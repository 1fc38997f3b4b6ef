//! What a device stores: named records, each written and deleted as a whole.

use std::collections::BTreeMap;

use foltr_rank::bytes::{BytesError, Reader, Writer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    State(State),
    /// An open list, by its id.
    Impression(u64),
    /// A list with clicks that releases are compared on, by its number.
    List(u64),
    /// A model that is in use or may be returned to, by its version.
    Release(u32),
    /// That a contribution was taken, by the number of its message.
    Receipt(u64),
}

macro_rules! states {
    ($($state:ident = $number:literal, $name:literal;)*) => {
        /// Records of which there is one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum State { $($state = $number),* }

        impl State {
            pub const ALL: &[Self] = &[$(Self::$state),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$state => $name),* }
            }
        }
    };
}

states! {
    Setup = 0, "what the folder was made for: features and form of the ranker";
    Switches = 1, "whether the device is paused, and when it tries to reach the server again";
    Ids = 2, "the first id that no list has had";
    LocalModel = 3, "the model that this device learnt alone";
    LocalLearner = 4, "the learner of that model";
    LocalClock = 5, "the time of its last event";
    Federation = 6, "the federation: address, keys, number of this device, newest release";
    Plan = 7, "the plan of the federation";
    Device = 8, "the round that is open: its release, the memory of the momentum";
    Learner = 9, "the learner of that round";
    Clock = 10, "the time of its last event";
    Progress = 11, "rounds that were answered";
    Adoption = 12, "the models that releases are compared with";
    Ledgers = 13, "what was spent of the privacy budget";
    Outbox = 14, "the message that waits to be sent";
    Forgetting = 15, "the request to be forgotten, until its receipt comes";
    DeletionReceipt = 16, "the receipt of having been forgotten";
}

impl State {
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| *state as u64 == number)
    }
}

/// Tables of the store. Numbers are unique within each.
pub const TABLES: [&str; 5] = ["state", "impressions", "lists", "releases", "receipts"];

impl Item {
    /// The index of its table, and its number there.
    pub const fn place(self) -> (usize, u64) {
        match self {
            Self::State(state) => (0, state as u64),
            Self::Impression(id) => (1, id),
            Self::List(number) => (2, number),
            Self::Release(version) => (3, version as u64),
            Self::Receipt(number) => (4, number),
        }
    }

    pub fn at(table: usize, number: u64) -> Option<Self> {
        match table {
            0 => State::from_number(number).map(Self::State),
            1 => Some(Self::Impression(number)),
            2 => Some(Self::List(number)),
            3 => u32::try_from(number).ok().map(Self::Release),
            4 => Some(Self::Receipt(number)),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::State(state) => state.name(),
            Self::Impression(_) => "lists that are open, with the features of their documents and the clicks so far",
            Self::List(_) => "lists with clicks, on which new releases are compared with the present one",
            Self::Release(_) => "releases in use, or to return to",
            Self::Receipt(_) => "receipts of contributions",
        }
    }
}

/// A record as it is stored, and when it was written, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub bytes: Vec<u8>,
    pub written: u64,
}

pub type Records = BTreeMap<Item, Record>;

/// One change of what is stored; without bytes the record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub item: Item,
    pub bytes: Option<Vec<u8>>,
}

impl Write {
    pub const fn put(item: Item, bytes: Vec<u8>) -> Self {
        Self { item, bytes: Some(bytes) }
    }

    pub const fn delete(item: Item) -> Self {
        Self { item, bytes: None }
    }
}

/// Bytes of a record that consists of numbers only.
pub fn numbers(values: &[u64]) -> Vec<u8> {
    let mut out = Writer::default();
    values.iter().for_each(|&value| {
        out.u64(value);
    });
    out.0
}

pub fn read_numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N], BytesError> {
    let mut input = Reader::new(bytes);
    let mut values = [0; N];
    for value in &mut values {
        *value = input.u64()?;
    }
    input.finish()?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_found_again_by_its_place() {
        let items = [Item::Impression(3), Item::List(0), Item::Release(u32::MAX), Item::Receipt(7)];
        for item in State::ALL.iter().map(|&state| Item::State(state)).chain(items) {
            let (table, number) = item.place();
            assert_eq!(Item::at(table, number), Some(item), "{}", item.name());
        }
        assert_eq!((Item::at(0, 99), Item::at(3, 1 << 40), Item::at(9, 0)), (None, None, None));
        let numbers_of_states: Vec<u64> = State::ALL.iter().map(|&state| state as u64).collect();
        assert_eq!(numbers_of_states, (0..State::ALL.len() as u64).collect::<Vec<_>>());
    }
}
