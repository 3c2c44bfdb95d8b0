//! What a rotation makes of the keys of `identity.json`, step by step.
//! Spec: §4 "Encryption-key rotation", D3.22

use messaging_core::ids::EncKey;
use messaging_core::keys::EncSecret;
use messaging_core::limits::RETAINED_KEYS;
use messaging_core::rotation::WINDOW_MS;
use messaging_core::time::Ms;

use crate::identity::{IdentityFile, PendingKey, RetainedKey};

/// The keys with a new one that waits to be published.
pub(super) fn with_pending(keys: &IdentityFile, secret: EncSecret, now: Ms) -> IdentityFile {
    IdentityFile { pending: Some(PendingKey { secret, at: now }), ..keys.clone() }
}

/// The keys once the realm names `named`, which waited or was retired here: the current key is retired from now on.
pub(super) fn promoted(keys: &IdentityFile, named: &EncKey, now: Ms) -> Option<IdentityFile> {
    let mut next = keys.clone();
    let secret = match next.pending.take_if(|pending| pending.secret.public() == named) {
        Some(pending) => pending.secret,
        None => {
            let at = next.retained.iter().position(|key| key.secret.public() == named)?;
            next.retained.remove(at).secret
        }
    };
    let old = std::mem::replace(&mut next.identity.enc, secret);
    retire(&mut next, old, now);
    Some(next)
}

/// The keys without the one that waited. When it may have been published all the same it is kept as a retired one.
pub(super) fn undone(keys: &IdentityFile, may_be_out: bool, now: Ms) -> IdentityFile {
    let mut next = keys.clone();
    if let Some(pending) = next.pending.take()
        && may_be_out
    {
        retire(&mut next, pending.secret, now);
    }
    next
}

/// The keys without those whose time is over; none when there is nothing to erase. A key that the realm names stays.
pub(super) fn erased(keys: &IdentityFile, named: &EncKey, now: Ms) -> Option<IdentityFile> {
    let stays = |key: &RetainedKey| key.until > now || key.secret.public() == named;
    if keys.retained.iter().all(stays) {
        return None;
    }
    let mut next = keys.clone();
    next.retained.retain(stays);
    Some(next)
}

/// Newest first; the oldest one makes room, should there be too many.
fn retire(keys: &mut IdentityFile, secret: EncSecret, now: Ms) {
    keys.retained.insert(0, RetainedKey { secret, until: now.plus(WINDOW_MS) });
    keys.retained.truncate(RETAINED_KEYS);
}

#[cfg(test)]
mod tests {
    use messaging_core::keys::Identity;
    use messaging_core::testing::SeededRandom;

    use super::*;

    fn file() -> (IdentityFile, EncSecret) {
        let mut rng = SeededRandom::new(1);
        (IdentityFile::generate(&mut rng), Identity::generate(&mut rng).enc)
    }

    #[test]
    fn a_published_key_becomes_current_and_the_old_one_retired_for_the_window() {
        let (first, new) = file();
        let waiting = with_pending(&first, new.clone(), Ms(5));
        assert_eq!(waiting.identity.enc.public(), first.identity.enc.public());
        let next = promoted(&waiting, new.public(), Ms(10)).unwrap();
        assert_eq!(next.identity.enc.public(), new.public());
        assert!(next.pending.is_none());
        assert_eq!(next.retained[0].secret.public(), first.identity.enc.public());
        assert_eq!(next.retained[0].until, Ms(10 + WINDOW_MS));
        // The realm names the older one after all.
        let back = promoted(&next, first.identity.enc.public(), Ms(20)).unwrap();
        assert_eq!(back.identity.enc.public(), first.identity.enc.public());
        assert_eq!(back.retained.len(), 1);
        assert!(promoted(&first, new.public(), Ms(0)).is_none(), "a key that is not here");
    }

    #[test]
    fn an_undone_key_goes_unless_somebody_may_have_seen_it() {
        let (first, new) = file();
        let waiting = with_pending(&first, new.clone(), Ms(5));
        assert!(!undone(&waiting, false, Ms(9)).holds(new.public()));
        let kept = undone(&waiting, true, Ms(9));
        assert!(kept.holds(new.public()) && kept.pending.is_none());
        assert_eq!(kept.identity.enc.public(), first.identity.enc.public());
    }

    #[test]
    fn a_retired_key_goes_at_its_time_unless_it_is_named() {
        let (first, new) = file();
        let public = *new.public();
        let next = promoted(&with_pending(&first, new, Ms(0)), &public, Ms(0)).unwrap();
        let old = *first.identity.enc.public();
        assert!(erased(&next, next.identity.enc.public(), Ms(WINDOW_MS - 1)).is_none());
        let gone = erased(&next, next.identity.enc.public(), Ms(WINDOW_MS)).unwrap();
        assert!(!gone.holds(&old));
        assert!(erased(&next, &old, Ms(WINDOW_MS)).is_none(), "the realm names it");
    }

    #[test]
    fn the_oldest_of_too_many_makes_room() {
        let (mut keys, _) = file();
        let mut rng = SeededRandom::new(9);
        for now in 0..=RETAINED_KEYS as u64 {
            let new = Identity::generate(&mut rng).enc;
            let public = *new.public();
            keys = promoted(&with_pending(&keys, new, Ms(now)), &public, Ms(now)).unwrap();
        }
        assert_eq!(keys.retained.len(), RETAINED_KEYS);
        assert!(IdentityFile::read(&keys.to_value()).is_ok());
    }
}
