//! One name on the disk: what programs see, what is durable, and the changes between the two.
//!
//! A name has one log. So a file that is deleted and created anew has the changes of both lives in one order, and what
//! was written to a life whose creation is lost is lost with it.

use super::Survivors;
use super::random::Random;

/// A disk writes whole sectors, at multiples of this.
pub(super) const SECTOR: usize = 512;

#[derive(Clone)]
pub(super) enum Change {
    Create,
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
    Delete,
}

#[derive(Clone, Default)]
pub(super) struct File {
    /// What programs see; none if there is no such file.
    now: Option<Vec<u8>>,
    /// What is there after a power loss, whatever happens.
    durable: Option<Vec<u8>>,
    /// What happened since the last sync, in order.
    unsynced: Vec<Change>,
}

impl File {
    pub(super) fn now(&self) -> Option<&Vec<u8>> {
        self.now.as_ref()
    }

    pub(super) fn change(&mut self, change: Change) {
        change.apply(&mut self.now);
        self.unsynced.push(change);
    }

    pub(super) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// The folder is synced: creation and deletion are durable, and writes to the file as it is now still not.
    pub(super) fn sync_name(&mut self) {
        if let Some(last) = self.unsynced.iter().rposition(|change| matches!(change, Change::Delete)) {
            self.unsynced.drain(..=last);
            self.durable = None;
        }
        if matches!(self.unsynced.first(), Some(Change::Create)) {
            self.unsynced.remove(0).apply(&mut self.durable);
        }
    }

    /// A sync failed: programs go on to see what they wrote, but it is marked as clean, and no later sync writes it.
    /// Creation and deletion are the directory's, and stay.
    pub(super) fn fail_sync(&mut self) {
        self.unsynced.retain(|change| matches!(change, Change::Create | Change::Delete));
    }

    /// Gone for good.
    pub(super) fn delete_durably(&mut self) {
        *self = Self::default();
    }

    /// Flips bits on the medium, and in what programs see. False if there is no such byte.
    pub(super) fn corrupt(&mut self, offset: usize, xor: u8) -> bool {
        let flip = |bytes: &mut Option<Vec<u8>>| {
            bytes.as_mut().and_then(|bytes| bytes.get_mut(offset)).map(|byte| *byte ^= xor).is_some()
        };
        flip(&mut self.durable);
        flip(&mut self.now)
    }

    /// Power comes back.
    pub(super) fn reboot(&mut self, survivors: Survivors, random: &mut Random) {
        let unsynced = std::mem::take(&mut self.unsynced);
        match survivors {
            Survivors::None => {}
            Survivors::Prefix => {
                let n_kept = random.below(unsynced.len() + 1);
                unsynced.iter().take(n_kept).for_each(|change| change.apply(&mut self.durable));
            }
            Survivors::AnySubset => self.keep_subset(&unsynced, random),
        }
        self.now = self.durable.clone();
    }

    fn keep_subset(&mut self, unsynced: &[Change], random: &mut Random) {
        let mut is_of_lost_file = false;
        for change in unsynced {
            let is_kept = random.coin();
            if matches!(change, Change::Create) {
                is_of_lost_file = !is_kept;
            }
            if is_kept && !is_of_lost_file {
                change.apply_torn(&mut self.durable, random);
            }
        }
    }
}

impl Change {
    fn apply(&self, file: &mut Option<Vec<u8>>) {
        match (self, file) {
            (Self::Create, file) => *file = Some(Vec::new()),
            (Self::Delete, file) => *file = None,
            (Self::Write { offset, bytes }, Some(file)) => write(file, *offset, bytes),
            (Self::Truncate(n_bytes), Some(file)) => file.resize(*n_bytes, 0),
            (Self::Write { .. } | Self::Truncate(_), None) => {}
        }
    }

    /// Every second write is whole; of the others, each sector is kept or not.
    fn apply_torn(&self, file: &mut Option<Vec<u8>>, random: &mut Random) {
        match (self, file) {
            (Self::Write { offset, bytes }, Some(file)) if random.coin() => {
                for (offset, bytes) in sectors(*offset, bytes) {
                    if random.coin() {
                        write(file, offset, bytes);
                    }
                }
            }
            (change, file) => change.apply(file),
        }
    }
}

/// What lies between the old end and `offset` is zero.
fn write(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

/// The pieces of a write that lie in different sectors.
fn sectors(mut offset: usize, mut bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(bytes.len().min(SECTOR - offset % SECTOR));
        pieces.push((offset, piece));
        offset += piece.len();
        bytes = rest;
    }
    pieces
}

/// How many bytes of a write are applied if it breaks off: up to a border of sectors within it, and up to any byte
/// within it if it has none. A real disk does not tear a sector; who bears this bears more.
pub(super) fn torn_length(offset: usize, n_bytes: usize, random: &mut Random) -> usize {
    let to_first_border = SECTOR - offset % SECTOR;
    if n_bytes > to_first_border {
        let n_borders = (n_bytes - to_first_border).div_ceil(SECTOR);
        return to_first_border + SECTOR * random.below(n_borders);
    }
    if n_bytes > 1 { 1 + random.below(n_bytes - 1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_to(file: &mut File, offset: usize, bytes: &[u8]) {
        file.change(Change::Write { offset, bytes: bytes.to_vec() });
    }

    /// "ab" is durable, "abcd" is seen.
    fn half_synced() -> File {
        let mut file = File::default();
        file.change(Change::Create);
        write_to(&mut file, 0, b"ab");
        file.sync();
        write_to(&mut file, 2, b"cd");
        file
    }

    fn after(mut file: File, survivors: Survivors, seed: u64) -> Option<Vec<u8>> {
        file.reboot(survivors, &mut Random::new(seed));
        file.now
    }

    fn outcomes(file: &File, survivors: Survivors) -> std::collections::BTreeSet<Option<Vec<u8>>> {
        (0..200).map(|seed| after(file.clone(), survivors, seed)).collect()
    }

    #[test]
    fn what_was_not_synced_may_be_lost() {
        let (synced, all) = (Some(b"ab".to_vec()), Some(b"abcd".to_vec()));
        assert_eq!(half_synced().now, all);
        assert_eq!(outcomes(&half_synced(), Survivors::None), [synced.clone()].into());
        assert_eq!(outcomes(&half_synced(), Survivors::Prefix), [synced, all].into());
    }

    #[test]
    fn a_prefix_has_no_gaps_and_a_subset_has() {
        let mut file = half_synced();
        write_to(&mut file, 4, b"e");
        let with_gap = Some(b"ab\0\0e".to_vec());
        assert_eq!(outcomes(&file, Survivors::Prefix).len(), 3);
        assert!(!outcomes(&file, Survivors::Prefix).contains(&with_gap));
        assert!(outcomes(&file, Survivors::AnySubset).contains(&with_gap));
    }

    #[test]
    fn sectors_of_one_write_are_lost_alone() {
        let mut file = half_synced();
        write_to(&mut file, 510, &[1; 4]);
        let outcomes = outcomes(&file, Survivors::AnySubset);
        let ends: Vec<_> = outcomes.iter().flatten().filter_map(|bytes| bytes.get(510..)).collect();
        assert!(ends.contains(&&[1, 1][..]), "{ends:?}");
        assert!(ends.contains(&&[0, 0, 1, 1][..]), "{ends:?}");
        assert!(ends.contains(&&[1, 1, 1, 1][..]), "{ends:?}");
    }

    #[test]
    fn what_a_failed_sync_had_is_never_durable() {
        let mut file = half_synced();
        file.fail_sync();
        assert_eq!(file.now, Some(b"abcd".to_vec()));
        write_to(&mut file, 4, b"e");
        file.sync();
        assert_eq!(file.now, Some(b"abcde".to_vec()));
        assert_eq!(after(file, Survivors::Prefix, 0), Some(b"ab\0\0e".to_vec()));
    }

    #[test]
    fn names_may_be_lost_until_they_are_synced() {
        let mut file = half_synced();
        file.change(Change::Delete);
        assert_eq!(file.now, None);
        assert_eq!(after(file.clone(), Survivors::None, 0), Some(b"ab".to_vec()));
        file.change(Change::Create);
        write_to(&mut file, 0, b"xy");
        let outcomes = outcomes(&file, Survivors::AnySubset);
        // Never "xy" in the old file: "xycd" or "xy" before its creation.
        assert!(!outcomes.contains(&Some(b"xycd".to_vec())));
        assert!(outcomes.contains(&None) && outcomes.contains(&Some(Vec::new())));
        file.delete_durably();
        assert_eq!(after(file, Survivors::Prefix, 0), None);
    }

    #[test]
    fn names_are_durable_when_the_folder_is_synced() {
        let mut file = half_synced();
        file.sync_name();
        assert_eq!(after(file.clone(), Survivors::None, 0), Some(b"ab".to_vec()));
        file.change(Change::Delete);
        file.change(Change::Create);
        write_to(&mut file, 0, b"xy");
        file.sync_name();
        assert_eq!(after(file.clone(), Survivors::None, 0), Some(Vec::new()));
        file.change(Change::Delete);
        file.sync_name();
        assert_eq!(outcomes(&file, Survivors::AnySubset), [None].into());
    }

    #[test]
    fn a_write_breaks_off_at_a_border_of_sectors() {
        let lengths = |offset, n_bytes| -> std::collections::BTreeSet<usize> {
            (0..200).map(|seed| torn_length(offset, n_bytes, &mut Random::new(seed))).collect()
        };
        assert_eq!(lengths(0, 2048), [512, 1024, 1536].into());
        assert_eq!(lengths(56, 1000), [456, 968].into());
        assert_eq!(lengths(0, 3), [1, 2].into());
        assert_eq!(lengths(0, 1), [0].into());
    }
}
