//! Every harness: set up, set up again, taken out, over files of every kind.

use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::{Value, json};
use tempfile::TempDir;

const ALL: [Harness; 7] = [
    Harness::ClaudeCode,
    Harness::Codex,
    Harness::Gemini,
    Harness::Opencode,
    Harness::Cursor,
    Harness::Vscode,
    Harness::Zed,
];

struct Machine {
    folder: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("user");
        let config = user.join(".config");
        let places = Places { user, config, claude: None, codex: None, mac: false };
        Self { folder, places }
    }

    fn plan(&self, harness: Harness, scope: &Scope, want: Option<&Want>) -> Result<Plan, Trouble> {
        Plan::new(harness, scope, &self.places, &self.folder.path().join("home"), want)
    }

    fn targets(&self, harness: Harness) -> Vec<PathBuf> {
        let targets = harness.targets(&self.places, &Scope::User);
        targets.into_iter().map(|target| target.path).collect()
    }

    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn want(harness: Harness) -> Want {
    let hook = format!("/usr/bin/messaging hook {}", harness.word());
    Want {
        server: vec!["/usr/bin/messaging-mcp".into()],
        hook: harness.has_hooks().then_some(hook),
    }
}

/// What a careful person has in their file: comments where the format has them.
fn fixture(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    match name {
        "config.toml" => "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"other\" # theirs\n".into(),
        "hooks.json" => "{\n\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n\t}\n}\n".into(),
        _ => "// mine\n{\n    \"theme\": \"dark\", // of course\n    /* servers */\n    \"mcpServers\": {\"other\": {\"command\": \"x\"}},\n    \"hooks\": {\"Stop\": []},\n    \"last\": [1, 2,],\n}\n".into(),
    }
}

fn there_and_back(machine: &Machine, harness: Harness, scope: &Scope) {
    let files = |machine: &Machine| -> Vec<Option<String>> {
        let targets = harness.targets(&machine.places, scope);
        targets.iter().map(|target| fs::read_to_string(&target.path).ok()).collect()
    };
    let before = files(machine);
    let wanted = want(harness);
    let plan = machine.plan(harness, scope, Some(&wanted)).unwrap();
    assert!(!plan.is_done());
    assert!(plan.changes.iter().all(|change| !change.diff().is_empty()));
    assert_eq!(files(machine), before, "a plan changes nothing");
    plan.apply().unwrap();
    let after = files(machine);
    assert!(after.iter().all(|text| text.as_ref().unwrap().contains("messaging")));
    assert!(machine.plan(harness, scope, Some(&wanted)).unwrap().is_done(), "once is enough");
    // With other settings, and back from there.
    let other =
        Want { server: vec!["/opt/messaging-mcp".into(), "--name".into(), "x".into()], ..wanted };
    machine.plan(harness, scope, Some(&other)).unwrap().apply().unwrap();
    assert_ne!(files(machine), after);
    machine.plan(harness, scope, None).unwrap().apply().unwrap();
    assert_eq!(files(machine), before, "{harness:?}");
    assert!(machine.plan(harness, scope, None).unwrap().is_done());
}

#[test]
fn a_fresh_machine_gets_files_and_loses_them_again() {
    for harness in ALL {
        let machine = Machine::new();
        there_and_back(&machine, harness, &Scope::User);
        assert!(!machine.places.user.exists(), "{harness:?}: the folders that were made are gone");
        let project = machine.folder.path().join("project");
        fs::create_dir(&project).unwrap();
        there_and_back(&machine, harness, &Scope::Project(project.clone()));
        assert_eq!(fs::read_dir(&project).unwrap().count(), 0);
    }
}

#[test]
fn files_with_comments_keep_every_line_and_come_back_byte_for_byte() {
    for harness in ALL {
        let machine = Machine::new();
        for path in machine.targets(harness) {
            machine.write(&path, &fixture(&path));
        }
        machine.plan(harness, &Scope::User, Some(&want(harness))).unwrap().apply().unwrap();
        for path in machine.targets(harness) {
            let text = fs::read_to_string(&path).unwrap();
            for kept in
                ["// mine", "// of course", "/* servers */", "# mine", "# theirs", "say done"]
            {
                assert_eq!(
                    text.contains(kept),
                    fixture(&path).contains(kept),
                    "{harness:?} {kept} {text}"
                );
            }
        }
        machine.plan(harness, &Scope::User, None).unwrap().apply().unwrap();
        there_and_back(&machine, harness, &Scope::User);
    }
}

#[test]
fn what_a_person_changed_since_then_stays_when_ours_is_taken_out() {
    for harness in ALL {
        let machine = Machine::new();
        for path in machine.targets(harness) {
            machine.write(&path, &fixture(&path));
        }
        machine.plan(harness, &Scope::User, Some(&want(harness))).unwrap().apply().unwrap();
        for path in machine.targets(harness) {
            let comment = if path.extension().is_some_and(|end| end == "toml") {
                "# later\n"
            } else {
                "// later\n"
            };
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, comment.to_owned() + &text).unwrap();
        }
        machine.plan(harness, &Scope::User, None).unwrap().apply().unwrap();
        for path in machine.targets(harness) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains("later") && !text.contains("messaging"), "{harness:?}: {text}");
            assert!(text.contains("mine") || text.contains("say done"));
        }
    }
}

#[test]
fn a_file_that_is_malformed_is_named_and_no_file_is_touched() {
    for harness in ALL {
        let machine = Machine::new();
        let targets = machine.targets(harness);
        let last = targets.last().unwrap();
        machine.write(last, "{ \"a\": \n");
        let trouble = machine.plan(harness, &Scope::User, Some(&want(harness))).unwrap_err();
        assert!(
            matches!(&trouble, Trouble::Text(path, Refused::Malformed(..)) if path == last),
            "{trouble:?}"
        );
        assert_eq!(fs::read_to_string(last).unwrap(), "{ \"a\": \n");
        for other in targets.iter().filter(|path| *path != last) {
            assert!(!other.exists());
        }
        fs::write(last, b"\xff\xfe").unwrap();
        let trouble = machine.plan(harness, &Scope::User, None).unwrap_err();
        assert_eq!(trouble, Trouble::File(last.clone(), Problem::NotText));
    }
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn each_harness_finds_the_server_in_its_own_form() {
    let machine = Machine::new();
    for harness in ALL {
        machine.plan(harness, &Scope::User, Some(&want(harness))).unwrap().apply().unwrap();
    }
    let user = |path: &str| json_of(&machine.places.user.join(path));
    let plain = json!({"command": "/usr/bin/messaging-mcp", "args": []});
    let typed = json!({"type": "stdio", "command": "/usr/bin/messaging-mcp", "args": []});
    assert_eq!(user(".claude.json")["mcpServers"]["messaging"], typed);
    assert_eq!(user(".gemini/settings.json")["mcpServers"]["messaging"], plain);
    assert_eq!(user(".cursor/mcp.json")["mcpServers"]["messaging"], plain);
    assert_eq!(user(".config/Code/User/mcp.json")["servers"]["messaging"], typed);
    assert_eq!(user(".config/zed/settings.json")["context_servers"]["messaging"], plain);
    assert_eq!(
        user(".config/opencode/opencode.json")["mcp"]["messaging"],
        json!({"type": "local", "command": ["/usr/bin/messaging-mcp"], "enabled": true})
    );
    for (file, word) in [(".claude/settings.json", "claude-code"), (".codex/hooks.json", "codex")] {
        let hooks = &user(file)["hooks"];
        for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
            let command = format!("/usr/bin/messaging hook {word}");
            let hook = json!([{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]);
            assert_eq!(hooks[event], hook);
        }
    }
    let codex = fs::read_to_string(machine.places.user.join(".codex/config.toml")).unwrap();
    assert_eq!(
        codex,
        "[mcp_servers.messaging]\ncommand = \"/usr/bin/messaging-mcp\"\n\n[features]\nhooks = true\n"
    );
}

#[test]
fn the_variables_of_harnesses_name_their_folders() {
    let mut machine = Machine::new();
    let at = machine.folder.path().join("elsewhere");
    machine.places.claude = Some(at.join("claude"));
    machine.places.codex = Some(at.join("codex"));
    machine.places.mac = true;
    let paths = |harness| machine.targets(harness);
    assert_eq!(
        paths(Harness::ClaudeCode),
        [at.join("claude/.claude.json"), at.join("claude/settings.json")]
    );
    assert_eq!(paths(Harness::Codex), [at.join("codex/config.toml"), at.join("codex/hooks.json")]);
    let mac = machine.places.user.join("Library/Application Support/Code/User/mcp.json");
    assert_eq!(paths(Harness::Vscode), [mac]);
}

#[test]
fn an_opencode_file_with_comments_is_the_one_that_is_edited() {
    let machine = Machine::new();
    let commented = machine.places.config.join("opencode/opencode.jsonc");
    machine.write(&commented, "{} // mine\n");
    assert_eq!(machine.targets(Harness::Opencode), [commented]);
}

#[test]
fn a_server_of_that_name_that_is_anothers_is_left_alone() {
    let machine = Machine::new();
    let path = machine.places.user.join(".cursor/mcp.json");
    let theirs = "{\"mcpServers\": {\"messaging\": {\"command\": \"slack-mcp\"}}}";
    machine.write(&path, theirs);
    let trouble = machine.plan(Harness::Cursor, &Scope::User, Some(&want(Harness::Cursor)));
    assert!(matches!(trouble, Err(Trouble::Text(_, Refused::Taken(_)))));
    assert!(machine.plan(Harness::Cursor, &Scope::User, None).unwrap().is_done());
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
}

#[test]
fn what_a_person_added_to_our_entry_stays() {
    let machine = Machine::new();
    let path = machine.places.config.join("opencode/opencode.json");
    machine.write(&path, "{\"mcp\": {\"messaging\": {\"type\": \"local\", \"command\": [\"messaging-mcp\"], \"enabled\": false, \"timeout\": 9}}}");
    machine
        .plan(Harness::Opencode, &Scope::User, Some(&want(Harness::Opencode)))
        .unwrap()
        .apply()
        .unwrap();
    let entry = json!({"type": "local", "command": ["/usr/bin/messaging-mcp"], "enabled": false, "timeout": 9});
    assert_eq!(json_of(&path)["mcp"]["messaging"], entry);
}

#[test]
fn hooks_of_others_in_one_group_with_ours_stay() {
    let machine = Machine::new();
    let path = machine.places.user.join(".claude/settings.json");
    let group = json!({"matcher": "Bash", "hooks": [
        {"type": "command", "command": "'/my tools/messaging' hook claude-code"}, {"type": "command", "command": "say hook claude-code"}
    ]});
    machine.write(&path, &json!({"hooks": {"Stop": [group]}}).to_string());
    machine
        .plan(Harness::ClaudeCode, &Scope::User, Some(&want(Harness::ClaudeCode)))
        .unwrap()
        .apply()
        .unwrap();
    let stop = &json_of(&path)["hooks"]["Stop"];
    assert_eq!(stop[0]["hooks"], json!([{"type": "command", "command": "say hook claude-code"}]));
    assert_eq!(stop[1]["hooks"][0]["command"], "/usr/bin/messaging hook claude-code");
    let none = Want { hook: None, ..want(Harness::ClaudeCode) };
    machine.plan(Harness::ClaudeCode, &Scope::User, Some(&none)).unwrap().apply().unwrap();
    assert!(!fs::read_to_string(&path).unwrap().contains("bin/messaging hook"));
}

#[test]
fn links_and_modes_are_kept_and_what_is_kept_is_private() {
    let machine = Machine::new();
    let real = machine.folder.path().join("dotfiles.json");
    machine.write(&real, "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let path = machine.places.user.join(".cursor/mcp.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(&real, &path).unwrap();
    let plan = machine.plan(Harness::Cursor, &Scope::User, Some(&want(Harness::Cursor))).unwrap();
    let backup = plan.changes[0].backup().unwrap();
    plan.apply().unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("messaging-mcp"));
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(&backup).unwrap(), "{}\n");
    assert_eq!(fs::metadata(&backup).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(backup.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_file_that_changes_while_the_person_is_asked_is_left_alone_and_so_are_the_others() {
    let machine = Machine::new();
    let plan =
        machine.plan(Harness::ClaudeCode, &Scope::User, Some(&want(Harness::ClaudeCode))).unwrap();
    let [servers, settings] = machine.targets(Harness::ClaudeCode).try_into().unwrap();
    machine.write(&settings, "{\"mine\": 1}");
    assert_eq!(plan.apply(), Err(Trouble::File(settings.clone(), Problem::Changed)));
    assert!(!servers.exists());
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"mine\": 1}");
}

#[test]
fn the_plugin_for_claude_code_says_what_setup_writes() {
    let plugin = |file: &str| -> Value {
        let folder =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/claude-code-plugin"));
        json_of(&folder.join(file))
    };
    let machine = Machine::new();
    let shared = Want {
        server: vec!["messaging-mcp".into()],
        hook: Some("messaging hook claude-code".into()),
    };
    let project = machine.folder.path().join("project");
    let scope = Scope::Project(project.clone());
    machine.plan(Harness::ClaudeCode, &scope, Some(&shared)).unwrap().apply().unwrap();
    assert_eq!(plugin(".mcp.json"), json_of(&project.join(".mcp.json")));
    assert_eq!(
        plugin("hooks/hooks.json")["hooks"],
        json_of(&project.join(".claude/settings.json"))["hooks"]
    );
    assert_eq!(plugin(".claude-plugin/plugin.json")["name"], "messaging");
}
