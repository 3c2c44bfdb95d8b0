//! `messaging api`.
//! Spec: D6.4

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap_complete::ArgValueCompleter;
use messaging_core::json;
use messaging_ipc::line::LINE_BYTES;
use messaging_ipc::request::GRANT_BYTES;
use serde_json::{Map, Value};

use crate::complete;
use crate::context::Context;
use crate::fault::Fault;
use crate::render::{self, Report};

/// Call any method of the daemon and print its result
///
/// The parameters are a JSON object: from the argument, from a file as @FILE, or from standard input for `-`.
///
/// Examples:
///   messaging api daemon.health
///   messaging api inbox.list @params.json
///   messaging api team.revoke '{"inviteId":"01JZ3V7H2Q4W8X9Y0Z1A2B3C4D"}'
///
/// See also: messaging status, messaging help
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Api {
    /// The method
    #[arg(value_name = "METHOD", add = ArgValueCompleter::new(complete::methods))]
    method: String,
    /// Its parameters; none when left out
    #[arg(value_name = "PARAMS")]
    params: Option<String>,
    /// A file with the host's grant for this call
    #[arg(long, value_name = "FILE")]
    grant_file: Option<PathBuf>,
}

impl Api {
    pub(crate) async fn run(self, context: &Context) -> Result<Report, Fault> {
        let params = match self.params.as_deref() {
            None => Value::Object(Map::new()),
            Some("-") => object(&from_stdin().await?)?,
            Some(text) => match text.strip_prefix('@') {
                Some(path) => object(&from_file(Path::new(path), LINE_BYTES)?)?,
                None => object(text.as_bytes())?,
            },
        };
        let grant = match &self.grant_file {
            Some(path) => {
                let text = String::from_utf8(from_file(path, GRANT_BYTES)?).map_err(|_| {
                    Fault::usage("the grant is not UTF-8", "ask the host for a new one.")
                })?;
                Some(text.trim().to_owned())
            }
            None => None,
        };
        let link = context.connect().await?;
        let result = link.call_raw(&self.method, params, grant).await?;
        let text = render::json(&result, context.screen.tty) + "\n";
        Ok(Report::new(result, text))
    }
}

fn object(text: &[u8]) -> Result<Value, Fault> {
    match json::parse(text, LINE_BYTES) {
        Ok(value) if value.is_object() => Ok(value),
        _ => Err(Fault::usage(
            "the parameters are no JSON object",
            "write them as in '{\"limit\":10}', without names twice.",
        )),
    }
}

fn from_file(path: &Path, most: usize) -> Result<Vec<u8>, Fault> {
    let unreadable = |_| Fault::usage("the file could not be read", "check that it is there.");
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    bounded(&mut file, most)
}

async fn from_stdin() -> Result<Vec<u8>, Fault> {
    let read =
        tokio::task::spawn_blocking(|| bounded(&mut std::io::stdin().lock(), LINE_BYTES)).await;
    read.unwrap_or_else(|_| Err(Fault::usage("standard input could not be read", "use a file.")))
}

fn bounded(from: &mut impl std::io::Read, most: usize) -> Result<Vec<u8>, Fault> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    from.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|_| Fault::usage("the input could not be read", "check that it is there."))?;
    if bytes.len() > most {
        return Err(Fault::new(messaging_core::code::Code::TooLarge, "the input is too long"));
    }
    Ok(bytes)
}
