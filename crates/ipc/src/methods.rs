//! The method table: every fact about every method, written once.
//! Spec: §8.2, D1.7
//!
//! A row reads
//!
//! ```text
//! Variant "name" [Tiers] Class Key Scope Realm Caller Params => Result, module::handler, "spec";
//! ```
//!
//! and [`for_each_method!`](crate::for_each_method) hands all of them to a macro of its caller's. The daemon makes its
//! dispatch from them, so a row without a handler does not compile.

use std::fmt;

/// Who may call a method, from which socket: `agent.sock` serves the agent tier, `admin.sock` all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// An agent's client.
    Agent,
    /// The person, through a client of theirs.
    Human,
    /// Whoever administers this device.
    Admin,
}

/// What a host's grant must be for, when a Jelly host runs the daemon. Agent-tier calls need none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Looking.
    View,
    /// Chatting.
    Chat,
    /// Changing something on this device.
    Local,
}

/// Whether a call belongs to a session that its connection registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    /// To none.
    Free,
    /// To the session of its `key`.
    Key,
    /// To the session of its `key`, when it names one.
    KeyIfGiven,
}

/// Which grant of a Jelly host admits a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One for this very call.
    Grant,
    /// One for the call, or one of host scope.
    Host,
}

/// In which realm a method exists; in another it is `invalid_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealmRule {
    /// In any, and before there is one.
    Any,
    /// Not in a directory realm.
    Roster,
    /// Only in a directory realm.
    Directory,
}

/// What the caller's device must be; otherwise `no_identity` or `unknown_device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Anything.
    Anyone,
    /// Set up: a member of a realm.
    Device,
}

/// Hands every row of the method table to a macro: `for_each_method!(callback)` or `for_each_method!(callback, extra…)`,
/// which becomes `callback! { rows… }` or `callback! { (extra…) rows… }`.
#[macro_export]
macro_rules! for_each_method {
    ($callback:ident) => {
        $crate::for_each_method! { @rows $callback }
    };
    ($callback:ident, $($extra:tt)+) => {
        $crate::for_each_method! { @rows $callback ($($extra)+) }
    };
    (@rows $callback:ident $($head:tt)?) => {
        $callback! {
            $($head)?

            // The agent tier: both sockets.
            SessionRegister "session.register" [Agent] Local Free Grant Any Anyone
                $crate::params::session::Register => $crate::results::session::Registered, session::register, "§8.2, D1.7-1";
            SessionUpdate "session.update" [Agent] Local Key Grant Any Anyone
                $crate::params::session::Update => $crate::results::Done, session::update, "§8.2, D1.7-2";
            SessionUnregister "session.unregister" [Agent] Local Key Grant Any Anyone
                $crate::params::KeyOnly => $crate::results::Done, session::unregister, "§8.2, D1.7-3";
            DeviceStatus "device.status" [Agent] Local Free Grant Any Anyone
                $crate::params::Nothing => $crate::shapes::DeviceStatus, device::status, "§8.2, D1.7-4";
            DeviceBind "device.bind" [Agent] Local Free Grant Directory Anyone
                $crate::params::device::Bind => $crate::results::device::Bound, device::bind, "§15.9, D1.7-5";
            ContactsList "contacts.list" [Agent] Local Free Grant Any Device
                $crate::params::Nothing => $crate::results::session::Contacts, contacts::list, "§8.2, D1.7-6";
            MsgSend "msg.send" [Agent] Local Key Grant Any Device
                $crate::params::msg::Send => $crate::results::session::Sent, msg::send, "§8.2, D3.5, D1.7-7";
            InboxList "inbox.list" [Agent] Local Key Grant Any Anyone
                $crate::params::inbox::ListItems => $crate::results::inbox::InboxPage, inbox::list, "§8.2, D1.7-8";
            InboxGet "inbox.get" [Agent] Local Key Grant Any Anyone
                $crate::params::inbox::GetItem => $crate::results::inbox::InboxEntry, inbox::get, "§8.2, D1.7-9";
            InboxAck "inbox.ack" [Agent] Local Key Grant Any Anyone
                $crate::params::inbox::Ack => $crate::results::inbox::Acked, inbox::ack, "§8.2, D1.7-10";
            ItemRead "item.read" [Agent] Local Key Grant Any Anyone
                $crate::params::inbox::ReadItem => $crate::results::inbox::ItemRead, item::read, "§8.2, D1.7-11";
            ConvRead "conv.read" [Agent, Human] View KeyIfGiven Grant Any Device
                $crate::params::conv::Read => $crate::results::conv::ConvPage, conv::read, "§8.2, D1.7-12";
            Search "search" [Agent] Local Free Grant Any Device
                $crate::params::conv::Search => $crate::results::conv::Hits, search::search, "§8.2, D1.7-13";
            TaskGet "task.get" [Agent] Local Key Grant Any Anyone
                $crate::params::task::Get => $crate::results::task::OneTask, task::get, "§8.2, D1.7-14";
            TaskList "task.list" [Agent] Local Key Grant Any Anyone
                $crate::params::task::ListTasks => $crate::results::task::TaskPage, task::list, "§8.2, D1.7-15";
            TaskUpdate "task.update" [Agent] Local Key Grant Any Device
                $crate::params::task::Update => $crate::results::task::OneTask, task::update, "§6.3, D1.7-16";
            TaskCancel "task.cancel" [Agent] Local Key Grant Any Device
                $crate::params::task::Cancel => $crate::results::task::Cancelled, task::cancel, "§6.3, D1.7-17";
            EventsSubscribe "events.subscribe" [Agent] Local Key Grant Any Anyone
                $crate::params::KeyOnly => $crate::results::Done, events::subscribe, "§8.2, D1.7-18";
            DaemonStatus "daemon.status" [Agent] Local Free Grant Any Anyone
                $crate::params::Nothing => $crate::shapes::DaemonStatus, daemon::status, "§8.2, D1.7-19";
            DaemonHealth "daemon.health" [Agent] Local Free Grant Any Anyone
                $crate::params::Nothing => $crate::shapes::DaemonHealth, daemon::health, "§8.2, D1.7-20";

            // This implementation's own; the specification does not have them.
            SentList "sent.list" [Agent] Local Key Grant Any Anyone
                $crate::params::inbox::ListSent => $crate::results::inbox::SentPage, sent::list, "ours, §8.4";
            MailSearch "mail.search" [Human] View Free Grant Any Device
                $crate::params::archive::SearchMail => $crate::results::archive::MailHits, mail::search, "ours";
            MailExport "mail.export" [Human] View Free Grant Any Device
                $crate::params::archive::ExportMail => $crate::results::archive::HeldPage, mail::export, "ours";

            // The human tier: the admin socket only.
            ConvList "conv.list" [Human] View Free Host Any Device
                $crate::params::conv::ListConversations => $crate::results::conv::Conversations, conv::list, "§8.2, D1.7-21";
            ConvMarkRead "conv.markRead" [Human] Chat Free Grant Any Device
                $crate::params::conv::MarkRead => $crate::results::conv::ReadState, conv::mark_read, "§8.2, D1.7-22";
            ConvSubscribe "conv.subscribe" [Human] View Free Grant Any Device
                $crate::params::conv::Subscribe => $crate::results::conv::ConvSubscribed, conv::subscribe, "§8.2, D1.7-23";
            PersonSend "person.send" [Human] Chat Free Grant Any Device
                $crate::params::conv::PersonSend => $crate::results::conv::LineSent, person::send, "§8.2, D3.6, D1.7-24";
            PeopleSearch "people.search" [Human] View Free Grant Any Device
                $crate::params::people::Search => $crate::results::people::People, people::search, "§8.2, D1.7-25";
            PeopleGet "people.get" [Human] View Free Grant Any Device
                $crate::params::people::OnePerson => $crate::results::people::PersonDetail, people::get, "§8.2, D1.7-26";
            GrantList "grant.list" [Human] View Free Grant Any Device
                $crate::params::consent::ListGrants => $crate::results::request::Grants, grant::list, "§6.9, D1.7-27";
            GrantSet "grant.set" [Human] Local Free Grant Any Device
                $crate::params::consent::SetGrant => $crate::results::request::GrantSet, grant::set, "§6.9, D1.7-28";
            GrantSetPreview "grant.set.preview" [Human] Local Free Grant Any Device
                $crate::params::consent::SetGrant => $crate::results::request::GrantPreview, grant::set_preview, "§6.9, D1.7-29";
            RequestList "request.list" [Human] View Free Grant Any Device
                $crate::params::Nothing => $crate::results::request::Requests, request::list, "§6.9, D1.7-30";
            RequestAnswer "request.answer" [Human] Local Free Grant Any Device
                $crate::params::consent::AnswerRequest => $crate::results::request::Answered, request::answer, "§6.9, D1.7-31";
            RequestAnswerPreview "request.answer.preview" [Human] Local Free Grant Any Device
                $crate::params::consent::AnswerRequest => $crate::results::request::AnswerPreview, request::answer_preview, "§6.9, D1.7-32";
            ContactRequest "contact.request" [Human] Local Free Grant Any Device
                $crate::params::people::ContactRequest => $crate::results::people::ContactRequested, contact::request, "§6.9, D1.7-33";
            ContactRequestPreview "contact.request.preview" [Human] Local Free Grant Any Device
                $crate::params::people::ContactPreview => $crate::results::people::ContactFound, contact::request_preview, "§6.9, D1.7-34";
            CardGet "card.get" [Human] Local Free Grant Any Device
                $crate::params::people::OnePerson => $crate::results::people::CardAsked, card::get, "§6.9, D1.7-35";
            AgentsList "agents.list" [Human] View Free Grant Any Anyone
                $crate::params::Nothing => $crate::results::people::Agents, agents::list, "§8.2, D1.7-36";
            AgentsRead "agents.read" [Human] View Free Grant Any Anyone
                $crate::params::people::ReadAgent => $crate::results::people::AgentRead, agents::read, "§8.2, D1.7-37";
            NoticeSubscribe "notice.subscribe" [Human] View Free Host Any Anyone
                $crate::params::notice::Subscribe => $crate::results::notice::NoticeSubscribed, notice::subscribe, "§8.2, D1.7-38";
            NoticeList "notice.list" [Human] View Free Host Any Anyone
                $crate::params::notice::ListNotices => $crate::results::notice::Notices, notice::list, "§8.2, D1.7-39";
            NoticeAck "notice.ack" [Human] Chat Free Grant Any Anyone
                $crate::params::notice::AckNotices => $crate::results::notice::NoticesAcked, notice::ack, "§8.2, D1.7-40";
            DeviceApprovePreview "device.approve.preview" [Human] Local Free Grant Directory Anyone
                $crate::params::device::ApprovePreview => $crate::results::device::ApproveAsk, device::approve_preview, "§15.9, D1.7-41";
            DeviceRemovePreview "device.remove.preview" [Human] Local Free Grant Directory Anyone
                $crate::params::device::Remove => $crate::results::device::RemovePreview, device::remove_preview, "§15.9, D1.7-42";
            IdentityReplacePreview "identity.replace.preview" [Human] Local Free Grant Directory Anyone
                $crate::params::identity::Replace => $crate::results::identity::ReplacePreview, identity::replace_preview, "§8.9, D1.7-43";
            DirectoryErasePreview "directory.erase.preview" [Human] Local Free Grant Directory Device
                $crate::params::identity::Erase => $crate::results::identity::ErasePreview, directory::erase_preview, "§15.10, D1.7-44";
            ChannelCreate "channel.create" [Human] Local Free Grant Any Device
                $crate::params::channel::Create => $crate::results::conv::ChannelChanged, channel::create, "§6.8, D1.7-45";
            ChannelInvite "channel.invite" [Human] Local Free Grant Any Device
                $crate::params::channel::Members => $crate::results::conv::ChannelChanged, channel::invite, "§6.8, D1.7-46";
            ChannelLeave "channel.leave" [Human] Local Free Grant Any Device
                $crate::params::channel::OneChannel => $crate::results::Done, channel::leave, "§6.8, D1.7-47";
            ChannelRemove "channel.remove" [Human] Local Free Grant Any Device
                $crate::params::channel::Members => $crate::results::conv::ChannelChanged, channel::remove, "§6.8, D1.7-48";

            // The admin tier: the admin socket only.
            DaemonStop "daemon.stop" [Admin] Local Free Host Any Anyone
                $crate::params::Nothing => $crate::results::daemon::Stopping, daemon::stop, "§8.2, D3.2, D1.7-49";
            DaemonWoke "daemon.woke" [Admin] Local Free Host Any Anyone
                $crate::params::Nothing => $crate::results::Done, daemon::woke, "§8.2, D1.7-50";
            PersonAttached "person.attached" [Admin] Local Free Host Any Anyone
                $crate::params::daemon::Attached => $crate::results::Done, person::attached, "§8.2, D1.7-51";
            DaemonSnapshot "daemon.snapshot" [Admin] Local Free Host Any Anyone
                $crate::params::daemon::Snapshot => $crate::results::daemon::Snapshotted, daemon::snapshot, "§8.2, D3.24, D1.7-52";
            WakeArm "wake.arm" [Admin] Local Free Host Directory Anyone
                $crate::params::daemon::ArmWake => $crate::results::daemon::WakeArmed, wake::arm, "§8.11, D1.7-53";
            WakeDisarm "wake.disarm" [Admin] Local Free Host Directory Anyone
                $crate::params::Nothing => $crate::results::Done, wake::disarm, "§8.11, D1.7-54";
            DeviceList "device.list" [Admin] View Free Grant Any Device
                $crate::params::Nothing => $crate::results::device::Devices, device::list, "§8.2, D1.7-55";
            DeviceRemove "device.remove" [Admin] Local Free Grant Directory Device
                $crate::params::device::Remove => $crate::results::device::Removed, device::remove, "§15.9, D1.7-56";
            DeviceLink "device.link" [Admin] Local Free Grant Directory Anyone
                $crate::params::device::Link => $crate::results::device::Linked, device::link, "§15.9, D1.7-57";
            DeviceLogin "device.login" [Admin] Local Free Grant Directory Anyone
                $crate::params::device::Login => $crate::shapes::LoginStart, device::login, "§15.9, D1.7-58";
            DeviceLoginStatus "device.login.status" [Admin] Local Free Grant Directory Anyone
                $crate::params::device::Wait => $crate::shapes::LoginState, device::login_status, "§15.9, D1.7-59";
            DeviceLoginCancel "device.login.cancel" [Admin] Local Free Grant Any Anyone
                $crate::params::Nothing => $crate::results::Done, device::login_cancel, "§15.9, D1.7-60";
            DeviceApprove "device.approve" [Admin] Local Free Grant Directory Device
                $crate::params::device::Approve => $crate::results::device::Approved, device::approve, "§15.9, D1.7-61";
            IdentityRotateEnc "identity.rotateEnc" [Admin] Local Free Grant Any Device
                $crate::params::Nothing => $crate::results::identity::Rotated, identity::rotate_enc, "§4, D3.22, D1.7-62";
            IdentityReplace "identity.replace" [Admin] Local Free Grant Directory Anyone
                $crate::params::identity::Replace => $crate::results::identity::Replaced, identity::replace, "§8.9, D1.7-63";
            DirectoryErase "directory.erase" [Admin] Local Free Grant Directory Device
                $crate::params::identity::Erase => $crate::results::identity::Erased, directory::erase, "§15.10, D1.7-64";
            TeamCreate "team.create" [Admin] Local Free Grant Roster Anyone
                $crate::params::team::Create => $crate::results::team::Created, team::create, "§4, D1.7-65";
            TeamJoin "team.join" [Admin] Local Free Grant Roster Anyone
                $crate::params::team::Join => $crate::results::team::Joined, team::join, "§4, D1.7-66";
            TeamPrepare "team.prepare" [Admin] Local Free Grant Roster Anyone
                $crate::params::Nothing => $crate::results::team::Prepared, team::prepare, "§8.2, D1.7-67";
            TeamPair "team.pair" [Admin] Local Free Grant Roster Anyone
                $crate::params::team::Pair => $crate::results::team::Paired, team::pair, "§8.2, D1.7-68";
            TeamAdd "team.add" [Admin] Local Free Grant Roster Device
                $crate::params::team::Add => $crate::results::team::OneMember, team::add, "§8.2, D1.7-69";
            TeamClaim "team.claim" [Admin] Local Free Grant Roster Anyone
                $crate::params::device::Wait => $crate::results::team::Claimed, team::claim, "§8.2, D1.7-70";
            TeamPairCancel "team.pairCancel" [Admin] Local Free Grant Roster Anyone
                $crate::params::Nothing => $crate::results::team::PairCancelled, team::pair_cancel, "§8.2, D1.7-71";
            TeamInvite "team.invite" [Admin] Local Free Grant Roster Device
                $crate::params::team::Invite => $crate::results::team::Invited, team::invite, "§4, D1.7-72";
            TeamRevoke "team.revoke" [Admin] Local Free Grant Roster Device
                $crate::params::team::Revoke => $crate::results::Done, team::revoke, "§4, D1.7-73";
            TeamList "team.list" [Admin] Local Free Grant Roster Device
                $crate::params::Nothing => $crate::results::team::Team, team::list, "§4, D1.7-74";
            TeamRole "team.role" [Admin] Local Free Grant Roster Device
                $crate::params::team::SetRole => $crate::results::team::OneMember, team::role, "§4, D1.7-75";
            TeamRemove "team.remove" [Admin] Local Free Grant Roster Device
                $crate::params::team::OneMachine => $crate::results::team::MachineRemoved, team::remove, "§4, D1.7-76";
            TeamRekey "team.rekey" [Admin] Local Free Grant Roster Device
                $crate::params::team::OneMachine => $crate::results::team::Prepared, team::rekey, "§4, D1.7-77";
        }
    };
}

/// Everything the table says about a method but its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The name on the wire.
    pub name: &'static str,
    /// The tiers; most methods have one.
    pub tiers: &'static [Tier],
    /// The action class of a host's grant.
    pub class: Class,
    /// Whether it belongs to a session.
    pub key: KeyScope,
    /// Which grants admit it.
    pub scope: Scope,
    /// In which realm it exists.
    pub realm: RealmRule,
    /// What the caller's device must be.
    pub caller: Caller,
    /// Where the specification describes it.
    pub spec: &'static str,
}

macro_rules! method_enum {
    ($($variant:ident $name:literal [$($tier:ident),+] $class:ident $key:ident $scope:ident $realm:ident $caller:ident
        $params:ty => $result:ty, $module:ident :: $handler:ident, $spec:literal;)*) => {
        /// A method of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Method {
            $(#[doc = concat!("`", $name, "`. Spec: ", $spec)] $variant,)*
        }

        impl Method {
            /// Every method, in the table's order.
            pub const ALL: &'static [Method] = &[$(Method::$variant,)*];

            /// What the table says about it.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Method::$variant => &Row {
                        name: $name,
                        tiers: &[$(Tier::$tier),+],
                        class: Class::$class,
                        key: KeyScope::$key,
                        scope: Scope::$scope,
                        realm: RealmRule::$realm,
                        caller: Caller::$caller,
                        spec: $spec,
                    },)*
                }
            }

            /// The method of a name; `None` for a name that the table does not have.
            pub fn parse(name: &str) -> Option<Method> {
                match name {
                    $($name => Some(Method::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
for_each_method!(method_enum);

impl Method {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether `agent.sock` serves it.
    pub fn is_agent(self) -> bool {
        self.row().tiers.contains(&Tier::Agent)
    }

    /// Whether it is this implementation's own, and in no other.
    pub fn is_ours(self) -> bool {
        self.row().spec.starts_with("ours")
    }

    /// Whether a daemon that stops still serves it.
    pub const fn is_served_while_stopping(self) -> bool {
        matches!(self, Self::DaemonHealth | Self::DaemonStatus | Self::DaemonStop)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keep: impl Fn(&Row) -> bool) -> Vec<&'static str> {
        let theirs = Method::ALL.iter().filter(|method| !method.is_ours());
        theirs.map(|m| m.row()).filter(|row| keep(row)).map(|row| row.name).collect()
    }

    #[test]
    fn the_table_has_77_methods_in_the_tiers_of_the_specification() {
        assert_eq!(names(|_| true).len(), 77);
        let count = |tier| names(|row| row.tiers.contains(&tier)).len();
        assert_eq!((count(Tier::Agent), count(Tier::Human), count(Tier::Admin)), (20, 29, 29));
        assert_eq!(names(|row| row.tiers.len() > 1), ["conv.read"]);
    }

    #[test]
    fn methods_of_our_own_are_marked() {
        let ours = Method::ALL.iter().filter(|method| method.is_ours());
        let names: Vec<&str> = ours.map(|method| method.name()).collect();
        assert_eq!(names, ["sent.list", "mail.search", "mail.export"]);
        assert_eq!(Method::SentList.row().key, KeyScope::Key);
        assert!(Method::SentList.is_agent() && !Method::MailExport.is_agent());
    }

    #[test]
    fn names_are_unique_and_read_back() {
        for method in Method::ALL {
            assert_eq!(Method::parse(method.name()), Some(*method));
        }
        assert_eq!(Method::parse("session.Register"), None);
    }

    #[test]
    fn key_scoped_methods_are_those_of_the_specification() {
        assert_eq!(
            names(|row| row.key != KeyScope::Free),
            [
                "session.update",
                "session.unregister",
                "msg.send",
                "inbox.list",
                "inbox.get",
                "inbox.ack",
                "item.read",
                "conv.read",
                "task.get",
                "task.list",
                "task.update",
                "task.cancel",
                "events.subscribe",
            ]
        );
    }

    #[test]
    fn action_classes_are_those_of_the_specification() {
        assert_eq!(
            names(|row| row.class == Class::Chat),
            ["conv.markRead", "person.send", "notice.ack"]
        );
        assert_eq!(
            names(|row| row.class == Class::View),
            [
                "conv.read",
                "conv.list",
                "conv.subscribe",
                "people.search",
                "people.get",
                "grant.list",
                "request.list",
                "agents.list",
                "agents.read",
                "notice.subscribe",
                "notice.list",
                "device.list",
            ]
        );
    }

    #[test]
    fn host_scope_methods_are_those_of_the_specification() {
        assert_eq!(
            names(|row| row.scope == Scope::Host),
            [
                "conv.list",
                "notice.subscribe",
                "notice.list",
                "daemon.stop",
                "daemon.woke",
                "person.attached",
                "daemon.snapshot",
                "wake.arm",
                "wake.disarm",
            ]
        );
    }

    #[test]
    fn every_team_method_is_for_rosters() {
        for method in Method::ALL.iter().filter(|m| m.name().starts_with("team.")) {
            assert_eq!(method.row().realm, RealmRule::Roster);
        }
    }
}
