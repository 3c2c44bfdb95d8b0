//! Invites: a secret that admits one machine of one person, and the two proofs of holding it.
//! Spec: §4 "Invites", W2.7, W3
//!
//! The secret is an Ed25519 seed that only the ticket carries; the team's chain holds its public
//! key. Who holds the seed proves it to the relay to read the chain (the *join proof*, bound to
//! one connection), and to the team to join (the *redeem proof*, bound to the joining machine).

use serde::Serialize;
use serde_json::{Value, json};

use crate::code::{Code, Failure};
use crate::domain::Domain;
use crate::ids::{Hash, Label, MachineId, Nonce32, RosterPerson, Secret32Text, Sig, Ulid};
use crate::jcs::{self, Canonical};
use crate::keys::{Identity, PublicKey, SigningKey};
use crate::limits::TTL_MS;
use crate::random::{self, Random};
use crate::relay_auth::Challenge;
use crate::roster::{Member, Op, Role};
use crate::ticket::InviteTicket;
use crate::time::Ms;

/// A new invite: the operation to append, and the secret for its ticket.
#[derive(Clone, Debug)]
pub struct NewInvite {
    /// The `invite.create` to sign and append.
    pub op: Op,
    /// The invite's id.
    pub id: Ulid,
    /// When the invite ends.
    pub expires: Ms,
    /// The secret. It goes into the ticket and nowhere else.
    pub secret: Secret32Text,
}

/// Makes an invite for a machine of `person`, open for `ttl_ms` milliseconds from `now`.
///
/// Errors: `invalid_request` for a life of nothing or of more than 7 days.
pub fn create(
    person: &RosterPerson,
    ttl_ms: u64,
    now: Ms,
    rng: &mut (impl Random + ?Sized),
) -> Result<NewInvite, Failure> {
    if ttl_ms == 0 || ttl_ms > TTL_MS {
        return Err(Failure::invalid("ttlMs"));
    }
    let (id, seed) = (random::ulid(now, rng), random::bytes(rng));
    let expires = now.plus(ttl_ms);
    let invite_pub = *SigningKey::from_seed(&seed).machine();
    let op = Op::InviteCreate { invite_id: id, invite_pub, person: person.clone(), expires };
    Ok(NewInvite { op, id, expires, secret: Secret32Text::from_bytes(&seed) })
}

impl InviteTicket {
    /// The operation by which this ticket's holder joins `team` as `label`, to be signed with the
    /// same identity.
    ///
    /// Errors: `invite_invalid` for a ticket of another team.
    pub fn redeem(&self, team: &Hash, identity: &Identity, label: &Label) -> Result<Op, Failure> {
        if self.team != *team {
            return Err(Failure::new(Code::InviteInvalid, "team"));
        }
        let member = Member {
            machine: *identity.machine(),
            enc: *identity.enc.public(),
            person: self.person.clone(),
            role: Role::Member,
            label: label.clone(),
        };
        let raw = jcs::to_value(&member)?;
        let proof = redeem_proof(&self.secret_key(), team, &self.invite_id, &raw)?;
        Ok(Op::InviteRedeem { invite_id: self.invite_id, proof, member })
    }

    /// The proof by which this ticket's holder reads the chain on the connection of `challenge`.
    ///
    /// Errors: none for a challenge that was received as a frame.
    pub fn join_proof(&self, challenge: &Challenge) -> Result<Sig, Failure> {
        let Challenge { relay, nonce } = challenge;
        join_proof(&self.secret_key(), relay, &self.team, &self.invite_id, nonce)
    }

    /// The public key of the ticket's secret, as the chain holds it.
    #[must_use]
    pub fn invite_pub(&self) -> MachineId {
        *self.secret_key().machine()
    }

    fn secret_key(&self) -> SigningKey {
        SigningKey::from_seed(&self.secret.to_bytes())
    }
}

/// Signs the redeem proof for `member`, exactly as the entry will hold it.
///
/// Errors: `invalid_request` for a member that is not I-JSON.
pub fn redeem_proof(
    secret: &SigningKey,
    team: &Hash,
    invite_id: &Ulid,
    member: &Value,
) -> Result<Sig, Failure> {
    Ok(secret.sign(Domain::Invite, &redeem_text(team, invite_id, member)?))
}

/// Whether `proof` shows that the holder of the invite's secret admits exactly this `member`.
#[must_use]
pub fn redeem_is_proven(
    invite_pub: &PublicKey,
    team: &Hash,
    invite_id: &Ulid,
    member: &Value,
    proof: &Sig,
) -> bool {
    redeem_text(team, invite_id, member)
        .is_ok_and(|text| invite_pub.verify(Domain::Invite, &text, proof))
}

/// What the redeem proof signs.
///
/// Errors: `invalid_request` for a member that is not I-JSON.
pub fn redeem_text(team: &Hash, invite_id: &Ulid, member: &Value) -> Result<Canonical, Failure> {
    jcs::canonical(&json!({"team": team, "inviteId": invite_id, "member": member}))
}

/// Signs the join proof for one connection: the relay's origin and the nonce of its challenge.
///
/// Errors: none for a text that came from JSON.
pub fn join_proof(
    secret: &SigningKey,
    relay: &str,
    team: &Hash,
    invite_id: &Ulid,
    nonce: &Nonce32,
) -> Result<Sig, Failure> {
    Ok(secret.sign(Domain::InviteJoin, &join_text(relay, team, invite_id, nonce)?))
}

/// Whether `proof` shows that whoever is on this connection holds the invite's secret.
#[must_use]
pub fn join_is_proven(
    invite_pub: &PublicKey,
    relay: &str,
    team: &Hash,
    invite_id: &Ulid,
    nonce: &Nonce32,
    proof: &Sig,
) -> bool {
    join_text(relay, team, invite_id, nonce)
        .is_ok_and(|text| invite_pub.verify(Domain::InviteJoin, &text, proof))
}

/// What the join proof signs.
///
/// Errors: none for a text that came from JSON.
pub fn join_text(
    relay: &str,
    team: &Hash,
    invite_id: &Ulid,
    nonce: &Nonce32,
) -> Result<Canonical, Failure> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Join<'a> {
        relay: &'a str,
        team: &'a Hash,
        invite_id: &'a Ulid,
        nonce: &'a Nonce32,
    }
    jcs::canonical(&jcs::to_value(&Join { relay, team, invite_id, nonce })?)
}
