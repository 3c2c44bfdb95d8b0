//! `messaging chat --follow`: a conversation as it goes on, and lines typed into it.
//! Spec: D6.4 `chat --follow`, D2, §8.2 "Resuming"

use std::collections::BTreeMap;
use std::io::Write as _;

use messaging_core::b64;
use messaging_core::code::Code;
use messaging_core::ids::Ulid;
use messaging_core::{jcs, random};
use messaging_ipc::call;
use messaging_ipc::event::{ConvChange, Event};
use messaging_ipc::params::conv::{PersonSend, Subscribe};
use messaging_ipc::scalars::{Printable, Room, Str};
use messaging_ipc::shapes::{ChatLine, LineState};
use messaging_runtime::entropy::SystemRandom;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::editor::{Editor, Typed};
use super::keyboard::Keyboard;
use super::live::Live;
use super::transcript::Transcript;
use super::{can_type, mark_read, page};
use crate::address::room_name;
use crate::args::Globals;
use crate::context::{AGAIN, Context, Link};
use crate::fault::Fault;
use crate::render::Report;
use crate::screen::{self, Style};

/// One conversation that is followed.
pub(super) struct Follow {
    /// As the command's, but that no progress is shown over the transcript.
    context: Context,
    room: Room,
    thread: Option<Ulid>,
    reads: bool,
    /// The number of the newest line shown.
    last: u64,
    /// Own lines whose fate is open, with their numbers.
    open: BTreeMap<Ulid, u64>,
    /// A line that may not have been sent, with the key that sends it once.
    unsent: Option<(String, Key)>,
}

type Key = Printable<1, 128>;

/// Where the conversation is shown.
enum Stage {
    Json,
    Pipe(Transcript),
    Terminal(Box<Live>, Editor),
}

/// Why the loop ends.
enum End {
    /// The person ended it, or the channel is gone.
    Done,
    /// Nobody reads the output.
    Closed,
    /// It cannot go on.
    Failed(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<std::io::Error> for End {
    fn from(_: std::io::Error) -> Self {
        Self::Closed
    }
}

/// What the loop is told.
enum Told {
    Event(Option<Box<Event>>),
    Keys(Option<Vec<u8>>),
    Look,
}

impl Follow {
    /// Follows a room, or one thread of it. `reads` says whether what is shown counts as read.
    pub(super) fn new(context: &Context, room: Room, thread: Option<Ulid>, reads: bool) -> Self {
        let globals = Globals { quiet: true, ..context.globals.clone() };
        let context = Context { globals, ..context.clone() };
        let (last, open, unsent) = (0, BTreeMap::new(), None);
        Self { context, room, thread, reads, last, open, unsent }
    }

    /// Shows the latest lines, and then what happens, until its end.
    pub(super) async fn run(
        mut self,
        transcript: Transcript,
        limit: Option<u64>,
    ) -> Result<Report, Fault> {
        let screen = &self.context.screen;
        let mut keyboard =
            can_type(&self.context).then(|| Keyboard::open(!self.context.environment.dumb));
        let mut stage = if self.context.globals.json {
            Stage::Json
        } else if screen.tty {
            let drawn = keyboard.as_ref().is_some_and(Keyboard::is_by_key);
            let prompt = drawn.then(|| room_name(&self.room));
            let live = Live::new(screen.clone(), transcript, prompt);
            Stage::Terminal(Box::new(live), Editor::default())
        } else {
            Stage::Pipe(transcript)
        };
        let context = self.context.clone();
        let ended = self.follow(&context, &mut stage, &mut keyboard, limit).await;
        drop(keyboard);
        match ended {
            Ok(()) | Err(End::Done | End::Closed) => Ok(Report::printed()),
            Err(End::Failed(fault)) => Err(fault),
        }
    }

    async fn follow(
        &mut self,
        context: &Context,
        stage: &mut Stage,
        keyboard: &mut Option<Keyboard>,
        limit: Option<u64>,
    ) -> Result<(), End> {
        let mut link = Some(context.connect().await?);
        if let Some(link) = &link {
            self.begin(link, stage, limit).await?;
        }
        let mut look = interval(AGAIN);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let told = tokio::select! {
                event = event(&mut link), if link.is_some() => Told::Event(event),
                keys = keys(keyboard), if keyboard.is_some() => Told::Keys(keys),
                _ = look.tick(), if link.is_none() => Told::Look,
            };
            stage.measure();
            let done = match (told, &link) {
                (Told::Event(Some(event)), Some(link)) => self.told(link, stage, &event).await,
                (Told::Event(None), _) => Err(away()),
                (Told::Keys(Some(keys)), link) => self.typed(link.as_ref(), stage, &keys).await,
                (Told::Keys(None), _) => return Ok(()),
                (Told::Look, _) => match context.connect().await {
                    Ok(found) => match self.again(&found, stage).await {
                        Ok(()) => {
                            stage.connected(true)?;
                            link = Some(found);
                            Ok(())
                        }
                        Err(End::Failed(fault)) if fault.is_absence() => Ok(()),
                        failed => failed,
                    },
                    Err(fault) if fault.is_absence() => Ok(()),
                    Err(fault) => Err(fault.into()),
                },
                (Told::Event(Some(_)), None) => Ok(()),
            };
            match done {
                Err(End::Failed(fault)) if fault.is_absence() => {
                    if link.take().is_some() {
                        stage.connected(false)?;
                    }
                }
                done => done?,
            }
        }
    }

    /// Subscribes, and shows the latest lines.
    async fn begin(
        &mut self,
        link: &Link<'_>,
        stage: &mut Stage,
        limit: Option<u64>,
    ) -> Result<(), End> {
        // Before the look, so that no line can be missed.
        link.call::<call::ConvSubscribe>(&Subscribe::default()).await?;
        let page = page(link, &self.room, self.thread, None, None, limit).await?;
        for line in &page.lines {
            self.show(stage, line)?;
        }
        stage.caught_up()?;
        self.read_so_far(link).await
    }

    /// Subscribes anew, and shows what happened meanwhile.
    async fn again(&mut self, link: &Link<'_>, stage: &mut Stage) -> Result<(), End> {
        link.call::<call::ConvSubscribe>(&Subscribe::default()).await?;
        self.read_new(link, stage).await?;
        for id in self.open.keys().copied().collect::<Vec<_>>() {
            self.settle(link, stage, id).await?;
        }
        Ok(())
    }

    async fn told(&mut self, link: &Link<'_>, stage: &mut Stage, event: &Event) -> Result<(), End> {
        let Event::Conv { conversation, id, change, deleted, .. } = event else { return Ok(()) };
        if *conversation != self.room {
            return Ok(());
        }
        if deleted.is_some() {
            stage.gone(event, &self.room)?;
            return Err(End::Done);
        }
        match (change, id) {
            (ConvChange::Line | ConvChange::Channel, _) => self.read_new(link, stage).await,
            (ConvChange::State, Some(id)) => self.settle(link, stage, *id).await,
            (ConvChange::State, None) => Ok(()),
        }
    }

    /// Shows the lines after the last one.
    async fn read_new(&mut self, link: &Link<'_>, stage: &mut Stage) -> Result<(), End> {
        let before = self.last;
        loop {
            let page =
                page(link, &self.room, self.thread, None, Some(self.last), Some(100)).await?;
            for line in &page.lines {
                self.show(stage, line)?;
            }
            if !page.more || page.lines.is_empty() {
                break;
            }
        }
        if self.last > before { self.read_so_far(link).await } else { Ok(()) }
    }

    async fn read_so_far(&self, link: &Link<'_>) -> Result<(), End> {
        if self.reads && self.last > 0 {
            mark_read(link, &self.room, self.last).await?;
        }
        Ok(())
    }

    fn show(&mut self, stage: &mut Stage, line: &ChatLine) -> Result<(), End> {
        if line.seq <= self.last {
            return Ok(());
        }
        self.last = line.seq;
        if matches!(line.state, Some(LineState::Sent | LineState::Held)) {
            self.open.insert(line.id, line.seq);
        }
        stage.line(line)
    }

    /// Looks how far a line of one's own has come.
    async fn settle(&mut self, link: &Link<'_>, stage: &mut Stage, id: Ulid) -> Result<(), End> {
        let Some(seq) = self.open.get(&id).copied() else { return Ok(()) };
        let before = seq.saturating_sub(1);
        let found = page(link, &self.room, self.thread, None, Some(before), Some(1)).await?;
        // A line that retention has taken has no fate any more.
        let Some(line) = found.lines.first().filter(|line| line.id == id) else {
            self.open.remove(&id);
            return Ok(());
        };
        if !matches!(line.state, Some(LineState::Sent | LineState::Held)) {
            self.open.remove(&id);
        }
        stage.state(line)
    }

    async fn typed(
        &mut self,
        link: Option<&Link<'_>>,
        stage: &mut Stage,
        keys: &[u8],
    ) -> Result<(), End> {
        let Stage::Terminal(live, editor) = stage else { return Ok(()) };
        let typed = editor.feed(keys);
        write(&live.typing(editor))?;
        for one in typed {
            match one {
                Typed::End => return Err(End::Done),
                Typed::Line(text) if text.trim().is_empty() => {}
                Typed::Line(text) => self.send(link, stage, text).await?,
            }
        }
        Ok(())
    }

    /// Sends a line. One that could not be sent is there again to be sent with Enter, and is sent once.
    async fn send(
        &mut self,
        link: Option<&Link<'_>>,
        stage: &mut Stage,
        text: String,
    ) -> Result<(), End> {
        let key = match self.unsent.take() {
            Some((unsent, key)) if unsent == text => key,
            _ => Printable::parse(&b64::encode(&random::bytes::<16>(&mut SystemRandom)))
                .map_err(|_| Fault::new(Code::Internal, "a random key is no key"))?,
        };
        let sent = match link {
            None => Err(Fault::new(Code::DaemonUnavailable, "the daemon is away")),
            Some(link) => {
                let line = PersonSend {
                    conversation: self.room.clone(),
                    text: Str::new(text.clone())
                        .map_err(|_| Fault::new(Code::TooLarge, "the line is too long"))?,
                    thread: self.thread,
                    client_id: Some(key.clone()),
                };
                link.call::<call::PersonSend>(&line).await
            }
        };
        let Err(fault) = sent else { return Ok(()) };
        self.unsent = Some((text.clone(), key));
        stage.not_sent(&text, &fault)?;
        if fault.is_absence() && link.is_some() { Err(fault.into()) } else { Ok(()) }
    }
}

impl Stage {
    /// The terminal may have another width by now.
    fn measure(&mut self) {
        if let Self::Terminal(live, _) = self
            && let Some((width, _)) = screen::size()
        {
            live.resized(width);
        }
    }

    fn line(&mut self, line: &ChatLine) -> Result<(), End> {
        let text = match self {
            Self::Json => event_line("line", line),
            Self::Pipe(transcript) => transcript.tabbed(line),
            Self::Terminal(live, editor) => live.line(line, editor),
        };
        write(&text)
    }

    fn state(&mut self, line: &ChatLine) -> Result<(), End> {
        match self {
            Self::Json => write(&event_line("state", line)),
            // On a pipe a line is printed once, as it was filed.
            Self::Pipe(_) => Ok(()),
            Self::Terminal(live, editor) => {
                let height = screen::size().map_or(0, |(_, height)| height);
                write(&live.state(line, u64::try_from(height).unwrap_or(0), editor))
            }
        }
    }

    fn caught_up(&mut self) -> Result<(), End> {
        match self {
            Self::Json | Self::Pipe(_) => Ok(()),
            Self::Terminal(live, editor) => {
                live.caught_up();
                write(&live.typing(editor))
            }
        }
    }

    fn connected(&mut self, back: bool) -> Result<(), End> {
        let text =
            if back { "The daemon is back." } else { "The daemon went away; waiting for it." };
        match self {
            Self::Json => write(&json_line(&json!({"change": "daemon", "connected": back}))),
            Self::Pipe(_) => {
                let _ = writeln!(std::io::stderr(), "{text}");
                Ok(())
            }
            Self::Terminal(live, editor) => {
                let style = if back { Style::Good } else { Style::Warn };
                write(&live.say(text, style, editor))
            }
        }
    }

    fn gone(&mut self, event: &Event, room: &Room) -> Result<(), End> {
        let text = format!("You are no longer in {}; its lines are deleted here.", room_name(room));
        match self {
            Self::Json => write(&json_line(&jcs::to_value(event).unwrap_or_default())),
            Self::Pipe(_) => {
                let _ = writeln!(std::io::stderr(), "{text}");
                Ok(())
            }
            Self::Terminal(live, editor) => write(&live.say(&text, Style::Warn, editor)),
        }
    }

    fn not_sent(&mut self, text: &str, fault: &Fault) -> Result<(), End> {
        let Self::Terminal(live, editor) = self else { return Ok(()) };
        let why = format!("not sent: {}: {}", fault.code, fault.message);
        let said = live.say(&why, Style::Bad, editor);
        editor.put_back(text);
        write(&(said + &live.typing(editor)))
    }
}

fn event_line(change: &str, line: &ChatLine) -> String {
    json_line(&json!({"change": change, "line": jcs::to_value(line).unwrap_or_default()}))
}

fn json_line(value: &Value) -> String {
    crate::render::json(value, false) + "\n"
}

fn write(text: &str) -> Result<(), End> {
    let mut stdout = std::io::stdout();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

fn away() -> End {
    Fault::new(Code::DaemonUnavailable, "the daemon closed the connection").into()
}

/// The next event of the connection, while there is one.
async fn event(link: &mut Option<Link<'_>>) -> Option<Box<Event>> {
    link.as_mut()?.events.next().await.map(Box::new)
}

/// What is typed next, while there is a keyboard.
async fn keys(keyboard: &mut Option<Keyboard>) -> Option<Vec<u8>> {
    keyboard.as_mut()?.next().await
}
