//! Bytes as digits in lower case, and back: one form only, since paths are signed.

pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_form() {
        assert_eq!(decode(&encode(&[0, 15, 171, 255])), Some([0, 15, 171, 255]));
        for wrong in ["", "0", "0A", "000", "0g", "é", "0000"] {
            assert_eq!(decode::<1>(wrong), None, "{wrong}");
        }
    }
}
