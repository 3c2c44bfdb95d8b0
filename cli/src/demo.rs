//! The demonstration: real programs, a team of two, one sealed message, and what the relay saw of it.
//! Spec: D6.7

mod household;
mod people;
mod story;
mod tap;
mod teller;
mod websocket;

use std::time::Duration;

use messaging_core::code::Code;

use crate::context::Context;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render::Report;
use household::Household;
use teller::Teller;

/// Tells the story once. Whatever ends it early ends the programs it started and deletes its folder too.
pub(crate) async fn run(context: &Context, keep: bool, pause: Duration) -> Result<Report, Fault> {
    let mut household = Household::found(keep)?;
    let mut teller = Teller::new(context, pause);
    let told = tokio::select! {
        told = story::tell(&mut household, &mut teller) => told,
        () = asked_to_end() => Err(Fault {
            exit: Exit::Interrupted,
            ..Fault::new(Code::Internal, "the demonstration was interrupted").next("run it again.")
        }),
    };
    let kept = household.kept_folder();
    // First the programs, then the folder; both also when the story broke off.
    let ended = household.end().await;
    let mut document = told?;
    ended?;
    teller.fact("stopped", "both daemons and the relay");
    match (kept, document.as_object_mut()) {
        (Some(folder), Some(members)) => {
            teller.fact("folder", format!("kept: {}", folder.display()));
            members.insert("folder".to_owned(), folder.display().to_string().into());
        }
        _ => teller.fact("folder", "deleted"),
    }
    Ok(Report::new(document, "\n"))
}

/// Waits for a signal that would otherwise end this program and leave the others running.
async fn asked_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).ok();
    let mut signals =
        [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()].map(listen);
    let [terminate, hangup, interrupt] = &mut signals;
    tokio::select! {
        () = heard(terminate) => {}
        () = heard(hangup) => {}
        () = heard(interrupt) => {}
    }
}

async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
