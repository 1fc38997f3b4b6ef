//! Forms and queries: `name=value&name=value`, percent-encoded (`application/x-www-form-urlencoded`).

use thiserror::Error;

/// More fields than any form of the dashboard has.
const MOST_FIELDS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FormError {
    #[error("the form is not percent-encoded UTF-8")]
    Encoding,
    #[error("the form has more than {MOST_FIELDS} fields")]
    TooMany,
    #[error("the form names {0:?} twice")]
    Twice(String),
    #[error("the form lacks {0:?}")]
    Missing(&'static str),
    #[error("{name} is {value:?}; expected a whole number from {least} to {most}")]
    Number { name: &'static str, value: String, least: u64, most: u64 },
}

#[derive(Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, FormError> {
        let text = std::str::from_utf8(bytes).map_err(|_| FormError::Encoding)?;
        let mut fields: Vec<(String, String)> = Vec::new();
        for field in text.split('&').filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            let decode = |text: &str| percent_decode(&text.replace('+', " ")).ok_or(FormError::Encoding);
            let (name, value) = (decode(name)?, decode(value)?);
            if fields.len() == MOST_FIELDS {
                return Err(FormError::TooMany);
            }
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(FormError::Twice(name));
            }
            fields.push((name, value));
        }
        Ok(Self(fields))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<&str, FormError> {
        self.get(name).ok_or(FormError::Missing(name))
    }

    pub(crate) fn number(&self, name: &'static str, least: u64, most: u64) -> Result<u64, FormError> {
        let text = self.text(name)?.trim();
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| FormError::Number { name, value: text.to_owned(), least, most })
    }

    /// Any number that fits in 32 bits, such as a version.
    pub(crate) fn number_32(&self, name: &'static str) -> Result<u32, FormError> {
        let number = self.number(name, 0, u32::MAX.into())?;
        Ok(u32::try_from(number).expect("at most u32::MAX, as was checked"))
    }

    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }
}

/// The path before the question mark, and the query behind it.
pub(crate) fn split_path(path: &str) -> (&str, &str) {
    path.split_once('?').unwrap_or((path, ""))
}

pub(crate) fn percent_decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut decoded, mut idx) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(idx) {
        if byte == b'%' {
            let digit = |idx: usize| char::from(*bytes.get(idx)?).to_digit(16);
            decoded.push(u8::try_from(digit(idx + 1)? * 16 + digit(idx + 2)?).expect("two digits of base 16"));
            idx += 3;
        } else {
            decoded.push(byte);
            idx += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

/// For a part of a path, or a value in a query.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
