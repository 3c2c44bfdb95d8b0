//! `docs/where.md`: which module implements which section of the specification.

use super::Page;
use super::spec::{self, Part, Section};
use crate::tree::TextFile;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEAD: &str = "\
<!-- Written by `cargo xtask gen` from the `Spec:` lines of the modules. Edit those. -->

# Where is it?

Every module that implements a rule names the section at its top. This page turns that round.

The specification of `messaging/1` has four parts: the protocol text (`§`), the wire atlas with the shapes, limits and
orders of core and relay (`W`), the daemon atlas with the IPC, the daemon's behaviour and the command line (`D`), and
the rulings, which win over both atlases (`R`).
";

/// Makes the page; a section that should have code and has none is a fault.
pub(super) fn page(files: &[TextFile], faults: &mut Vec<String>) -> Page {
    let modules = modules(files);
    let mut text = HEAD.to_owned();
    text.push_str("\n## The protocol\n\n| Section | What | Modules |\n|---|---|---|\n");
    for listed in spec::listed() {
        let places = match modules.get(&listed.section) {
            Some(places) => links(places),
            None if listed.later => "with a later release".to_owned(),
            None if listed.is_heading() => String::new(),
            None => {
                faults.push(format!("{}: no module names it in its Spec line", listed.section));
                "none yet".to_owned()
            }
        };
        let _ = writeln!(text, "| {} | {} | {places} |", listed.section, listed.title);
    }
    for (part, title) in [
        (Part::Wire, "The wire atlas"),
        (Part::Daemon, "The daemon atlas"),
        (Part::Ruling, "The rulings"),
    ] {
        let _ = write!(text, "\n## {title}\n\n| Section | Modules |\n|---|---|\n");
        for (section, places) in modules.iter().filter(|(section, _)| section.part == part) {
            let _ = writeln!(text, "| {section} | {} |", links(places));
        }
    }
    Page { path: "docs/where.md".to_owned(), text }
}

fn modules(files: &[TextFile]) -> BTreeMap<Section, BTreeSet<String>> {
    let mut modules: BTreeMap<Section, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for section in spec::tokens(&file.text).iter().filter_map(|token| Section::parse(token)) {
            modules.entry(section).or_default().insert(file.path.clone());
        }
    }
    modules
}

fn links(paths: &BTreeSet<String>) -> String {
    let links: Vec<String> =
        paths.iter().map(|path| format!("[{}](../{path})", short(path))).collect();
    links.join(", ")
}

/// `crates/core/src/roster.rs` is shown as `core/roster`, a crate's root as `core`.
fn short(path: &str) -> String {
    let path = path.trim_start_matches("crates/").trim_end_matches(".rs").replace("/src/", "/");
    path.trim_end_matches("/lib").trim_end_matches("/mod").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short() {
        assert_eq!(short("crates/core/src/roster.rs"), "core/roster");
        assert_eq!(short("crates/core/src/lib.rs"), "core");
        assert_eq!(short("relay/src/http.rs"), "relay/http");
        assert_eq!(short("crates/ipc/tests/methods.rs"), "ipc/tests/methods");
    }

    #[test]
    fn a_section_without_a_module_is_named() {
        let mut faults = Vec::new();
        page(&[], &mut faults);
        assert!(faults.iter().any(|fault| fault.starts_with("§4:")));
        assert!(!faults.iter().any(|fault| fault.starts_with("§15.5:")));
    }
}
