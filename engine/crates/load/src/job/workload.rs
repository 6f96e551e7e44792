//! When calls begin: closed and open workloads.

use super::context::Context;
use super::fields::{Node, all, positive_time, time};
use crate::units::Nanos;
use patternbench_schedule::{Curve, Part, Schedule, Spacing, Trace};

/// How many users a group may have.
const MOST_USERS: u64 = 1_000_000;

/// When the calls of a group begin.
pub enum Workload {
    /// Users who wait for their answers.
    Closed(Closed),
    /// Arrivals that wait for no one.
    Open(Open),
}

/// A fixed number of virtual users.
pub struct Closed {
    /// How many.
    pub users: u32,
    /// The pause between an answer and the next journey.
    pub think: Nanos,
    /// A constant rate per user instead of a pause.
    pub pace: Option<Pace>,
    /// The time over which the users begin, evenly.
    pub start_over: Nanos,
    /// What ends the load before the time does, whichever comes first.
    pub until: Vec<Until>,
}

/// A constant rate per user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From one journey's intended start to the next, or from one request's to the next.
    pub every: Nanos,
    /// What happens when an answer took longer than that.
    pub late: Late,
    /// What waits for its turn.
    pub per: Turn,
}

/// What of a paced user waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A journey; its steps follow one another at once.
    Journey,
    /// Every request, further attempts of a step that is repeated until it is as expected included.
    Request,
}

/// What a paced user does who is late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// Keeps the schedule: what is overdue is sent at once, and its wait is counted.
    CatchUp,
    /// Moves the schedule: the next pace begins with the late call, as JMeter's constant throughput timer does.
    Shift,
}

/// What ends a closed workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// This many calls of all users together.
    Calls(u64),
    /// This many calls per user.
    CallsPerUser(u64),
    /// This many successful calls per user.
    SuccessesPerUser(u64),
    /// This many journeys per user.
    JourneysPerUser(u64),
    /// This many attempts per user of calls after the warm-up, checked before each call.
    AttemptsPerUser(u64),
}

/// Arrivals on a schedule.
pub struct Open {
    /// When they are due.
    pub arrivals: Arrivals,
    /// As whom arrivals come, in turn; a trace may say so itself.
    pub users: u32,
    /// How many may be in flight; what exceeds it is dropped.
    pub max_in_flight: u32,
    /// How many arrivals there are at most.
    pub calls: u64,
}

/// When arrivals are due.
pub enum Arrivals {
    /// As a curve says.
    Schedule(Schedule),
    /// As a file says; for every arrival the number of the journey to take, or none for any.
    Trace(Trace, Vec<Option<u16>>),
}

impl Workload {
    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        match self {
            Self::Closed(closed) => !closed.until.is_empty(),
            Self::Open(Open {
                arrivals: Arrivals::Trace(..),
                ..
            }) => true,
            Self::Open(open) => open.calls < u64::MAX,
        }
    }

    /// Whether every request of its users waits for its turn.
    pub fn turns(&self) -> bool {
        matches!(self, Self::Closed(Closed { pace: Some(pace), .. }) if pace.per == Turn::Request)
    }

    /// How many connections a part of it may need at once.
    pub fn connections(&self, part: Part) -> u64 {
        part.share(match self {
            Self::Closed(closed) => u64::from(closed.users),
            Self::Open(open) => u64::from(open.max_in_flight),
        })
    }
}

pub fn workload(node: &Node<'_>, context: &mut Context<'_>) -> Option<Workload> {
    match node.choice(&["closed", "open"])? {
        ("closed", node) => closed(&node).map(Workload::Closed),
        (_, node) => open(&node, context).map(Workload::Open),
    }
}

fn closed(node: &Node<'_>) -> Option<Closed> {
    let object = node.object(&[
        "users",
        "think_us",
        "pace",
        "start_over_us",
        "until",
        "attempts_per_user",
    ])?;
    let users = object.need("users", |node| node.whole(1..=MOST_USERS));
    let think = object.or("think_us", 0, time);
    let pace_node = object.get("pace");
    let pace = object.maybe("pace", pace);
    let start_over = object.or("start_over_us", 0, time);
    let until = object.maybe("until", until);
    let attempts = object.maybe("attempts_per_user", |node| node.whole(1..=u64::MAX));
    let (think, pace) = (think?, pace?);
    if let Some(node) = pace_node.filter(|_| think > 0) {
        node.wrong(
            "either pace or think_us",
            "a user can't both pause and keep a pace",
        );
    }
    Some(Closed {
        users: u32::try_from(users?).ok()?,
        think,
        pace,
        start_over: start_over?,
        until: until?
            .into_iter()
            .chain(attempts?.map(Until::AttemptsPerUser))
            .collect(),
    })
}

fn pace(node: &Node<'_>) -> Option<Pace> {
    let object = node.object(&["every_us", "late", "per"])?;
    let every = object.need("every_us", positive_time);
    let known = [("catch_up", Late::CatchUp), ("shift", Late::Shift)];
    let late = object.or("late", Late::CatchUp, |node| node.one_of(&known));
    let known = [("journey", Turn::Journey), ("request", Turn::Request)];
    let per = object.or("per", Turn::Journey, |node| node.one_of(&known));
    Some(Pace {
        every: every?,
        late: late?,
        per: per?,
    })
}

fn until(node: &Node<'_>) -> Option<Until> {
    let (kind, node) = node.choice(&[
        "calls",
        "calls_per_user",
        "successes_per_user",
        "journeys_per_user",
    ])?;
    let count = node.whole(1..=u64::MAX)?;
    Some(match kind {
        "calls" => Until::Calls(count),
        "calls_per_user" => Until::CallsPerUser(count),
        "journeys_per_user" => Until::JourneysPerUser(count),
        _ => Until::SuccessesPerUser(count),
    })
}

fn open(node: &Node<'_>, context: &mut Context<'_>) -> Option<Open> {
    let object = node.object(&["schedule", "spacing", "users", "max_in_flight", "calls"])?;
    let known = [("regular", Spacing::Regular), ("poisson", Spacing::Poisson)];
    let spacing = object.or("spacing", Spacing::Regular, |node| node.one_of(&known));
    let users = object.or("users", 1, |node| node.whole(1..=MOST_USERS));
    let max_in_flight = object.or("max_in_flight", 1000, |node| node.whole(1..=MOST_USERS));
    let calls = object.or("calls", u64::MAX, |node| node.whole(1..=u64::MAX));
    let arrivals = object.need("schedule", |node| arrivals(node, spacing?, context));
    let arrivals = arrivals?;
    let users = match &arrivals {
        Arrivals::Trace(trace, _) => u64::from(users_of(trace)).max(users?),
        Arrivals::Schedule(_) => users?,
    };
    let (users, max_in_flight) = (u32::try_from(users).ok()?, u32::try_from(max_in_flight?).ok()?);
    Some(Open {
        arrivals,
        users,
        max_in_flight,
        calls: calls?,
    })
}

fn users_of(trace: &Trace) -> u32 {
    trace
        .arrivals
        .iter()
        .filter_map(|arrival| arrival.user)
        .max()
        .map_or(1, |most| most.saturating_add(1))
}

fn arrivals(node: &Node<'_>, spacing: Spacing, context: &mut Context<'_>) -> Option<Arrivals> {
    let known = ["constant", "ramp", "steps", "spike", "sine", "trace"];
    let (kind, inner) = node.choice(&known)?;
    if kind == "trace" {
        return trace(&inner, context);
    }
    let curve = match kind {
        "constant" => constant(&inner),
        "ramp" => ramp(&inner),
        "steps" => steps(&inner),
        "spike" => spike(&inner),
        _ => sine(&inner),
    };
    match curve? {
        Ok(curve) => Some(Arrivals::Schedule(Schedule::new(curve, spacing))),
        Err(problems) => {
            inner.adopt(problems);
            None
        }
    }
}

type Made = Option<Result<Curve, Vec<patternbench_schedule::Problem>>>;

/// A time in microseconds as the seconds that curves want; what it may be is checked by the curve.
fn seconds(node: &Node<'_>) -> Option<f64> {
    node.number().map(|us| us / 1e6)
}

fn constant(node: &Node<'_>) -> Made {
    let object = node.object(&["rate"])?;
    let rate = object.need("rate", |node| node.number());
    Some(Curve::constant(rate?))
}

fn ramp(node: &Node<'_>) -> Made {
    let object = node.object(&["from", "to", "over_us"])?;
    let from = object.need("from", |node| node.number());
    let to = object.need("to", |node| node.number());
    let over = object.need("over_us", seconds);
    Some(Curve::ramp(from?, to?, over?))
}

fn steps(node: &Node<'_>) -> Made {
    let level = |node: &Node<'_>| {
        let object = node.object(&["rate", "for_us"])?;
        let rate = object.need("rate", |node| node.number());
        let lasting = object.need("for_us", seconds);
        Some((rate?, lasting?))
    };
    let levels = all(node.list()?.iter().map(level))?;
    Some(Curve::steps(&levels))
}

fn spike(node: &Node<'_>) -> Made {
    let object = node.object(&["base", "peak", "at_us", "for_us"])?;
    let base = object.need("base", |node| node.number());
    let peak = object.need("peak", |node| node.number());
    let at = object.need("at_us", seconds);
    let lasting = object.need("for_us", seconds);
    Some(Curve::spike(base?, peak?, at?, lasting?))
}

fn sine(node: &Node<'_>) -> Made {
    let object = node.object(&["mean", "amplitude", "period_us"])?;
    let mean = object.need("mean", |node| node.number());
    let amplitude = object.need("amplitude", |node| node.number());
    let period = object.need("period_us", seconds);
    Some(Curve::sine(mean?, amplitude?, period?))
}

fn trace(node: &Node<'_>, context: &mut Context<'_>) -> Option<Arrivals> {
    let object = node.object(&["file"])?;
    let file = object.require("file")?;
    let text = context.read(&file)?;
    let trace = match Trace::parse(&text) {
        Ok(trace) => trace,
        Err(problems) => {
            file.adopt(problems);
            return None;
        }
    };
    if u64::from(users_of(&trace)) > MOST_USERS {
        file.wrong(
            format!("users from 0 to {}", MOST_USERS - 1),
            "a user of the trace is beyond that",
        );
        return None;
    }
    let steps: Vec<Option<u16>> = trace
        .steps
        .iter()
        .map(|name| known_step(name, &file, context))
        .collect();
    let journeys = trace.arrivals.iter().map(|arrival| {
        arrival
            .step
            .and_then(|step| steps.get(usize::from(step)).copied().flatten())
    });
    let journeys = journeys.collect();
    Some(Arrivals::Trace(trace, journeys))
}

/// The number of a step that a trace names.
fn known_step(name: &str, file: &Node<'_>, context: &Context<'_>) -> Option<u16> {
    let found = context.step_names.iter().position(|known| known == name);
    if found.is_none() {
        file.wrong(
            context.step_names.join(", "),
            format!("the trace sends {name}, which is not a step of a journey"),
        );
    }
    found.and_then(|index| u16::try_from(index).ok())
}
