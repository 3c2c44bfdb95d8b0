//! Compares what the manifests say with `arrows.toml`: which crate may depend on which.

use crate::{Outcome, tree};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const PREFIX: &str = "messaging-";

/// `arrows.toml`: crates are named as their folders are, without `messaging-`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// Each crate's arrows to crates of this workspace. Exact: an arrow that nobody draws is stale.
    arrows: BTreeMap<String, BTreeSet<String>>,
    /// Further arrows for tests and benches alone.
    #[serde(default)]
    tests: BTreeMap<String, BTreeSet<String>>,
    /// The whole list of third-party crates of those crates that are kept pure.
    outside: BTreeMap<String, BTreeSet<String>>,
    /// Third-party crates that only the named crates may use, tests included.
    reserved: BTreeMap<String, BTreeSet<String>>,
}

/// What one manifest says.
#[derive(Default)]
struct Manifest {
    inside: BTreeSet<String>,
    outside: BTreeSet<String>,
    test_inside: BTreeSet<String>,
    test_outside: BTreeSet<String>,
}

/// Runs the comparison over this workspace.
pub(crate) fn check() -> Outcome {
    let rules = std::fs::read_to_string(tree::root().join("crates/xtask/arrows.toml"))
        .map_err(|error| vec![format!("crates/xtask/arrows.toml: {error}")])?;
    let rules: Rules = toml::from_str(&rules)
        .map_err(|error| vec![format!("crates/xtask/arrows.toml: {error}")])?;
    let manifests = manifests()?;
    let mut faults = Vec::new();
    compare(&rules, &manifests, &mut faults);
    order(&rules, &mut faults);
    if faults.is_empty() {
        let arrows: usize = manifests.values().map(|manifest| manifest.inside.len()).sum();
        Ok(format!("{} crates, {arrows} arrows, all as listed", manifests.len()))
    } else {
        Err(faults)
    }
}

fn manifests() -> Result<BTreeMap<String, Manifest>, Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(tree::root())
        .output()
        .map_err(|error| vec![format!("cargo metadata: {error}")])?;
    if !output.status.success() {
        return Err(vec![String::from_utf8_lossy(&output.stderr).into_owned()]);
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| vec![format!("cargo metadata: {error}")])?;
    Ok(read_metadata(&metadata))
}

fn read_metadata(metadata: &serde_json::Value) -> BTreeMap<String, Manifest> {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let mut manifests = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let mut manifest = Manifest::default();
        for dependency in list(&package["dependencies"]) {
            let name = dependency["name"].as_str().unwrap_or_default();
            let test = dependency["kind"].as_str() == Some("dev");
            let (set, name) = match (name.strip_prefix(PREFIX), test) {
                (Some(ours), false) => (&mut manifest.inside, ours),
                (Some(ours), true) => (&mut manifest.test_inside, ours),
                (None, false) => (&mut manifest.outside, name),
                (None, true) => (&mut manifest.test_outside, name),
            };
            set.insert(name.to_owned());
        }
        let name = package["name"].as_str().unwrap_or_default();
        manifests.insert(name.strip_prefix(PREFIX).unwrap_or(name).to_owned(), manifest);
    }
    manifests
}

fn compare(rules: &Rules, manifests: &BTreeMap<String, Manifest>, faults: &mut Vec<String>) {
    let none = BTreeSet::new();
    for name in rules.arrows.keys().filter(|name| !manifests.contains_key(*name)) {
        faults.push(format!("arrows.toml: there is no crate {name}"));
    }
    for (name, manifest) in manifests {
        let Some(allowed) = rules.arrows.get(name) else {
            faults.push(format!("{name}: not in arrows.toml"));
            continue;
        };
        for to in manifest.inside.difference(allowed) {
            faults.push(format!("{name} -> {to}: this arrow is not in arrows.toml"));
        }
        for to in allowed.difference(&manifest.inside) {
            faults.push(format!("{name} -> {to}: listed in arrows.toml, but not drawn any more"));
        }
        let for_tests = rules.tests.get(name).unwrap_or(&none);
        for to in &manifest.test_inside {
            if !allowed.contains(to) && !for_tests.contains(to) {
                faults.push(format!("{name} -> {to} (tests): this arrow is not in arrows.toml"));
            }
        }
        if let Some(listed) = rules.outside.get(name) {
            for to in manifest.outside.difference(listed) {
                faults.push(format!("{name} -> {to}: {name} is kept pure and does not list it"));
            }
            for to in listed.difference(&manifest.outside) {
                faults
                    .push(format!("{name} -> {to}: listed in arrows.toml, but not used any more"));
            }
        }
        for to in manifest.outside.union(&manifest.test_outside) {
            if rules.reserved.get(to).is_some_and(|who| !who.contains(name)) {
                faults.push(format!("{name} -> {to}: {to} is reserved for others"));
            }
        }
    }
}

/// The listed arrows must form layers: no way back from a crate to itself.
fn order(rules: &Rules, faults: &mut Vec<String>) {
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<&String> = rules.arrows.keys().collect();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|name| {
            let ready = rules
                .arrows
                .get(*name)
                .is_none_or(|to| to.iter().all(|to| placed.contains(to.as_str())));
            if ready {
                placed.insert(name);
            }
            !ready
        });
        if left.len() == before {
            let names: Vec<&str> = left.iter().map(|name| name.as_str()).collect();
            return faults
                .push(format!("arrows.toml: these go round in a circle: {}", names.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const RULES: &str = r#"
        [arrows]
        core = []
        wire = ["core"]
        [tests]
        wire = ["testkit"]
        [outside]
        core = ["serde"]
        [reserved]
        tokio = ["relay"]
    "#;

    fn faults(packages: serde_json::Value) -> Vec<String> {
        let rules: Rules = toml::from_str(RULES).expect("the rules parse");
        let mut faults = Vec::new();
        compare(&rules, &read_metadata(&json!({ "packages": packages })), &mut faults);
        order(&rules, &mut faults);
        faults
    }

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> serde_json::Value {
        let list: Vec<_> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        json!({ "name": name, "dependencies": list })
    }

    #[test]
    fn listed_arrows_pass() {
        let found = faults(json!([
            package("messaging-core", &[("serde", None), ("proptest", Some("dev"))]),
            package(
                "messaging-wire",
                &[("messaging-core", None), ("messaging-testkit", Some("dev"))]
            ),
        ]));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn every_other_arrow_is_named() {
        let found = faults(json!([
            package(
                "messaging-core",
                &[
                    ("serde", None),
                    ("rand", None),
                    ("tokio", Some("dev")),
                    ("messaging-wire", None)
                ],
            ),
            package("messaging-wire", &[]),
            package("messaging-new", &[]),
        ]));
        assert_eq!(
            found,
            [
                "core -> wire: this arrow is not in arrows.toml",
                "core -> rand: core is kept pure and does not list it",
                "core -> tokio: tokio is reserved for others",
                "new: not in arrows.toml",
                "wire -> core: listed in arrows.toml, but not drawn any more",
            ]
        );
    }

    #[test]
    fn a_circle_is_named() {
        let rules: Rules =
            toml::from_str("[arrows]\na = [\"b\"]\nb = [\"a\"]\nc = []\n[outside]\n[reserved]\n")
                .expect("the rules parse");
        let mut faults = Vec::new();
        order(&rules, &mut faults);
        assert_eq!(faults, ["arrows.toml: these go round in a circle: a, b"]);
    }
}
