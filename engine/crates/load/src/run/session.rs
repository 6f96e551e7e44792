//! Sessions: a virtual user, or an arrival in flight, on its way through a journey.

use super::guarded::Guarded;
use super::split::Split;
use super::spread::Spread;
use super::wires::Key;
use crate::jar::Jar;
use crate::job::{Closed, Each, Feeder, Group, Job, Journey, Step, Until, Workload};
use crate::template::elements;
use crate::units::Nanos;
use patternbench_schedule::Part;
use rand_core::Rng;
use rand_pcg::Pcg64;

/// What a group has come to.
pub struct GroupState {
    pub in_flight: u32,
    journeys: Spread,
    /// Calls that all its users together may still begin after the warm-up.
    pub calls_left: u64,
    /// How many calls each user of an open workload has made.
    calls_of_user: Vec<u32>,
    /// Whether its users have something to remember.
    pub scripted: bool,
    /// The feeder's next line.
    next_line: usize,
    /// What else its journeys are, where others make a part of the load.
    pub split: Option<Split>,
}

impl GroupState {
    /// `traced` makes its users remember all they do, so that it can be reported.
    pub fn new(group: &Group, traced: bool, part: Part, split: Option<Split>) -> Self {
        let users = match &group.workload {
            Workload::Open(open) => open.users as usize,
            Workload::Closed(_) => 0,
        };
        Self {
            in_flight: 0,
            journeys: Spread::new(group.journeys.iter().map(|journey| journey.weight)),
            calls_left: part.share(calls_of_all(&group.workload)),
            calls_of_user: vec![0; users],
            scripted: traced
                || !group.feeder.lines.is_empty()
                || group.journeys.iter().any(Journey::is_scripted),
            next_line: 0,
            split,
        }
    }

    /// The next journey, or the one of a turn where the load is split.
    pub fn next_journey(&mut self, turn: u64) -> usize {
        match &mut self.split {
            Some(split) => split.journey(turn),
            None => self.journeys.next(),
        }
    }

    /// The number of the next call of a user of an open workload.
    pub fn next_call(&mut self, user: u32) -> u32 {
        let calls = &mut self.calls_of_user[user as usize];
        *calls = calls.wrapping_add(1);
        *calls - 1
    }

    /// The line of the feeder for the next journey, or for the one of a turn where the load is split.
    pub fn feed(&mut self, feeder: &Feeder, random: &mut Pcg64, turn: u64) -> usize {
        if let Some(split) = &self.split {
            return split.line(feeder, turn);
        }
        let lines = feeder.lines.len().max(1);
        self.next_line = (self.next_line + 1) % lines;
        if feeder.random {
            (random.next_u64() % lines as u64) as usize
        } else {
            (self.next_line + lines - 1) % lines
        }
    }
}

/// How many calls all users of a group make together, where that ends it.
fn calls_of_all(workload: &Workload) -> u64 {
    let Workload::Closed(Closed { until, .. }) = workload else {
        return u64::MAX;
    };
    let calls = |until: &Until| match until {
        Until::Calls(calls) => Some(*calls),
        _ => None,
    };
    until.iter().find_map(calls).unwrap_or(u64::MAX)
}

/// A virtual user, or an arrival in flight.
pub struct Session {
    pub group: usize,
    pub user: u32,
    pub epoch: u32,
    pub is_user: bool,
    pub journey: usize,
    pub step: usize,
    /// The number of the present call.
    pub call: u32,
    /// Intended start of the present call.
    pub intended: Nanos,
    /// Calls and good calls after the warm-up.
    pub calls: u64,
    pub successes: u64,
    /// Attempts of its calls after the warm-up.
    pub sent: u64,
    /// The latest turn that was taken, for users that keep a pace.
    pub paced: Nanos,
    /// Whether a journey begins with the next call, and whether it began after the warm-up.
    pub fresh: bool,
    pub measured: bool,
    /// The number of the present journey in the round.
    pub number: u32,
    /// How many items of the present call have failed, as its latest answer tells.
    pub failed_items: u32,
    /// Journeys that were begun.
    pub begun: u64,
    /// Journeys that ended, of those that began after the warm-up.
    pub journeys: u64,
    /// Whether the present call asks again and again.
    pub again: bool,
    pub wire: Option<Key>,
    /// Attempts of the present call.
    pub attempts: u16,
    /// How its calls go through the policies, when there are any.
    pub guarded: Option<Box<Guarded>>,
    /// What it remembers, when its journey has anything to remember.
    pub memory: Option<Box<Memory>>,
}

/// What a user remembers on its way.
#[derive(Default)]
pub struct Memory {
    pub captured: Vec<String>,
    pub jar: Jar,
    pub line: usize,
    /// The values that the present step is taken for, and which of them is next.
    pub items: Vec<String>,
    pub item: usize,
}

impl Memory {
    /// The value that the present call is for.
    pub fn present(&self) -> &str {
        self.items.get(self.item).map_or("", String::as_str)
    }
}

impl Session {
    pub fn arrival(group: usize, user: u32, journey: usize) -> Self {
        Self {
            group,
            user,
            epoch: 0,
            is_user: false,
            journey,
            step: 0,
            call: 0,
            intended: 0,
            calls: 0,
            successes: 0,
            sent: 0,
            paced: 0,
            fresh: true,
            measured: false,
            number: 0,
            failed_items: 0,
            begun: 0,
            journeys: 0,
            again: false,
            wire: None,
            attempts: 0,
            guarded: None,
            memory: None,
        }
    }

    pub fn user(group: usize, user: u32) -> Self {
        Self {
            is_user: true,
            ..Self::arrival(group, user, 0)
        }
    }

    /// Whether what it sends next, or has sent, is the poll of a step.
    pub fn polls(&self, step: &Step) -> bool {
        self.again && step.poll.is_some()
    }
}

pub fn group_of<'j>(job: &'j Job, session: &Session) -> &'j Group {
    &job.groups[session.group]
}

pub fn journey_of<'j>(job: &'j Job, session: &Session) -> &'j Journey {
    &group_of(job, session).journeys[session.journey]
}

pub fn step_of<'j>(job: &'j Job, session: &Session) -> &'j Step {
    let journey = journey_of(job, session);
    // A session is before or in a step of its journey until it ends.
    &journey.steps[journey.order[session.step]]
}

/// Whether a session's journey ends with its present call.
pub fn ends_journey(job: &Job, session: &Session, success: bool) -> bool {
    let journey = journey_of(job, session);
    !success && journey.stop_on_failure || !has_next(journey, session)
}

fn has_next(journey: &Journey, session: &Session) -> bool {
    let memory = session.memory.as_deref();
    let comes = |step: &Step| step.each.is_none_or(|each| !values(memory, each).is_empty());
    let mut later = (session.step + 1..).map_while(|place| journey.step(place));
    memory.is_some_and(|memory| memory.item + 1 < memory.items.len()) || later.any(comes)
}

/// Moves a session to the next call of its journey; false where there is none.
pub fn advance(journey: &Journey, session: &mut Session) -> bool {
    if let Some(memory) = session.memory.as_deref_mut() {
        memory.item += 1;
        if memory.item < memory.items.len() {
            return true;
        }
        memory.items.clear();
    }
    loop {
        session.step += 1;
        match journey.step(session.step) {
            None => return false,
            Some(Step { each: None, .. }) => return true,
            Some(Step { each: Some(each), .. }) => {
                let items = values(session.memory.as_deref(), *each);
                if let Some(memory) = session.memory.as_deref_mut().filter(|_| !items.is_empty()) {
                    (memory.items, memory.item) = (items, 0);
                    return true;
                }
            }
        }
    }
}

/// The values that a step is taken for.
fn values(memory: Option<&Memory>, each: Each) -> Vec<String> {
    memory.map_or_else(Vec::new, |memory| {
        elements(&memory.captured[each.list], each.at_most)
    })
}

/// What decides which of several values the present call of a session picks.
pub fn draw(job: &Job, session: &Session) -> u64 {
    job.seed.rotate_left(17) ^ (u64::from(session.user) << 32 | u64::from(session.call))
}

pub fn microseconds(nanos: Nanos) -> i64 {
    (nanos / 1000) as i64
}
