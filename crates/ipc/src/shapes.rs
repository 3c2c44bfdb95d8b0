//! The shapes that several results, events and parameters share.
//! Spec: D1.6
//!
//! An absent member means unknown or not applicable. Results may gain optional members in a later
//! release, so these shapes are open when read. Text that another person chose is [`PeerText`].
//!
//! [`PeerText`]: messaging_core::peer_text::PeerText

mod a2a;
mod chat;
mod consent;
mod daemon;
mod device;
mod mail;
mod notice;
mod peer;
mod task;
mod team;

pub use a2a::{A2aObject, Content, Part, TaskStatus};
pub use chat::{ChatLine, ConversationKind, ConversationView, Direction, LineState};
pub use consent::{
    AgentMail, Ask, ChatLevel, GrantSubject, GrantView, HeldAsk, RequestView, ReviewItem,
    TaskOrMessage,
};
pub use daemon::{
    DaemonAlarm, DaemonHealth, DaemonState, DaemonStatus, DirectoryHealth, Divergence, HealthAlarm,
    IdentityView, RealmKind, RealmSummary, RelayState, RelayView, RotationView, TeamSummary,
};
pub use device::{
    AlarmKind, Binding, ChangeKind, DeviceAlarm, DeviceChangeView, DeviceKind, DeviceStatus,
    DeviceView, DirectoryHead, LoginPurpose, LoginStart, LoginState, Removal, RemovalReason, Via,
    Vouch,
};
pub use mail::{ConvEntry, EntryCursor, InboxItem, InboxStage, SendResult, StageAt};
pub use notice::{Notice, NoticeCategory, NoticeChange, NoticeDevice, NoticeFrom, RemoveBy};
pub use peer::{
    Can, ConsentClass, DelegationSummary, DirectoryEntry, Expect, PeerRef, Person, Reach,
    ReachSource, Relation, SessionState, SessionTier,
};
pub use task::{FollowUp, TaskDelivery, TaskListItem, TaskRecord, TaskRole};
pub use team::{InviteView, Member};
