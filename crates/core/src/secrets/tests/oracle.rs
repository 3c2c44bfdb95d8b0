//! The detectors against the regular expressions that define them, on texts near the edge of each.
//! Spec: D3.25

use std::string::String;
use std::sync::LazyLock;
use std::vec::Vec;

use proptest::prelude::*;
use regex::bytes::{Regex, RegexBuilder};

use crate::secrets::testing::{mixed, table};
use crate::secrets::{Kind, detect, find, text::mix};

struct Rule {
    kind: Kind,
    regex: Regex,
    mix: u8,
    example: &'static str,
}

impl Rule {
    /// Finds from left to right; a tail that does not count moves the search one byte on.
    fn holds(&self, text: &[u8]) -> bool {
        let mut at = 0;
        while let Some(groups) =
            (at <= text.len()).then(|| self.regex.captures_at(text, at)).flatten()
        {
            let (whole, tail) = (groups.get(0).unwrap(), groups.get(1).unwrap().as_bytes());
            let example = !self.example.is_empty() && tail.ends_with(self.example.as_bytes());
            if mix(tail) >= self.mix && !example {
                return true;
            }
            at = whole.start() + 1;
        }
        false
    }
}

/// The rules as they are written down, `L` and `BR` put in place.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rule = |kind, pattern: &str, mix, example| {
        let pattern = pattern
            .replace("BR", r"(?:\r\n|\n|\r|\\{1,4}r\\{1,4}n|\\{1,4}n|\\{1,4}r)")
            .replace("<L>", "(?:^|[^A-Za-z0-9_-])");
        let mut builder = RegexBuilder::new(&pattern);
        Rule { kind, regex: builder.unicode(false).build().unwrap(), mix, example }
    };
    [
        rule(
            Kind::PrivateKey,
            &[
                "-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----[ \\t]*(?:BR[ \\t]*)+",
                r"(?:[A-Za-z-]{1,30}: [^\r\n\\]{0,200}(?:BR[ \t]*)+){0,8}",
                r"((?:[A-Za-z0-9+/=](?:BR[ \t]*)?){40})",
            ]
            .concat()
            .replace("-----BEGIN", "-----BEG[I]N"),
            0,
            "",
        ),
        rule(Kind::AnthropicKey, "<L>sk-ant-(?:[a-z]{2,8}[0-9]{2}-)?([A-Za-z0-9_-]{24,})", 3, ""),
        rule(Kind::OpenaiKey, "<L>sk-([A-Za-z0-9]{32,})", 3, ""),
        rule(Kind::OpenaiKey, "<L>sk-(?:proj|svcacct|admin)-([A-Za-z0-9_-]{40,})", 3, ""),
        rule(Kind::GithubToken, "<L>gh[pousr]_([A-Za-z0-9]{36,})", 3, ""),
        rule(Kind::GithubToken, "<L>github_pat_([A-Za-z0-9_]{36,})", 3, ""),
        rule(
            Kind::AwsKeyId,
            "(?:^|[^A-Za-z0-9])(?:AKIA|ASIA)([A-Z0-9]{16})(?:$|[^A-Za-z0-9])",
            2,
            "EXAMPLE",
        ),
        rule(
            Kind::AwsSecretKey,
            r#"(?i:aws_?secret_?(?:access_?)?key|secret_?access_?key)["']?[ \t]*(?::|=|=>|:=)[ \t]*["']?([A-Za-z0-9/+]{40})(?:$|[^A-Za-z0-9/+=])"#,
            3,
            "EXAMPLEKEY",
        ),
        rule(Kind::GoogleKey, "<L>AIza([A-Za-z0-9_-]{35})(?:$|[^A-Za-z0-9_-])", 3, ""),
        rule(Kind::SlackToken, "<L>xox[a-z]-([A-Za-z0-9-]{20,})", 2, ""),
        rule(Kind::SlackToken, "<L>xapp-([A-Za-z0-9-]{20,})", 2, ""),
        rule(
            Kind::SlackWebhook,
            r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{6,}/[A-Z0-9]{6,}/([A-Za-z0-9]{16,})",
            2,
            "",
        ),
        rule(Kind::StripeKey, "<L>[sr]k_live_([A-Za-z0-9]{20,})", 2, ""),
        rule(Kind::NpmToken, "<L>npm_([A-Za-z0-9]{36})(?:$|[^A-Za-z0-9_])", 3, ""),
        rule(
            Kind::Jwt,
            r"<L>eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.([A-Za-z0-9_-]{32,})",
            2,
            "",
        ),
        rule(
            Kind::BearerToken,
            r#"(?i:authorization)["']?[ \t]*[:=][ \t]*["']?(?i:bearer)[ \t]+([A-Za-z0-9._~+/=-]{20,})"#,
            2,
            "",
        ),
        rule(
            Kind::InviteTicket,
            r"(?:^|[^A-Za-z0-9_.-])messaging1\.(eyJ[A-Za-z0-9_-]{40,})",
            0,
            "",
        ),
    ]
    .into()
});

fn check(text: &str) -> Result<(), TestCaseError> {
    let rules = |kind| RULES.iter().any(|rule| rule.kind == kind && rule.holds(text.as_bytes()));
    for kind in Kind::ALL {
        prop_assert_eq!(
            detect::holds(*kind, text.as_bytes()),
            rules(*kind),
            "{} in {:?}",
            kind.as_str(),
            text
        );
    }
    let first = Kind::ALL.iter().copied().find(|kind| rules(*kind));
    prop_assert_eq!(find(text), first, "{:?}", text);
    Ok(())
}

/// What texts near the edge are made of.
fn pieces() -> Vec<String> {
    let mut pieces: Vec<String> = [
        "",
        "a",
        "Z",
        "0",
        "_",
        "-",
        ".",
        "/",
        "=",
        ":",
        " ",
        "\t",
        "\"",
        "'",
        "`",
        "+",
        "\n",
        "\r",
        "\\",
        "\\n",
        "\\r\\n",
        "\\\\n",
        "é",
        "\u{1f511}",
        "sk-",
        "ant-",
        "api03-",
        "proj-",
        "admin-",
        "ghp_",
        "gho_",
        "github_pat_",
        "AKIA",
        "ASIA",
        "EXAMPLE",
        "EXAMPLEKEY",
        "aws",
        "AWS_",
        "secret",
        "Secret_",
        "access_",
        "Access",
        "key",
        "KEY",
        " = ",
        "=>",
        ":=",
        ": ",
        "AIza",
        "xoxb-",
        "xapp-",
        "https://hooks.slack.com/",
        "services/",
        "T0B1C2D3/",
        "sk_live_",
        "rk_live_",
        "npm_",
        "eyJ",
        "authorization",
        "Authorization: ",
        "Bearer ",
        "bearer",
        "messaging1.",
        "-----",
        "BEGIN ",
        "RSA ",
        "PRIVATE KEY",
        " BLOCK",
        "Proc-Type: 4,x\n",
    ]
    .map(String::from)
    .into();
    for length in [1, 4, 8, 15, 16, 17, 20, 24, 32, 35, 36, 40, 41] {
        pieces.push(mixed(length));
        pieces.push("x".repeat(length));
        pieces.push("A1".repeat(length)[..length].into());
    }
    pieces
}

fn piece() -> impl Strategy<Value = String> {
    prop::sample::select(pieces())
}

/// A credential of the table, or one of its placeholders.
fn example() -> impl Strategy<Value = String> {
    let rows = table().into_iter();
    prop::sample::select(
        rows.flat_map(|(_, yes, no)| yes.into_iter().chain(no)).collect::<Vec<_>>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn edited_examples_are_judged_as_the_rules_judge_them(
        texts in prop::collection::vec(example(), 1..3),
        between in piece(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), piece(), 0..3_usize), 0..4),
    ) {
        let mut text = texts.join(&between);
        for (index, piece, cut) in edits {
            let marks: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let from = index.index(marks.len());
            let to = (from + cut).min(marks.len() - 1);
            text.replace_range(marks[from]..marks[to], &piece);
        }
        check(&text)?;
    }

    #[test]
    fn texts_of_pieces_are_judged_as_the_rules_judge_them(
        pieces in prop::collection::vec(piece(), 0..12),
    ) {
        check(&pieces.concat())?;
    }
}
