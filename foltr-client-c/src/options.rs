//! Options of C as options of the device.

use std::ffi::c_char;
use std::fmt::Display;

use foltr_client::{Feature, FeatureKind, FeatureSchema, MAX_SHOWN, Normalisation, Options};

use crate::arguments::{text, values};
use crate::border::Failure;
use crate::c_declarations::{foltr_kind, foltr_normalisation, foltr_options};

/// More are a mistake, and would be allocated before it is noticed.
const MOST_FEATURES: usize = 100_000;

impl foltr_options {
    /// Those of a device with so many features.
    pub fn default_for(n_features: usize) -> Self {
        let Options { alone, adoption, upload_delay, .. } =
            Options::new(FeatureSchema::numbered(0, Normalisation::None));
        Self {
            n_features,
            names: std::ptr::null(),
            kinds: std::ptr::null(),
            normalisation: foltr_normalisation::FOLTR_NORMALISE_NONE as i32,
            list_length: alone.list_length,
            learning_rate: alone.learner.learning_rate,
            adoption: adoption.is_some().into(),
            upload_delay,
            proxy: std::ptr::null(),
            certificate_authority: std::ptr::null(),
            certificate_authority_length: 0,
        }
    }

    /// # Safety
    /// Pointers that are not NULL must be to as many values as the header says.
    pub unsafe fn read(&self) -> Result<Options, Failure> {
        self.check_learning()?;
        // SAFETY: promised by the caller.
        let mut options = Options::new(unsafe { self.schema() }?);
        options.alone.list_length = self.list_length;
        options.alone.learner.learning_rate = self.learning_rate;
        options.adoption = options.adoption.filter(|_| self.adoption != 0);
        options.upload_delay = self.upload_delay;
        if !self.proxy.is_null() {
            // SAFETY: promised by the caller.
            options.network.proxy = Some(unsafe { text("options.proxy", self.proxy) }?.to_owned());
        }
        if !self.certificate_authority.is_null() {
            let (name, length) = ("options.certificate_authority", self.certificate_authority_length);
            // SAFETY: promised by the caller.
            let pem = unsafe { values(name, self.certificate_authority, length) }?;
            options.network.certificate_authority = Some(pem.to_vec());
        }
        Ok(options)
    }

    /// The device checks these too, under the names that they have there.
    fn check_learning(&self) -> Result<(), Failure> {
        let Self { list_length, learning_rate, .. } = *self;
        let wrong = |name, value: &dyn Display, right: &str| {
            Err(Failure::argument(format!("`options.{name}` is {value}; expected {right}")))
        };
        match () {
            () if !(1..=MAX_SHOWN).contains(&list_length) => {
                wrong("list_length", &list_length, &format!("1 to {MAX_SHOWN}"))
            }
            () if !(learning_rate > 0.0 && learning_rate.is_finite()) => {
                wrong("learning_rate", &learning_rate, "a positive number")
            }
            () => Ok(()),
        }
    }

    /// # Safety
    /// As for [`read`](Self::read).
    unsafe fn schema(&self) -> Result<FeatureSchema, Failure> {
        let n = self.n_features;
        if !(1..=MOST_FEATURES).contains(&n) {
            return Err(Failure::argument(format!("`options.n_features` is {n}; expected 1 to {MOST_FEATURES}")));
        }
        let mut schema = FeatureSchema::numbered(n, normalisation(self.normalisation)?);
        if !self.names.is_null() {
            // SAFETY: promised by the caller.
            let names: &[*const c_char] = unsafe { values("options.names", self.names, n) }?;
            for (number, (feature, &name)) in schema.features.iter_mut().zip(names).enumerate() {
                // SAFETY: promised by the caller.
                feature.name = unsafe { text(&format!("options.names[{number}]"), name) }?.to_owned();
            }
        }
        if !self.kinds.is_null() {
            // SAFETY: promised by the caller.
            let kinds = unsafe { values("options.kinds", self.kinds, n) }?;
            set_kinds(&mut schema.features, kinds)?;
        }
        Ok(schema)
    }
}

fn set_kinds(features: &mut [Feature], kinds: &[i32]) -> Result<(), Failure> {
    for (number, (feature, &kind)) in features.iter_mut().zip(kinds).enumerate() {
        feature.kind = match kind {
            _ if kind == foltr_kind::FOLTR_NUMBER as i32 => FeatureKind::Number,
            _ if kind == foltr_kind::FOLTR_COUNT as i32 => FeatureKind::Count,
            _ if kind == foltr_kind::FOLTR_FLAG as i32 => FeatureKind::Flag,
            _ => return Err(Failure::argument(format!("`options.kinds[{number}]` is {kind}; see `foltr_kind`"))),
        };
    }
    Ok(())
}

fn normalisation(value: i32) -> Result<Normalisation, Failure> {
    match value {
        _ if value == foltr_normalisation::FOLTR_NORMALISE_NONE as i32 => Ok(Normalisation::None),
        _ if value == foltr_normalisation::FOLTR_NORMALISE_QUERY as i32 => Ok(Normalisation::Query),
        _ => Err(Failure::argument(format!("`options.normalisation` is {value}; see `foltr_normalisation`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &foltr_options) -> Result<Options, Failure> {
        // SAFETY: the tests' pointers are to as many values.
        unsafe { options.read() }
    }

    #[test]
    fn defaults_are_those_of_the_device() {
        let read = read(&foltr_options::default_for(2)).expect("sound");
        assert_eq!(read, Options::new(FeatureSchema::numbered(2, Normalisation::None)));
    }

    #[test]
    fn every_option_arrives() {
        let names = [c"fits".as_ptr(), c"new".as_ptr()];
        let kinds = [foltr_kind::FOLTR_COUNT as i32, foltr_kind::FOLTR_FLAG as i32];
        let options = read(&foltr_options {
            names: names.as_ptr(),
            kinds: kinds.as_ptr(),
            normalisation: foltr_normalisation::FOLTR_NORMALISE_QUERY as i32,
            list_length: 5,
            learning_rate: 0.25,
            adoption: 0,
            upload_delay: 7,
            proxy: c"http://proxy.example.org:3128".as_ptr(),
            certificate_authority: b"PEM".as_ptr(),
            certificate_authority_length: 3,
            ..foltr_options::default_for(2)
        })
        .expect("sound");
        let feature = |name: &str, kind| Feature { name: name.into(), kind };
        let features = vec![feature("fits", FeatureKind::Count), feature("new", FeatureKind::Flag)];
        let mut expected = Options::new(FeatureSchema { features, normalise: Normalisation::Query });
        expected.alone.list_length = 5;
        expected.alone.learner.learning_rate = 0.25;
        expected.adoption = None;
        expected.upload_delay = 7;
        expected.network.proxy = Some("http://proxy.example.org:3128".into());
        expected.network.certificate_authority = Some(b"PEM".to_vec());
        assert_eq!(options, expected);
    }

    #[test]
    fn wrong_options_are_named() {
        let default = foltr_options::default_for(2);
        let names = [c"fits".as_ptr(), std::ptr::null()];
        let kinds = [0, 3];
        for (options, said) in [
            (foltr_options { n_features: 0, ..default }, "`options.n_features` is 0; expected 1 to 100000"),
            (foltr_options { n_features: usize::MAX, ..default }, "expected 1 to 100000"),
            (foltr_options { names: names.as_ptr(), ..default }, "`options.names[1]` is NULL"),
            (foltr_options { kinds: kinds.as_ptr(), ..default }, "`options.kinds[1]` is 3; see `foltr_kind`"),
            (foltr_options { normalisation: -1, ..default }, "`options.normalisation` is -1"),
            (foltr_options { list_length: 0, ..default }, "`options.list_length` is 0; expected 1 to 100"),
            (foltr_options { list_length: 101, ..default }, "`options.list_length` is 101; expected 1 to 100"),
            (
                foltr_options { learning_rate: 0.0, ..default },
                "`options.learning_rate` is 0; expected a positive number",
            ),
            (foltr_options { learning_rate: f64::NAN, ..default }, "`options.learning_rate` is NaN"),
            (foltr_options { learning_rate: f64::INFINITY, ..default }, "`options.learning_rate` is inf"),
        ] {
            let failure = read(&options).expect_err(said);
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }
}
