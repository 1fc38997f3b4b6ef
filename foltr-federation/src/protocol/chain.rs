//! What a device remembers of the releases that it has seen, and which one may come next.

use thiserror::Error;

use crate::fingerprint::Fingerprint;
use crate::protocol::key::{BadSignature, PublicKey};
use crate::protocol::release::{Release, ReleaseHeader, ReleaseId};
use crate::protocol::signed::Signed;

/// The releases of one model up to some version: never an older one again, and never another past.
///
/// Headers are enough to follow it: a device that was away checks those that it missed, and fetches the newest
/// parameters only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseChain {
    plan: Fingerprint,
    shard: u32,
    key: PublicKey,
    newest: Option<ReleaseId>,
}

/// Why a release is not taken. The chain is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    #[error(transparent)]
    Signature(#[from] BadSignature),
    #[error("release {version} is of plan {got}, not of {expected}; look at the new plan before you follow it")]
    Plan { version: u32, expected: Fingerprint, got: Fingerprint },
    #[error("release {version} is of shard {got}, not of {expected}")]
    Shard { version: u32, expected: u32, got: u32 },
    #[error("release {got} is older than {newest}, which is here; a rollback is a new version")]
    Older { newest: u32, got: u32 },
    #[error("release {version} has another past than the releases that are here")]
    Fork { version: u32 },
    #[error("release {got} does not follow {newest}; the headers between them are missing")]
    Gap { newest: u32, got: u32 },
}

impl ReleaseChain {
    /// Begins with whatever release of this plan comes first, if this key signed it.
    pub const fn new(plan: Fingerprint, shard: u32, key: PublicKey) -> Self {
        Self { plan, shard, key, newest: None }
    }

    /// Goes on from what was stored.
    pub const fn resume(plan: Fingerprint, shard: u32, key: PublicKey, newest: Option<ReleaseId>) -> Self {
        Self { plan, shard, key, newest }
    }

    pub const fn newest(&self) -> Option<ReleaseId> {
        self.newest
    }

    pub const fn plan(&self) -> Fingerprint {
        self.plan
    }

    pub const fn shard(&self) -> u32 {
        self.shard
    }

    /// Signs the next release, and tasks and receipts meanwhile.
    pub const fn key(&self) -> PublicKey {
        self.key
    }

    /// Follows releases of another plan from now on, which the device has looked at.
    pub const fn change_plan(&mut self, plan: Fingerprint) {
        self.plan = plan;
    }

    /// Takes a release; says whether it is new. Its parameters are those of its header, by [`Release::decode`].
    pub fn accept(&mut self, release: &Release) -> Result<bool, ReleaseError> {
        self.follow(release.signed_header())
    }

    /// Takes the header of a release whose parameters are not needed; says whether it is new.
    pub fn follow(&mut self, signed: &Signed<ReleaseHeader>) -> Result<bool, ReleaseError> {
        let id = signed.id();
        if self.newest == Some(id) {
            return Ok(false);
        }
        let header = *signed.verify(&self.key)?;
        self.check(&header)?;
        self.newest = Some(id);
        self.key = header.next_key.unwrap_or(self.key);
        Ok(true)
    }

    fn check(&self, header: &ReleaseHeader) -> Result<(), ReleaseError> {
        let &ReleaseHeader { version, plan, shard, previous, .. } = header;
        if let Some(newest) = self.newest {
            let (newest, hash) = (newest.version, newest.hash);
            match version.checked_sub(newest) {
                None => return Err(ReleaseError::Older { newest, got: version }),
                Some(0) => return Err(ReleaseError::Fork { version }),
                Some(1) if previous != Some(hash) => return Err(ReleaseError::Fork { version }),
                Some(1) => {}
                Some(_) => return Err(ReleaseError::Gap { newest, got: version }),
            }
        }
        match () {
            () if shard != self.shard => Err(ReleaseError::Shard { version, expected: self.shard, got: shard }),
            () if plan != self.plan => Err(ReleaseError::Plan { version, expected: self.plan, got: plan }),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::key::SecretKey;
    use crate::protocol::release::ReleaseDecodeError;
    use crate::protocol::signed::Document;
    use foltr_rank::bytes::BytesError;

    fn key(number: u8) -> SecretKey {
        SecretKey::from_bytes(&[number; 32])
    }

    fn plan() -> Fingerprint {
        Fingerprint::of(b"plan")
    }

    /// Versions 0 to 3, all with one key.
    fn releases() -> Vec<Release> {
        let mut releases = vec![Release::first(plan(), 0, vec![0.0, 1.0], &key(1)).expect("finite")];
        for version in 1..4_u8 {
            let next = releases[usize::from(version) - 1].next(plan(), vec![f32::from(version), -1.0], &key(1));
            releases.push(next.expect("finite"));
        }
        releases
    }

    fn chain() -> ReleaseChain {
        ReleaseChain::new(plan(), 0, key(1).public_key())
    }

    #[test]
    fn releases_are_followed_one_by_one_or_by_headers() {
        let (releases, mut chain) = (releases(), chain());
        for release in &releases {
            let received = Release::decode(&release.encode(), 2).expect("its own bytes");
            assert_eq!((&received, chain.accept(&received)), (release, Ok(true)));
            assert_eq!(chain.accept(&received), Ok(false), "the same again");
            assert_eq!(chain.newest(), Some(release.id()));
        }
        let mut late = ReleaseChain::new(plan(), 0, key(1).public_key());
        assert_eq!(late.accept(&releases[1]), Ok(true), "a device may join at any version");
        assert_eq!(late.accept(&releases[3]), Err(ReleaseError::Gap { newest: 1, got: 3 }));
        assert_eq!(late.follow(releases[2].signed_header()), Ok(true));
        assert_eq!(late.accept(&releases[3]), Ok(true));
        assert_eq!(late, chain);
        assert_eq!(ReleaseChain::resume(plan(), 0, key(1).public_key(), chain.newest()), chain);
    }

    #[test]
    fn every_wrong_release_has_its_own_error_and_changes_nothing() {
        let releases = releases();
        let mut chain = chain();
        releases[..3].iter().for_each(|release| assert_eq!(chain.accept(release), Ok(true)));
        let before = chain;
        let fork = releases[1].next(plan(), vec![9.0, 9.0], &key(1)).expect("finite");
        let after_fork = fork.next(plan(), vec![9.0, 9.0], &key(1)).expect("finite");
        let other_plan = Fingerprint::of(b"another plan");
        let (of_other_plan, shard) = (
            releases[2].next(other_plan, vec![9.0, 9.0], &key(1)).expect("finite"),
            ReleaseHeader { shard: 1, ..*releases[3].header() },
        );
        let forged = releases[2].next(plan(), vec![9.0, 9.0], &key(2)).expect("finite");
        for (header, error) in [
            (releases[0].signed_header(), ReleaseError::Older { newest: 2, got: 0 }),
            (fork.signed_header(), ReleaseError::Fork { version: 2 }),
            (after_fork.signed_header(), ReleaseError::Fork { version: 3 }),
            (of_other_plan.signed_header(), ReleaseError::Plan { version: 3, expected: plan(), got: other_plan }),
            (&Signed::sign(shard, &key(1)).expect("sound"), ReleaseError::Shard { version: 3, expected: 0, got: 1 }),
            (forged.signed_header(), ReleaseError::Signature(BadSignature)),
        ] {
            assert_eq!(chain.follow(header), Err(error));
            assert_eq!(chain, before);
        }
        chain.change_plan(other_plan);
        assert_eq!(chain.accept(&of_other_plan), Ok(true));
    }

    #[test]
    fn a_release_names_the_key_that_signs_after_it() {
        let (first, mut chain) = (releases().remove(0), chain());
        let rotation = first.next_with_key(plan(), vec![1.0, 1.0], &key(1), key(2).public_key()).expect("finite");
        let [with_old, with_new] =
            [1, 2].map(|number| rotation.next(plan(), vec![2.0, 2.0], &key(number)).expect("finite"));
        assert_eq!((chain.accept(&first), chain.accept(&rotation)), (Ok(true), Ok(true)));
        assert_eq!(chain.key(), key(2).public_key());
        assert_eq!(chain.accept(&with_old), Err(BadSignature.into()));
        assert_eq!(chain.accept(&with_new), Ok(true));
        // Who has the newest release still has it after its key is gone.
        assert_eq!(chain.accept(&with_new), Ok(false));
    }

    #[test]
    fn a_rollback_is_a_new_version_with_old_parameters() {
        let (releases, mut chain) = (releases(), chain());
        releases.iter().for_each(|release| assert_eq!(chain.accept(release), Ok(true)));
        let rollback = releases[3].next(plan(), releases[1].params().to_vec(), &key(1)).expect("finite");
        assert_eq!(rollback.header().model, releases[1].header().model);
        assert_eq!(chain.accept(&rollback), Ok(true));
    }

    #[test]
    fn parameters_must_be_finite_and_those_of_the_header() {
        let release = releases().remove(1);
        let bytes = release.encode();
        let at = bytes.len() - 8;
        let with = |value: f32| [&bytes[..at], &value.to_le_bytes(), &bytes[at + 4..]].concat();
        for (bytes, error) in [
            (with(3.0), ReleaseDecodeError::Model),
            (with(f32::NAN), ReleaseDecodeError::NotFinite { index: 0 }),
            (with(f32::INFINITY), ReleaseDecodeError::NotFinite { index: 0 }),
            (bytes[..at].to_vec(), ReleaseDecodeError::Length { expected: 8, got: 0 }),
            ([bytes.as_slice(), &[0]].concat(), ReleaseDecodeError::Length { expected: 8, got: 9 }),
            (bytes[..at - 1].to_vec(), ReleaseDecodeError::Bytes(BytesError::Truncated { at: at - 1 })),
        ] {
            assert_eq!(Release::decode(&bytes, 2), Err(error));
        }
        assert_eq!(
            Release::first(plan(), 0, vec![1.0, f32::NAN], &key(1)),
            Err(ReleaseDecodeError::NotFinite { index: 1 })
        );
        // Version 0 has no past, and every other one has.
        let orphan = ReleaseHeader { previous: None, ..*release.header() };
        assert!(orphan.encode().is_err());
    }
}
