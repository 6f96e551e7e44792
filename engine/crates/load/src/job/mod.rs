//! A job: what `contracts/load/job.schema.json` describes, parsed and checked before anything starts.

mod answer;
mod context;
mod feeder;
pub mod fields;
mod journey;
mod lists;
mod part;
pub(crate) mod policies;
pub(crate) mod request;
mod workload;

pub use answer::{Capture, Expectation, Items, Kept};
pub use feeder::Feeder;
pub use journey::{Each, Journey, Poll, Repeat, Step};
pub use request::{Filled, StepRequest};
pub use workload::{Arrivals, Closed, Late, Open, Pace, Turn, Until, Workload};

use crate::units::Nanos;
use context::Context;
use fields::{LONGEST_US, Node, Object, Problems, all, few, positive_time, time};
use patternbench_policies::stack::Policy;
use patternbench_schedule::{Part, Problem};
use patternbench_wire::{Limits, Target, TlsSettings};
use std::path::{Path, PathBuf};

/// Nanoseconds between two reports of a round's progress.
const TICK: Nanos = 250_000_000;
/// Attempts that may be reported one by one, at most.
const MOST_TRACED: u64 = 10_000;

/// What ends a warm-up before its time does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUpEnd {
    /// This many answers.
    Answers(u64),
    /// The service no longer gets faster.
    Settled,
}

/// All that one round of load needs to know.
pub struct Job {
    /// How late the generator itself may be.
    pub lateness: Lateness,
    /// The core that the thread which drives the load is bound to.
    pub core: Option<usize>,
    /// Whether that thread is to be more urgent than others.
    pub priority: bool,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// The part of the load that is made here.
    pub part: Part,
    /// Where requests go, with weights; requests go round them in turn, or those of a user always to one.
    pub targets: Vec<(Target, u32)>,
    /// What is accepted of an answer.
    pub limits: Limits,
    /// The first part of the round, recorded and marked; at most that long where answers end it.
    pub warm_up: Nanos,
    /// What ends the warm-up before its time does.
    pub warm_up_end: Option<WarmUpEnd>,
    /// How long new calls begin after the warm-up; endless when only counts end the load.
    pub duration: Nanos,
    /// How long answers are waited for after the last call has begun.
    pub drain: Nanos,
    /// What the client does about slow and failing calls, outermost first.
    pub policies: Vec<Policy>,
    /// How long a user pauses after a call that a policy rejected.
    pub rejected_pause: Nanos,
    /// The populations of users.
    pub groups: Vec<Group>,
    /// Names of steps, over all groups.
    pub step_names: Vec<String>,
    /// How many counters templates name.
    pub counters: usize,
    /// Whether every attempt is written to a file.
    pub log_attempts: bool,
    /// Whether that file tells journeys and items.
    pub log_journeys: bool,
    /// Attempts to report one by one.
    pub trace: usize,
    /// Time between two reports of the round's progress.
    pub tick: Nanos,
    /// Whether the round is over when this machine has no socket left, since it then says nothing about the targets.
    pub ends_without_sockets: bool,
}

/// How late the generator itself may send, at a percentile: a share of the service time there, but never less than a
/// floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// The share, in percent.
    pub percent: f64,
    /// The floor in microseconds.
    pub floor_us: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            percent: 10.0,
            floor_us: 1000,
        }
    }
}

impl Lateness {
    /// The lateness that is allowed at this service time, in microseconds.
    #[must_use]
    pub fn bound_us(&self, service_us: u64) -> u64 {
        self.floor_us
            .max((service_us as f64 * self.percent / 100.0) as u64)
    }
}

/// A population of users who do the same.
pub struct Group {
    /// Its name in the records.
    pub name: String,
    /// When calls begin.
    pub workload: Workload,
    /// What its users do, each journey with a weight.
    pub journeys: Vec<Journey>,
    /// Where journeys take values from.
    pub feeder: Feeder,
    /// Whether every request gets its own connection, which is closed after its answer.
    pub new_connections: bool,
    /// Whether each of its users keeps to one target.
    pub sticky: bool,
}

impl Job {
    /// Parses a job's text; relative paths in it start from `folder`. Files are read, hosts are resolved.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Vec<Problem>> {
        let value = serde_json::from_str(text).map_err(|error| {
            vec![Problem::new(
                "",
                "this text",
                "JSON as in contracts/load/job.schema.json",
                error.to_string(),
            )]
        })?;
        let problems = Problems::default();
        let job = job(&Node::root(&value, &problems), folder);
        let list = problems.into_list();
        match job {
            Some(job) if list.is_empty() => Ok(job),
            _ => Err(list),
        }
    }
}

const JOB: [&str; 23] = [
    "lateness",
    "core",
    "priority",
    "contract",
    "seed",
    "part",
    "targets",
    "tls",
    "limits",
    "warm_up_us",
    "warm_up_requests",
    "warm_up_settled",
    "duration_us",
    "drain_us",
    "policies",
    "rejected_pause_us",
    "groups",
    "log_attempts",
    "log_journeys",
    "trace",
    "constants",
    "values",
    "lists",
];

fn job(node: &Node<'_>, folder: &Path) -> Option<Job> {
    let object = node.object(&JOB)?;
    let contract = object.need("contract", |node| node.whole(1..=1));
    let seed = object.need("seed", |node| node.whole(0..=u64::MAX));
    let part = object.or("part", Part::WHOLE, part::part);
    let tls = object.or("tls", TlsSettings::default(), |node| tls(node, folder));
    let targets = object
        .require("targets")
        // Where TLS itself is wrong, URLs are looked at all the same.
        .and_then(|node| targets(&node, &tls.clone().unwrap_or_default()));
    let limits = object.or("limits", Limits::default(), limits);
    let warm_up = object.or("warm_up_us", 0, time);
    let warm_up_end = warm_up_end(&object);
    let duration = object.maybe("duration_us", positive_time);
    let drain = object.or("drain_us", 30_000_000_000, time);
    let log_attempts = object.or("log_attempts", true, Node::flag);
    let log_journeys = object.or("log_journeys", false, Node::flag);
    let trace = object.or("trace", 0, |node| node.whole(0..=MOST_TRACED));
    let constants = object.or("constants", Vec::new(), named_texts);
    let values = object.or("values", Vec::new(), named_texts);
    let lists = object.or("lists", Vec::new(), lists::lists);
    let lateness = object.or("lateness", Lateness::default(), lateness);
    let core = object.maybe("core", |node| node.whole(0..=1 << 20));
    let priority = object.or("priority", true, Node::flag);
    let policies = object.or("policies", Vec::new(), policies::policies);
    let rejected_pause = object.or("rejected_pause_us", 1_000_000, positive_time);
    let listens =
        |policy: &Policy| matches!(policy, Policy::Retry(retry) if retry.retry_after_max_us.is_some());
    let mut context = Context {
        keep_heads: policies.iter().flatten().any(listens),
        folder,
        step_names: Vec::new(),
        constants: constants.clone().unwrap_or_default(),
        values: values.clone().unwrap_or_default(),
        lists: lists.clone().unwrap_or_default(),
        counters: Vec::new(),
        targets: targets.clone().unwrap_or_default(),
    };
    let groups_node = object.require("groups");
    let groups = groups_node.as_ref().and_then(|node| groups(node, &mut context));
    let (groups, duration) = (groups?, duration?);
    must_end(node, duration, &groups);
    if let (Some(part), Some(policies)) = (part, &policies) {
        let workloads: Vec<&Workload> = groups.iter().map(|group| &group.workload).collect();
        part::refuse_indivisible(&object, part, policies, &workloads);
    }
    contract?;
    constants?;
    values?;
    lists?;
    tls?;
    Some(Job {
        lateness: lateness?,
        core: core?.and_then(|core| usize::try_from(core).ok()),
        priority: priority?,
        counters: context.counters.len(),
        seed: seed?,
        part: part?,
        targets: targets?,
        limits: limits?,
        warm_up: warm_up?,
        warm_up_end: warm_up_end?,
        duration: duration.unwrap_or(u64::MAX / 4),
        drain: drain?,
        policies: policies?,
        rejected_pause: rejected_pause?,
        groups,
        step_names: context.step_names,
        log_attempts: log_attempts?,
        log_journeys: log_journeys?,
        trace: usize::try_from(trace?).ok()?,
        tick: TICK,
        ends_without_sockets: false,
    })
}

fn warm_up_end(object: &Object<'_>) -> Option<Option<WarmUpEnd>> {
    let answers = object.maybe("warm_up_requests", |node| node.whole(1..=1_000_000_000));
    let settled = object.or("warm_up_settled", false, Node::flag);
    match (answers?, settled?) {
        (Some(_), true) => {
            let node = object.get("warm_up_settled")?;
            node.wrong(
                "false, or no warm_up_requests",
                "only one of the two can end the warm-up",
            );
            None
        }
        (Some(count), false) => Some(Some(WarmUpEnd::Answers(count))),
        (None, settled) => Some(settled.then_some(WarmUpEnd::Settled)),
    }
}

fn must_end(node: &Node<'_>, duration: Option<Nanos>, groups: &[Group]) {
    if duration.is_none() {
        for group in groups.iter().filter(|group| !group.workload.ends()) {
            let message = format!("the workload of group {} never ends", group.name);
            node.wrong("duration_us, or a count in every group's workload", message);
        }
    }
}

fn named_texts(node: &Node<'_>) -> Option<Vec<(String, String)>> {
    node.texts()?
        .into_iter()
        .map(|(name, node)| Some((name, node.text()?.to_owned())))
        .collect()
}

fn tls(node: &Node<'_>, folder: &Path) -> Option<TlsSettings> {
    let object = node.object(&["ca_file", "verify", "server_name"])?;
    let ca_file = object.maybe("ca_file", |node| Some(folder.join(node.text()?)));
    let verify = object.or("verify", true, Node::flag);
    let server_name = object.maybe("server_name", |node| node.text().map(str::to_owned));
    let settings = TlsSettings {
        ca_file: ca_file?,
        verify: verify?,
        server_name: server_name?,
    };
    let file = object.get("ca_file");
    match (file, settings.config()) {
        (Some(file), Err(error)) => {
            file.wrong("a PEM file with at least one certificate", error.0);
            None
        }
        _ => Some(settings),
    }
}

fn lateness(node: &Node<'_>) -> Option<Lateness> {
    let object = node.object(&["percent", "floor_us"])?;
    let default = Lateness::default();
    let percent = object.or("percent", default.percent, |node| node.number_within(0.0..=1e6));
    let floor_us = object.or("floor_us", default.floor_us, |node| node.whole(0..=LONGEST_US));
    Some(Lateness {
        percent: percent?,
        floor_us: floor_us?,
    })
}

fn limits(node: &Node<'_>) -> Option<Limits> {
    let object = node.object(&["head_bytes", "body_bytes"])?;
    let default = Limits::default();
    let head = object.or("head_bytes", default.head as u64, |node| {
        node.whole(256..=16 << 20)
    });
    let body = object.or("body_bytes", default.body, |node| node.whole(0..=1 << 50));
    Some(Limits {
        head: usize::try_from(head?).ok()?,
        body: body?,
    })
}

fn targets(node: &Node<'_>, tls: &TlsSettings) -> Option<Vec<(Target, u32)>> {
    let nodes = few(node)?;
    let targets = all(nodes.iter().map(|node| target(node, tls)));
    if targets
        .as_ref()
        .is_some_and(|targets| targets.iter().all(|(_, weight)| *weight == 0))
    {
        node.wrong(
            "at least one target with a weight above zero",
            "no target gets any request",
        );
        return None;
    }
    targets
}

fn target(node: &Node<'_>, tls: &TlsSettings) -> Option<(Target, u32)> {
    let object = node.object(&["url", "weight"])?;
    let weight = object.or("weight", 1, |node| node.whole(0..=1_000_000));
    let url = object.require("url")?;
    let target = url.text().and_then(|text| match Target::new(text, tls) {
        Ok(target) => Some(target),
        Err(error) => {
            url.wrong(error.allowed, error.message);
            None
        }
    });
    Some((target?, u32::try_from(weight?).ok()?))
}

fn groups(node: &Node<'_>, context: &mut Context<'_>) -> Option<Vec<Group>> {
    let nodes = few(node)?;
    let groups = all(nodes.iter().map(|node| group(node, context)))?;
    for (index, group) in groups.iter().enumerate() {
        if groups[..index].iter().any(|before| before.name == group.name) {
            nodes[index].wrong(
                "a name of its own for every group",
                format!("{} is given twice", group.name),
            );
        }
    }
    Some(groups)
}

fn group(node: &Node<'_>, context: &mut Context<'_>) -> Option<Group> {
    let object = node.object(&["name", "workload", "journeys", "feeder", "connection", "affinity"])?;
    let name = object.or("name", "all".to_owned(), |node| node.text().map(str::to_owned));
    let feeder = object.or("feeder", Feeder::default(), |node| feeder::feeder(node, context));
    let no_feeder = Feeder::default();
    let journeys = object
        .require("journeys")
        .and_then(|node| journey::journeys(&node, context, feeder.as_ref().unwrap_or(&no_feeder)));
    let workload = object.need("workload", |node| workload::workload(node, context));
    let known = [("reuse", false), ("new", true)];
    let new_connections = object.or("connection", false, |node| node.one_of(&known));
    let known = [("none", false), ("user", true)];
    let sticky = object.or("affinity", false, |node| node.one_of(&known));
    let (journeys, workload) = (journeys?, workload?);
    nothing_beside_turns(node, &workload, &journeys);
    Some(Group {
        name: name?,
        workload,
        journeys,
        feeder: feeder?,
        new_connections: new_connections?,
        sticky: sticky?,
    })
}

/// Where every request waits for its turn there is no other pause.
fn nothing_beside_turns(node: &Node<'_>, workload: &Workload, journeys: &[Journey]) {
    let mut steps = journeys.iter().flat_map(|journey| &journey.steps);
    let polls = |step: &Step| step.poll.is_some();
    if workload.turns() && steps.any(|step| step.pause > 0 || polls(step)) {
        node.wrong(
            "steps without pause_us and poll, or a pace per journey",
            "a request that waits for its turn can't also pause",
        );
    }
}

/// The folder that a job file's relative paths start from.
#[must_use]
pub fn folder_of(file: &Path) -> PathBuf {
    file.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}
