//! The world: connections that carry requests to the service and answers back, in order of their times.

use crate::Nanos;
use crate::faults::{Fate, Faults, nanos};
use crate::model::Model;
use crate::service::{Number, Service, Taken};
use patternbench_load::{Exchange, World};
use patternbench_wire::{AnswerParser, Expected, Failure, Limits, Progress, Readiness, Target};
use rand_core::SeedableRng;
use rand_pcg::Pcg64;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// What happens next; in the order of times, and then of what was planned first.
type Planned = Reverse<(Nanos, u64, Event)>;

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The service is gone.
    Crash,
    /// A request reaches the service.
    Arrives(Number),
    /// A worker is done with a request, unless the service has crashed since that many crashes.
    Done(Number, u64),
    /// An answer, or the end of the connection, reaches who asked.
    Answered(Number),
}

/// The news for a connection: a status, or that it was reset.
#[derive(Debug, Clone, Copy)]
enum Told {
    Status(u16),
    Reset,
}

/// A request that is on its way, waits, is worked on, or is answered.
struct Asked {
    key: u64,
    /// The request whose answer the connection awaits; another one once nobody does.
    awaited: Rc<Cell<Number>>,
    /// What is on its way back; nothing before.
    told: Option<Told>,
}

const NOTHING: Number = Number::MAX;

/// A service in simulated time.
pub struct Simulated {
    now: Nanos,
    network: Nanos,
    service: Service,
    faults: Faults,
    random: Pcg64,
    planned: BinaryHeap<Planned>,
    asked: HashMap<Number, Asked>,
    numbers: Number,
    plans: u64,
    crashes: u64,
    answers: HashMap<u16, Vec<u8>>,
    /// The news for each connection that is reported, with its request.
    news: HashMap<u64, (Number, Told)>,
}

/// A connection to the simulated service.
pub struct Link {
    key: u64,
    parser: AnswerParser,
    awaited: Rc<Cell<Number>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.awaited.set(NOTHING);
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
    /// A world with one service.
    #[must_use]
    pub fn new(model: &Model) -> Self {
        let mut world = Self {
            now: 0,
            network: nanos(model.network_us),
            service: Service::new(model.service.clone()),
            faults: Faults(model.faults.clone()),
            random: Pcg64::seed_from_u64(model.seed),
            planned: BinaryHeap::new(),
            asked: HashMap::new(),
            numbers: 0,
            plans: 0,
            crashes: 0,
            answers: HashMap::new(),
            news: HashMap::new(),
        };
        let crashes: Vec<Nanos> = world.faults.crashes().collect();
        for at in crashes {
            world.expect(at, Event::Crash);
        }
        world
    }

    fn expect(&mut self, at: Nanos, event: Event) {
        if at < Nanos::MAX {
            self.planned.push(Reverse((at, self.plans, event)));
            self.plans += 1;
        }
    }

    fn happen(&mut self, event: Event, ready: &mut Vec<Readiness>) {
        match event {
            Event::Crash => self.crash(),
            Event::Arrives(number) => self.arrive(number),
            Event::Done(number, crashes) if crashes == self.crashes => self.done(number),
            Event::Done(..) => {}
            Event::Answered(number) => self.answer(number, ready),
        }
    }

    fn crash(&mut self) {
        self.crashes += 1;
        self.service.crash();
        // Whatever was on its way to the service, or in it, ends with the connection; answers are on their way.
        let open = self.asked.iter().filter(|(_, asked)| asked.told.is_none());
        let mut lost: Vec<Number> = open.map(|(number, _)| *number).collect();
        lost.sort_unstable();
        for number in lost {
            self.tell(number, Told::Reset);
        }
    }

    fn arrive(&mut self, number: Number) {
        if self.asked.get(&number).is_none_or(|asked| asked.told.is_some()) {
            return; // the service crashed while it was on its way
        }
        if self.faults.is_down(self.now) {
            return self.tell(number, Told::Reset);
        }
        let taken = self
            .service
            .arrive(number, self.now, &self.faults, &mut self.random);
        self.take(number, taken);
    }

    fn take(&mut self, number: Number, taken: Taken) {
        match taken {
            Taken::Until(at) => self.expect(at, Event::Done(number, self.crashes)),
            Taken::Refused(status) => self.tell(number, Told::Status(status)),
            Taken::Waiting => {}
        }
    }

    fn done(&mut self, number: Number) {
        self.tell(number, Told::Status(200));
        while let Some((next, taken)) = self.service.next(self.now, &self.faults, &mut self.random) {
            self.take(next, taken);
            if !matches!(taken, Taken::Refused(_)) {
                return;
            }
        }
    }

    /// Has an answer go back to who asked.
    fn tell(&mut self, number: Number, told: Told) {
        if let Some(asked) = self.asked.get_mut(&number) {
            asked.told = Some(told);
            self.expect(self.now + self.network, Event::Answered(number));
        }
    }

    fn answer(&mut self, number: Number, ready: &mut Vec<Readiness>) {
        let Some(asked) = self.asked.remove(&number) else {
            return;
        };
        let told = asked.told.unwrap_or(Told::Reset);
        if asked.awaited.get() == number {
            self.news.insert(asked.key, (number, told));
            ready.push(Readiness {
                key: asked.key,
                readable: true,
                writable: false,
                hangup: matches!(told, Told::Reset),
            });
        }
    }

    fn text(&mut self, status: u16) -> &[u8] {
        self.answers
            .entry(status)
            .or_insert_with(|| format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").into_bytes())
    }
}

impl World for Simulated {
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
        if self.faults.is_down(self.now) {
            return Err(Failure::Refused);
        }
        Ok(Link {
            key,
            parser: AnswerParser::new(Limits::default()),
            awaited: Rc::new(Cell::new(NOTHING)),
        })
    }

    fn send(&mut self, link: &mut Link, _: &[u8], expected: Expected) -> Result<(), Failure> {
        if self.faults.is_down(self.now) {
            return Err(Failure::Reset);
        }
        let number = self.numbers;
        self.numbers += 1;
        link.parser.begin(expected);
        link.awaited.set(number);
        let asked = Asked {
            key: link.key,
            awaited: Rc::clone(&link.awaited),
            told: None,
        };
        self.asked.insert(number, asked);
        match self.faults.fate(self.now, &mut self.random) {
            Fate::Passed(held) => self.expect(self.now + held + self.network, Event::Arrives(number)),
            Fate::Answered(status) => self.tell(number, Told::Status(status)),
        }
        Ok(())
    }

    fn receive(&mut self, link: &mut Link, _: Readiness) -> Result<Progress, Failure> {
        match self
            .news
            .remove(&link.key)
            .filter(|(number, _)| *number == link.awaited.get())
        {
            Some((_, Told::Status(status))) => {
                link.awaited.set(NOTHING);
                let text = self.text(status);
                Ok(link.parser.feed(text)?.map_or(Progress::Waiting, Progress::Done))
            }
            Some((_, Told::Reset)) => Err(Failure::Reset),
            None => Ok(Progress::Waiting),
        }
    }

    fn sleep(&mut self, alarm: Nanos, ready: &mut Vec<Readiness>) -> std::io::Result<()> {
        while ready.is_empty() {
            let next = self.planned.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = next.filter(|at| *at <= alarm) else {
                self.now = self.now.max(alarm);
                return Ok(());
            };
            self.now = self.now.max(at);
            if let Some(Reverse((_, _, event))) = self.planned.pop() {
                self.happen(event, ready);
            }
        }
        Ok(())
    }
}
