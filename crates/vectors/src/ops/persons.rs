//! Persons, realms and their addresses: ids, handles, organisations.

use messaging_core::code::Failure;
use messaging_core::directory::{directory_realm_id, email_org, hosted_handle, person_id};
use messaging_core::ids::{Email, MachineId};
use serde_json::{Value, json};

use super::Op;
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "person_id" => of_account,
        "realm_id" => realm_id,
        "hosted_handle" => handle,
        "email_org" => org,
        _ => return None,
    })
}

fn of_account(args: &Args<'_>) -> Outcome {
    Ok(json!(person_id(args.text("iss")?, args.text("sub")?)?))
}

fn realm_id(args: &Args<'_>) -> Outcome {
    let key = MachineId::parse(args.text("key")?)?;
    Ok(json!(directory_realm_id(args.text("url")?, args.text("issuer")?, &key)?))
}

fn email(args: &Args<'_>) -> Result<Email, Refusal> {
    Ok(Email::parse(args.text("email")?)?)
}

fn handle(args: &Args<'_>) -> Outcome {
    Ok(json!(hosted_handle(&email(args)?)))
}

fn org(args: &Args<'_>) -> Outcome {
    let domains: Vec<&str> = args.list("orgDomains")?.iter().filter_map(Value::as_str).collect();
    Ok(email_org(&email(args)?, domains).map_or(Value::Null, Value::String))
}

/// A failure to read what is under test.
pub(super) fn shape<T, E>(result: Result<T, E>, at: &'static str) -> Result<T, Refusal> {
    result.map_err(|_| Failure::invalid(at).into())
}
