//! Canonical JSON: RFC 8785 (JCS). One form for one value, with every f64 in the digits of ECMAScript.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use foltr_rank::bytes::BytesError;

/// Far more than any plan or schema needs, and little enough to parse for anybody.
pub const MOST_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CanonicalError {
    #[error("{got} bytes are more than the {MOST_BYTES} that are read")]
    TooLong { got: usize },
    #[error("not the JSON that is expected: {0}")]
    Json(String),
    #[error("not in the canonical form of RFC 8785, or with keys that nobody reads")]
    NotCanonical,
    #[error("a number that JSON cannot hold exactly: integers are at most 2^53, others finite")]
    Inexact,
    #[error(transparent)]
    Bytes(#[from] BytesError),
}

/// The bytes of a value that reads back as itself.
pub fn encode<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let bytes = serde_json_canonicalizer::to_vec(value).map_err(|_| CanonicalError::Inexact)?;
    match decode::<T>(&bytes) {
        Ok(back) if back == *value => Ok(bytes),
        Err(error @ CanonicalError::TooLong { .. }) => Err(error),
        _ => Err(CanonicalError::Inexact),
    }
}

pub fn decode<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, CanonicalError> {
    if bytes.len() > MOST_BYTES {
        return Err(CanonicalError::TooLong { got: bytes.len() });
    }
    let value: T = serde_json::from_slice(bytes).map_err(|error| CanonicalError::Json(error.to_string()))?;
    let again = serde_json_canonicalizer::to_vec(&value).map_err(|_| CanonicalError::Inexact)?;
    if again == bytes { Ok(value) } else { Err(CanonicalError::NotCanonical) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        b: f64,
        a: Option<u64>,
    }

    #[test]
    fn there_is_one_form() {
        let text = br#"{"a":3,"b":1e-7}"#;
        let sample = Sample { a: Some(3), b: 1e-7 };
        assert_eq!(encode(&sample).as_deref(), Ok(text.as_slice()));
        assert_eq!(decode(text), Ok(sample));
        for other in [
            r#"{"b":1e-7,"a":3}"#,
            r#"{"a": 3,"b":1e-7}"#,
            r#"{"a":3.0,"b":1e-7}"#,
            r#"{"a":3,"b":0.0000001}"#,
            r#"{"a":3,"b":1e-7,"c":0}"#,
            r#"{"a":3,"a":3,"b":1e-7}"#,
            r#"{"b":1e-7}"#,
            "{\"a\":3,\"b\":1e-7}\n",
        ] {
            assert!(decode::<Sample>(other.as_bytes()).is_err(), "{other}");
        }
        assert_eq!(decode::<Sample>(br#"{"b":1e-7}"#), Err(CanonicalError::NotCanonical));
    }

    #[test]
    fn every_number_is_exact_or_refused() {
        for bits in 0..2_000_u64 {
            // Over all exponents, positive and negative.
            let b = f64::from_bits(bits.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let sample = Sample { a: None, b };
            match encode(&sample) {
                Ok(bytes) => assert_eq!(decode::<Sample>(&bytes).map(|back| back.b.to_bits()), Ok(b.to_bits())),
                Err(error) => assert!(!b.is_finite(), "{b}: {error}"),
            }
        }
        assert!(encode(&Sample { a: Some(1 << 53), b: 0.0 }).is_ok());
        assert_eq!(encode(&Sample { a: Some((1 << 53) + 1), b: 0.0 }), Err(CanonicalError::Inexact));
        assert_eq!(decode::<Sample>(&vec![b' '; MOST_BYTES + 1]), Err(CanonicalError::TooLong { got: MOST_BYTES + 1 }));
    }
}
