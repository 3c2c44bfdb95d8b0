//! Values with a rule of their own that only the IPC uses: bounded text, counts, lists, keys.
//! Spec: §8.2, D1.5
//!
//! A value of one of these types has passed its check. The identifiers that the wire protocol
//! shares (`MachineId`, `Label`, `SessionName`, …) are [`messaging_core::ids`].

mod bounded;
mod key;
mod nullable;
mod target;

pub use bounded::{Count, Printable, True};
pub use key::{Email, Metadata, Sas, Secret, SessionKey};
pub use messaging_core::bounded::{List, Str};
pub use nullable::{Nullable, OrNull};
pub use target::{Conversation, Room, Target};

/// Why a string is not a value of its type. Holds the rule, never the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule(pub &'static str);

impl core::fmt::Display for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Rule {}

/// Gives a checked string type its conversions: `FromStr`, `Display`, serde, as one JSON string.
macro_rules! string_value {
    ($(<$(const $bound:ident),+>)? $name:ident $(<$($arg:ident),+>)?) => {
        impl $(<$(const $bound: usize),+>)? core::str::FromStr for $name $(<$($arg),+>)? {
            type Err = $crate::scalars::Rule;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl $(<$(const $bound: usize),+>)? serde::Serialize for $name $(<$($arg),+>)? {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de, $($(const $bound: usize),+)?> serde::Deserialize<'de> for $name $(<$($arg),+>)? {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use string_value;
