//! The one door to the operating system: owners, modes, private files, local sockets.
//!
//! Everything that differs between platforms lives below this module; the rest of the daemon is
//! portable. Windows (access control lists, named pipes) is specified and not built yet: a build for it ends
//! with that word, rather than with a daemon whose home is open. macOS is written here and was never compiled.

#[cfg(not(unix))]
compile_error!(
    "this release has no daemon for this system: it keeps a home private by Unix modes and owners only"
);

#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub(crate) use unix::{
    ModeBits, effective_uid, end_group, erase_private, erase_staged, hold_umask, ignore_hangup,
    is_alive, is_in_group, is_safe_program, lead_a_group, listen, make_private_dir,
    make_private_file, process_id, read_private, set_mode_and_group, stat, write_new,
    write_private, write_secret,
};
