//! What is found of every kind, and what is not.
//! Spec: D3.25, C8.7-05, C8.7-06, C8.7-07

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::secrets::testing::{capitals, mixed, table};
use crate::secrets::{Kind, find};

#[test]
fn every_kind_is_found_and_its_placeholders_are_not() {
    let table = table();
    let kinds: Vec<Kind> = table.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, Kind::ALL, "one row a kind, in order");
    for (kind, positives, negatives) in &table {
        for text in positives {
            assert_eq!(find(text), Some(*kind), "{}", kind.as_str());
            // In the middle of a text, after text outside ASCII, in quotes, in a list.
            for (before, after) in
                [("see: ", " ok?"), ("\u{1f511}", "\u{1f511}"), ("\"", "\""), ("- ", "\n- x\n")]
            {
                assert_eq!(
                    find(&format!("{before}{text}{after}")),
                    Some(*kind),
                    "{}",
                    kind.as_str()
                );
            }
        }
        for text in negatives {
            assert_eq!(find(text), None, "{}", kind.as_str());
        }
    }
}

#[test]
fn of_two_kinds_the_earlier_in_the_table_is_told() {
    let table = table();
    for (first, [one, _], _) in &table {
        for (second, [other, _], _) in &table {
            let expected = *first.min(second);
            assert_eq!(find(&format!("{one} , {other} ")), Some(expected));
        }
    }
}

#[test]
fn lengths_and_edges_are_exact() {
    let found = |text: String| find(&text).map(Kind::as_str);
    let (ant, sk) = (["sk-", "ant-"].concat(), ["sk", "-"].concat());
    assert_eq!(found(format!("{ant}{}", mixed(23))), None);
    assert_eq!(found(format!("{sk}{}", mixed(31))), None);
    assert_eq!(found(format!("{sk}{}", mixed(32))), Some("openai_key"));
    assert_eq!(found(format!("{sk}proj-{}", mixed(39))), None);
    for glue in ["a", "Z", "0", "_", "-"] {
        assert_eq!(found(format!("{glue}{sk}{}", mixed(48))), None, "part of a longer word");
    }
    let akia = ["AKI", "A"].concat();
    assert_eq!(found(format!("_{akia}{}_", capitals(16))), Some("aws_key_id"));
    assert_eq!(found(format!("{akia}{}", capitals(17))), None);
    assert_eq!(found(format!("{akia}{}x", capitals(16))), None);
    let google = ["AIz", "a"].concat();
    assert_eq!(found(format!("{google}{}", mixed(36))), None);
    let npm = ["npm", "_"].concat();
    assert_eq!(found(format!("{npm}{}", mixed(37))), None);
    assert_eq!(found(format!("{npm}{}_", mixed(36))), None);
    assert_eq!(found(format!("{npm}{}-", mixed(36))), Some("npm_token"));
    let ticket = ["messaging", "1."].concat();
    for glue in [".", "-", "x"] {
        assert_eq!(found(format!("{glue}{ticket}{}J{}", "ey", mixed(60))), None);
    }
}

#[test]
fn a_private_key_is_one_after_any_kind_of_line_break() {
    let pem = |word: &str| ["-----BEGIN ", word, "PRIVATE KEY-----"].concat();
    let body = mixed(48);
    for end in ["\n", "\r\n", "\r", "\\n", "\\r\\n", "\\\\n", "\\\\\\\\r\\\\\\\\n", " \t\n  \n\t"] {
        for word in ["", "EC ", "OPENSSH ", "ENCRYPTED ", "A B C D "] {
            assert_eq!(find(&format!("{}{end}{body}", pem(word))), Some(Kind::PrivateKey));
        }
    }
    let pgp = ["-----BEGIN PGP PRIVATE ", "KEY BLOCK-----"].concat();
    assert_eq!(find(&format!("{pgp}\nVersion: x\n\n{body}")), Some(Kind::PrivateKey));
    let lines: Vec<String> = (0..10).map(|_| mixed(4)).collect();
    assert_eq!(find(&format!("{}\n{}", pem(""), lines.join("\n"))), Some(Kind::PrivateKey));
    assert_eq!(find(&format!("{}\n{}", pem(""), lines[..9].join("\n"))), None);
    let field = "Proc-Type: 4,ENCRYPTED\n";
    assert_eq!(
        find(&format!("{}\n{}{body}", pem("RSA "), field.repeat(8))),
        Some(Kind::PrivateKey)
    );
    assert_eq!(find(&format!("{}\n{}{body}", pem("RSA "), field.repeat(9))), None);
    for not in [
        format!("{}{body}", pem("")),
        format!("{}\n\\\\\\\\\\n{body}", pem("")),
        format!("{}\n{body}", pem("A B C D E ")),
        format!("{}\n{body}", pem("rsa ")),
        format!("{}\n{}", pem("").replace("PRIVATE", "PUBLIC"), mixed(392)),
    ] {
        assert_eq!(find(&not), None);
    }
}

#[test]
fn assignments_without_a_format_are_let_through() {
    for name in ["password", "api_key", "secret", "token", "client_secret"] {
        for sign in ["=", ": ", " = "] {
            assert_eq!(find(&format!("{name}{sign}{}", mixed(40))), None);
        }
    }
    assert_eq!(find("postgres://user:hunter2-Hunter2@db.example/app?sslmode=require"), None);
    assert_eq!(find(&format!("{}_live_{}", "pk", mixed(24))), None, "a publishable key");
}

#[test]
fn names_and_words_of_the_kinds_are_fixed() {
    let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(
        names.join(" "),
        "private_key anthropic_key openai_key github_token aws_key_id aws_secret_key google_key slack_token \
         slack_webhook stripe_key npm_token jwt bearer_token invite_ticket"
    );
    for kind in Kind::ALL {
        assert!(kind.words().starts_with("a ") || kind.words().starts_with("an "));
    }
}

#[test]
fn no_file_of_the_detector_holds_a_text_that_is_refused() {
    for text in [
        include_str!("examples.rs"),
        include_str!("oracle.rs"),
        include_str!("ordinary.rs"),
        include_str!("scanning.rs"),
        include_str!("../detect.rs"),
        include_str!("../testing.rs"),
        include_str!("../../../benches/secrets.rs"),
    ] {
        assert_eq!(find(text), None);
    }
}
