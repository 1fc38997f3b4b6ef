//! A device's adoption state as bytes and back, with the same bits.

use super::shown_list::{ShownList, all_positions};
use super::{Adoption, AdoptionError, AdoptionRule};
use crate::bytes::{BytesError, Reader, Writer};
use crate::params::Shape;
use crate::query::{Clicks, MAX_SHOWN, row_stride};

const NAME: &str = "foltr adoption 1";
/// Clicks, the number of documents and the number of pairs.
const LEAST_LIST: usize = 32;

impl Adoption {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::named(NAME);
        out.f64(self.rule.error).u32(self.rule.lists).u64(self.reference_number).u64(self.n_tests);
        out.f32s(&self.present).f32s(&self.reference).len(self.lists.len());
        for list in &self.lists {
            out.bytes(&list.clicks.0.to_le_bytes()).len(list.n_shown()).len(list.rho.len());
            out.f32s(&list.rho).f32s(&list.rows);
        }
        out.0
    }

    /// Reads what [`Self::to_bytes`] wrote for a ranker of this shape.
    pub fn from_bytes(shape: Shape, bytes: &[u8]) -> Result<Self, AdoptionError> {
        let mut input = Reader::new(bytes);
        let name = input.text()?;
        input.require(name == NAME, "a name other than \"foltr adoption 1\"")?;
        let rule = AdoptionRule { error: input.f64()?, lists: input.u32()? };
        let (reference_number, n_tests) = (input.u64()?, input.u64()?);
        let is_past = reference_number > 0 && reference_number - 1 <= n_tests;
        input.require(is_past, "a reference that was chosen before the first or after the last test")?;
        let (present, reference) = (input.f32s(shape.n_params())?, input.f32s(shape.n_params())?);
        let mut adoption = Self { reference, reference_number, n_tests, ..Self::new(rule, shape, &present)? };
        let n_lists = input.len(LEAST_LIST)?;
        input.require(n_lists <= rule.lists as usize, "more lists than the rule allows")?;
        for _ in 0..n_lists {
            let list = read_list(&mut input, shape.n_features())?;
            adoption.lists.push_back(list);
        }
        input.finish()?;
        Ok(adoption)
    }
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
    let stride = row_stride(n_features);
    let rows = input.f32s(n_shown * stride)?;
    let is_padded = rows.chunks_exact(stride).all(|row| row[n_features..].iter().all(|&value| value == 0.0));
    input.require(is_padded, "features beyond the last one")?;
    Ok(ShownList { n_features, rows: rows.into(), clicks, rho: rho.into() })
}
