//! What users do: journeys of steps.

use super::fields::Node;
use super::{Context, Nanos, few, positive_time, time};
use patternbench_wire::{Method, Request};

/// A list of steps that a user goes through, one after another.
pub struct Journey {
    /// How often it is taken, against the others of its group.
    pub weight: u32,
    /// Its steps, at least one.
    pub steps: Vec<Step>,
}

/// One call of a journey.
pub struct Step {
    /// Its name in the records, by number.
    pub name: u16,
    /// What is sent.
    pub request: StepRequest,
    /// How long an attempt may take.
    pub timeout: Nanos,
    /// What counts as success.
    pub expect: Expectation,
    /// The pause before it, after the step before.
    pub pause: Nanos,
}

/// What is sent: bytes for every target, since nothing in them varies.
pub struct StepRequest {
    /// The bytes, by target.
    pub rendered: Vec<Vec<u8>>,
    /// Whether the method is HEAD.
    pub is_head: bool,
}

/// What counts as success.
pub struct Expectation {
    /// Ranges of statuses, both ends included.
    pub statuses: Vec<(u16, u16)>,
}

impl Expectation {
    /// Whether a status is as expected.
    #[inline]
    pub fn allows(&self, status: u16) -> bool {
        self.statuses
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&status))
    }
}

pub fn journeys(node: &Node<'_>, context: &mut Context<'_>) -> Option<Vec<Journey>> {
    let nodes = few(node)?;
    let journeys: Vec<_> = nodes.iter().map(|node| journey(node, context)).collect();
    let journeys: Vec<Journey> = journeys.into_iter().collect::<Option<_>>()?;
    if journeys.iter().all(|journey| journey.weight == 0) {
        node.wrong(
            "at least one journey with a weight above zero",
            "no journey is ever taken",
        );
        return None;
    }
    Some(journeys)
}

fn journey(node: &Node<'_>, context: &mut Context<'_>) -> Option<Journey> {
    let object = node.object(&["weight", "steps"])?;
    let weight = object.or("weight", 1, |node| node.whole(0..=1_000_000));
    let nodes = object.require("steps").and_then(|node| few(&node))?;
    let steps: Vec<_> = nodes.iter().map(|node| step(node, context)).collect();
    Some(Journey {
        weight: u32::try_from(weight?).ok()?,
        steps: steps.into_iter().collect::<Option<_>>()?,
    })
}

fn step(node: &Node<'_>, context: &mut Context<'_>) -> Option<Step> {
    let object = node.object(&[
        "name",
        "method",
        "path",
        "headers",
        "body",
        "timeout_us",
        "expect",
        "pause_us",
    ])?;
    let name = object.or("name", "request", Node::text);
    let timeout = object.or("timeout_us", 30_000_000_000, positive_time);
    let pause = object.or("pause_us", 0, time);
    let expect = object.or(
        "expect",
        Expectation {
            statuses: vec![(200, 399)],
        },
        expectation,
    );
    let methods = Method::ALL.map(|method| (method.name(), method));
    let method = object.or("method", Method::Get, |node| node.one_of(&methods));
    let path = object.maybe("path", path);
    let headers = object.or("headers", Vec::new(), headers);
    let body = object.or("body", "", Node::text);
    let (method, path, headers, body) = (method?, path?, headers?, body?);
    let render = |target: &patternbench_wire::Target| {
        let whole = path.map_or_else(
            || target.path_and_query.clone(),
            |path| format!("{}{path}", target.base_path),
        );
        Request {
            method,
            host: &target.host,
            path: &whole,
            headers: &headers,
            body: body.as_bytes(),
        }
        .render()
    };
    let rendered = context.targets.iter().map(|(target, _)| render(target)).collect();
    let request = StepRequest {
        rendered,
        is_head: method == Method::Head,
    };
    Some(Step {
        name: context.step(name?),
        request,
        timeout: timeout?,
        expect: expect?,
        pause: pause?,
    })
}

fn path<'a>(node: &Node<'a>) -> Option<&'a str> {
    let text = node.text()?;
    if !text.starts_with('/') || text.bytes().any(|byte| !byte.is_ascii_graphic()) {
        node.wrong(
            "/ and then visible ASCII characters, others as %XX",
            "this is no path of a request",
        );
        return None;
    }
    Some(text)
}

fn headers(node: &Node<'_>) -> Option<Vec<(String, String)>> {
    let header = |(name, node): (String, Node<'_>)| {
        let text = node.text()?;
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty()
            || !name.bytes().all(token)
            || text.bytes().any(|byte| byte < 32 && byte != 9 || byte == 127)
        {
            node.wrong(
                "a header's name, and a value without line breaks",
                "this is no header",
            );
            return None;
        }
        Some((name, text.to_owned()))
    };
    node.texts()?.into_iter().map(header).collect()
}

fn expectation(node: &Node<'_>) -> Option<Expectation> {
    let object = node.object(&["statuses"])?;
    let statuses = object.or("statuses", vec![(200, 399)], |node| {
        node.list()?.iter().map(statuses).collect()
    });
    Some(Expectation { statuses: statuses? })
}

/// A status, or a range of them as `"200-399"`.
fn statuses(node: &Node<'_>) -> Option<(u16, u16)> {
    let text = node
        .value
        .as_str()
        .map_or_else(|| node.value.to_string(), str::to_owned);
    let (low, high) = text.split_once('-').unwrap_or((&text, &text));
    let status = |text: &str| {
        text.trim()
            .parse()
            .ok()
            .filter(|status| (100..=999).contains(status))
    };
    match (status(low), status(high)) {
        (Some(low), Some(high)) if low <= high => Some((low, high)),
        _ => {
            node.wrong(
                "a status from 100 to 999, or a range as \"200-399\"",
                "this is no status",
            );
            None
        }
    }
}
