//! The methods that come with later releases: each is in the table, checks its parameters, and says that it is not here.
//! Spec: D1.7
//!
//! When a method is built, its line here goes and its handler stands in a file of its own.

use messaging_core::code::Code;
use messaging_ipc::error::NOT_IN_THIS_BUILD;
use messaging_ipc::methods::Method;

use super::{Call, Handled};
use crate::engine::DaemonEngine;
use crate::work::{Halt, Work};

/// The one answer of every method below.
pub(super) fn later<P, R>(
    _: &mut DaemonEngine,
    _: &mut Work<'_, '_>,
    _: &Call,
    _: P,
) -> Handled<R> {
    Err(not_in_this_build())
}

/// The refusal of what is not built yet.
pub(super) fn not_in_this_build() -> Halt {
    Halt::refused(Code::Internal, NOT_IN_THIS_BUILD)
}

macro_rules! later_methods {
    ($($module:ident { $($variant:ident $handler:ident,)+ })+) => {
        $(
            pub(super) mod $module {
                $(pub(in crate::handlers) use super::later as $handler;)+
            }
        )+

        /// The methods that this build does not have yet.
        pub const LATER: &[Method] = &[$($(Method::$variant,)+)+];
    };
}

later_methods! {
    device {
        DeviceBind bind,
        DeviceApprovePreview approve_preview,
        DeviceRemovePreview remove_preview,
        DeviceRemove remove,
        DeviceLink link,
        DeviceLogin login,
        DeviceLoginStatus login_status,
        DeviceLoginCancel login_cancel,
        DeviceApprove approve,
    }
    identity {
        IdentityReplacePreview replace_preview,
        IdentityReplace replace,
    }
    directory {
        DirectoryErasePreview erase_preview,
        DirectoryErase erase,
    }
    wake {
        WakeArm arm,
        WakeDisarm disarm,
    }
}

/// What a built method does not do yet, in words for a reader.
pub const PARTLY: &[(Method, &str)] = &[];
