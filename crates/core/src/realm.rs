//! A realm as a receiver has verified it: who its devices are, and how far its history goes.
//! Spec: §5 "Realm and anchor", §9 `RealmView`, W2.1
//!
//! There are two kinds of realm: a *roster realm* is a team, whose authority is its
//! [`Roster`](crate::roster::Roster); a *directory realm* is a key directory, whose authority is
//! its log of epochs. Whoever verifies an envelope sees neither, but a [`RealmView`].

mod anchor;
mod directory;
mod view;

pub use anchor::{Anchor, RealmKind, Relation};
pub use directory::DirectoryView;
pub use view::{DeviceView, RealmView, RosterView, TableView};
