//! Names, keys and ids as types: holding one means that its grammar was checked.
//! Spec: §2, §3, W0 "Scalars"
//!
//! Every type here has a private field, one constructor (`parse`), and an order and equality by its text.

mod address;
mod encoded;
mod named;
mod ulid;

pub use address::{Address, SessionAddress};
pub use encoded::{EncKey, Hash, MachineId, Nonce12, Nonce16, Nonce32, Secret32Text, Sig};
pub use named::{
    AccountId, ChannelName, ClientKind, Email, HostId, HostedPerson, Label, PersonId, RelayUrl,
    Req, RosterPerson, ScopeLabel, SessionName, TeamName,
};
pub use ulid::Ulid;

/// Serde, schema, text and order for an id that is stored as its text.
macro_rules! text_id_traits {
    ($name:ident, $schema:expr) => {
        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl core::str::FromStr for $name {
            type Err = crate::code::Failure;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <alloc::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(
                    deserializer,
                )?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use text_id_traits;
