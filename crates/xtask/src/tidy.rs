//! Looks for what neither the compiler nor clippy sees; one small check for each habit.

mod conformance;
mod files;
mod length;
mod spec_line;
mod words;

use crate::{Outcome, tree};

/// Runs every check over the repository.
pub(crate) fn check() -> Outcome {
    let files = tree::text_files()?;
    let excuses = std::fs::read_to_string(tree::root().join("crates/xtask/long-files.txt"))
        .map_err(|error| vec![format!("crates/xtask/long-files.txt: {error}")])?;
    let mut faults = Vec::new();
    for file in &files {
        if file.path.ends_with(".rs") {
            files::purpose(file, &mut faults);
            files::name(file, &mut faults);
            spec_line::check(file, &mut faults);
            words::rust(file, &mut faults);
        }
        words::any(file, &mut faults);
    }
    length::check(&files, &excuses, &mut faults);
    conformance::check(&files, &mut faults);
    if faults.is_empty() {
        Ok(format!("{} files, nothing to mend", files.len()))
    } else {
        Err(faults)
    }
}
