//! `docs/methods.md`: the method table of the daemon's sockets, as `ipc::methods` has it.

use super::Page;
use messaging_ipc::methods::{Caller, KeyScope, Method, RealmRule, Tier};
use std::fmt::Write as _;

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from `ipc/methods`. -->

# Methods

The daemon listens on two local sockets, in the folder `run` of its home: `agent.sock` serves the agent tier, `admin.sock`
serves all. Both speak JSON-RPC 2.0, one object a line, after a first line from the daemon, the hello. Parameters are
strict: a member that the method does not know is refused. `messaging api METHOD PARAMS` calls any of them.

- *Key* says whether a call belongs to a session that its connection registered.
- *Needs* says what must be there first: a device that is set up, a team (roster), or an account (directory).
- *Specification* says where the method comes from; `ours` marks those that only this implementation has.
- The schema of a method's parameters and result is in `spec-vectors/schemas/ipc`.
";

pub(super) fn page() -> Page {
    let mut text = HEAD.to_owned();
    for (tier, title) in
        [(Tier::Agent, "Agent tier"), (Tier::Human, "Human tier"), (Tier::Admin, "Admin tier")]
    {
        let _ = write!(
            text,
            "\n## {title}\n\n| Method | Key | Needs | Specification |\n|---|---|---|---|\n"
        );
        for row in Method::ALL.iter().map(|method| method.row()) {
            if !row.tiers.contains(&tier) {
                continue;
            }
            let key = match row.key {
                KeyScope::Free => "",
                KeyScope::Key => "yes",
                KeyScope::KeyIfGiven => "when given",
            };
            let mut needs = Vec::new();
            if row.caller == Caller::Device {
                needs.push("a device");
            }
            match row.realm {
                RealmRule::Any => {}
                RealmRule::Roster => needs.push("no directory"),
                RealmRule::Directory => needs.push("a directory"),
            }
            let link = format!("[`{0}`](../spec-vectors/schemas/ipc/{0}.json)", row.name);
            let _ = writeln!(text, "| {link} | {key} | {} | {} |", needs.join(", "), row.spec);
        }
    }
    Page { path: "docs/methods.md".to_owned(), text }
}
