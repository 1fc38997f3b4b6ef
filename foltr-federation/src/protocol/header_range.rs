//! Headers in a row: what a device fetches that was away, to follow the chain from its newest release to that of today.

use crate::protocol::release::ReleaseHeader;
use crate::protocol::signed::Signed;
use crate::writer::Writer;
use foltr_rank::bytes::{BytesError, Reader};

/// Of one answer; some 200 kB. A device that was away for longer asks again.
pub const MOST_HEADERS: usize = 1_000;

/// How many, and each behind its length. Of more than [`MOST_HEADERS`] it writes the first ones.
pub fn encode_headers(headers: &[Signed<ReleaseHeader>]) -> Vec<u8> {
    let headers = &headers[..headers.len().min(MOST_HEADERS)];
    let mut out = Writer::default();
    out.u32(headers.len() as u32);
    for header in headers {
        out.u32(header.as_bytes().len() as u32).bytes(header.as_bytes());
    }
    out.0
}

/// At most so many headers, whoever signed them: [`ReleaseChain::follow`](crate::protocol::ReleaseChain::follow) takes them
/// one by one. `most` above [`MOST_HEADERS`] is no different from it.
pub fn decode_headers(bytes: &[u8], most: usize) -> Result<Vec<Signed<ReleaseHeader>>, BytesError> {
    let mut input = Reader::new(bytes);
    let n_headers = input.u32()? as usize;
    input.require(n_headers <= most.min(MOST_HEADERS), "more headers than were asked for")?;
    // It grows with the bytes that are there, not with the number that they claim.
    let mut headers = Vec::new();
    for _ in 0..n_headers {
        let len = input.u32()? as usize;
        headers.push(Signed::decode(input.take(len)?)?);
    }
    input.finish()?;
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Fingerprint;
    use crate::protocol::chain::ReleaseChain;
    use crate::protocol::key::SecretKey;
    use crate::protocol::release::Release;

    fn headers(n: usize) -> Vec<Signed<ReleaseHeader>> {
        let (key, plan) = (SecretKey::from_bytes(&[1; 32]), Fingerprint::of(b"plan"));
        let first = Release::first(plan, 0, vec![0.0], &key).expect("finite");
        let next = |release: &Release| release.next(plan, vec![0.5], &key).ok();
        std::iter::successors(Some(first), next).take(n).map(|release| release.signed_header().clone()).collect()
    }

    #[test]
    fn a_device_that_was_away_follows_the_headers() {
        let sent = headers(3);
        let bytes = encode_headers(&sent);
        // The first header has no hash of one before it.
        assert_eq!(bytes.len(), 4 + (4 + 139) + 2 * (4 + 171));
        assert_eq!(bytes[..8], [3, 0, 0, 0, 139, 0, 0, 0]);
        let received = decode_headers(&bytes, 3).expect("its own bytes");
        assert_eq!(received, sent);
        let key = SecretKey::from_bytes(&[1; 32]).public_key();
        let mut chain = ReleaseChain::new(Fingerprint::of(b"plan"), 0, key);
        received.iter().for_each(|header| assert_eq!(chain.follow(header), Ok(true)));
        assert_eq!(chain.newest().map(|newest| newest.version), Some(2));
        assert_eq!(decode_headers(&encode_headers(&[]), 0), Ok(Vec::new()));
    }

    #[test]
    fn no_more_headers_are_written_and_read_than_were_agreed_on() {
        let sent = headers(MOST_HEADERS + 1);
        let bytes = encode_headers(&sent);
        assert_eq!(decode_headers(&bytes, usize::MAX).as_deref(), Ok(&sent[..MOST_HEADERS]));
        let too_many = decode_headers(&encode_headers(&sent[..3]), 2);
        assert!(matches!(too_many, Err(BytesError::Content { at: 4, .. })), "{too_many:?}");
        let mut more = bytes.clone();
        more[..4].copy_from_slice(&1_001_u32.to_le_bytes());
        assert!(matches!(decode_headers(&more, usize::MAX), Err(BytesError::Content { at: 4, .. })));
    }

    #[test]
    fn lengths_must_fit() {
        let bytes = encode_headers(&headers(2));
        assert!(matches!(decode_headers(&bytes[..bytes.len() - 1], 2), Err(BytesError::Truncated { .. })));
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(matches!(decode_headers(&longer, 2), Err(BytesError::TrailingBytes { left: 1, .. })));
        let claims = |n: u32, len: u32| decode_headers(&[n.to_le_bytes(), len.to_le_bytes()].concat(), 1_000);
        assert_eq!(claims(1_000, u32::MAX), Err(BytesError::Truncated { at: 8 }));
        // A length that takes a byte of the next header.
        let mut shifted = bytes.clone();
        shifted[4] += 1;
        assert!(matches!(decode_headers(&shifted, 2), Err(BytesError::TrailingBytes { left: 1, .. })));
    }
}
