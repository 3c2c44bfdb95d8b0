//! JSON Schemas of every method's parameters and result, and of what else travels.
//! Spec: §8.2, D1.7
//!
//! A schema describes; only the types check.

use std::collections::BTreeMap;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Value, json};

use crate::call::Call;
use crate::error::RpcError;
use crate::event::Event;
use crate::hello::Hello;

/// The schema of one type (2020-12), without the number formats that strict validators do not know.
pub fn of<T: schemars::JsonSchema>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
    })
    .transform(&mut schema);
    schema
}

/// One document for each method, by its name, and one each for `event`, `hello` and `error`.
pub fn documents() -> BTreeMap<&'static str, Value> {
    let mut documents = BTreeMap::from([
        ("event", json!(of::<Event>())),
        ("hello", json!(of::<Hello>())),
        ("error", json!(of::<RpcError>())),
    ]);
    macro_rules! insert {
        ($($variant:ident $name:literal [$($tier:ident),+] $class:ident $key:ident $scope:ident $realm:ident
            $caller:ident $params:ty => $result:ty, $module:ident :: $handler:ident, $spec:literal;)*) => {$(
            documents.insert($name, method::<crate::call::$variant>());
        )*};
    }
    crate::for_each_method!(insert);
    documents
}

fn method<C: Call>() -> Value {
    let row = C::METHOD.row();
    json!({
        "method": row.name,
        "tiers": row.tiers.iter().map(|tier| format!("{tier:?}").to_lowercase()).collect::<Vec<_>>(),
        "spec": row.spec,
        "params": of::<C::Params>(),
        "result": of::<C::Result>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Method;

    #[test]
    fn every_method_has_a_document_and_strict_params() {
        let documents = documents();
        // The hello, the event and the error stand beside the methods.
        assert_eq!(documents.len(), Method::ALL.len() + 3);
        for (name, document) in &documents {
            if let Some(params) = document.get("params") {
                assert_eq!(params["type"], "object", "{name}");
                assert_eq!(params["additionalProperties"], false, "{name}");
            }
            assert!(!document.to_string().contains("\"format\""), "{name}");
        }
    }
}
