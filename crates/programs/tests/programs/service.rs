//! The files by which systemd and launchd keep a daemon running.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::run::{Ran, clean, messaging, ran};

/// A user with folders of their own.
struct User(tempfile::TempDir);

impl User {
    fn run(&self, args: &[&str]) -> Ran {
        let mut command = clean(&messaging());
        command.env("HOME", self.0.path()).args(args);
        ran(&mut command)
    }

    fn unit(&self) -> PathBuf {
        self.0.path().join(".config/systemd/user/messagingd.service")
    }
}

fn user() -> User {
    User(tempfile::tempdir().unwrap())
}

const ON_SYSTEMD: [&str; 4] = ["daemon", "install", "--keeper", "systemd"];

#[test]
fn a_unit_is_written_once_and_removed_again() {
    let user = user();
    let printed = user.run(&[&ON_SYSTEMD[..], &["--print"]].concat());
    assert_eq!(printed.status, 0, "{printed:?}");
    assert!(!user.unit().exists(), "printing writes nothing");
    let home = user.0.path().join(".messaging");
    let line = format!(
        "ExecStart=@\"{}\" messagingd --home \"{}\"",
        messaging().display(),
        home.display()
    );
    assert!(printed.stdout.lines().any(|at| at == line), "{printed:?}");
    let written = user.run(&ON_SYSTEMD);
    assert_eq!(written.status, 0, "{written:?}");
    assert!(written.stdout.contains("systemctl --user enable --now messagingd"));
    assert!(written.stdout.contains("loginctl enable-linger"), "what happens at logout");
    assert_eq!(std::fs::read_to_string(user.unit()).unwrap(), printed.stdout);
    assert!(!home.exists(), "no home is made");
    let again = user.run(&[&ON_SYSTEMD[..], &["--json"]].concat());
    assert_eq!(again.json()["written"], false);
    // Enabling made a link, which goes with the file.
    let wants = user.unit().parent().unwrap().join("default.target.wants");
    std::fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink(user.unit(), wants.join("messagingd.service")).unwrap();
    let remove = ["daemon", "uninstall", "--keeper", "systemd"];
    let would = user.run(&[&remove[..], &["--print"]].concat());
    assert!(would.stdout.contains("messagingd.service") && user.unit().exists());
    let removed = user.run(&remove);
    assert!(removed.stdout.contains("removed") && removed.stdout.contains("systemctl --user stop"));
    assert!(!user.unit().exists() && std::fs::read_dir(&wants).unwrap().next().is_none());
    let gone = user.run(&[&remove[..], &["--json"]].concat());
    assert_eq!((gone.status, &gone.json()["removed"]), (0, &Value::Bool(false)));
}

#[test]
fn a_file_that_somebody_else_wrote_is_left_alone() {
    let user = user();
    std::fs::create_dir_all(user.unit().parent().unwrap()).unwrap();
    std::fs::write(user.unit(), "[Unit]\nDescription=mine\n").unwrap();
    for act in ["install", "uninstall"] {
        let ran = user.run(&["daemon", act, "--keeper", "systemd"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.starts_with("invalid_state: ") && ran.stderr.contains("\nNext: "));
    }
    assert_eq!(std::fs::read_to_string(user.unit()).unwrap(), "[Unit]\nDescription=mine\n");
    // One of an older release is ours.
    let old = "# Written by `messaging daemon install`.\n[Unit]\nDescription=old\n";
    std::fs::write(user.unit(), old).unwrap();
    assert_eq!(user.run(&ON_SYSTEMD).status, 0);
    assert!(std::fs::read_to_string(user.unit()).unwrap().contains("ExecStart="));
}

#[test]
fn an_agent_of_launchd_names_the_program_and_the_home() {
    let user = user();
    let ran = user.run(&["daemon", "install", "--keeper", "launchd", "--home", "/srv/a&b"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let file = user.0.path().join("Library/LaunchAgents/org.messaging.messagingd.plist");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("<string>/srv/a&amp;b</string>"), "{text}");
    assert!(text.contains(&format!("<string>{}</string>", messaging().display())), "{text}");
    assert!(ran.stdout.contains("launchctl bootstrap"));
}

/// Whether systemd takes the unit as it is.
#[test]
fn systemd_understands_the_unit() {
    let user = user();
    assert_eq!(user.run(&ON_SYSTEMD).status, 0);
    let verified = verify(&user.unit(), user.0.path());
    match verified {
        Err(why) => eprintln!("skipped: {why}"),
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let name = "messagingd.service";
            assert!(output.status.success() && !words.contains(name), "{words}");
        }
    }
}

fn verify(unit: &Path, runtime: &Path) -> Result<std::process::Output, String> {
    // `--man=no`: the pages are installed by whoever packages this.
    let output = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .arg(unit)
        .env("XDG_RUNTIME_DIR", runtime)
        .output()
        .map_err(|error| format!("systemd-analyze does not run here: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    if words.contains("Failed to initialize manager") || words.contains("Failed to connect") {
        return Err(format!("systemd-analyze finds no manager here: {words}"));
    }
    Ok(output)
}
