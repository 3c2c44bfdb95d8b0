//! Why a WebSocket was closed.
//! Spec: §7 "Close codes", W5.3

use std::fmt;

macro_rules! close_codes {
    ($($name:ident $number:literal $doc:literal;)*) => {
        /// The close codes of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CloseCode { $(#[doc = $doc] $name,)* }

        impl CloseCode {
            /// Every code.
            pub const ALL: &'static [CloseCode] = &[$(CloseCode::$name,)*];

            /// The number on the wire.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $(CloseCode::$name => $number,)* }
            }

            /// The code of a number; `None` for one that the protocol does not name.
            #[must_use]
            pub const fn of(number: u16) -> Option<CloseCode> {
                match number { $($number => Some(CloseCode::$name),)* _ => None }
            }
        }
    };
}

close_codes! {
    Stopping 1001 "The relay stops.";
    TooLarge 1009 "A frame over the limit.";
    Full 1013 "The relay is full: try again later.";
    AuthFailed 4001 "A bad, late, malformed or refused `hello`.";
    Protocol 4002 "Not a frame, or too many frames before `hello`.";
    Removed 4003 "Removed from the realm; a hint, which the client checks against its own verified state.";
    Replaced 4004 "A newer connection of the same machine took over.";
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_one_to_one() {
        for code in CloseCode::ALL {
            assert_eq!(CloseCode::of(code.number()), Some(*code));
        }
        assert_eq!(CloseCode::of(1000), None);
        assert_eq!(CloseCode::of(4005), None);
    }
}
