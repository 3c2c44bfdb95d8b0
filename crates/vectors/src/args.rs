//! The arguments of a case, and what an operation answers.

use messaging_core::code::{Code, Failure};
use serde_json::{Map, Value};

/// Why an operation gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The thing under test was refused with this code.
    Code(Code),
    /// The case itself is broken: this argument is absent or of another type. Never a pass.
    Case(&'static str),
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Refusal::Code(code)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Code(failure.code)
    }
}

/// The result of an operation: a value to compare, or the refusal.
pub type Outcome = Result<Value, Refusal>;

/// The arguments of one case, `$shared` values already in place.
///
/// The accessors fail with [`Refusal::Case`]: an argument of the wrong type is a fault of the
/// vector, and must not be taken for the `invalid_request` that a case may expect. What is under
/// test is parsed by the operation, with core.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a>(&'a Map<String, Value>);

impl<'a> Args<'a> {
    /// The arguments in `input`; its member `op` is ignored.
    pub fn new(input: &'a Map<String, Value>) -> Self {
        Args(input)
    }

    /// The argument, if it is there.
    pub fn opt(&self, name: &'static str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// The argument.
    pub fn value(&self, name: &'static str) -> Result<&'a Value, Refusal> {
        self.opt(name).ok_or(Refusal::Case(name))
    }

    /// A string.
    pub fn text(&self, name: &'static str) -> Result<&'a str, Refusal> {
        self.value(name)?.as_str().ok_or(Refusal::Case(name))
    }

    /// An array.
    pub fn list(&self, name: &'static str) -> Result<&'a [Value], Refusal> {
        let list = self.value(name)?.as_array().ok_or(Refusal::Case(name))?;
        Ok(list)
    }

    /// An object.
    pub fn object(&self, name: &'static str) -> Result<Args<'a>, Refusal> {
        self.value(name)?.as_object().map(Args).ok_or(Refusal::Case(name))
    }

    /// A non-negative integer.
    pub fn int(&self, name: &'static str) -> Result<u64, Refusal> {
        self.value(name)?.as_u64().ok_or(Refusal::Case(name))
    }

    /// A non-negative integer that may be absent.
    pub fn opt_int(&self, name: &'static str) -> Result<Option<u64>, Refusal> {
        match self.opt(name) {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or(Refusal::Case(name)),
        }
    }

    /// A boolean; absent is false.
    pub fn flag(&self, name: &'static str) -> Result<bool, Refusal> {
        match self.opt(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or(Refusal::Case(name)),
        }
    }

    /// Bytes written in hexadecimal.
    pub fn hex(&self, name: &'static str) -> Result<Vec<u8>, Refusal> {
        hex_decode(self.text(name)?).ok_or(Refusal::Case(name))
    }

    /// Exactly `N` bytes in base64url.
    pub fn bytes<const N: usize>(&self, name: &'static str) -> Result<[u8; N], Refusal> {
        messaging_core::b64::decode_array(self.text(name)?).map_err(|_| Refusal::Case(name))
    }
}

/// The bytes that `text` writes in hexadecimal, two digits a byte; none if it is anything else.
pub fn hex_decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => Some((hex_digit(*high)? << 4) | hex_digit(*low)?),
            _ => None,
        })
        .collect()
}

/// `bytes` in lower-case hexadecimal.
pub fn hex_encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hexadecimal_goes_both_ways() {
        assert_eq!(hex_decode("00ffA1"), Some(vec![0, 255, 161]));
        assert_eq!(hex_encode(&[0, 255, 161]), "00ffa1");
        for bad in ["0", "0g", "0x00", "é0"] {
            assert_eq!(hex_decode(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_argument_of_another_type_is_the_fault_of_the_case() {
        let input = json!({"n": "1", "t": 1});
        let args = Args::new(input.as_object().unwrap());
        assert_eq!(args.int("n"), Err(Refusal::Case("n")));
        assert_eq!(args.text("t"), Err(Refusal::Case("t")));
        assert_eq!(args.text("absent"), Err(Refusal::Case("absent")));
        assert_eq!(args.opt_int("absent"), Ok(None));
    }
}
