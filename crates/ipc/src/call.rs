//! The method table as types: which parameters a method takes and which result it gives.
//! Spec: D1.7

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::methods::Method;
use crate::params::Params;

/// One method as a type.
pub trait Call {
    /// Which.
    const METHOD: Method;
    /// What it takes.
    type Params: Params;
    /// What it gives.
    type Result: Serialize + DeserializeOwned + schemars::JsonSchema;
}

macro_rules! calls {
    ($($variant:ident $name:literal [$($tier:ident),+] $class:ident $key:ident $scope:ident $realm:ident $caller:ident
        $params:ty => $result:ty, $module:ident :: $handler:ident, $spec:literal;)*) => {$(
        #[doc = concat!("`", $name, "`. Spec: ", $spec)]
        #[derive(Clone, Copy, Debug)]
        pub enum $variant {}

        impl Call for $variant {
            const METHOD: Method = Method::$variant;
            type Params = $params;
            type Result = $result;
        }
    )*};
}
crate::for_each_method!(calls);
