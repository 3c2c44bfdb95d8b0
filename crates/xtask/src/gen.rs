//! Writes the files that are made from the code, and says which of them are out of date.

mod codes_page;
mod events_page;
mod help_sections;
mod methods_page;
mod schemas;
pub(crate) mod spec;
mod where_page;

use crate::{Outcome, tree};
use std::path::Path;

/// One generated file: its path from the repository's root, and what it has to hold.
struct Page {
    path: String,
    text: String,
}

/// Folders in which every file is generated: what no generator makes any more is removed.
const OWNED: [&str; 1] = ["spec-vectors/schemas"];

/// Every generated file, as the code of this moment has it; what the code lacks for them goes to `faults`.
fn pages(faults: &mut Vec<String>) -> Result<Vec<Page>, Vec<String>> {
    let files = tree::text_files()?;
    let mut pages = vec![
        where_page::page(&files, faults),
        codes_page::page(),
        methods_page::page(),
        events_page::page(),
    ];
    pages.extend(help_sections::pages(faults));
    pages.extend(schemas::pages());
    Ok(pages)
}

/// Writes what differs and removes what nobody makes any more.
pub(crate) fn write() -> Outcome {
    let root = tree::root();
    let mut faults = Vec::new();
    let pages = pages(&mut faults)?;
    let mut written = 0;
    for page in &pages {
        let path = root.join(&page.path);
        if std::fs::read_to_string(&path).is_ok_and(|held| held == page.text) {
            continue;
        }
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        match made.and_then(|()| std::fs::write(&path, &page.text)) {
            Ok(()) => written += 1,
            Err(error) => faults.push(format!("{}: {error}", page.path)),
        }
    }
    for path in stale(&root, &pages) {
        if let Err(error) = std::fs::remove_file(root.join(&path)) {
            faults.push(format!("{path}: {error}"));
        }
    }
    if faults.is_empty() {
        Ok(format!("{} files, {written} of them new", pages.len()))
    } else {
        Err(faults)
    }
}

/// Compares without writing.
pub(crate) fn check() -> Outcome {
    let root = tree::root();
    let mut faults = Vec::new();
    let pages = pages(&mut faults)?;
    for page in &pages {
        if std::fs::read_to_string(root.join(&page.path)).map_or(true, |held| held != page.text) {
            faults.push(format!("{}: out of date; run `cargo xtask gen`", page.path));
        }
    }
    faults.extend(
        stale(&root, &pages)
            .into_iter()
            .map(|path| format!("{path}: no generator makes this file")),
    );
    if faults.is_empty() {
        Ok(format!("{} files are up to date", pages.len()))
    } else {
        Err(faults)
    }
}

/// Files in the owned folders that no page claims.
fn stale(root: &Path, pages: &[Page]) -> Vec<String> {
    let mut left = Vec::new();
    let mut folders: Vec<String> = OWNED.iter().map(|folder| (*folder).to_owned()).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if pages.iter().all(|page| page.path != path) {
                left.push(path);
            }
        }
    }
    left.sort();
    left
}
