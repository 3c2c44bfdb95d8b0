//! What changes in which file, before anything is changed, and then the change.
//!
//! Spec: D6.4

use std::path::{Path, PathBuf};

use super::diff::diff;
use super::edit::Refused;
use super::files::{self, Former, Kept, Problem};
use super::harness::{Form, Harness, Places, Scope, Want};
use super::toml;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The file cannot be read or written.
    File(PathBuf, Problem),
    /// The file holds something that is not changed.
    Text(PathBuf, Refused),
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is as it should be.
    Nothing,
    /// It is made.
    Create,
    /// It is edited.
    Edit,
    /// It is removed, because it was made for this.
    Delete,
}

/// One file before and after.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The file.
    pub(crate) path: PathBuf,
    now: Option<String>,
    after: Option<String>,
    former: Former,
    kept: Kept,
    /// Whether this takes the settings out.
    removing: bool,
}

/// All files of a harness before and after.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The files, in the order in which they are written.
    pub(crate) changes: Vec<Change>,
    /// Whether the harness's own settings switch hooks off.
    pub(crate) hooks_off: bool,
}

impl Plan {
    /// What writing `want` changes; with `None`, what taking everything out changes. `home` keeps what the files were.
    ///
    /// Errors: a file that is not understood. Nothing was changed.
    pub(crate) fn new(
        harness: Harness,
        scope: &Scope,
        places: &Places,
        home: &Path,
        want: Option<&Want>,
    ) -> Result<Self, Trouble> {
        let mut changes = Vec::new();
        let mut hooks_off = false;
        for target in harness.targets(places, scope) {
            let path = target.path;
            let now = files::read(&path).map_err(|problem| Trouble::File(path.clone(), problem))?;
            let kept = Kept::of(home, &path);
            let text = now.as_deref().unwrap_or_default();
            let refused = |refused| Trouble::Text(path.clone(), refused);
            let clean = target.form.remove(text, harness).map_err(refused)?;
            let former = now.as_deref().and_then(|now| kept.former(now));
            let former = former
                .unwrap_or_else(|| Former { text: now.as_ref().map(|_| clean), made: Vec::new() });
            let after = match want {
                None => former.text.clone(),
                Some(want) => {
                    hooks_off |= target.form == Form::Codex && toml::hooks_are_off(text);
                    let after = target.form.set(text, harness, want);
                    let after = after.map_err(|refused| Trouble::Text(path.clone(), refused))?;
                    // Nothing is no file.
                    (now.is_some() || !after.is_empty()).then_some(after)
                }
            };
            changes.push(Change { path, now, after, former, kept, removing: want.is_none() });
        }
        Ok(Self { changes, hooks_off })
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_done(&self) -> bool {
        self.changes.iter().all(|change| change.action() == Action::Nothing)
    }

    /// Makes every change, or none.
    pub(crate) fn apply(&self) -> Result<(), Trouble> {
        let mut done: Vec<&Change> = Vec::new();
        for change in self.changes.iter().filter(|change| change.action() != Action::Nothing) {
            if let Err(problem) = change.apply() {
                for earlier in done.into_iter().rev() {
                    let (was, is) = (earlier.now.as_deref(), earlier.after.as_deref());
                    // What somebody changed in between is theirs.
                    let _ = files::replace(&earlier.path, is, was);
                }
                return Err(Trouble::File(change.path.clone(), problem));
            }
            done.push(change);
        }
        for change in done.into_iter().rev().filter(|change| change.removing) {
            for folder in &change.former.made {
                // One that holds something else stays.
                let _ = std::fs::remove_dir(folder);
            }
            change.kept.forget();
        }
        Ok(())
    }
}

impl Change {
    /// What happens to the file.
    pub(crate) fn action(&self) -> Action {
        match (&self.now, &self.after) {
            (now, after) if now == after => Action::Nothing,
            (None, _) => Action::Create,
            (_, None) => Action::Delete,
            _ => Action::Edit,
        }
    }

    /// The lines that change.
    pub(crate) fn diff(&self) -> Vec<String> {
        diff(self.now.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default())
    }

    /// Where the file's present text is kept; `None` when there is no file.
    pub(crate) fn backup(&self) -> Option<PathBuf> {
        self.now.as_ref().map(|_| self.kept.backup())
    }

    fn apply(&self) -> Result<(), Problem> {
        let (now, after) = (self.now.as_deref(), self.after.as_deref());
        if self.removing {
            self.kept.keep(&self.path, now, &self.former, now.unwrap_or_default())?;
            files::replace(&self.path, now, after)?;
            return Ok(());
        }
        let text = after.unwrap_or_default();
        // First how to go back, then the change.
        self.kept.keep(&self.path, now, &self.former, text)?;
        let made = files::replace(&self.path, now, after)?;
        if !made.is_empty() {
            let former = Former { made, ..self.former.clone() };
            self.kept.keep(&self.path, now, &former, text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
