//! One request from its name to its handler, in the one order of D1.4.
//! Spec: §8.2 "Strict params", "Two sockets"; D1.4

use messaging_core::code::Code;
use messaging_ipc::call::{self, Call as Typed};
use messaging_ipc::error::Refusal;
use messaging_ipc::for_each_method;
use messaging_ipc::methods::{Caller, KeyScope, Method, RealmRule};
use messaging_ipc::params::{self, Params};
use messaging_ipc::request::Request;
use messaging_ipc::scalars::SessionKey;
use messaging_store::StoreError;
use serde_json::Value;

use super::later::{directory, wake};
use super::{
    Answer, Call, Handled, agents, card, channel, contact, contacts, conv, daemon, device, events,
    grant, identity, inbox, item, mail, msg, no_session, notice, people, person, request, screen,
    search, sent, session, task, team,
};
use crate::engine::DaemonEngine;
use crate::input::{ConnId, Tier};
use crate::ipc::Reply;
use crate::rotation;
use crate::sessions;
use crate::store::sessions::{self as rows, SessionRow};
use crate::work::{Halt, Step, Work};

/// Answers one request, now or later.
///
/// Errors: a failed read or write, which undoes whatever the call did.
pub(crate) fn dispatch(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    conn: ConnId,
    tier: Tier,
    request: Request,
) -> Result<(), StoreError> {
    let Request { id, method: name, params, .. } = request;
    let method = Method::parse(&name);
    let reply = Reply { conn, id, method: method.map_or("?", Method::name) };
    match admit(engine, tier, method) {
        Ok(method) => route(engine, work, method, reply, params.as_ref()),
        Err(refusal) => {
            reply.refuse(work, refusal);
            Ok(())
        }
    }
}

/// Steps 2 to 4: what is refused before the parameters are read.
fn admit(engine: &DaemonEngine, tier: Tier, method: Option<Method>) -> Result<Method, Refusal> {
    if tier == Tier::Agent && !method.is_some_and(Method::is_agent) {
        return Err(Refusal::new(Code::Forbidden, "this socket serves the methods of agents only"));
    }
    let method = method.ok_or(Refusal::UnknownMethod)?;
    if engine.is_stopping() && !method.is_served_while_stopping() {
        return Err(Refusal::new(Code::DaemonUnavailable, "the daemon is stopping"));
    }
    Ok(method)
}

macro_rules! routes {
    ($($variant:ident $name:literal [$($tier:ident),+] $class:ident $key:ident $scope:ident $realm:ident $caller:ident
        $params:ty => $result:ty, $module:ident :: $handler:ident, $spec:literal;)*) => {
        fn route(
            engine: &mut DaemonEngine,
            work: &mut Work<'_, '_>,
            method: Method,
            reply: Reply,
            params: Option<&Value>,
        ) -> Result<(), StoreError> {
            match method {
                $(Method::$variant => {
                    run::<call::$variant>(engine, work, reply, params, $module::$handler)
                })*
            }
        }
    };
}
for_each_method!(routes);

/// A method's handler.
type Handler<C> = fn(
    &mut DaemonEngine,
    &mut Work<'_, '_>,
    &Call,
    <C as Typed>::Params,
) -> Handled<<C as Typed>::Result>;

fn run<C: Typed>(
    engine: &mut DaemonEngine,
    work: &mut Work<'_, '_>,
    reply: Reply,
    params: Option<&Value>,
    handler: Handler<C>,
) -> Result<(), StoreError> {
    let handled = match prepare::<C>(engine, work, reply.conn, params) {
        Ok((typed, session)) => {
            let found = if engine.config.refuse_secrets {
                screen::screen(C::METHOD, params)
            } else {
                Ok(None)
            };
            match found {
                Ok(credential) => {
                    let call = Call { reply: reply.clone(), session, credential };
                    handler(engine, work, &call, typed)
                }
                Err(failure) => Err(failure.into()),
            }
        }
        Err(fault) => Err(fault),
    };
    match handled {
        Ok(Answer::Now(result)) => reply.result(work, &result),
        Ok(Answer::Later) => {}
        Err(Halt::Refused(refusal)) => reply.refuse(work, refusal),
        Err(Halt::Store(error)) => return Err(error),
    }
    Ok(())
}

/// Steps 6 to 10: parameters, realm, key, identity.
fn prepare<C: Typed>(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    conn: ConnId,
    params: Option<&Value>,
) -> Step<(C::Params, Option<SessionRow>)> {
    let row = C::METHOD.row();
    let params: C::Params = params::decode(params).map_err(Refusal::Params)?;
    // This build's homes are in a roster realm, or in none yet.
    if row.realm == RealmRule::Directory {
        let words = "the method exists in a directory realm only";
        return Err(Halt::refused(Code::InvalidState, words));
    }
    let session = match (row.key, params.key()) {
        (KeyScope::Free, _) | (KeyScope::KeyIfGiven, None) => None,
        (KeyScope::Key | KeyScope::KeyIfGiven, Some(key)) => Some(held(engine, work, conn, key)?),
        (KeyScope::Key, None) => return Err(no_session()),
    };
    if C::METHOD == Method::IdentityRotateEnc {
        // Of a home whose keys are missing the alarm says more than that it has no identity.
        rotation::refuse_alarmed(engine)?;
    }
    if row.caller == Caller::Device {
        engine.ready()?;
    }
    Ok((params, session))
}

/// The open session whose key this connection registered.
fn held(
    engine: &DaemonEngine,
    work: &Work<'_, '_>,
    conn: ConnId,
    key: &SessionKey,
) -> Step<SessionRow> {
    let hash = sessions::key_hash(key)?;
    let id = engine.ipc.session(conn, &hash).ok_or_else(no_session)?;
    rows::get(work.tx, id)?
        .filter(|row| row.key_hash == hash && row.closed_at.is_none())
        .ok_or_else(no_session)
}
