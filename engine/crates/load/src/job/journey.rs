//! What users do: journeys of steps.

use super::answer::{Capture, Expectation, Items, captures, expectation, items};
use super::context::Context;
use super::feeder::Feeder;
use super::fields::{Node, Object, all, few, positive_time, time};
use super::request::{StepRequest, request};
use crate::template::{Kind, Names, Typed, captured_list};
use crate::units::Nanos;
use patternbench_wire::Expected;

/// How often a step may be repeated.
const MOST_REPEATS: u64 = 10_000;

/// How many attempts a call may take that is repeated until it is as expected.
const MOST_ATTEMPTS: u64 = 10_000;
/// The pause before such an attempt, in nanoseconds, unless a step says otherwise.
const REPEAT_EVERY: Nanos = 100_000_000;

/// How many values a step may be taken for.
const MOST_VALUES: u64 = 10_000;

/// How many redirects may be followed.
const MOST_REDIRECTS: u64 = 20;

/// A list of steps that a user goes through, one after another.
pub struct Journey {
    /// How often it is taken, against the others of its group.
    pub weight: u32,
    /// Its steps, at least one.
    pub steps: Vec<Step>,
    /// The order of the steps, each as often as it is repeated.
    pub order: Vec<usize>,
    /// How many values its steps capture.
    pub captured: usize,
    /// Whether the user keeps cookies.
    pub cookies: bool,
    /// Whether the rest of the journey is left out after a call that failed.
    pub stop_on_failure: bool,
}

/// One call of a journey.
pub struct Step {
    /// Its name in the records, by number.
    pub name: u16,
    /// What is sent.
    pub request: StepRequest,
    /// How many redirects of an attempt are followed.
    pub max_redirects: u8,
    /// How long an attempt may take.
    pub timeout: Nanos,
    /// What counts as success.
    pub expect: Expectation,
    /// What later steps want to know of its answer.
    pub captures: Vec<Capture>,
    /// What is asked again and again afterwards, as part of the same call.
    pub poll: Option<Poll>,
    /// Whether the call continues with the same request until its answer is as expected.
    pub until_expected: Option<Repeat>,
    /// The captured list for each of whose values it is taken; once where there is none.
    pub each: Option<Each>,
    /// The items that it carries, if the study says so.
    pub items: Option<Items>,
    /// The pause before it, after the step before.
    pub pause: Nanos,
    /// What is to be kept of its answer.
    pub expected: Expected,
}

/// Asking until an answer is as wanted: the call ends with it.
pub struct Poll {
    /// What is sent.
    pub request: StepRequest,
    /// The pause between an answer and the next request.
    pub every: Nanos,
    /// How long after the call's intended start it is given up.
    pub limit: Nanos,
    /// The answers that may come: with another the call has failed.
    pub expect: Expectation,
    /// The answer that is waited for.
    pub until: Expectation,
    /// What is to be kept of its answers.
    pub expected: Expected,
}

/// Sending a step's request until its answer is as expected: the call ends with that answer.
#[derive(Debug, Clone, Copy)]
pub struct Repeat {
    /// The pause after an attempt, for users whose requests do not wait for their turn; none sends the next one at
    /// once.
    pub every: Nanos,
    /// How long after the call's intended start it is given up.
    pub limit: Nanos,
    /// How many attempts there are at most.
    pub attempts: u16,
}

/// A captured list, by its place among the captured values, and how many of its values count.
#[derive(Debug, Clone, Copy)]
pub struct Each {
    /// The place.
    pub list: usize,
    /// At most this many.
    pub at_most: usize,
}

impl Journey {
    /// The step at a place of the order.
    pub fn step(&self, place: usize) -> Option<&Step> {
        self.order.get(place).map(|index| &self.steps[*index])
    }

    /// How many calls it takes at most.
    pub fn longest(&self) -> u64 {
        let calls = |step: &Step| step.each.map_or(1, |each| each.at_most as u64);
        self.order.iter().map(|index| calls(&self.steps[*index])).sum()
    }

    /// Whether users have something to remember on it.
    pub fn is_scripted(&self) -> bool {
        self.cookies
            || self.captured > 0
            || self
                .steps
                .iter()
                .any(|step| step.poll.is_some() || step.max_redirects > 0 || step.request.is_templated())
    }
}

pub fn journeys(node: &Node<'_>, context: &mut Context<'_>, feeder: &Feeder) -> Option<Vec<Journey>> {
    let nodes = few(node)?;
    let journeys = all(nodes.iter().map(|node| journey(node, context, feeder)))?;
    if journeys.iter().all(|journey| journey.weight == 0) {
        node.wrong(
            "at least one journey with a weight above zero",
            "no journey is ever run",
        );
        return None;
    }
    Some(journeys)
}

fn journey(node: &Node<'_>, context: &mut Context<'_>, feeder: &Feeder) -> Option<Journey> {
    let object = node.object(&["weight", "steps", "cookies", "on_failure"])?;
    let weight = object.or("weight", 1, |node| node.whole(0..=1_000_000));
    let cookies = object.or("cookies", false, Node::flag);
    let known = [("stop", true), ("continue", false)];
    let stop_on_failure = object.or("on_failure", true, |node| node.one_of(&known));
    let mut names = Names {
        constants: context.constants.clone(),
        values: context.values.clone(),
        columns: feeder.columns.clone(),
        captured: Vec::new(),
        counters: std::mem::take(&mut context.counters),
        typed: Vec::new(),
        lists: context.lists.clone(),
        item: false,
    };
    let nodes = object.need("steps", few).unwrap_or_default();
    let steps: Vec<_> = nodes
        .iter()
        .map(|node| step(node, context, &mut names, cookies.unwrap_or(false)))
        .collect();
    context.counters = names.counters;
    let steps: Vec<(Step, usize)> = steps.into_iter().collect::<Option<_>>()?;
    let order = steps
        .iter()
        .enumerate()
        .flat_map(|(index, (_, repeat))| std::iter::repeat_n(index, *repeat))
        .collect();
    let mut steps: Vec<Step> = steps.into_iter().map(|(step, _)| step).collect();
    feeder_fits(node, feeder, &names.typed)?;
    let captures = steps.iter_mut().flat_map(|step| &mut step.captures);
    captures.for_each(|capture| capture.demand(&names.typed));
    let (weight, captured) = (u32::try_from(weight?).ok()?, names.captured.len());
    let journey = Journey {
        weight,
        steps,
        order,
        captured,
        cookies: cookies?,
        stop_on_failure: stop_on_failure?,
    };
    (!journey.steps.is_empty()).then_some(journey)
}

/// Whether the feeder's columns are of the kinds that bodies want, in every line.
fn feeder_fits(node: &Node<'_>, feeder: &Feeder, typed: &[(Typed, Kind)]) -> Option<()> {
    let mut fits = Some(());
    for (column, kind) in typed
        .iter()
        .filter_map(|(typed, kind)| Some((typed.column()?, *kind)))
    {
        let misfit = feeder.lines.iter().position(|line| !kind.fits(&line[column]));
        if let Some(place) = misfit {
            let (name, text) = (&feeder.columns[column], &feeder.lines[place][column]);
            let message = format!(
                "${{feed.{name}|{}}}: {} in line {} of the feeder",
                kind.name(),
                kind.misfit(text),
                place + 2
            );
            node.wrong(
                format!("a feeder with a {} in every line of {name}", kind.name()),
                message,
            );
            fits = None;
        }
    }
    fits
}

const STEP: [&str; 19] = [
    "name",
    "method",
    "path",
    "query",
    "headers",
    "body",
    "json",
    "form",
    "body_file",
    "max_redirects",
    "timeout_us",
    "expect",
    "capture",
    "poll",
    "until_expected",
    "for_each",
    "items",
    "pause_us",
    "repeat",
];

fn step(
    node: &Node<'_>,
    context: &mut Context<'_>,
    names: &mut Names,
    cookies: bool,
) -> Option<(Step, usize)> {
    let object = node.object(&STEP)?;
    let name = object.or("name", "request", Node::text);
    let timeout = object.or("timeout_us", 30_000_000_000, positive_time);
    let max_redirects = object.or("max_redirects", 0, |node| node.whole(0..=MOST_REDIRECTS));
    let pause = object.or("pause_us", 0, time);
    let repeat = object.or("repeat", 1, |node| node.whole(1..=MOST_REPEATS));
    let expect = object.or("expect", Expectation::default(), expectation);
    let each = object.maybe("for_each", |node| each(node, names));
    if let (Some(node), Some(_)) = (object.get("for_each"), object.get("repeat")) {
        node.wrong("either for_each or repeat", "a step is repeated in one way");
    }
    let items = object.maybe("items", items);
    names.item = matches!(each, Some(Some(_)));
    let request = request(&object, context, names);
    let captures = object.or("capture", Vec::new(), |node| captures(node, names));
    let poll = object.maybe("poll", |node| poll(node, context, names, cookies));
    names.item = false;
    let until_expected = object.maybe("until_expected", until_expected);
    if let (Some(node), Some(_)) = (object.get("until_expected"), object.get("poll")) {
        node.wrong("either until_expected or poll", "a call is repeated in one way");
    }
    let (request, expect, captures, max_redirects) = (request?, expect?, captures?, max_redirects?);
    let items = items?;
    let follows = max_redirects > 0;
    let needed = captures
        .iter()
        .map(Capture::body_needed)
        .fold(expect.body_needed(), usize::max)
        .max(items.as_ref().map_or(0, Items::body_needed));
    let expected = Expected {
        to_head_request: request.is_head(),
        keep_head: cookies || follows || !captures.is_empty() || context.keep_heads,
        keep_body: needed,
    };
    let (name, mut poll) = (context.step(name?), poll?);
    poll.iter_mut()
        .for_each(|poll| poll.expected.keep_head |= follows);
    let step = Step {
        name,
        request,
        max_redirects: u8::try_from(max_redirects).ok()?,
        timeout: timeout?,
        expect,
        captures,
        poll,
        until_expected: until_expected?,
        each: each?,
        items,
        pause: pause?,
        expected,
    };
    Some((step, usize::try_from(repeat?).ok()?))
}

fn each(node: &Node<'_>, names: &mut Names) -> Option<Each> {
    let object = node.object(&["of", "at_most"])?;
    let at_most = object.or("at_most", MOST_VALUES, |node| node.whole(1..=MOST_VALUES));
    let of = object.require("of")?;
    let list = captured_list(of.text()?, names);
    let list = list.map_err(|message| of.wrong("the name of a list that a step before captures", message));
    Some(Each {
        list: list.ok()?,
        at_most: usize::try_from(at_most?).ok()?,
    })
}

fn until_expected(node: &Node<'_>) -> Option<Repeat> {
    let object = node.object(&["every_us", "limit_us", "attempts"])?;
    let every = object.or("every_us", REPEAT_EVERY, time);
    let limit = object.need("limit_us", positive_time);
    let attempts = object.or("attempts", MOST_ATTEMPTS, |node| node.whole(1..=MOST_ATTEMPTS));
    Some(Repeat {
        every: every?,
        limit: limit?,
        attempts: u16::try_from(attempts?).ok()?,
    })
}

fn poll(node: &Node<'_>, context: &mut Context<'_>, names: &mut Names, cookies: bool) -> Option<Poll> {
    let object: Object<'_> = node.object(&[
        "method", "path", "query", "headers", "every_us", "limit_us", "expect", "until",
    ])?;
    let every = object.need("every_us", positive_time);
    let limit = object.need("limit_us", positive_time);
    let expect = object.or("expect", Expectation::default(), expectation);
    let until = object.need("until", expectation);
    let request = request(&object, context, names);
    let (request, expect, until) = (request?, expect?, until?);
    let expected = Expected {
        to_head_request: request.is_head(),
        keep_head: cookies || context.keep_heads,
        keep_body: expect.body_needed().max(until.body_needed()),
    };
    Some(Poll {
        request,
        every: every?,
        limit: limit?,
        expect,
        until,
        expected,
    })
}
