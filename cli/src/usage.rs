//! A command line that was not understood, in the words of every other failure.
//! Spec: D6.1 "Grammar", "Errors"

use std::ffi::{OsStr, OsString};
use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Exit;
use crate::fault::Fault;
use crate::program;

/// Prints help, a version, or what was not understood.
pub(crate) fn say(error: &clap::Error, args: &[OsString]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Exit::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            let fault = fault(error, args);
            let _ = fault.write(&mut std::io::stderr(), wants_json(args));
            let _ = std::io::stderr().flush();
            fault.exit
        }
    }
}

/// Whether `--json` stands among the flags of a command line that could not be read.
fn wants_json(args: &[OsString]) -> bool {
    args.iter()
        .skip(1)
        .take_while(|arg| *arg != OsStr::new("--"))
        .any(|arg| arg == OsStr::new("--json"))
}

/// The failure that stands for an error of the parser. Words that were typed are repeated only when they look like names:
/// a ticket given by mistake must not end up in an error.
pub(crate) fn fault(error: &clap::Error, args: &[OsString]) -> Fault {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        // Of several suggestions the last is the nearest.
        Some(ContextValue::Strings(texts)) => texts.last().map(String::as_str),
        _ => None,
    };
    let command = command_of(args);
    let argument = word(ContextKind::InvalidArg).unwrap_or_default();
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            named("there is no command", word(ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            named("there is no option", argument.split('=').next().unwrap_or_default())
        }
        ErrorKind::UnknownArgument => "there is one argument too many".to_owned(),
        ErrorKind::MissingRequiredArgument => {
            let missing = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(names)) => names.join(", "),
                _ => "an argument".to_owned(),
            };
            format!("{missing} is missing")
        }
        ErrorKind::MissingSubcommand => "the command needs another word".to_owned(),
        ErrorKind::ArgumentConflict => format!("{argument} does not go with the other options"),
        ErrorKind::TooManyValues => format!("{argument} has too many values"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues | ErrorKind::NoEquals => {
            format!("{argument} has too few values")
        }
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        _ if argument.is_empty() => "the command line was not understood".to_owned(),
        _ => format!("{argument} has a value that it cannot have"),
    };
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = suggested.into_iter().find_map(word).map(|name| full_name(&command, name));
    let allowed = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() && values.len() <= 8 => {
            Some(values.join(", "))
        }
        _ => None,
    };
    let remedy = match (suggested, allowed) {
        (Some(name), _) => format!("did you mean `{name}`? `{command} --help` tells more."),
        (None, Some(values)) => format!("use one of {values}."),
        (None, None)
            if error.kind() == ErrorKind::UnknownArgument && command.ends_with("team join") =>
        {
            "give the ticket on standard input; it is read from nowhere else.".to_owned()
        }
        (None, None) => format!("run `{command} --help`."),
    };
    Fault::usage(message, remedy)
}

fn named(what: &str, name: &str) -> String {
    let is_name = name.len() <= 32
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if is_name && !name.is_empty() {
        format!("{what} `{name}`")
    } else {
        format!("{what} of that name")
    }
}

/// A suggested command by its own name rather than by a short one; anything else as it is.
fn full_name(command: &str, name: &str) -> String {
    let root = program::command();
    let nouns = command.split(' ').skip(1);
    let found = nouns.chain([name]).try_fold(&root, |command, name| command.find_subcommand(name));
    found.map_or_else(|| name.to_owned(), |found| found.get_name().to_owned())
}

/// The command that was meant: the words of the line that name commands, one within the other.
pub(crate) fn command_of(args: &[OsString]) -> String {
    let root = program::command();
    let mut command = &root;
    let mut name = String::from("messaging");
    for word in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        match command.find_subcommand(word) {
            Some(found) => {
                command = found;
                name += &format!(" {}", found.get_name());
            }
            // Before the first command it may be the value of an option.
            None if word.starts_with('-') || std::ptr::eq(command, &root) => {}
            None => break,
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, message: &str, remedy: &str) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = program::parse(&args).map(|_| ()).unwrap_err();
        let fault = fault(&error, &args);
        assert_eq!((&*fault.message, &*fault.remedy), (message, remedy), "{line}");
        assert_eq!(fault.exit, Exit::Usage);
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        check(
            "messaging sned bob",
            "there is no command `sned`",
            "did you mean `send`? `messaging --help` tells more.",
        );
        check(
            "messaging inbox --jsno",
            "there is no option `--jsno`",
            "did you mean `--json`? `messaging inbox --help` tells more.",
        );
        check(
            "messaging team lisst",
            "there is no command `lisst`",
            "did you mean `list`? `messaging team --help` tells more.",
        );
        check(
            "messaging inbox --color blue",
            "--color <WHEN> has a value that it cannot have",
            "use one of auto, always, never.",
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        check("messaging send", "<TO> is missing", "run `messaging send --help`.");
        check(
            "messaging team create --person ada",
            "--relay <URL>, --name <TEAM> is missing",
            "run `messaging team create --help`.",
        );
        check(
            "messaging inbox -n 0",
            "--limit <N> has a value that it cannot have",
            "run `messaging inbox --help`.",
        );
    }

    #[test]
    fn a_ticket_on_the_command_line_is_never_repeated() {
        for line in [
            "messaging team join messaging1.eyJzZWNyZXQiOiJ4In0",
            "messaging messaging1.eyJzZWNyZXQiOiJ4In0",
            "messaging team join --ticket=messaging1.eyJzZWNyZXQiOiJ4In0",
            "messaging team join --messaging1.eyJzZWNyZXQiOiJ4In0",
        ] {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let fault = fault(&program::parse(&args).map(|_| ()).unwrap_err(), &args);
            assert!(!format!("{fault:?}").contains("eyJ"), "{line}: {fault:?}");
        }
    }

    #[test]
    fn json_is_found_among_the_flags_only() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(wants_json(&args("messaging x --json")));
        assert!(!wants_json(&args("messaging send bob -- --json")));
    }
}
