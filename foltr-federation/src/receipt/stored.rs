//! Keys and signatures as hexadecimal text.

use std::fmt::Write;

use serde::{Deserialize, Deserializer, Serializer, de};

use crate::fingerprint::from_hex;

fn text(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read<'de, const N: usize, D: Deserializer<'de>>(deserializer: D, what: &str) -> Result<[u8; N], D::Error> {
    let text = String::deserialize(deserializer)?;
    from_hex(&text).ok_or_else(|| de::Error::custom(format!("{what} has {} small hexadecimal digits", 2 * N)))
}

macro_rules! hexadecimal {
    ($module:ident, $n:literal, $what:literal) => {
        pub(super) mod $module {
            use super::{Deserializer, Serializer, read, text};

            pub(in crate::receipt) fn serialize<S: Serializer>(bytes: &[u8; $n], to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&text(bytes))
            }

            pub(in crate::receipt) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; $n], D::Error> {
                read(from, $what)
            }
        }
    };
}

hexadecimal!(key, 32, "a public key");
hexadecimal!(signature, 64, "a signature");
