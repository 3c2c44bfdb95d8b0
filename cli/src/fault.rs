//! What a command says when it fails: a code, what happened, one next step.
//! Spec: D6.1 "Errors", D7.4

use std::borrow::Cow;
use std::io::Write;

use messaging_client::ClientError;
use messaging_core::code::{Code, Failure};
use messaging_ipc::error::NOT_IN_THIS_BUILD;
use serde_json::json;

use crate::exit::Exit;
use crate::remedy;
use crate::render;

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The code of §13.
    pub(crate) code: Code,
    /// What happened, without the code.
    pub(crate) message: Cow<'static, str>,
    /// What to do, without `Next: `.
    pub(crate) remedy: Cow<'static, str>,
    /// How the program ends.
    pub(crate) exit: Exit,
}

impl Fault {
    /// A failure with its code's remedy and status.
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let remedy = remedy::of(code).into();
        Self { code, message: message.into(), remedy, exit: Exit::of(code) }
    }

    /// A command that was not understood: `invalid_request`, status 2.
    pub(crate) fn usage(
        message: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            code: Code::InvalidRequest,
            message: message.into(),
            remedy: remedy.into(),
            exit: Exit::Usage,
        }
    }

    /// Something this machine could not do: `internal`.
    pub(crate) fn local(
        message: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { remedy: remedy.into(), ..Self::new(Code::Internal, message) }
    }

    /// The same failure with another next step.
    pub(crate) fn next(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// Whether it says that no daemon answers for now, so that waiting for one can help.
    pub(crate) fn is_absence(&self) -> bool {
        self.code == Code::DaemonUnavailable
    }

    /// Writes it: two lines for a person, one JSON line for a program.
    pub(crate) fn write(&self, to: &mut impl Write, as_json: bool) -> std::io::Result<()> {
        let message = format!("{}: {}", self.code, self.message);
        let remedy = format!("Next: {}", self.remedy);
        if as_json {
            let error = json!({"error": {"code": self.code, "message": message, "remedy": remedy}});
            writeln!(to, "{}", render::json(&error, false))
        } else {
            writeln!(to, "{}\n{}", render::line(&message), render::line(&remedy))
        }
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Self {
        let code = error.code();
        let message = error.message().into_owned();
        match &error {
            ClientError::Unfit { code: Code::InvalidRequest, .. } => {
                Self::usage(message, "name a shorter folder with --home or MESSAGING_HOME.")
            }
            ClientError::Refused(refused) => {
                let data = refused.data.as_ref();
                let kind = data.and_then(|data| data.kind.as_deref());
                let message = match kind {
                    Some(kind) => format!("{message} ({kind})"),
                    None => message,
                };
                let fault = Self::new(code, message);
                if fault.message == NOT_IN_THIS_BUILD {
                    return fault.next("use a later release, which has it.");
                }
                fault
            }
            _ => Self::new(code, message),
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::new(failure.code, failure.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_ipc::error::{Refusal, RpcError};

    fn text(fault: &Fault, as_json: bool) -> String {
        let mut out = Vec::new();
        fault.write(&mut out, as_json).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_code_comes_first_and_the_remedy_last() {
        let fault = Fault::new(Code::DaemonUnavailable, "no daemon is running");
        assert_eq!(
            text(&fault, false),
            "daemon_unavailable: no daemon is running\nNext: run `messaging daemon start`.\n"
        );
        assert_eq!(
            text(&fault, true),
            "{\"error\":{\"code\":\"daemon_unavailable\",\"message\":\"daemon_unavailable: no daemon is running\",\
             \"remedy\":\"Next: run `messaging daemon start`.\"}}\n"
        );
    }

    #[test]
    fn an_invalid_request_is_usage_only_when_this_side_found_it() {
        assert_eq!(Fault::usage("x", "y.").exit, Exit::Usage);
        let refused = RpcError::from(Refusal::field("to", "not an address"));
        assert_eq!(Fault::from(ClientError::Refused(Box::new(refused))).exit, Exit::Failed);
    }

    #[test]
    fn a_credential_is_named_by_its_kind() {
        let refused = RpcError::from(Refusal::secret(
            "parts[0]".into(),
            "github_token",
            "parts[0] holds a GitHub token; nothing was sent".into(),
        ));
        let fault = Fault::from(ClientError::Refused(Box::new(refused)));
        assert!(fault.message.ends_with("(github_token)"));
        assert_eq!(fault.exit, Exit::Refused);
    }
}
