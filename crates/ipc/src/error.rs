//! The error object, and the one function that says which number and words a refusal has.
//! Spec: D1.3, §13

use std::borrow::Cow;

use messaging_core::code::{Code, Failure};
use messaging_core::json::Misshape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest message, characters.
pub const MESSAGE_CHARS: usize = 300;

/// The error of an answer. A client reads `data.code` and nothing else for its decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// The JSON-RPC number.
    pub code: i64,
    /// One line in our own words: no value, key, token, body or peer text.
    pub message: String,
    /// What a program needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// What a program needs to know about an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// The code of §13.
    pub code: Code,
    /// The parameter at fault, for example `parts[1].text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// When to try again, ms; at least 1. With `rate_limited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Which detector found a credential. With `secret_refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Why a call is refused, before it is put into numbers and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The line is no wire JSON.
    NotJson,
    /// The value is no request.
    NotARequest,
    /// The line is longer than a line may be; the connection ends.
    LineTooLong,
    /// The method is in no table.
    UnknownMethod,
    /// The parameters do not have the method's shape.
    Params(Misshape),
    /// Anything that §13 has a code for.
    Call {
        /// The code.
        code: Code,
        /// What happened, in our own words; empty for the code's own meaning.
        message: Cow<'static, str>,
        /// The parameter at fault.
        field: Option<String>,
        /// When to try again, ms.
        retry_after_ms: Option<u64>,
        /// Which detector found a credential.
        kind: Option<&'static str>,
    },
}

impl Refusal {
    /// A refusal with a code and our own words.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Call { code, message: message.into(), field: None, retry_after_ms: None, kind: None }
    }

    /// A refusal with a code alone.
    pub fn code(code: Code) -> Self {
        Self::new(code, "")
    }

    /// `rate_limited`, with when to try again.
    pub fn rate_limited(retry_after_ms: u64) -> Self {
        let retry_after_ms = retry_after_ms.max(1);
        Self::Call {
            code: Code::RateLimited,
            message: format!("too many; try again in {} s", retry_after_ms.div_ceil(1_000)).into(),
            field: None,
            retry_after_ms: Some(retry_after_ms),
            kind: None,
        }
    }

    /// `secret_refused`, with the field that holds a credential and the detector that found it; `message` says the same in
    /// words, without the value.
    pub fn secret(field: String, kind: &'static str, message: String) -> Self {
        Self::Call {
            code: Code::SecretRefused,
            message: message.into(),
            field: Some(field),
            retry_after_ms: None,
            kind: Some(kind),
        }
    }

    /// `invalid_request` at a parameter that has the right shape and the wrong meaning.
    pub fn field(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Call {
            code: Code::InvalidRequest,
            message: message.into(),
            field: Some(field.into()),
            retry_after_ms: None,
            kind: None,
        }
    }

    /// The code of §13.
    pub fn as_code(&self) -> Code {
        match self {
            Self::LineTooLong => Code::TooLarge,
            Self::NotJson | Self::NotARequest | Self::UnknownMethod | Self::Params(_) => {
                Code::InvalidRequest
            }
            Self::Call { code, .. } => *code,
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::new(failure.code, failure.at)
    }
}

impl From<Misshape> for Refusal {
    fn from(misshape: Misshape) -> Self {
        Self::Params(misshape)
    }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let code = refusal.as_code();
        let plain = |number: i64, message: &str| (number, message.to_owned(), None, None, None);
        let (number, message, field, retry_after_ms, kind) = match refusal {
            Refusal::NotJson => plain(-32_700, "the line is not wire JSON"),
            Refusal::NotARequest => plain(-32_600, "the line is not a request"),
            Refusal::UnknownMethod => plain(-32_601, "there is no such method"),
            Refusal::LineTooLong => plain(-32_000, "the line is longer than 4 MiB"),
            Refusal::Params(Misshape { path }) if path.is_empty() => plain(
                -32_602,
                "the parameters are not those of the method (a member is unknown, or they are no object)",
            ),
            Refusal::Params(Misshape { path }) => (
                -32_602,
                format!("parameter {path} is missing, unknown or not allowed"),
                Some(path),
                None,
                None,
            ),
            // Whatever went wrong inside, a client learns only that it did: details stay in local logs.
            Refusal::Call { code: Code::Internal, message, .. } => {
                let shown =
                    if message == NOT_IN_THIS_BUILD { NOT_IN_THIS_BUILD } else { "internal error" };
                plain(-32_603, shown)
            }
            Refusal::Call { code, message, field, retry_after_ms, kind } => {
                let message = if message.is_empty() { code.meaning().into() } else { message };
                (-32_000, message.into_owned(), field, retry_after_ms, kind.map(str::to_owned))
            }
        };
        Self {
            code: number,
            message: messaging_core::peer_text::one_line(&message, MESSAGE_CHARS),
            data: Some(ErrorData { code, field, retry_after_ms, kind }),
        }
    }
}

/// The message of a method that this build does not have yet; with `internal`.
pub const NOT_IN_THIS_BUILD: &str = "not in this build";

impl RpcError {
    /// The code of §13: of `data`, else what the number implies.
    pub fn as_code(&self) -> Code {
        match &self.data {
            Some(data) => data.code,
            None if self.code == -32_602 => Code::InvalidRequest,
            None => Code::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_table() {
        for (refusal, number, code) in [
            (Refusal::NotJson, -32_700, Code::InvalidRequest),
            (Refusal::NotARequest, -32_600, Code::InvalidRequest),
            (Refusal::UnknownMethod, -32_601, Code::InvalidRequest),
            (Refusal::Params(Misshape { path: "key".into() }), -32_602, Code::InvalidRequest),
            (Refusal::code(Code::Internal), -32_603, Code::Internal),
            (Refusal::LineTooLong, -32_000, Code::TooLarge),
            (Refusal::code(Code::NotFound), -32_000, Code::NotFound),
        ] {
            let error = RpcError::from(refusal);
            assert_eq!((error.code, error.as_code()), (number, code));
            assert!(!error.message.is_empty() && !error.message.contains(": "));
        }
    }

    #[test]
    fn every_code_travels() {
        for code in Code::ALL {
            let error = RpcError::from(Refusal::code(*code));
            let back: RpcError =
                serde_json::from_str(&serde_json::to_string(&error).unwrap()).unwrap();
            assert_eq!(back.as_code(), *code);
        }
    }

    #[test]
    fn internal_says_nothing_more() {
        let error = RpcError::from(Refusal::new(Code::Internal, "disk /home/ada is full"));
        assert_eq!(error.message, "internal error");
        let error = RpcError::from(Refusal::new(Code::Internal, NOT_IN_THIS_BUILD));
        assert_eq!(error.message, "not in this build");
    }

    #[test]
    fn a_rate_limit_says_when() {
        let error = RpcError::from(Refusal::rate_limited(1_001));
        assert_eq!(error.message, "too many; try again in 2 s");
        assert_eq!(error.data.unwrap().retry_after_ms, Some(1_001));
        let error = RpcError::from(Refusal::rate_limited(0));
        assert_eq!(error.data.unwrap().retry_after_ms, Some(1));
    }

    #[test]
    fn an_error_without_data_maps_by_its_number() {
        let error = |code| RpcError { code, message: String::new(), data: None };
        assert_eq!(error(-32_602).as_code(), Code::InvalidRequest);
        assert_eq!(error(-32_000).as_code(), Code::Internal);
    }
}
