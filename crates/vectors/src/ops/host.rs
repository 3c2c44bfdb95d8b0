//! A supervising host: action grants, host-scope grants, session tickets and the action key.

use messaging_core::host_grant::{ActionKey, Call, GrantLedger, params_digest};
use messaging_core::ids::MachineId;
use messaging_core::jcs;
use messaging_core::json;
use messaging_core::time::Ms;
use messaging_ipc::methods::{Class, Method, Scope};
use serde_json::json;

use super::Op;
use crate::args::{Args, Outcome, Refusal};

pub(super) fn lookup(kind: &str) -> Option<Op> {
    Some(match kind {
        "params_digest" => digest,
        "action_class" => action_class,
        "action_key" => action_key,
        "action_grant_verify" => action_grant_verify,
        "session_ticket_verify" => session_ticket_verify,
        _ => return None,
    })
}

fn digest(args: &Args<'_>) -> Outcome {
    let params = args.opt("params");
    let canonical = jcs::canonical(params.unwrap_or(&json!({})))?;
    Ok(json!({"canonical": canonical.as_str(), "in": params_digest(params)?}))
}

/// The class of a method; a name that is no method's is as good as any that changes something.
fn class(method: &str) -> &'static str {
    match Method::parse(method).map(|method| method.row().class) {
        Some(Class::View) => "view",
        Some(Class::Chat) => "chat",
        Some(Class::Local) | None => "local",
    }
}

fn action_class(args: &Args<'_>) -> Outcome {
    Ok(json!(class(args.text("method")?)))
}

fn action_key(args: &Args<'_>) -> Outcome {
    let text = args.text("text")?.as_bytes();
    ActionKey::read(text)?;
    Ok(json::parse(text, text.len())?)
}

fn key(args: &Args<'_>) -> Result<ActionKey, Refusal> {
    let x = MachineId::parse(args.text("key")?).map_err(|_| Refusal::Case("key"))?;
    let kid = match args.opt("kid") {
        None => None,
        Some(_) => Some(args.text("kid")?.to_owned()),
    };
    ActionKey::new(&x, kid).map_err(|_| Refusal::Case("key"))
}

/// A text that may be absent.
fn maybe<'a>(args: &Args<'a>, name: &'static str) -> Result<Option<&'a str>, Refusal> {
    args.opt(name).map(|_| args.text(name)).transpose()
}

fn action_grant_verify(args: &Args<'_>) -> Outcome {
    let key = key(args)?;
    let mut ledger = GrantLedger::default();
    let mut last = Err(Refusal::Case("calls"));
    for call in args.list("calls")? {
        let call = Args::new(call.as_object().ok_or(Refusal::Case("calls"))?);
        // All but the last one pass.
        if let Err(refusal) = &last
            && *refusal != Refusal::Case("calls")
        {
            return Err(Refusal::Case("an earlier call"));
        }
        last = one_call(&key, &call, &mut ledger);
    }
    last
}

fn one_call<'a>(key: &ActionKey, args: &Args<'a>, ledger: &mut GrantLedger<&'a str>) -> Outcome {
    let method = args.text("method")?;
    let now = Ms(args.int("now")?);
    let in_host_scope =
        Method::parse(method).is_some_and(|method| method.row().scope == Scope::Host);
    let call =
        Call { method, class: class(method), in_host_scope, params: args.opt("params"), now };
    let grant = key.verify_grant(maybe(args, "grant")?, &call)?;
    ledger.spend(&grant, maybe(args, "connection")?.unwrap_or("c1"), now)?;
    Ok(json!({"scope": grant.scope}))
}

fn session_ticket_verify(args: &Args<'_>) -> Outcome {
    let ticket = key(args)?.verify_ticket(
        maybe(args, "ticket")?,
        maybe(args, "name")?,
        Ms(args.int("now")?),
    )?;
    Ok(json!(ticket))
}
