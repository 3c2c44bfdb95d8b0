//! Signing prefixes: a signature made for one purpose never verifies for another.
//! Spec: §2 "Signatures", W3

/// What a signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// An envelope. §5
    Envelope,
    /// An entry of a team's member log. §4
    Roster,
    /// A `hello` to a relay. §7
    RelayAuth,
    /// The redemption of an invite. §4
    Invite,
    /// The reading of a team's log with an invite. §4
    InviteJoin,
    /// A delegation grant. §6.7
    Delegation,
    /// A consent grant. §6.9
    Grant,
    /// A contact card. §6.9
    Card,
    /// A hosted person's id (a hash prefix). §15.1
    Person,
    /// A read of the directory before `hello`. §7
    DirRead,
    /// An entry of a device log. §15.3
    DeviceLog,
    /// A keys statement. §15.4
    DeviceKeys,
    /// A link request. §15.3
    DeviceLink,
    /// A signed tree head. §15.6
    Epoch,
    /// A rotation of the directory's key. §15.6
    DirKey,
}

impl Domain {
    /// Every domain.
    pub const ALL: &'static [Domain] = &[
        Self::Envelope,
        Self::Roster,
        Self::RelayAuth,
        Self::Invite,
        Self::InviteJoin,
        Self::Delegation,
        Self::Grant,
        Self::Card,
        Self::Person,
        Self::DirRead,
        Self::DeviceLog,
        Self::DeviceKeys,
        Self::DeviceLink,
        Self::Epoch,
        Self::DirKey,
    ];

    /// The prefix, which ends with one LF.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Envelope => "messaging/1/envelope\n",
            Self::Roster => "messaging/1/roster\n",
            Self::RelayAuth => "messaging/1/relay-auth\n",
            Self::Invite => "messaging/1/invite\n",
            Self::InviteJoin => "messaging/1/invite-join\n",
            Self::Delegation => "messaging/1/delegation\n",
            Self::Grant => "messaging/1/grant\n",
            Self::Card => "messaging/1/card\n",
            Self::Person => "messaging/1/person\n",
            Self::DirRead => "messaging/1/dir-read\n",
            Self::DeviceLog => "messaging/1/device-log\n",
            Self::DeviceKeys => "messaging/1/device-keys\n",
            Self::DeviceLink => "messaging/1/device-link\n",
            Self::Epoch => "messaging/1/epoch\n",
            Self::DirKey => "messaging/1/dir-key\n",
        }
    }

    /// The domain of a prefix.
    #[must_use]
    pub fn of_prefix(prefix: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|domain| domain.prefix() == prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_prefix_starts_another() {
        for a in Domain::ALL {
            assert_eq!(Domain::of_prefix(a.prefix()), Some(*a));
            for b in Domain::ALL {
                assert!(a == b || !a.prefix().starts_with(b.prefix()));
            }
        }
    }
}
