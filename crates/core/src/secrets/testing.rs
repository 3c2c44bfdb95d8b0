//! Examples of every kind of credential, for tests. They are put together at run time: no file holds a text that would be
//! refused.
//! Spec: D3.25

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Kind;

/// The first `length` characters of a pattern, repeated.
fn cycle(pattern: &str, length: usize) -> String {
    pattern.chars().cycle().take(length).collect()
}

/// All three kinds of characters.
#[must_use]
pub fn mixed(length: usize) -> String {
    cycle("aB3dE5gH7jK9mN2pQ4sT6vW8xY0z", length)
}

/// Capitals and digits.
#[must_use]
pub fn capitals(length: usize) -> String {
    cycle("A2B3C4D5E6F7", length)
}

fn digits(length: usize) -> String {
    cycle("1234567890", length)
}

fn hex(length: usize) -> String {
    cycle("0a1b2c3d4e5f6789", length)
}

/// What a placeholder looks like.
fn filler(length: usize) -> String {
    cycle("x", length)
}

/// Of each kind two that are refused and two that are not.
#[must_use]
pub fn table() -> Vec<(Kind, [String; 2], [String; 2])> {
    let pem = |word: &str| ["-----BEGIN ", word, "PRIVATE KEY-----"].concat();
    let ant = ["sk-", "ant-"].concat();
    let sk = ["sk", "-"].concat();
    let ghp = ["ghp", "_"].concat();
    let (akia, asia) = (["AKI", "A"].concat(), ["ASI", "A"].concat());
    let aws = ["aws_secret_", "access_key"].concat();
    let aiza = ["AIz", "a"].concat();
    let xoxb = ["xox", "b-"].concat();
    let hook = ["https://hooks.slack", ".com/"].concat();
    let live = ["sk_", "live_"].concat();
    let npm = ["npm", "_"].concat();
    let eyj = ["ey", "J"].concat();
    let auth = ["Authorization: ", "Bearer "].concat();
    let ticket = ["messaging", "1."].concat();
    let segments =
        |a, b, signature: String| format!("{eyj}{}.{eyj}{}.{signature}", mixed(a), mixed(b));
    let workflow = format!("{hook}workflows/T{}/A{}/{}a", capitals(8), capitals(8), digits(18));
    [
        (
            Kind::PrivateKey,
            [format!("{}\n{}", pem(""), mixed(64)), format!("{}\\n{}", pem("RSA "), mixed(48))],
            [pem(""), format!("{}\nis the first line of such a file", pem(""))],
        ),
        (
            Kind::AnthropicKey,
            [format!("{ant}api03-{}", mixed(40)), format!("key={ant}{}", mixed(24))],
            [format!("{ant}api03-{}", filler(40)), format!("{ant}api03-<your key>")],
        ),
        (
            Kind::OpenaiKey,
            [format!("{sk}{}", mixed(48)), format!("{sk}proj-{}", mixed(40))],
            [format!("{sk}learn-pipeline-with-many-words-in-it"), format!("{sk}{}", filler(48))],
        ),
        (
            Kind::GithubToken,
            [
                format!("{ghp}{}", mixed(36)),
                format!("{}_pat_{}_{}", "github", mixed(22), mixed(20)),
            ],
            [format!("{ghp}{}", filler(36)), format!("{ghp}{}", mixed(12))],
        ),
        (
            Kind::AwsKeyId,
            [format!("{akia}{}", capitals(16)), format!("id: {asia}{}.", capitals(16))],
            [format!("{akia}IOSFODNN7EXAMPLE"), format!("{akia}{}", cycle("X", 16))],
        ),
        (
            Kind::AwsSecretKey,
            [
                format!("{aws} = {}", mixed(40)),
                format!("\"{}Key\": \"{}\"", "SecretAccess", mixed(40)),
            ],
            [format!("{aws} = <paste here>"), format!("{aws}={}EXAMPLEKEY", mixed(30))],
        ),
        (
            Kind::GoogleKey,
            [format!("{aiza}{}", mixed(35)), format!("key={aiza}{}&v=1", mixed(35))],
            [format!("{aiza}{}", filler(35)), format!("{aiza}{}", mixed(34))],
        ),
        (
            Kind::SlackToken,
            [
                format!("{xoxb}{}-{}", digits(12), mixed(24)),
                format!("{}p-1-{}-{}", "xap", capitals(11), digits(13)),
            ],
            [format!("{xoxb}your-token-goes-right-here"), format!("{xoxb}{}", digits(8))],
        ),
        (
            Kind::SlackWebhook,
            [format!("{hook}services/T{}/B{}/{}", capitals(8), capitals(8), mixed(24)), workflow],
            [
                format!("{hook}services/T000/B000/XXXX"),
                format!("{hook}services/T00000000/B00000000/{}", cycle("X", 24)),
            ],
        ),
        (
            Kind::StripeKey,
            [format!("{live}{}", mixed(24)), format!("{}k_live_{}", "r", mixed(30))],
            [format!("sk_{}_{}", "test", mixed(24)), format!("{live}{}", filler(24))],
        ),
        (
            Kind::NpmToken,
            [format!("{npm}{}", mixed(36)), format!("//registry/:_authToken={npm}{}", mixed(36))],
            [format!("{npm}config_registry"), format!("{npm}{}", filler(36))],
        ),
        (
            Kind::Jwt,
            [segments(20, 30, mixed(43)), format!("token={}", segments(12, 12, mixed(86)))],
            [segments(20, 30, String::new()), format!("{eyj}{}.{eyj}{}", mixed(20), mixed(30))],
        ),
        (
            Kind::BearerToken,
            [format!("{auth}{}", mixed(32)), format!("AUTHORIZATION='{}rer {}'", "bea", hex(40))],
            [format!("{auth}<token>"), format!("Send a bearer {} header", mixed(32))],
        ),
        (
            Kind::InviteTicket,
            [format!("{ticket}{eyj}{}", mixed(60)), format!("`{ticket}{eyj}{}`", mixed(44))],
            [format!("{ticket}<ticket>"), format!("{ticket}{eyj}{}", mixed(10))],
        ),
    ]
    .into()
}
