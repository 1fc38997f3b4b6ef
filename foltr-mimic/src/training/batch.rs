//! Which texts are in a batch of pairs, and where?
//!
//! A query or document that several pairs have in common is looked at once: its vector and what that gives the first
//! layer are the same for all of them. A pair is two rows, better document first.

use crate::Lesson;

const ABSENT: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub queries: Distinct,
    /// All of them, again and again, where what a document gives depends on the query.
    pub documents: Distinct,
    /// Positions of the query and of the document of each row.
    pub rows: Vec<[u32; 2]>,
    pub rows_of_query: Groups,
    pub rows_of_document: Groups,
}

impl Batch {
    pub fn read(&mut self, lessons: &[Lesson], is_of_both: bool) {
        self.queries.clear();
        self.documents.clear();
        self.rows.clear();
        for Lesson { pair, .. } in lessons {
            let query = self.queries.position(pair.query);
            for document in [pair.better, pair.worse] {
                let position =
                    if is_of_both { self.documents.push(document) } else { self.documents.position(document) };
                self.rows.push([query, position]);
            }
        }
        self.rows_of_query.sort(self.queries.numbers.len(), self.rows.iter().map(|row| row[0]));
        self.rows_of_document.sort(self.documents.numbers.len(), self.rows.iter().map(|row| row[1]));
    }
}

/// Different numbers in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distinct {
    pub numbers: Vec<u32>,
    positions: Vec<u32>,
}

impl Distinct {
    fn clear(&mut self) {
        for number in self.numbers.drain(..) {
            if let Some(position) = self.positions.get_mut(number as usize) {
                *position = ABSENT;
            }
        }
    }

    fn position(&mut self, number: u32) -> u32 {
        if self.positions.len() <= number as usize {
            self.positions.resize(number as usize + 1, ABSENT);
        }
        if self.positions[number as usize] == ABSENT {
            self.positions[number as usize] = self.push(number);
        }
        self.positions[number as usize]
    }

    /// Adds a number, whether it is there or not.
    fn push(&mut self, number: u32) -> u32 {
        self.numbers.push(number);
        self.numbers.len() as u32 - 1
    }
}

/// Members of groups, those of a group side by side in increasing order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    ends: Vec<u32>,
    pub members: Vec<u32>,
}

impl Groups {
    /// Sorts the members 0, 1, ... by their groups.
    pub fn sort(&mut self, n_groups: usize, groups: impl Iterator<Item = u32> + Clone) {
        // `ends[group + 1]` is where the next member of the group goes: in the end, where the group ends.
        self.ends.clear();
        self.ends.resize(n_groups + 2, 0);
        let mut n_members = 0;
        for group in groups.clone() {
            self.ends[group as usize + 2] += 1;
            n_members += 1;
        }
        for group in 2..self.ends.len() {
            self.ends[group] += self.ends[group - 1];
        }
        self.members.resize(n_members, 0);
        for (member, group) in groups.enumerate() {
            let end = &mut self.ends[group as usize + 1];
            self.members[*end as usize] = member as u32;
            *end += 1;
        }
    }

    #[inline]
    pub fn range(&self, group: usize) -> std::ops::Range<usize> {
        self.ends[group] as usize..self.ends[group + 1] as usize
    }

    #[inline]
    pub fn of(&self, group: usize) -> &[u32] {
        &self.members[self.range(group)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;

    #[test]
    fn texts_are_numbered_once() {
        let pair = |query, better, worse| Lesson { pair: Pair { query, better, worse }, margin: 1.0 };
        let mut batch = Batch::default();
        // The second batch must not remember the first.
        for pairs in [vec![pair(9, 3, 7)], vec![pair(7, 5, 2), pair(4, 2, 6), pair(7, 6, 5)]] {
            batch.read(&pairs, false);
        }
        assert_eq!(batch.queries.numbers, [7, 4]);
        assert_eq!(batch.documents.numbers, [5, 2, 6]);
        assert_eq!(batch.rows, [[0, 0], [0, 1], [1, 1], [1, 2], [0, 2], [0, 0]]);
        assert_eq!(batch.rows_of_query.of(0), [0, 1, 4, 5]);
        assert_eq!(batch.rows_of_query.of(1), [2, 3]);
        assert_eq!([0, 1, 2].map(|position| batch.rows_of_document.of(position)), [[0, 5], [1, 2], [3, 4]]);
    }
}
