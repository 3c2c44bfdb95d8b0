//! Documents of ordinary work, which must pass.
//! Spec: §8.7

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::json;

use crate::b64;
use crate::keys::Identity;
use crate::random::{Random as _, bytes};
use crate::secrets::{find, scan};
use crate::testing::SeededRandom;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[track_caller]
fn passes(text: &str) {
    assert_eq!(find(text), None);
    let params = json!({"parts": [{"text": text}, {"data": {text: [text]}}]});
    assert_eq!(scan(&params, &[]), Ok(None));
}

#[test]
fn five_hundred_commits() {
    let mut rng = SeededRandom::new(1);
    let log: Vec<String> = (0..500)
        .map(|n| {
            let (commit, short) = (hex(&bytes::<20>(&mut rng)), hex(&bytes::<4>(&mut rng)));
            format!("commit {commit}\n    Merge {short} into main: fix the secret key rotation of #{n}\n")
        })
        .collect();
    passes(&log.concat());
}

#[test]
fn lock_files() {
    let mut rng = SeededRandom::new(2);
    let mut text = String::new();
    for n in 0..400 {
        let (sum, digest) =
            (hex(&bytes::<32>(&mut rng)), b64::encode_standard(&bytes::<64>(&mut rng)));
        text += &format!(
            "[[package]]\nname = \"crate-{n}\"\nversion = \"1.{n}.0\"\nchecksum = \"{sum}\"\n\n"
        );
        text += &format!(
            "\"node_modules/@scope/npm_package-{n}\": {{\n  \"resolved\": \"https://registry.example/p/-/p-{n}.tgz\",\n  \
             \"integrity\": \"sha512-{digest}\"\n}},\n"
        );
        text += &format!(
            "example.org/mod/v{n} v1.2.{n} h1:{}\n",
            b64::encode_standard(&bytes::<32>(&mut rng))
        );
    }
    passes(&text);
}

#[test]
fn images_and_archives() {
    let mut rng = SeededRandom::new(3);
    let mut image = alloc::vec![0; 262_144];
    rng.fill(&mut image);
    let raw = b64::encode_standard(&image);
    passes(&format!("![shot](data:image/png;base64,{raw})"));
    let params = json!({"parts": [{"raw": raw, "mediaType": "image/png", "filename": "shot.png"}]});
    assert_eq!(scan(&params, &[]), Ok(None));
    let wrapped: Vec<&str> =
        raw.as_bytes().chunks(64).filter_map(|c| str::from_utf8(c).ok()).collect();
    passes(&wrapped.join("\n"));
}

#[test]
fn public_keys_and_certificates() {
    let mut rng = SeededRandom::new(4);
    for _ in 0..50 {
        let identity = Identity::generate(&mut rng);
        let body = b64::encode_standard(&bytes::<294>(&mut rng));
        passes(&format!("machine {} enc {}", identity.machine(), identity.enc.public()));
        passes(&format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} me@desk", &body[..43]));
        passes(&format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"));
        passes(&format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"));
    }
}

#[test]
fn tokens_without_a_signature() {
    let mut rng = SeededRandom::new(5);
    for _ in 0..50 {
        let (head, claims) = (b64::encode(b"{\"alg\":\"none\"}"), bytes::<60>(&mut rng));
        let claims = b64::encode(&[b"{\"sub\":\"x\",\"n\":\"", &claims[..]].concat());
        passes(&format!("{head}.{claims}."));
        passes(&format!("{head}.{claims}"));
        passes(&format!("{head}.{claims}.<signature>"));
        passes(&format!("{head}.{claims}.{}", "x".repeat(43)));
    }
}

#[test]
fn prose_about_credentials() {
    for text in [
        "Rotate the token, then set Authorization: Bearer <token> in the client. A bearer token of 40 characters \
         is expected; never paste one here.",
        "Keys begin with sk-ant- or sk-proj-, tokens with ghp_, github_pat_, xoxb- or npm_. AWS ids begin with AKIA \
         and have twenty characters: AKIAIOSFODNN7EXAMPLE is the one in the manual.",
        "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = ${{ secrets.AWS_SECRET_ACCESS_KEY_OF_THE_DEPLOY_ROLE }}",
        "A file that starts with -----BEGIN PRIVATE KEY----- is refused only when key material follows.",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n[redacted by the author of this report]\n",
        "task-force, sk-learn-contrib-and-other-packages, risk-proj-assessment-of-the-third-quarter-2026-Final-v2",
        "curl https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "authorization: basic dXNlcjpwYXNz is not looked for, nor password=hunter2 or api_key=0123456789abcdef",
        "messaging join messaging1.<ticket> joins the team; the ticket starts with eyJ like every JSON in base64.",
        "let token = env::var(\"GITHUB_TOKEN\")?; // ghp_... from the settings page",
    ] {
        passes(text);
    }
}
