//! One JSON object for each message: canonical, so that equal messages are equal bytes.

use messaging_core::jcs;
use messaging_ipc::results::archive::Held;

/// A message as a line.
pub(super) fn line(entry: &Held) -> String {
    // What came over the socket as JSON can become JSON again.
    let value = jcs::to_value(entry).unwrap_or_default();
    let text = jcs::canonical(&value).map(|text| text.as_str().to_owned());
    text.unwrap_or_else(|_| value.to_string()) + "\n"
}
