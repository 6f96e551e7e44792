//! The runtime in simulated time: connections that carry requests to services, and answers back, in order of time.

use crate::Nanos;
use crate::agenda::Agenda;
use crate::cluster::Cluster;
use crate::downstream::{CallId, Called, Downstream, Happens, Told};
use crate::faults::{End, FaultKind, Faults, nanos};
use crate::model::{CallModel, Model, PlacedFault};
use crate::service::{Id, Taken};
use crate::times::uniform;
use crate::watch::Watch;
use patternbench_load::{Exchange, Runtime};
use patternbench_policies::outcome::Outcome;
use patternbench_policies::stack::{Decision, Stack};
use patternbench_wire::{Answer, AnswerParser, Expected, Failure, Limits, Progress, Readiness, Target};
use rand_core::SeedableRng;
use rand_pcg::Pcg64;
use slab::Slab;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A service is gone.
    Crash(u32),
    /// A link refuses connections from now on.
    Refuse(u32),
    /// A request reaches its service.
    Arrives(Id),
    /// A worker is done with a request.
    Done(Id),
    /// A request that was never to be answered loses its connection.
    Cut(Id),
    /// An answer, or the end of the connection, reaches who asked.
    Answered(Id),
    /// The policies of a call have something to do.
    Woken(CallId),
}

/// What a connection awaits, and what has come on it.
#[derive(Default)]
struct Line {
    /// The number of the request whose answer is awaited.
    awaited: Cell<u32>,
    /// Its answer, until it is received.
    told: Cell<Option<Told>>,
}

/// Who asked.
enum Asker {
    /// A connection of the load.
    Connection { key: u64, line: Rc<Line> },
    /// An attempt of a service's call.
    Call { call: CallId, frame: u32 },
    /// A request whose call has no policies.
    Request { id: Id, kind: usize },
    /// Nobody any more.
    Nobody,
}

/// A request that is on its way, waits, is worked on, or is answered.
struct Asked {
    number: u32,
    asker: Asker,
    link: usize,
    service: usize,
    operation: usize,
    replica: usize,
    /// Whether it waits in its service, or is worked on there.
    inside: bool,
    /// Whether who asked has heard of it.
    answered: bool,
    /// The next stage of its calls, how many calls of the present one are under way, and whether one has failed.
    stage: usize,
    open: u32,
    failed: bool,
    /// Whether its connection is reset instead of being answered.
    cut: bool,
    /// What is on its way back; nothing before.
    told: Option<Told>,
}

/// Who may call whom, and what happens to the calls on their way.
struct Path {
    from: Option<usize>,
    to: usize,
    faults: Faults,
}

/// The bytes of the answers of a status, and what they say to who wants to keep none of them.
struct KnownAnswer {
    status: u16,
    text: Vec<u8>,
    read: Result<Option<Answer>, Failure>,
}

impl KnownAnswer {
    fn of(status: u16) -> Self {
        let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes();
        let mut parser = AnswerParser::new(Limits::default());
        parser.begin(Expected::default());
        let read = parser.feed(&text);
        Self { status, text, read }
    }
}

/// The number of no request.
const NOTHING: u32 = 0;
/// The link over which load comes in.
const EDGE: usize = 0;
/// The status of an answer that rests on a call which failed.
const BAD_GATEWAY: u16 = 502;
/// How long it takes at least to hear that no one listens: as on one machine. Without it, users who try again at once
/// would do so without end at one moment.
const REFUSAL: Nanos = 20_000;
/// How many events lie between two ticks of which observers hear: a fraction of a second. They hear of the first.
const WATCHED_EVERY: u64 = 500_000;
/// How often the load may be woken at one moment, before it is clear that no other will come.
const MOST_AT_ONE_MOMENT: u64 = 10_000_000;

/// Services in simulated time.
pub struct Simulated {
    now: Nanos,
    network: Nanos,
    connect: Nanos,
    services: Vec<Cluster>,
    links: Vec<Path>,
    entry: usize,
    random: Pcg64,
    agenda: Agenda<Event>,
    asked: Slab<Asked>,
    numbers: u32,
    events: Rc<Cell<u64>>,
    /// The number of events from which on observers are told of a tick again.
    watched_from: u64,
    downstream: Downstream,
    answers: Vec<KnownAnswer>,
    /// How often the load has been woken at the present moment, and how often it may be.
    woken: u64,
    most_woken: u64,
    /// The rare event that is watched for.
    rare: Option<Box<Watch>>,
}

/// A connection to the service where load comes in.
pub struct Link {
    key: u64,
    parser: AnswerParser,
    /// Whether nothing of the next answer is kept.
    is_plain: bool,
    line: Rc<Line>,
    /// When it can be used, and how often its service had crashed by then.
    opened: Nanos,
    crashes: u32,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.line.awaited.set(NOTHING);
    }
}

impl Exchange for Link {
    fn parser(&self) -> &AnswerParser {
        &self.parser
    }

    fn reason(&self) -> Option<&str> {
        None
    }
}

impl Simulated {
    /// A runtime with the services of a model.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let mut paths = Paths::of_entry(model.entry);
        let services = model.services.iter().enumerate().map(|(number, service)| {
            let faults = faults_of(model, number);
            Cluster::new(service, faults, |call| paths.called(model, number, call))
        });
        let services: Vec<Cluster> = services.collect();
        let (kinds, links) = (paths.kinds, links_with_faults(paths.links, model));
        let mut runtime = Self {
            now: 0,
            network: nanos(model.network_us),
            connect: nanos(model.connect_us),
            services,
            links,
            entry: model.entry,
            random: Pcg64::seed_from_u64(model.seed),
            agenda: Agenda::new(),
            asked: Slab::new(),
            numbers: NOTHING,
            events: Rc::default(),
            watched_from: 0,
            downstream: Downstream::default(),
            answers: Vec::new(),
            woken: 0,
            most_woken: MOST_AT_ONE_MOMENT,
            rare: None,
        };
        runtime.downstream.kinds = kinds;
        runtime.expect_faults();
        runtime
    }

    /// The same of another seed, in which a rare event is watched for.
    pub(crate) fn watching(model: &Model, seed: u64, watch: Watch) -> Self {
        let mut runtime = Self::new(model);
        runtime.random = own_stream(seed);
        runtime.rare = Some(Box::new(watch));
        runtime
    }

    /// How many events there have been, also once the runtime has been handed over.
    #[must_use]
    pub fn events(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.events)
    }

    fn expect_faults(&mut self) {
        let crashes = self.services.iter().enumerate().flat_map(|(number, service)| {
            let number = number as u32;
            service.faults.crashes().map(move |at| (at, Event::Crash(number)))
        });
        let refusals = self.links.iter().enumerate().flat_map(|(number, link)| {
            let number = number as u32;
            link.faults.refusals().map(move |at| (at, Event::Refuse(number)))
        });
        let expected: Vec<(Nanos, Event)> = crashes.chain(refusals).collect();
        for (at, event) in expected {
            self.expect(at, event);
        }
    }

    fn expect(&mut self, at: Nanos, event: Event) {
        if at < Nanos::MAX {
            self.agenda.note(at, event);
        }
    }

    fn happen(&mut self, event: Event, ready: &mut Vec<Readiness>) {
        self.events.set(self.events.get() + 1);
        match event {
            Event::Crash(service) => self.crash(service as usize),
            Event::Refuse(link) => self.reset_all(|asked| asked.link == link as usize),
            Event::Arrives(id) => self.arrive(id),
            Event::Done(id) => self.done(id),
            Event::Cut(id) => self.tell(id, Told::Reset),
            Event::Answered(id) => self.answer(id, ready),
            Event::Woken(call) => self.call(call, Happens::Woken),
        }
    }

    /// A request, unless it is over.
    fn get(&mut self, id: Id) -> Option<&mut Asked> {
        self.asked
            .get_mut(id.place as usize)
            .filter(|asked| asked.number == id.number)
    }

    /// A request that has not been answered yet.
    fn open(&mut self, id: Id) -> Option<&mut Asked> {
        self.get(id).filter(|asked| asked.told.is_none())
    }

    fn crash(&mut self, service: usize) {
        self.services[service].crash();
        for (_, asked) in self
            .asked
            .iter_mut()
            .filter(|(_, asked)| asked.service == service)
        {
            asked.inside = false;
        }
        // Whatever was on its way to the service, or in it, ends with the connection; answers are on their way.
        self.reset_all(|asked| asked.service == service);
    }

    fn reset_all(&mut self, concerned: impl Fn(&Asked) -> bool) {
        let open = self.asked.iter().filter(|(_, asked)| asked.told.is_none());
        let mut lost: Vec<Id> = open
            .filter(|(_, asked)| concerned(asked))
            .map(|(place, asked)| Id {
                place: place as u32,
                number: asked.number,
            })
            .collect();
        lost.sort_unstable_by_key(|id| id.number);
        lost.into_iter().for_each(|id| self.tell(id, Told::Reset));
    }

    /// Sends a request over a link, on a connection that can be used from a moment on.
    fn launch(&mut self, link: usize, operation: usize, asker: Asker, from: Nanos) -> Id {
        self.numbers = self.numbers.wrapping_add(1).max(NOTHING + 1);
        let number = self.numbers;
        let asked = Asked {
            number,
            asker,
            link,
            service: self.links[link].to,
            operation,
            replica: 0,
            inside: false,
            answered: false,
            stage: 0,
            open: 0,
            failed: false,
            cut: false,
            told: None,
        };
        let id = Id {
            place: self.asked.insert(asked) as u32,
            number,
        };
        if self.refuses(link) {
            self.told(id, Told::Refused, self.now + REFUSAL.max(2 * self.network));
        } else {
            self.set_out(id, link, from);
        }
        id
    }

    /// Whether no one listens at the end of a link.
    fn refuses(&self, link: usize) -> bool {
        let path = &self.links[link];
        path.faults.refuses(self.now) || self.services[path.to].faults.is_down(self.now)
    }

    /// Sends a request on its way, as the faults of its link allow.
    fn set_out(&mut self, id: Id, link: usize, from: Nanos) {
        let faults = &self.links[link].faults;
        let fate = faults.fate(self.now, &mut self.random);
        let held = from.saturating_add(fate.held);
        match fate.end {
            End::Answered | End::Cut => {
                let arrives = faults.passes(held).saturating_add(self.network);
                if let Some(asked) = self.get(id) {
                    asked.cut = fate.end == End::Cut;
                }
                self.expect(arrives, Event::Arrives(id));
            }
            End::Aborted(status) => self.tell_from(id, Told::Status(status), held),
            End::Stalled(until) => self.expect(until, Event::Cut(id)),
        }
    }

    fn arrive(&mut self, id: Id) {
        let Some(asked) = self.open(id) else {
            return; // the service crashed while it was on its way
        };
        let (service, operation) = (asked.service, asked.operation);
        let cluster = &mut self.services[service];
        if cluster.faults.is_down(self.now) {
            return self.tell(id, Told::Reset);
        }
        let (replica, taken) = cluster.arrive(id, operation, self.now, &mut self.random);
        if let Some(asked) = self.get(id) {
            asked.replica = replica;
        }
        self.take(id, taken);
    }

    fn take(&mut self, id: Id, taken: Taken) {
        let Some(asked) = self.get(id) else { return };
        asked.inside = !matches!(taken, Taken::Refused(_));
        let over = asked.answered && !asked.inside;
        match taken {
            Taken::Until(at) => self.expect(at, Event::Done(id)),
            Taken::Refused(_) if over => drop(self.asked.remove(id.place as usize)),
            Taken::Refused(status) => self.tell(id, Told::Status(status)),
            Taken::Waiting => {}
        }
    }

    /// The service's own work on a request is done; what is left are its calls.
    fn done(&mut self, id: Id) {
        let Some(asked) = self.get(id) else {
            return; // its service has crashed since
        };
        let (service, operation, told) = (asked.service, asked.operation, asked.told);
        let service = &self.services[service];
        // A worker does not notice that its caller is gone, and is free only now.
        if told.is_some() || (!service.waits && !service.stages[operation].is_empty()) {
            self.release(id);
        }
        self.advance(id);
    }

    /// Frees the worker that has a request, which takes the next one.
    fn release(&mut self, id: Id) {
        let Some(asked) = self.get(id) else { return };
        let (service, replica, answered) = (asked.service, asked.replica, asked.answered);
        if !std::mem::take(&mut asked.inside) {
            return;
        }
        if answered {
            self.asked.remove(id.place as usize);
        }
        while let Some((next, taken)) = self.services[service].next(replica, self.now, &mut self.random) {
            self.take(next, taken);
            if !matches!(taken, Taken::Refused(_)) {
                return;
            }
        }
    }

    /// Goes on with a request after its own work or after a stage of its calls.
    fn advance(&mut self, id: Id) {
        loop {
            let Some(asked) = self.open(id) else { return };
            let (service, operation, stage) = (asked.service, asked.operation, asked.stage);
            if asked.failed {
                return self.finish(id, BAD_GATEWAY);
            }
            asked.stage += 1;
            let Some(kinds) = self.services[service].stages[operation].get(stage).cloned() else {
                return self.finish(id, 200);
            };
            if self.begin_calls(id, &kinds) {
                return;
            }
        }
    }

    /// Begins calls together; whether any of them is to be waited for.
    fn begin_calls(&mut self, id: Id, kinds: &[usize]) -> bool {
        // One more than there are, so that calls which end at once don't go on with the request in between.
        if let Some(asked) = self.get(id) {
            asked.open = 1;
        }
        for kind in kinds {
            let share = self.downstream.kinds[*kind].share;
            if share >= 1.0 || uniform(&mut self.random) < share {
                self.begin_call(id, *kind);
            }
        }
        let Some(asked) = self.open(id) else { return true };
        asked.open -= 1;
        asked.open > 0
    }

    fn begin_call(&mut self, id: Id, kind: usize) {
        if let Some(asked) = self.get(id) {
            asked.open += 1;
        }
        let called = &self.downstream.kinds[kind];
        let (link, guarded) = (called.link, called.stack.is_some());
        if guarded {
            let call = self.downstream.insert(id, kind);
            self.call(call, Happens::Begins);
        } else {
            self.launch(link, 0, Asker::Request { id, kind }, self.now);
        }
    }

    /// Tells a call what has happened, and does what its policies ask for.
    fn call(&mut self, call: CallId, happens: Happens) {
        let Some(asks) = self.downstream.tell(call, happens, self.now, &mut self.random) else {
            return;
        };
        let Some(kind) = self.downstream.get(call).map(|calling| calling.kind) else {
            return;
        };
        if let Some(at) = asks.wake_at {
            self.expect(at.max(self.now), Event::Woken(call));
        }
        for decision in &asks.decisions {
            match *decision {
                Decision::Send { frame } => self.attempt(call, kind, frame),
                Decision::Cancel { frame, .. } => self.give_up(call, frame),
                Decision::Done(outcome) => self.called(call, outcome == Outcome::Good),
            }
        }
        self.downstream.keep(asks.decisions);
        while let Some((waiter, frame)) = self.downstream.next_granted(kind) {
            self.call(waiter, Happens::Granted(frame));
        }
    }

    fn attempt(&mut self, call: CallId, kind: usize, frame: u32) {
        let link = self.downstream.kinds[kind].link;
        let id = self.launch(link, 0, Asker::Call { call, frame }, self.now);
        self.downstream.sent(call, frame, id);
    }

    /// Stops waiting for an attempt, on which its service works on.
    fn give_up(&mut self, call: CallId, frame: u32) {
        if let Some(id) = self.downstream.cancelled(call, frame)
            && let Some(asked) = self.get(id)
        {
            asked.asker = Asker::Nobody;
        }
    }

    /// A call has come through its policies.
    fn called(&mut self, call: CallId, good: bool) {
        if let Some(calling) = self.downstream.remove(call) {
            self.call_ended(calling.parent, calling.kind, good);
        }
    }

    /// A call is over: the request for which it was made goes on once all calls of its stage are.
    fn call_ended(&mut self, id: Id, kind: usize, good: bool) {
        let ignored = self.downstream.kinds[kind].ignored;
        let Some(asked) = self.open(id) else { return };
        asked.failed |= !good && !ignored;
        asked.open -= 1;
        if asked.open == 0 {
            self.advance(id);
        }
    }

    fn finish(&mut self, id: Id, status: u16) {
        self.tell(id, Told::Status(status));
        self.release(id);
    }

    /// Has an answer go back to who asked.
    fn tell(&mut self, id: Id, told: Told) {
        self.tell_from(id, told, self.now);
    }

    /// Has an answer go back to who asked, from a moment on.
    fn tell_from(&mut self, id: Id, told: Told, from: Nanos) {
        let Some(asked) = self.open(id) else { return };
        let link = asked.link;
        let sets_out = match told {
            Told::Status(_) => self.links[link].faults.passes(from),
            Told::Reset | Told::Refused => from,
        };
        self.told(id, told, sets_out.saturating_add(self.network));
    }

    /// Has who asked hear of the end of a request at a moment.
    fn told(&mut self, id: Id, told: Told, at: Nanos) {
        if let Some(asked) = self.open(id) {
            asked.told = Some(if asked.cut { Told::Reset } else { told });
            self.expect(at, Event::Answered(id));
        }
    }

    fn answer(&mut self, id: Id, ready: &mut Vec<Readiness>) {
        let Some(asked) = self.get(id) else { return };
        asked.answered = true;
        let (inside, told) = (asked.inside, asked.told.unwrap_or(Told::Reset));
        let asker = std::mem::replace(&mut asked.asker, Asker::Nobody);
        if !inside {
            self.asked.remove(id.place as usize);
        }
        match asker {
            Asker::Connection { key, line } if line.awaited.get() == id.number => {
                line.told.set(Some(told));
                if let Some(watch) = self.rare.as_mut().filter(|_| told.outcome() == Outcome::Good) {
                    watch.succeeded(self.now);
                }
                ready.push(Readiness {
                    key,
                    readable: true,
                    writable: false,
                    hangup: !matches!(told, Told::Status(_)),
                });
            }
            Asker::Call { call, frame } => self.call(call, Happens::Ended(frame, told)),
            Asker::Request { id, kind } => self.call_ended(id, kind, told.outcome() == Outcome::Good),
            _ => {}
        }
    }

    /// The answers of a status.
    fn known(&mut self, status: u16) -> &KnownAnswer {
        let known = self.answers.iter().position(|known| known.status == status);
        let place = known.unwrap_or_else(|| {
            self.answers.push(KnownAnswer::of(status));
            self.answers.len() - 1
        });
        &self.answers[place]
    }

    /// Lets time pass until something is ready, or the alarm goes off.
    fn pass(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) {
        while ready.is_empty() {
            let next = self.agenda.due();
            if self.is_decided(next.map_or(alarm, |at| at.min(alarm))) {
                return;
            }
            let Some(at) = next.filter(|at| *at <= alarm) else {
                self.now = self.now.max(alarm);
                return;
            };
            self.now = self.now.max(at);
            if let Some(event) = self.agenda.take() {
                self.happen(event, ready);
            }
        }
    }

    /// Looks for the rare event up to a moment until which nothing happens; whether no more of the round is needed.
    fn is_decided(&mut self, until: Nanos) -> bool {
        let Some(watch) = &mut self.rare else {
            return false;
        };
        loop {
            let due = watch.due();
            if due <= until {
                self.now = self.now.max(due);
            }
            let looked = watch.look(self.now, until, &self.services);
            if let Some(seed) = looked.seed {
                self.random = own_stream(seed);
            }
            if looked.over || due > until {
                return looked.over;
            }
        }
    }

    /// Counts how often the load is woken at one moment.
    fn watch(&mut self, before: Nanos) -> io::Result<()> {
        self.woken = if self.now > before { 0 } else { self.woken + 1 };
        if self.woken <= self.most_woken {
            return Ok(());
        }
        let message =
            "time stands still: users who do not pause call services that take no time, without an end";
        Err(io::Error::other(message))
    }
}

/// The random numbers of the services of a seed from which the load draws, too: other ones.
fn own_stream(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed.rotate_left(29) ^ 0x5851_F42D_4C95_7F2D)
}

/// The faults that happen to a service itself.
fn faults_of(model: &Model, service: usize) -> Faults {
    let own = |placed: &&PlacedFault| placed.fault.kind.is_of_service() && placed.at == service;
    Faults(
        model
            .faults
            .iter()
            .filter(own)
            .map(|placed| placed.fault.clone())
            .collect(),
    )
}

/// Links with what happens to calls on their way; a partition acts on calls in either direction.
fn links_with_faults(mut links: Vec<Path>, model: &Model) -> Vec<Path> {
    let of_links = model
        .faults
        .iter()
        .filter(|placed| !placed.fault.kind.is_of_service());
    for placed in of_links {
        let (from, to) = (placed.from, placed.at);
        let both = placed.fault.kind == FaultKind::Partition {};
        let concerned = |link: &&mut Path| {
            (link.from, link.to) == (from, to) || (both && link.from == Some(to) && Some(link.to) == from)
        };
        for link in links.iter_mut().filter(concerned) {
            link.faults.0.push(placed.fault.clone());
        }
    }
    links
}

/// Who calls whom, as services are made.
struct Paths {
    links: Vec<Path>,
    kinds: Vec<Called>,
}

impl Paths {
    /// The link over which load comes in.
    fn of_entry(entry: usize) -> Self {
        Self {
            links: vec![Path {
                from: None,
                to: entry,
                faults: Faults::default(),
            }],
            kinds: Vec::new(),
        }
    }

    /// The number of a call that a service makes.
    fn called(&mut self, model: &Model, from: usize, call: &CallModel) -> usize {
        let to = model.number(&call.to).unwrap_or(from);
        let link = self.link(from, to);
        let guarded = !call.policies.is_empty();
        self.kinds.push(Called {
            link,
            share: call.share,
            ignored: call.ignored,
            stack: guarded.then(|| Stack::new(call.policies.clone())),
        });
        self.kinds.len() - 1
    }

    fn link(&mut self, from: usize, to: usize) -> usize {
        // Links of one service come one after another.
        let own = self.links.iter().rev().take_while(|link| link.from == Some(from));
        if let Some(before) = own.clone().position(|link| link.to == to) {
            return self.links.len() - 1 - before;
        }
        self.links.push(Path {
            from: Some(from),
            to,
            faults: Faults::default(),
        });
        self.links.len() - 1
    }
}

impl Runtime for Simulated {
    type Connection = Link;

    fn begin(&mut self) {
        self.now = 0;
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn today(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.now)
    }

    fn connect(&mut self, _: &Target, key: u64) -> Result<Link, Failure> {
        Ok(Link {
            key,
            parser: AnswerParser::new(Limits::default()),
            is_plain: true,
            line: Rc::default(),
            opened: self.now.saturating_add(self.connect),
            crashes: self.services[self.entry].crashes,
        })
    }

    fn send(&mut self, link: &mut Link, request: &[u8], expected: Expected) -> Result<(), Failure> {
        let entry = &self.services[self.entry];
        if link.crashes != entry.crashes {
            // The connection went with the service, and a new one takes its time.
            (link.crashes, link.opened) = (entry.crashes, self.now.saturating_add(self.connect));
        }
        let operation = entry.operation(request);
        link.parser.begin(expected);
        link.is_plain = expected == Expected::default();
        link.line.told.set(None);
        let asker = Asker::Connection {
            key: link.key,
            line: Rc::clone(&link.line),
        };
        let id = self.launch(EDGE, operation, asker, self.now.max(link.opened));
        link.line.awaited.set(id.number);
        Ok(())
    }

    fn receive(&mut self, link: &mut Link, _: Readiness) -> Result<Progress, Failure> {
        match link.line.told.take() {
            Some(Told::Status(status)) => {
                link.line.awaited.set(NOTHING);
                let known = self.known(status);
                let read = if link.is_plain {
                    known.read
                } else {
                    link.parser.feed(&known.text)
                };
                Ok(read?.map_or(Progress::Waiting, Progress::Done))
            }
            Some(Told::Reset) => Err(Failure::Reset),
            Some(Told::Refused) => Err(Failure::Refused),
            None => Ok(Progress::Waiting),
        }
    }

    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let before = self.now;
        self.pass(alarm, ready);
        self.watch(before)
    }

    fn reseeded(&mut self) -> Option<u64> {
        self.rare.as_mut()?.take_fresh()
    }

    fn is_watched(&mut self) -> bool {
        let watched = self.events.get() >= self.watched_from;
        if watched {
            self.watched_from = self.events.get() + WATCHED_EVERY;
        }
        watched
    }

    fn lasts(&self) -> bool {
        self.rare.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patternbench_attemptlog::{AttemptLog, Settings};
    use patternbench_load::job::Job;
    use patternbench_load::run_in;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    /// What becomes of a user who does not pause, where nothing takes any time.
    fn run_without_a_pause(model: &str) -> Result<(), String> {
        let mut runtime = Simulated::new(&Model::parse(model).expect("a model"));
        runtime.most_woken = 1_000;
        let job = r#"{"contract": 1, "seed": 1, "targets": [{"url": "http://127.0.0.1:1"}], "priority": false,
            "duration_us": 1000000, "groups": [{"workload": {"closed": {"users": 2}},
            "journeys": [{"steps": [{"timeout_us": 1000000}]}]}]}"#;
        let job = Job::parse(job, Path::new("/nowhere")).expect("a job");
        let settings = Settings {
            file: None,
            groups: vec![String::new()],
            steps: job.step_names.clone(),
            journeys: false,
            observer: None,
        };
        let log = AttemptLog::start(settings).expect("a log");
        let done = run_in(runtime, job, log, &AtomicBool::new(false));
        done.map(|_| ()).map_err(|error| error.0)
    }

    #[test]
    fn observers_are_told_of_the_first_tick_and_then_of_one_in_so_many_events() {
        let alike = r#"{"model": 1, "service": {"workers": 1, "times": {"fixed_us": 1}}}"#;
        let mut runtime = Simulated::new(&Model::parse(alike).expect("a model"));
        let mut watched_at = |events| {
            runtime.events.set(events);
            runtime.is_watched()
        };
        let found = [0, 1, WATCHED_EVERY - 1, WATCHED_EVERY, WATCHED_EVERY + 1].map(&mut watched_at);
        assert_eq!(found, [true, false, false, true, false]);
    }

    #[test]
    fn time_that_stands_still_ends_a_round_with_the_reason() {
        let alike = |us: u32| {
            format!(r#"{{"model": 1, "service": {{"workers": 9, "times": {{"fixed_us": {us}}}}}}}"#)
        };
        let found = run_without_a_pause(&alike(0));
        assert!(found.is_err_and(|text| text.contains("time stands still")));
        assert_eq!(run_without_a_pause(&alike(1_000)), Ok(()));
    }

    #[test]
    fn users_who_do_not_pause_are_refused_only_so_often_by_a_service_that_is_down() {
        let down = r#"{"model": 1, "service": {"workers": 9, "times": {"fixed_us": 1000}},
            "faults": [{"kind": {"crash": {}}, "from_us": 0, "to_us": 500000}]}"#;
        assert_eq!(run_without_a_pause(down), Ok(()));
    }
}
