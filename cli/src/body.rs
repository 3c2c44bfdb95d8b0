//! What is sent: text from the command line or standard input, and files, byte for byte.
//! Spec: D6.4 `send`

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use messaging_core::code::Code;
use messaging_core::limits::PLAINTEXT_BYTES;
use messaging_ipc::shapes::Part;

use crate::context::Context;
use crate::fault::Fault;

/// The parts of a message. Text comes from the argument, or from standard input for `-` and for no argument and no file.
pub(crate) async fn parts(
    context: &Context,
    text: Option<String>,
    files: &[PathBuf],
) -> Result<Vec<Part>, Fault> {
    let files = files.iter().map(|path| file(path)).collect::<Result<Vec<_>, _>>()?;
    let text = match text {
        Some(text) if text != "-" => Some(text),
        None if !files.is_empty() => None,
        _ => Some(from_stdin(context).await?),
    };
    Ok(text.map(Part::text).into_iter().chain(files).collect())
}

/// The text of a line, from the argument or standard input.
pub(crate) async fn line(context: &Context, text: Option<String>) -> Result<String, Fault> {
    match text {
        Some(text) if text != "-" => Ok(text),
        _ => from_stdin(context).await,
    }
}

async fn from_stdin(context: &Context) -> Result<String, Fault> {
    if std::io::stdin().is_terminal() {
        context.note("Write the message and end it with Ctrl-D.");
    }
    let read = tokio::task::spawn_blocking(|| bounded(&mut std::io::stdin().lock())).await;
    let bytes = match read {
        Ok(bytes) => bytes.map_err(|problem| problem.fault("standard input"))?,
        Err(_) => return Err(Problem::Unreadable.fault("standard input")),
    };
    String::from_utf8(bytes).map_err(|_| {
        Fault::usage("standard input is not UTF-8 text", "send it as a file, with --file.")
    })
}

fn file(path: &Path) -> Result<Part, Fault> {
    let name =
        path.file_name().and_then(|name| name.to_str()).filter(|name| Part::is_file_name(name));
    let name = name.ok_or_else(|| {
        Fault::usage("a file has a name that cannot be sent", "give it a plain name in UTF-8.")
    })?;
    let bytes = File::open(path)
        .map_err(|_| Problem::Unreadable)
        .and_then(|mut file| bounded(&mut file))
        .map_err(|problem| problem.fault(name))?;
    Ok(Part::file(&bytes, name, None))
}

enum Problem {
    Unreadable,
    TooLong,
}

impl Problem {
    fn fault(&self, what: &str) -> Fault {
        let what = messaging_core::peer_text::one_line(what, 80);
        match self {
            Self::Unreadable => Fault::usage(
                format!("{what} could not be read"),
                "check that it is there and that you may read it.",
            ),
            Self::TooLong => Fault::new(
                Code::TooLarge,
                format!("{what} is larger than a message may be ({PLAINTEXT_BYTES} bytes)"),
            ),
        }
    }
}

/// Everything there is to read, unless no message could hold it.
fn bounded(from: &mut impl Read) -> Result<Vec<u8>, Problem> {
    let most = u64::try_from(PLAINTEXT_BYTES).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| Problem::Unreadable)?;
    if bytes.len() > PLAINTEXT_BYTES { Err(Problem::TooLong) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::b64;
    use messaging_ipc::shapes::Content;

    #[test]
    fn a_file_is_sent_byte_for_byte_under_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.bin");
        let bytes: Vec<u8> = (0..=255).collect();
        std::fs::write(&path, &bytes).unwrap();
        let part = file(&path).unwrap();
        let Some(Content::Raw(raw)) = part.content() else { panic!() };
        assert_eq!(b64::decode_standard(raw).unwrap(), bytes);
        assert_eq!(part.members()["filename"], "a b.bin");
    }

    #[test]
    fn what_cannot_be_sent_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(file(&folder.path().join("none")).unwrap_err().code, Code::InvalidRequest);
        assert_eq!(file(folder.path()).unwrap_err().code, Code::InvalidRequest);
        let large = folder.path().join("large");
        std::fs::write(&large, vec![0; PLAINTEXT_BYTES + 1]).unwrap();
        assert_eq!(file(&large).unwrap_err().code, Code::TooLarge);
        std::fs::write(&large, vec![0; PLAINTEXT_BYTES]).unwrap();
        assert!(file(&large).is_ok());
    }
}
