//! A device's adoption state as bytes and back, with the same bits.

use super::shown_list::{ShownList, all_positions};
use super::{Adoption, AdoptionError, AdoptionRule, Reference};
use crate::bytes::{BytesError, Reader, Writer};
use crate::params::Shape;
use crate::query::{Clicks, MAX_SHOWN, QueryView, row_stride};

/// Another layout of the bytes has another name.
const NAME: &str = "foltr adoption 2";
/// Clicks, the number of documents and the number of pairs.
const LEAST_LIST: usize = 32;
/// Counts are below it: thresholds are computed in double precision, which knows no odd numbers above.
const MAX_COUNT: u64 = 1 << 53;

impl Adoption {
    /// All that it is, but for the shape of its ranker.
    pub fn encode(&self) -> Vec<u8> {
        let lists: Vec<Vec<u8>> = self.lists.iter().map(ShownList::encode).collect();
        Self::join(&self.encode_models(), &lists)
    }

    /// All but the lists.
    pub fn encode_models(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.f64(self.rule.error).u32(self.rule.lists);
        out.u64(self.n_tests).u64(self.n_observed).u64(self.n_at_test);
        out.u32(self.version).f32s(&self.present);
        write_reference(&mut out, &self.reference);
        out.option(self.former.as_ref(), write_reference);
        out.0
    }

    /// The bytes of a whole state whose parts were stored one by one, the oldest list first.
    pub fn join(models: &[u8], lists: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(models).len(lists.len());
        lists.iter().for_each(|list| {
            out.bytes(list.as_ref());
        });
        out.0
    }

    /// What [`Self::encode`] wrote for a ranker of this shape.
    pub fn decode(bytes: &[u8], shape: Shape) -> Result<Self, AdoptionError> {
        shape.check_size()?;
        let mut input = Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "not an adoption state of this version")?;
        let rule = AdoptionRule { error: input.f64()?, lists: input.u32()? };
        let [n_tests, n_observed, n_at_test] =
            [read_count(&mut input)?, read_count(&mut input)?, read_count(&mut input)?];
        input.require(n_at_test <= n_observed, "a test that is still to come")?;
        let (version, present) = (input.u32()?, input.f32s(shape.n_params())?);
        let mut adoption = Self { n_tests, n_observed, n_at_test, ..Self::new(rule, shape, version, &present)? };
        adoption.reference = adoption.read_reference(&mut input)?;
        adoption.former = input.option(|input| adoption.read_reference(input))?;
        let is_older = |former: &Reference| former.n_before <= adoption.reference.n_before;
        input.require(adoption.former.as_ref().is_none_or(is_older), "a former reference that is newer")?;
        let n_lists = input.len(LEAST_LIST)?;
        input.require(n_lists <= rule.lists as usize, "more lists than the rule allows")?;
        input.require(n_lists as u64 <= n_observed, "more lists than were observed")?;
        for _ in 0..n_lists {
            let list = read_list(&mut input, shape.n_features())?;
            adoption.lists.push_back(list);
        }
        input.finish()?;
        Ok(adoption)
    }

    /// Puts back a list that was stored by itself, behind those that are here already; the oldest comes first.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), AdoptionError> {
        let mut input = Reader::new(bytes);
        let most = u64::from(self.rule.lists).min(self.n_observed);
        input.require((self.lists.len() as u64) < most, "more lists than there were")?;
        let list = read_list(&mut input, self.shape.n_features())?;
        input.finish()?;
        self.lists.push_back(list);
        Ok(())
    }

    fn read_reference(&self, input: &mut Reader<'_>) -> Result<Reference, BytesError> {
        let (version, params) = (input.u32()?, input.f32s(self.shape.n_params())?);
        let [number, n_before] = [read_count(input)?, read_count(input)?];
        let is_past = number > 0 && number - 1 <= self.n_tests && n_before <= self.n_observed;
        input.require(is_past, "a reference that was chosen before the first or after the last test")?;
        Ok(Reference { version, params, number, n_before })
    }
}

impl ShownList {
    /// For [`Adoption::join`].
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(&self.clicks.0.to_le_bytes()).len(self.n_shown()).len(self.rho.len());
        out.f32s(&self.rho).f32s(&self.rows);
        out.0
    }
}

fn write_reference(out: &mut Writer, reference: &Reference) {
    out.u32(reference.version).f32s(&reference.params).u64(reference.number).u64(reference.n_before);
}

fn read_count(input: &mut Reader<'_>) -> Result<u64, BytesError> {
    let count = input.u64()?;
    input.require(count < MAX_COUNT, "more than any device counts")?;
    Ok(count)
}

fn read_list(input: &mut Reader<'_>, n_features: usize) -> Result<ShownList, BytesError> {
    let clicks = Clicks(u128::from_le_bytes(input.array()?));
    let (n_shown, n_pairs) = (input.len(1)?, input.len(1)?);
    input.require((1..=MAX_SHOWN).contains(&n_shown), "a list that is empty or too long")?;
    let unclicked = all_positions(n_shown) & !clicks.0;
    let is_evidence = clicks.0 != 0 && unclicked != 0 && clicks.0 & !all_positions(n_shown) == 0;
    input.require(is_evidence, "clicks that prefer no document of the list to another")?;
    let wanted = clicks.0.count_ones() * unclicked.count_ones();
    input.require(n_pairs == wanted as usize, "another number of pairs than the clicks have")?;
    let rho = input.f32s(n_pairs)?;
    input.require(rho.iter().all(|rho| (0.0..=1.0).contains(rho)), "a weight of a pair that is not between 0 and 1")?;
    let rows = input.f32s(n_shown * row_stride(n_features))?;
    input.require(QueryView::try_new(&rows, n_features).is_ok(), "features beyond the last one")?;
    Ok(ShownList { n_features, rows: rows.into(), clicks, rho: rho.into() })
}
