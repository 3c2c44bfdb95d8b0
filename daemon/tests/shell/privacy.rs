//! What others may see and touch of a home, whatever the user's umask and whatever lies in its place.
//! Spec: §8.1, D3.1

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::process::messagingd;
use super::rig::{Client, PATIENCE, Rig, fresh_home, refusal};

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file and folder below one, and itself.
fn everything(path: &Path, see: &mut dyn FnMut(&Path)) {
    see(path);
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).unwrap() {
            everything(&entry.unwrap().path(), see);
        }
    }
}

#[test]
fn a_careless_umask_opens_nothing() {
    for umask in ["000", "002", "022"] {
        let (_folder, home) = fresh_home();
        let program = messagingd(&["--home", home.to_str().unwrap()]);
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("umask {umask}; exec \"$@\"")).arg("sh");
        shell.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let mut child =
            shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = std::time::Instant::now();
        let mut admin = loop {
            if let Some(admin) = Client::connect(&home.join("run/admin.sock")) {
                break admin;
            }
            assert!(began.elapsed() < PATIENCE, "no daemon answers");
            std::thread::yield_now();
        };
        let register = json!({"key": "the-key-of-some-session", "agent": "codex", "name": "api"});
        admin.call("session.register", &register).unwrap();
        admin.call("daemon.snapshot", &json!({})).unwrap();
        let mut seen = 0;
        everything(&home, &mut |path| {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(path), expected, "umask {umask}: {}", path.display());
            seen += 1;
        });
        assert!(seen >= 10, "{seen}");
        admin.call("daemon.stop", &json!({})).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_home_below_a_folder_that_others_write_is_told_and_one_that_they_write_is_refused() {
    let (folder, home) = fresh_home();
    set_mode(folder.path(), 0o770);
    let mut rig = Rig::start_in(folder);
    rig.stop();
    let log = std::fs::read_to_string(home.join("logs/messagingd.log")).unwrap();
    assert!(log.contains("home.parent_writable"), "{log}");
    for (path, open) in
        [(home.clone(), 0o770), (home.join("run"), 0o702), (home.join("logs"), 0o720)]
    {
        let before = mode(&path);
        set_mode(&path, open);
        let error = refusal(&home);
        assert_eq!(error.exit_status(), 77, "{}", path.display());
        assert!(error.remedy().contains("chmod go-w"), "{}", error.remedy());
        set_mode(&path, before);
    }
    rig.launch();
    assert!(rig.admin().call("daemon.health", &json!({})).is_ok());
}

#[test]
fn a_link_in_the_place_of_any_file_of_a_home_is_never_written_through() {
    let (folder, home) = fresh_home();
    let elsewhere = folder.path().join("elsewhere");
    let mut rig = Rig::start_in(folder);
    rig.stop();
    for (name, status) in [
        ("identity.json", Some(77)),
        ("pairing.json", Some(77)),
        ("config.json", Some(77)),
        ("run/messagingd.lock.db", Some(77)),
        // These are replaced by files of our own.
        ("run/messagingd.lock", None),
        ("run/admin.sock", Some(70)),
    ] {
        let path = home.join(name);
        let saved = home.join("saved");
        let _ = std::fs::rename(&path, &saved);
        std::fs::write(&elsewhere, b"theirs").unwrap();
        symlink(&elsewhere, &path).unwrap();
        match status {
            Some(status) => assert_eq!(refusal(&home).exit_status(), status, "{name}"),
            None => {
                rig.launch();
                rig.stop();
            }
        }
        assert_eq!(std::fs::read(&elsewhere).unwrap(), b"theirs", "{name}");
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::rename(&saved, &path);
    }
}

#[test]
fn a_lock_that_a_dead_daemon_left_is_no_lock() {
    let (_folder, home) = fresh_home();
    for _ in 0..3 {
        let mut child = messagingd(&["--home", home.to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = std::time::Instant::now();
        while Client::connect(&home.join("run/admin.sock")).is_none() {
            assert!(began.elapsed() < PATIENCE, "no daemon answers");
            std::thread::yield_now();
        }
        let lock = home.join("run/messagingd.lock");
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), format!("{}\n", child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(lock.exists() && home.join("run/admin.sock").exists(), "it left all of it");
    }
}
