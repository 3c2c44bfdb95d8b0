//! Codex's `config.toml`: the server's table, and the feature that hooks need.
//!
//! Spec: D6.4

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::edit::Refused;

const SERVERS: &str = "mcp_servers";
const NAME: &str = "messaging";

/// The file with the server in it; with `hooks`, with that feature switched on unless somebody switched it off.
pub(crate) fn set(text: &str, server: &[String], hooks: bool) -> Result<String, Refused> {
    let mut doc = read(text)?;
    let (command, args) = server.split_first().ok_or_else(|| in_the_way(NAME))?;
    let servers = table(doc.as_table_mut(), SERVERS, true)?;
    if let Some(there) = servers.get(NAME) {
        let theirs = there.as_table_like().and_then(|one| one.get("command"));
        let ours = theirs.and_then(Item::as_str).is_none_or(super::harness::is_ours);
        if !ours || there.as_table_like().is_none() {
            return Err(Refused::Taken(format!("{SERVERS}.{NAME}")));
        }
    }
    let entry = table(servers, NAME, false)?;
    put(entry, "command", &|item| item.as_str() == Some(command), value(command));
    let wanted: Array = args.iter().map(String::as_str).collect();
    let same = |item: &Item| {
        item.as_array().is_some_and(|all| {
            all.iter().map(toml_edit::Value::as_str).eq(args.iter().map(|arg| Some(arg.as_str())))
        })
    };
    if !args.is_empty() {
        put(entry, "args", &same, value(wanted));
    } else if entry.get("args").is_some_and(|item| !same(item)) {
        entry.remove("args");
    }
    if hooks {
        let features = table(doc.as_table_mut(), "features", false)?;
        if features.get("hooks").is_none() && features.get("codex_hooks").is_none() {
            features.insert("hooks", value(true));
        }
    }
    Ok(doc.to_string())
}

/// Whether the file switches hooks off.
pub(crate) fn hooks_are_off(text: &str) -> bool {
    let Ok(doc) = read(text) else { return false };
    let features = doc.get("features").and_then(Item::as_table_like);
    let said = features.and_then(|all| all.get("hooks").or_else(|| all.get("codex_hooks")));
    said.and_then(Item::as_bool) == Some(false)
}

/// The file without the server. The feature stays: other hooks may need it.
pub(crate) fn remove(text: &str) -> Result<String, Refused> {
    let mut doc = read(text)?;
    let Some(servers) = doc.get_mut(SERVERS).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        doc.remove(SERVERS);
    }
    Ok(doc.to_string())
}

fn read(text: &str) -> Result<DocumentMut, Refused> {
    let doc: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Refused::Malformed(before.matches('\n').count() + 1, column)
    })?;
    // What the library would write otherwise anyway is not ours to change.
    if doc.to_string() == text { Ok(doc) } else { Err(Refused::Unfaithful) }
}

fn in_the_way(key: &str) -> Refused {
    Refused::Kind(key.to_owned())
}

/// The table of a name, made when there is none. An implicit one has no header of its own.
fn table<'a>(
    within: &'a mut dyn TableLike,
    name: &str,
    implicit: bool,
) -> Result<&'a mut dyn TableLike, Refused> {
    if within.get(name).is_none() {
        let mut made = Table::new();
        made.set_implicit(implicit);
        within.insert(name, Item::Table(made));
    }
    within.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(|| in_the_way(name))
}

fn put(entry: &mut dyn TableLike, key: &str, same: &dyn Fn(&Item) -> bool, wanted: Item) {
    match entry.get_mut(key) {
        Some(there) if same(there) => {}
        Some(there) => {
            // The comment behind a value is its line's, not the value's.
            let decor = there.as_value().map(|old| old.decor().clone());
            *there = wanted;
            if let (Some(decor), Some(new)) = (decor, there.as_value_mut()) {
                *new.decor_mut() = decor;
            }
        }
        None => {
            entry.insert(key, wanted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    const MINE: &str = "# mine\nmodel = \"x\" # best\n\n[mcp_servers.other] # theirs\ncommand = \"o\"\n\n[features]\n# on\nweb = true\n";

    #[test]
    fn a_table_is_added_and_taken_out_again() {
        let made = set(MINE, &server(&["/bin/messaging-mcp", "--name", "x"]), false).unwrap();
        assert!(made.contains("[mcp_servers.messaging]\ncommand = \"/bin/messaging-mcp\"\nargs = [\"--name\", \"x\"]\n"), "{made}");
        for line in MINE.lines() {
            assert!(made.contains(line), "{line}");
        }
        assert_eq!(
            set(&made, &server(&["/bin/messaging-mcp", "--name", "x"]), false).unwrap(),
            made
        );
        assert_eq!(remove(&made).unwrap(), MINE);
    }

    #[test]
    fn the_feature_is_switched_on_unless_it_was_switched_off() {
        let made = set(MINE, &server(&["messaging-mcp"]), true).unwrap();
        assert!(made.contains("web = true\nhooks = true\n"), "{made}");
        let made = set("", &server(&["messaging-mcp"]), true).unwrap();
        assert_eq!(
            made,
            "[mcp_servers.messaging]\ncommand = \"messaging-mcp\"\n\n[features]\nhooks = true\n"
        );
        let off = "[features]\nhooks = false\n";
        assert!(hooks_are_off(off) && !hooks_are_off(MINE));
        assert!(!set(off, &server(&["messaging-mcp"]), true).unwrap().contains("hooks = true"));
    }

    #[test]
    fn an_entry_of_ours_is_brought_up_to_date_and_keeps_its_comments() {
        let old = "[mcp_servers.messaging]\ncommand = \"messaging-mcp\" # old\nargs = [\"--name\", \"y\"]\nstartup_timeout_sec = 20\n";
        let new = set(old, &server(&["/opt/messaging-mcp"]), false).unwrap();
        assert_eq!(
            new,
            "[mcp_servers.messaging]\ncommand = \"/opt/messaging-mcp\" # old\nstartup_timeout_sec = 20\n"
        );
    }

    #[test]
    fn what_is_no_toml_or_anothers_is_refused() {
        assert_eq!(set("a = \n", &server(&["m"]), false), Err(Refused::Malformed(1, 5)));
        let theirs = "[mcp_servers.messaging]\ncommand = \"slack-mcp\"\n";
        assert!(matches!(set(theirs, &server(&["m"]), false), Err(Refused::Taken(_))));
        assert!(matches!(set("mcp_servers = 1\n", &server(&["m"]), false), Err(Refused::Kind(_))));
    }
}
