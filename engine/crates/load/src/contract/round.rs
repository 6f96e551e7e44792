//! A round as the contract describes it: checked when it is read, valid from then on.

use super::request::{request, target};
use crate::job::fields::{Node, Problems, positive_time, time};
use crate::job::policies::{plain_breaker, plain_retry};
use crate::job::{
    Closed, Expectation, Feeder, Filled, Group, Job, Journey, Lateness, Step, StepRequest, Until, Workload,
};
use crate::units::Nanos;
use patternbench_policies::backoff::Jitter;
use patternbench_policies::stack::Policy;
use patternbench_schedule::{Part, Problem};
use patternbench_wire::{Expected, Limits, Method, Target, TargetError, TlsSettings};

/// How often rows are sent; the contract asks for 200 ms at least.
const TICK: Nanos = 100_000_000;
/// Answers are waited for as long as their timeouts let them take.
const ENDLESS: Nanos = Nanos::MAX / 4;
/// The only group and the only step of a round.
const GROUP: &str = "all";
const STEP: &str = "request";

const ROUND: [&str; 11] = [
    "contract",
    "target",
    "request",
    "users",
    "think_time_us",
    "successes",
    "max_attempts",
    "rejected_pause_us",
    "time_limit_us",
    "seed",
    "strategy",
];

/// One round.
pub struct Round {
    target: String,
    request: Filled,
    timeout: Nanos,
    users: u32,
    think: Nanos,
    until: Vec<Until>,
    rejected_pause: Nanos,
    time_limit: Nanos,
    seed: u64,
    policies: Vec<Policy>,
}

/// Reads a round for a client that may open `most_users` connections at the same time.
///
/// # Errors
/// Every problem there is: what breaks the contract and what this client cannot express.
pub fn read(text: &[u8], most_users: u64) -> Result<Round, Vec<Problem>> {
    let value = serde_json::from_slice(text).map_err(|error| {
        let message = format!("is not JSON: {error}");
        vec![Problem::new(
            "",
            "null",
            "a round, as contracts/client has it",
            message,
        )]
    })?;
    let problems = Problems::of_complete();
    let round = round(&Node::root(&value, &problems), most_users);
    let problems = problems.into_list();
    round.filter(|_| problems.is_empty()).ok_or(problems)
}

fn round(node: &Node<'_>, most_users: u64) -> Option<Round> {
    let object = node.object(&ROUND)?;
    let contract = object.need("contract", |node| node.whole(1..=1));
    let target = object.need("target", target);
    let asked = object.need("request", asked);
    let users = object.need("users", |node| node.whole(1..=most_users));
    let think = object.need("think_time_us", time);
    let successes = object.maybe("successes", |node| node.whole(1..=u64::MAX));
    let attempts = object.maybe("max_attempts", |node| node.whole(1..=u64::MAX));
    let pause = object.need("rejected_pause_us", positive_time);
    let time_limit = object.need("time_limit_us", positive_time);
    let seed = object.need("seed", |node| node.whole(0..=u64::MAX));
    let policies = object.need("strategy", strategy);
    contract?;
    let (request, timeout) = asked?;
    let until = [
        successes?.map(Until::SuccessesPerUser),
        attempts?.map(Until::AttemptsPerUser),
    ];
    Some(Round {
        target: target?,
        request,
        timeout,
        users: u32::try_from(users?).ok()?,
        think: think?,
        until: until.into_iter().flatten().collect(),
        rejected_pause: pause?,
        time_limit: time_limit?,
        seed: seed?,
        policies: policies?,
    })
}

/// What is asked for, and how long an attempt may take.
fn asked(node: &Node<'_>) -> Option<(Filled, Nanos)> {
    let object = node.object(&["method", "path", "headers", "body", "timeout_us"])?;
    let request = request(&object);
    let timeout = object.need("timeout_us", positive_time);
    Some((request?, timeout?))
}

/// A strategy is a stack of one policy, and the baseline of none.
fn strategy(node: &Node<'_>) -> Option<Vec<Policy>> {
    let (name, node) = node.choice(&["baseline", "retry", "circuit_breaker"])?;
    match name {
        "baseline" => node.object(&[]).map(|_| Vec::new()),
        "retry" => retry(&node).map(|policy| vec![policy]),
        _ => plain_breaker(&node).map(|policy| vec![policy]),
    }
}

/// A retry; jitter of a share of nothing is written `none`.
fn retry(node: &Node<'_>) -> Option<Policy> {
    let policy = plain_retry(node)?;
    match &policy {
        Policy::Retry(config) if config.jitter == Jitter::Proportional(0.0) => {
            let jitter = node
                .object(&["max_attempts", "backoff", "jitter"])?
                .get("jitter")?;
            jitter.wrong(
                "none, full, equal, or a number above 0 and at most 1",
                "is not a jitter",
            );
            None
        }
        _ => Some(policy),
    }
}

impl Round {
    /// The round as a job of the engine.
    ///
    /// # Errors
    /// One sentence, when the target's name can't be resolved.
    pub fn into_job(self) -> Result<Job, String> {
        let target = Target::new(&self.target, &TlsSettings::default());
        let targets = vec![(target.map_err(|TargetError { message, .. }| message)?, 1)];
        let group = Group {
            name: GROUP.to_owned(),
            journeys: vec![self.journey(&targets)],
            feeder: Feeder::default(),
            workload: Workload::Closed(Closed {
                users: self.users,
                think: self.think,
                pace: None,
                start_over: 0,
                until: self.until,
            }),
            new_connections: false,
            sticky: false,
        };
        Ok(Job {
            lateness: Lateness::default(),
            core: None,
            // Clients of libraries are compared with this one, and none of them is more urgent than other processes.
            priority: false,
            seed: self.seed,
            part: Part::WHOLE,
            targets,
            limits: Limits::default(),
            warm_up: 0,
            warm_up_end: None,
            duration: self.time_limit,
            drain: ENDLESS,
            policies: self.policies,
            rejected_pause: self.rejected_pause,
            groups: vec![group],
            step_names: vec![STEP.to_owned()],
            counters: 0,
            log_attempts: false,
            log_journeys: false,
            trace: 0,
            tick: TICK,
            ends_without_sockets: true,
        })
    }

    /// The journey of every user: one request.
    fn journey(&self, targets: &[(Target, u32)]) -> Journey {
        let step = Step {
            name: 0,
            request: StepRequest::literal(&self.request, targets),
            max_redirects: 0,
            timeout: self.timeout,
            expect: Expectation::default(),
            captures: Vec::new(),
            poll: None,
            until_expected: None,
            each: None,
            items: None,
            pause: 0,
            expected: Expected {
                to_head_request: self.request.method == Method::Head,
                ..Expected::default()
            },
        };
        Journey {
            weight: 1,
            steps: vec![step],
            order: vec![0],
            captured: 0,
            cookies: false,
            stop_on_failure: true,
        }
    }
}
