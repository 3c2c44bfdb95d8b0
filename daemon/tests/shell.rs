//! The daemon from outside: real homes, real sockets, real processes.

mod shell {
    mod home;
    mod limits;
    mod process;
    pub(crate) mod rig;
    mod sockets;
}
