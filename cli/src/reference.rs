//! The pages made from the help: what `--help` prints, the reference page, the manual pages.
//! Spec: D6.1 "Help", "Man pages"

use clap::Command;
use unicode_width::UnicodeWidthStr as _;

/// Where the examples of a doc comment begin. They stand after the options, as readers expect them.
const EXAMPLES: &str = "\n\nExamples:\n";

/// Gives every command the help of D6.1: summary, usage, options, examples, see also.
///
/// The words are the doc comment's. What stands before its examples is wrapped to `width` columns here, because the
/// compact form of the parser's help, in which an option takes one line, shows the summary only.
pub(crate) fn with_help(command: Command, width: usize) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let mut command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| with_help(command, width))
    });
    let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let (about, examples) = long.split_once(EXAMPLES).unwrap_or((&long, ""));
    let about = paragraphs(about);
    let template = format!(
        "{}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}",
        about.iter().map(|paragraph| wrapped(paragraph, width)).collect::<Vec<_>>().join("\n\n")
    );
    command = command.long_about(about.join("\n\n")).help_template(template).term_width(width);
    if examples.is_empty() { command } else { command.after_help(format!("Examples:\n{examples}")) }
}

/// The paragraphs of a doc comment, each on one line.
fn paragraphs(text: &str) -> Vec<String> {
    text.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

/// A paragraph in lines of at most `width` columns.
fn wrapped(paragraph: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in paragraph.split(' ') {
        if column > 0 && column + 1 + word.width() > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.width();
    }
    out
}

/// The manual page of a command, in roff.
pub(crate) fn manual(command: &Command, section: &str) -> Vec<u8> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).section(section);
    // Writing into memory cannot fail.
    let _ = man.render(&mut page);
    page
}

/// Every command that has no commands of its own, and every noun, with its full name: `messaging`, `messaging team`, ….
pub(crate) fn each(command: &Command, visit: &mut impl FnMut(&str, &Command)) {
    fn walk(prefix: &str, command: &Command, visit: &mut impl FnMut(&str, &Command)) {
        let name = format!("{prefix}{}", command.get_name());
        visit(&name, command);
        for child in command.get_subcommands().filter(|c| !c.is_hide_set()) {
            walk(&format!("{name} "), child, visit);
        }
    }
    walk("", command, visit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::program;
    use clap::CommandFactory as _;

    /// The reference page: the help of every command.
    fn page() -> String {
        let mut page = String::from(
            "# The command line\n\nThe help of every command, as `messaging <command> --help` prints it, less the global \
             options, which stand at the top alone. This page is written \
             by the tests of `messaging-cli`: after a change of the help, run them with `UPDATE_DOCS=1`.\n",
        );
        // As the program does, so that the options of every command are there.
        let mut root = with_help(Cli::command(), 100);
        root.build();
        each(&root, &mut |name, command| {
            let help = command.clone().bin_name(name.to_owned()).render_help().to_string();
            // The options of every command stand once on the page, at its top.
            let own = help.split_once("Global options:\n").filter(|_| name != "messaging");
            let help = own.map_or(help.clone(), |(before, after)| {
                let (_, examples) = after.split_once("\n\n").unwrap_or_default();
                format!("{before}{examples}")
            });
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            page += &format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim());
        });
        page
    }

    #[test]
    fn the_reference_page_is_what_help_prints() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/cli.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == page(),
            "docs/cli.md is stale: run this test with UPDATE_DOCS=1 and read the difference"
        );
    }

    #[test]
    fn every_command_has_a_summary_two_examples_and_a_see_also() {
        each(&program::command(), &mut |name, command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(
                !about.is_empty() && !about.ends_with('.') && !about.contains('\n'),
                "{name}: {about}"
            );
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples =
                after.lines().filter(|line| line.trim_start().starts_with("messaging ")).count();
            let piped = after.lines().filter(|line| line.contains("| messaging ")).count();
            assert!(examples + piped >= 2, "{name} has {examples} examples");
            assert!(after.contains("\nSee also: "), "{name}");
        });
    }

    #[test]
    fn every_example_is_a_command_that_is_understood() {
        each(&program::command(), &mut |name, command| {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in after.lines().map(str::trim).filter(|line| line.starts_with("messaging ")) {
                let line =
                    line.split(" < ").next().unwrap_or(line).split(" | ").next().unwrap_or(line);
                let args = words(line);
                let parsed = program::parse(&args).map(|_| ());
                let ok = parsed.as_ref().map_or_else(|error| !error.use_stderr(), |()| true);
                assert!(ok, "{name}: {line}: {parsed:?}");
            }
        });
    }

    /// Splits at spaces outside of quotes.
    fn words(line: &str) -> Vec<std::ffi::OsString> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) => quote = Some(c),
                (' ', None) => words.push(String::new()),
                _ => words.last_mut().unwrap().push(c),
            }
        }
        words.into_iter().map(Into::into).collect()
    }

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("unbreakable", 3), "unbreakable");
        assert_eq!(paragraphs("a\nb\n\nc"), ["a b", "c"]);
    }

    #[test]
    fn manual_pages_are_made_of_every_command() {
        each(&program::command(), &mut |name, command| {
            let page = String::from_utf8(manual(command, "1")).unwrap();
            assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH NAME"), "{name}");
        });
    }
}
