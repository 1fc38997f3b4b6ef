//! The lists that were made: what a click on one of them means.

use std::collections::BTreeMap;

use foltr_client::ImpressionId;
use foltr_rank::interleave::InterleavedList;
use serde::{Deserialize, Serialize};

use crate::answer::{DocumentId, ListId};

/// Lists that are remembered; clicks on older ones are too late.
const MOST: usize = 200;

/// How a list came about.
#[derive(Debug)]
pub(super) enum Origin {
    /// The device made it, and learns from it.
    Device(ImpressionId),
    /// In the order of scores, of the ranker and of plain BM25 in turns: to compare them.
    Compared(Box<InterleavedList>),
    /// In the order of scores: nothing is learnt from it.
    Plain,
}

#[derive(Debug)]
pub(super) struct List {
    pub origin: Origin,
    /// As shown, those behind the learned places included.
    pub order: Vec<DocumentId>,
    /// Of the documents in the order of `order`, scaled, one after the other.
    pub rows: Vec<f32>,
    pub words: String,
    /// Whether a person has seen it.
    pub is_seen: bool,
    pub first_opened: Option<u32>,
}

/// A list for a later process, such as the next command: what a click on it means.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SavedList {
    impression: Option<u64>,
    order: Vec<DocumentId>,
    rows: Vec<f32>,
    words: String,
    first_opened: Option<u32>,
}

impl List {
    fn saved(&self) -> SavedList {
        let impression = if let Origin::Device(impression) = self.origin { Some(impression.0) } else { None };
        SavedList {
            impression,
            order: self.order.clone(),
            rows: self.rows.clone(),
            words: self.words.clone(),
            first_opened: self.first_opened,
        }
    }

    fn restored(saved: SavedList) -> Self {
        let SavedList { impression, order, rows, words, first_opened } = saved;
        let origin = impression.map_or(Origin::Plain, |id| Origin::Device(ImpressionId(id)));
        Self { origin, order, rows, words, is_seen: true, first_opened }
    }
}

#[derive(Debug, Default)]
pub(super) struct Lists {
    lists: BTreeMap<ListId, List>,
    next: u64,
}

impl Lists {
    /// Returns its id, and the lists that are over because of it.
    pub fn add(&mut self, list: List) -> (ListId, Vec<List>) {
        self.next += 1;
        let id = ListId(self.next);
        self.lists.insert(id, list);
        let mut over = Vec::new();
        while self.lists.len() > MOST {
            over.extend(self.lists.pop_first().map(|(_, list)| list));
        }
        (id, over)
    }

    pub fn get(&self, id: ListId) -> Option<&List> {
        self.lists.get(&id)
    }

    pub fn get_mut(&mut self, id: ListId) -> Option<&mut List> {
        self.lists.get_mut(&id)
    }

    pub fn remove(&mut self, id: ListId) -> Option<List> {
        self.lists.remove(&id)
    }

    pub fn save(&self, id: ListId) -> Option<SavedList> {
        self.lists.get(&id).map(List::saved)
    }

    pub fn restore(&mut self, saved: SavedList) -> ListId {
        self.add(List::restored(saved)).0
    }

    pub fn clear(&mut self) {
        self.lists.clear();
    }

    /// Whether the next list is to compare rankers, if one of so many is.
    pub fn is_turn(&self, of: u64) -> bool {
        self.next % of == of - 1
    }
}
