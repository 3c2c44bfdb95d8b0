//! The demonstration: it works, shows no plaintext to the relay, and leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::run::{clean, messaging, ran};

/// What is left in a folder.
fn left(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Processes that were started in a folder, by their command lines.
fn processes(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let folder = folder.display().to_string();
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&folder))
        .collect()
}

#[test]
fn the_demonstration_works_and_leaves_nothing() {
    let folder = tempfile::Builder::new().prefix("d").tempdir_in("/tmp").unwrap();
    let ran = ran(clean(&messaging()).env("TMPDIR", folder.path()).args(["demo", "--json"]));
    assert_eq!(ran.status, 0, "{ran:?}");
    let document = ran.json();
    assert_eq!(document["ok"], true);
    let stages: Vec<&str> =
        document["stages"].as_array().unwrap().iter().filter_map(|s| s.as_str()).collect();
    assert_eq!((stages.first(), stages.last()), (Some(&"accepted"), Some(&"read")));
    assert!(stages.contains(&"held"), "{stages:?}");
    assert_eq!(document["allowed"], "Deliver this request from alice to api once, guarded.");
    assert_eq!(document["task"]["state"], "completed");
    assert!(document["line"].as_str().unwrap().contains("Shipped"));
    assert_eq!(document["relaySaw"]["plaintext"], false);
    assert!(document["relaySaw"]["bodyChars"].as_u64().unwrap() > 100);
    assert_eq!(document["relaySaw"]["header"]["from"]["person"], "alice");
    assert!(document["relaySaw"]["header"].get("body").is_none());
    assert_eq!(left(folder.path()), Vec::<PathBuf>::new());
    assert_eq!(processes(folder.path()), Vec::<String>::new());
}

#[test]
fn a_person_reads_it_as_a_story_and_may_keep_the_folder() {
    let folder = tempfile::Builder::new().prefix("d").tempdir_in("/tmp").unwrap();
    let ran = ran(clean(&messaging()).env("TMPDIR", folder.path()).args(["demo", "--keep"]));
    assert_eq!(ran.status, 0, "{ran:?}");
    for words in [
        "founds a team",
        "It waits",
        "This is what the relay saw",
        "of ciphertext",
        "→ read",
        "Shipped",
        "kept: ",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let kept = left(folder.path());
    assert_eq!(kept.len(), 1);
    assert!(kept[0].join("relay.db").exists() && kept[0].join("alice/messaging.db").exists());
    assert_eq!(processes(folder.path()), Vec::<String>::new());
}

/// Ends the demonstration with a signal in the middle, and looks at what it leaves.
fn interrupted(signal: &str) -> (Option<i32>, Vec<PathBuf>, Vec<String>) {
    let folder = tempfile::Builder::new().prefix("d").tempdir_in("/tmp").unwrap();
    let mut command = clean(&messaging());
    command.env("TMPDIR", folder.path()).arg("demo").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    // As soon as all three programs run.
    while processes(folder.path()).len() < 3 {
        assert!(
            Instant::now() < patience && child.try_wait().unwrap().is_none(),
            "it ended before it was interrupted"
        );
        std::thread::yield_now();
    }
    let sent =
        clean(Path::new("kill")).args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let status = child.wait().unwrap().code();
    while !processes(folder.path()).is_empty() && Instant::now() < patience {
        std::thread::yield_now();
    }
    (status, left(folder.path()), processes(folder.path()))
}

#[test]
fn an_interrupted_demonstration_ends_what_it_started() {
    for signal in ["INT", "TERM", "HUP"] {
        let (status, files, processes) = interrupted(signal);
        assert_eq!(status, Some(130), "{signal}");
        assert_eq!((files, processes), (Vec::new(), Vec::new()), "{signal}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn even_a_killed_demonstration_leaves_no_process() {
    let (status, _, processes) = interrupted("KILL");
    assert_eq!(status, None);
    assert_eq!(processes, Vec::<String>::new());
}
