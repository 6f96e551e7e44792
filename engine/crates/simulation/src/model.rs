//! What simulated services are: a JSON object, described in `contracts/load/README.md`.

use crate::faults::Fault;
use crate::times::Times;
use patternbench_load::{Problem, client_policies};
use patternbench_policies::rate_limit;
use patternbench_policies::stack::{Policy, most_attempts};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Why a model is refused: where, and the mistake, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// The path in the model, such as `faults[0]`; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ModelError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "the model"
        } else {
            &self.path
        };
        write!(to, "{path}: {}", self.message)
    }
}

/// Services behind a network, and the faults of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What random numbers are drawn from.
    pub seed: u64,
    /// How long a message is on its way, each way.
    pub network_us: i64,
    /// How long it takes until a new connection of the load can be used.
    pub connect_us: i64,
    /// The number of the service where load comes in.
    pub entry: usize,
    /// The names of the services.
    pub names: Vec<String>,
    /// The services, by number.
    pub services: Vec<ServiceModel>,
    /// What happens to them.
    pub faults: Vec<PlacedFault>,
}

/// A fault and the numbers of the services that it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedFault {
    /// The fault.
    pub fault: Fault,
    /// The service to which it happens, or to which the link leads.
    pub at: usize,
    /// Who calls over the link: a service, or the load.
    pub from: Option<usize>,
}

/// A service: workers that take requests from one queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceModel {
    /// How many requests it works on at a time.
    pub workers: usize,
    /// How long it works on one that has it for itself.
    pub times: Times,
    /// What it does for requests of some paths, where that differs.
    #[serde(default)]
    pub operations: BTreeMap<String, Operation>,
    /// How much longer it works on several at a time: pairs of their number and a factor, linear in between.
    #[serde(default)]
    pub slowdown: Vec<(f64, f64)>,
    /// Where requests wait.
    #[serde(default)]
    pub queue: QueueModel,
    /// A limit of how many come in per time.
    #[serde(default)]
    pub door: Option<Door>,
    /// How many equal ones there are, each with its own workers and queue.
    #[serde(default = "one")]
    pub replicas: usize,
    /// How requests are dealt out to replicas.
    #[serde(default)]
    pub balance: Balance,
    /// Its calls, once its own work is done: stages one after another, the calls of a stage together.
    #[serde(default)]
    pub calls: Vec<Vec<CallModel>>,
    /// Whether a worker waits for the calls of its request.
    #[serde(default = "yes")]
    pub waits: bool,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// What a service does for the requests of a path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// How long it works.
    pub times: Times,
    /// What it calls.
    #[serde(default)]
    pub calls: Vec<Vec<CallModel>>,
}

/// A call of a service to another one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallModel {
    /// The other service.
    pub to: String,
    /// The share of the requests that make the call.
    #[serde(default = "whole")]
    pub share: f64,
    /// Whether the request goes on where the call fails.
    #[serde(default)]
    pub ignored: bool,
    /// What is done about slow and failing calls, outermost first, as in a job.
    #[serde(default, deserialize_with = "policies")]
    pub policies: Vec<Policy>,
}

fn whole() -> f64 {
    1.0
}

fn policies<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Policy>, D::Error> {
    let value = Value::deserialize(from)?;
    if value.as_array().is_some_and(Vec::is_empty) {
        return Ok(Vec::new());
    }
    client_policies(&value).map_err(|problems| serde::de::Error::custom(listed(&problems)))
}

fn listed(problems: &[Problem]) -> String {
    let texts = problems
        .iter()
        .map(|one| format!("policies{}: {}; allowed: {}", one.path, one.message, one.allowed));
    texts.collect::<Vec<_>>().join("; ")
}

/// Where requests wait for a worker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueModel {
    /// How many may wait; one more is answered with `full_status` at once. None is without bound.
    pub limit: Option<usize>,
    /// Who comes next.
    pub order: Order,
    /// The status of an answer for which there was no room.
    pub full_status: u16,
    /// A request that has waited longer is answered with `full_status` instead of being worked on.
    pub deadline_us: Option<i64>,
}

impl Default for QueueModel {
    fn default() -> Self {
        Self {
            limit: None,
            order: Order::Fifo,
            full_status: 503,
            deadline_us: None,
        }
    }
}

/// How many requests come in per time; one more is answered with `status` at once.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Door {
    /// This many requests,
    pub calls: u32,
    /// per this many microseconds,
    pub per_us: u64,
    /// and this many at once.
    pub burst: u32,
    /// The status of an answer to one more.
    pub status: u16,
}

impl Door {
    /// As the policy that decides.
    pub fn config(&self) -> rate_limit::Config {
        rate_limit::Config {
            calls: self.calls,
            per_us: self.per_us,
            burst: self.burst,
            max_wait_us: 0,
        }
    }
}

/// The order in which a queue is worked off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Who came first.
    Fifo,
    /// Who came last.
    Lifo,
}

/// How requests are dealt out to replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// In turn.
    #[default]
    RoundRobin,
    /// By chance.
    Random,
    /// To the one that has the fewest.
    LeastBusy,
}

/// The form of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    model: u32,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    network_us: i64,
    #[serde(default)]
    connect_us: i64,
    service: Option<ServiceModel>,
    entry: Option<String>,
    #[serde(default)]
    services: BTreeMap<String, ServiceModel>,
    #[serde(default)]
    faults: Vec<Fault>,
}

/// The name of the only service of a model that has no names.
const ALONE: &str = "service";
/// How many replicas all services have together at most, and how many calls are written in a model.
const MOST_REPLICAS: usize = 1_000_000;
const MOST_WRITTEN: usize = 1_000_000;
/// How many calls one request may come to at most, on average and where every attempt fails but the last: more would
/// take hours for a second of load.
const MOST_CALLS: f64 = 1e7;
/// The statuses that an answer can have.
const STATUSES: std::ops::RangeInclusive<u16> = 200..=599;

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// When the text describes no services.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let written: Written = serde_json::from_str(text).map_err(|error| problem("", &error.to_string()))?;
        let model = written.resolved()?;
        model.check().map(|()| model)
    }

    fn check(&self) -> Result<(), ModelError> {
        for (path, us) in [("network_us", self.network_us), ("connect_us", self.connect_us)] {
            if us < 0 {
                return Err(problem(path, "is negative; allowed: 0 or more"));
            }
        }
        for (name, service) in self.names.iter().zip(&self.services) {
            service.check(&self.path(name))?;
        }
        self.check_size()?;
        self.check_calls()?;
        let wrong = self.faults.iter().map(|one| one.fault.mistake()).enumerate();
        for (number, message) in wrong {
            if let Some(message) = message {
                return Err(problem(&format!("faults[{number}]"), &message));
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        if self.names == [ALONE] {
            ALONE.to_owned()
        } else {
            format!("services.{name}")
        }
    }

    /// The number of a service.
    pub fn number(&self, name: &str) -> Option<usize> {
        // They come from a map that is in order.
        self.names.binary_search_by(|known| known.as_str().cmp(name)).ok()
    }

    fn check_size(&self) -> Result<(), ModelError> {
        let replicas = self
            .services
            .iter()
            .map(|one| one.replicas)
            .fold(0, usize::saturating_add);
        let calls: usize = self.services.iter().map(|one| one.every_call().count()).sum();
        for (what, count, most) in [
            ("replicas", replicas, MOST_REPLICAS),
            ("calls", calls, MOST_WRITTEN),
        ] {
            if count > most {
                return Err(problem(
                    "",
                    &format!("has {count} {what}; allowed: at most {most}"),
                ));
            }
        }
        Ok(())
    }

    fn check_calls(&self) -> Result<(), ModelError> {
        let mut targets = vec![Vec::new(); self.names.len()];
        for (number, service) in self.services.iter().enumerate() {
            let path = self.path(&self.names[number]);
            for call in service.every_call() {
                let Some(to) = self.number(&call.to) else {
                    return Err(problem(&path, &format!("calls `{}`, which isn't there", call.to)));
                };
                if !(0.0..=1.0).contains(&call.share) {
                    return Err(problem(
                        &path,
                        &format!("a share of {} of the requests; allowed: 0 to 1", call.share),
                    ));
                }
                targets[number].push(to);
            }
        }
        let order = callees_first(&targets).map_err(|number| {
            let path = self.path(&self.names[number]);
            problem(&path, "its calls come back to it, without an end")
        })?;
        self.check_most_calls(&order)
    }

    /// Refuses calls that multiply from service to service until no one could wait for them.
    fn check_most_calls(&self, callees_first: &[usize]) -> Result<(), ModelError> {
        let mut most = vec![0.0; self.names.len()];
        for number in callees_first {
            let of_callee = |name: &str| self.number(name).map_or(0.0, |to| most[to]);
            let calls = self.services[*number].most_calls(of_callee);
            most[*number] = calls;
            if calls > MOST_CALLS {
                let message = format!(
                    "a request to it comes to {calls:.0} calls, retries included; allowed: at most {MOST_CALLS:.0}"
                );
                return Err(problem(&self.path(&self.names[*number]), &message));
            }
        }
        Ok(())
    }
}

/// Services in an order in which all that one calls come before it, or one whose calls lead back to it.
fn callees_first(targets: &[Vec<usize>]) -> Result<Vec<usize>, usize> {
    let mut open: Vec<usize> = targets.iter().map(Vec::len).collect();
    let mut callers = vec![Vec::new(); targets.len()];
    for (from, called) in targets.iter().enumerate() {
        called.iter().for_each(|to| callers[*to].push(from));
    }
    let mut order: Vec<usize> = (0..open.len()).filter(|number| open[*number] == 0).collect();
    let mut done = 0;
    while let Some(number) = order.get(done).copied() {
        done += 1;
        for caller in &callers[number] {
            open[*caller] -= 1;
            if open[*caller] == 0 {
                order.push(*caller);
            }
        }
    }
    match open.iter().position(|left| *left > 0) {
        Some(number) => Err(number),
        None => Ok(order),
    }
}

impl ServiceModel {
    /// Every call that it makes.
    pub fn every_call(&self) -> impl Iterator<Item = &CallModel> {
        self.every_stages().flatten().flatten()
    }

    /// The stages of calls of each operation, and of the usual one.
    fn every_stages(&self) -> impl Iterator<Item = &Vec<Vec<CallModel>>> {
        let named = self.operations.values().map(|operation| &operation.calls);
        named.chain([&self.calls])
    }

    /// How many calls a request comes to in its operation that makes most, given those of the services that it calls.
    fn most_calls(&self, of_callee: impl Fn(&str) -> f64) -> f64 {
        let of_one = |call: &CallModel| {
            let attempts = most_attempts(&call.policies) as f64;
            call.share * attempts * (1.0 + of_callee(&call.to))
        };
        let sums = self
            .every_stages()
            .map(|stages| stages.iter().flatten().map(of_one).sum::<f64>());
        sums.fold(0.0, f64::max)
    }

    fn check(&self, path: &str) -> Result<(), ModelError> {
        let wrong = |field: &str, message: &str| Err(problem(&format!("{path}.{field}"), message));
        if self.workers == 0 {
            return wrong("workers", "none; allowed: 1 or more");
        }
        if self.replicas == 0 {
            return wrong("replicas", "none; allowed: 1 or more");
        }
        if self.queue.deadline_us.is_some_and(|us| us < 0) {
            return wrong("queue.deadline_us", "is negative; allowed: 0 or more");
        }
        if self
            .door
            .is_some_and(|door| door.calls == 0 || door.per_us == 0 || door.burst == 0)
        {
            return wrong("door", "lets no one in; allowed: numbers of 1 or more");
        }
        let statuses = [
            ("queue.full_status", Some(self.queue.full_status)),
            ("door.status", self.door.map(|door| door.status)),
        ];
        for (field, status) in statuses {
            if let Some(status) = status.filter(|status| !STATUSES.contains(status)) {
                return wrong(field, &format!("a status of {status}; allowed: 200 to 599"));
            }
        }
        if let Some(message) = self.times.mistake() {
            return wrong("times", &message);
        }
        for (name, operation) in &self.operations {
            if !name.starts_with('/') {
                return wrong(
                    &format!("operations.{name}"),
                    "isn't a path; allowed: one that begins with /",
                );
            }
            if let Some(message) = operation.times.mistake() {
                return wrong(&format!("operations.{name}.times"), &message);
            }
        }
        match mistake_of_slowdown(&self.slowdown) {
            Some(message) => wrong("slowdown", &message),
            None => Ok(()),
        }
    }
}

impl Written {
    fn resolved(self) -> Result<Model, ModelError> {
        if self.model != 1 {
            return Err(problem("model", &format!("version {}; allowed: 1", self.model)));
        }
        let (entry, services) = match (self.service, self.entry, self.services) {
            (Some(service), None, others) if others.is_empty() => {
                (ALONE.to_owned(), BTreeMap::from([(ALONE.to_owned(), service)]))
            }
            (None, Some(entry), services) if !services.is_empty() => (entry, services),
            _ => {
                return Err(problem(
                    "",
                    "needs `service`, or `services` with the `entry` of load",
                ));
            }
        };
        let (names, services): (Vec<_>, Vec<_>) = services.into_iter().unzip();
        let number = |name: &str, path: &str| {
            let known = names.iter().position(|known| known == name);
            known.ok_or_else(|| problem(path, &format!("there is no service `{name}`")))
        };
        let first = number(&entry, "entry")?;
        let placed = |(at, fault): (usize, Fault)| -> Result<PlacedFault, ModelError> {
            let path = format!("faults[{at}]");
            let at = fault
                .at
                .as_deref()
                .map_or(Ok(first), |name| number(name, &path))?;
            let from = fault
                .from
                .as_deref()
                .map(|name| number(name, &path))
                .transpose()?;
            Ok(PlacedFault { fault, at, from })
        };
        let faults = self.faults.into_iter().enumerate().map(placed);
        Ok(Model {
            seed: self.seed,
            network_us: self.network_us,
            connect_us: self.connect_us,
            entry: first,
            faults: faults.collect::<Result<_, ModelError>>()?,
            names,
            services,
        })
    }
}

fn mistake_of_slowdown(points: &[(f64, f64)]) -> Option<String> {
    let rises = points.windows(2).all(|pair| pair[1].0 > pair[0].0);
    if !rises {
        return Some("numbers of requests rise from pair to pair".to_owned());
    }
    points
        .iter()
        .find(|(_, factor)| !factor.is_finite() || *factor <= 0.0)
        .map(|(_, factor)| format!("a factor of {factor}; allowed: above 0"))
}

fn problem(path: &str, message: &str) -> ModelError {
    ModelError {
        path: path.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"model": 1, "service": {"workers": 2, "times": {"fixed_us": 10}}}"#;
    const TWO: &str = r#"{"model": 1, "entry": "shop", "services": {
        "shop": {"workers": 2, "times": {"fixed_us": 10}, "calls": [[{"to": "store"}]]},
        "store": {"workers": 1, "times": {"fixed_us": 5}}}}"#;

    fn refused_in(text: &str, from: &str, to: &str) -> String {
        Model::parse(&text.replace(from, to))
            .expect_err("it is wrong")
            .to_string()
    }

    fn refused(from: &str, to: &str) -> String {
        refused_in(PLAIN, from, to)
    }

    #[test]
    fn a_model_is_read_with_its_defaults() {
        let model = Model::parse(PLAIN).expect("it is right");
        let service = &model.services[0];
        assert_eq!((service.queue.limit, service.queue.order), (None, Order::Fifo));
        assert_eq!((service.replicas, service.balance), (1, Balance::RoundRobin));
        assert_eq!(model.faults, []);
    }

    #[test]
    fn services_that_call_each_other_are_read_by_their_names() {
        let model = Model::parse(TWO).expect("it is right");
        assert_eq!(model.names, ["shop", "store"]);
        assert_eq!(model.entry, 0);
        let policies = r#"{"to": "store", "policies": [{"timeout": {"after_us": 100}}]}"#;
        let with = TWO.replace(r#"{"to": "store"}"#, policies);
        let model = Model::parse(&with).expect("it is right");
        assert_eq!(model.services[0].calls[0][0].policies.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(
            refused("\"workers\": 2", "\"workers\": 0"),
            "service.workers: none; allowed: 1 or more"
        );
        assert_eq!(
            refused("\"model\": 1", "\"model\": 2"),
            "model: version 2; allowed: 1"
        );
        assert!(
            refused("\"fixed_us\": 10", "\"fixed_us\": -1").starts_with("service.times: a time of -1 us")
        );
        assert!(refused("\"workers\": 2", "\"wrokers\": 2").contains("unknown field `wrokers`"));
        assert!(
            refused("}}}", "}, \"slowdown\": [[2, 1], [1, 2]]}}").starts_with("service.slowdown: numbers")
        );
        assert!(refused("}}}", "}, \"slowdown\": [[1, 0]]}}").contains("a factor of 0"));
        assert!(refused("}}}", "}, \"replicas\": 0}}").starts_with("service.replicas: none"));
        assert!(refused("}}}", "}, \"replicas\": 1000001}}").contains("has 1000001 replicas"));
        assert!(
            refused("\"fixed_us\": 10", "\"fixed_us\": 1e999").contains("out of range"),
            "no number"
        );
        assert!(refused("}}}", "}, \"queue\": {\"full_status\": 99}}}").contains("a status of 99"));
        let operation =
            |path: &str| format!(r#"}}, "operations": {{"{path}": {{"times": {{"fixed_us": 1}}}}}}}}}}"#);
        assert!(refused("}}}", &operation("buy")).starts_with("service.operations.buy: isn't a path"));
        assert!(refused("}}}", &operation("")).contains("isn't a path"));
        assert!(Model::parse(&PLAIN.replace("}}}", &operation("/buy"))).is_ok());
        let fault = r#"}}, "faults": [{"kind": {"freeze": {}}, "from_us": 2, "to_us": 1}]}"#;
        assert!(refused("}}}", fault).starts_with("faults[0]: ends at 1 us"));
        assert!(
            refused("\"service\"", "\"network_us\": -1, \"service\"").starts_with("network_us: is negative")
        );
        assert!(Model::parse("[").is_err());
        assert!(Model::parse(r#"{"model": 1}"#).is_err());
    }

    #[test]
    fn calls_to_nobody_and_calls_without_an_end_are_refused() {
        let wrong = |from, to| refused_in(TWO, from, to);
        assert!(wrong("\"to\": \"store\"", "\"to\": \"stroe\"").contains("calls `stroe`"));
        let back = r#"{"fixed_us": 5}, "calls": [[{"to": "shop"}]]"#;
        assert!(wrong("{\"fixed_us\": 5}", back).contains("without an end"));
        assert!(wrong("\"entry\": \"shop\"", "\"entry\": \"x\"").starts_with("entry: there is no service"));
        assert!(wrong("{\"to\": \"store\"}", "{\"to\": \"store\", \"share\": 2}").contains("share of 2"));
        let policies = r#"{"to": "store", "policies": [{"timeout": {"after_us": 0}}]}"#;
        assert!(wrong("{\"to\": \"store\"}", policies).contains("policies"));
    }

    /// A chain of `length` services, each of which makes `calls` to the next.
    fn chain(length: usize, calls: &str) -> String {
        let services = (0..length).map(|number| {
            let next = if number + 1 < length {
                calls.replace("NEXT", &format!("s{}", number + 1))
            } else {
                String::new()
            };
            format!(r#""s{number}": {{"workers": 1, "times": {{"fixed_us": 1}}, "calls": [[{next}]]}}"#)
        });
        let services = services.collect::<Vec<_>>().join(", ");
        format!(r#"{{"model": 1, "entry": "s0", "services": {{{services}}}}}"#)
    }

    #[test]
    fn calls_that_multiply_beyond_what_anybody_can_wait_for_are_refused() {
        let ten = [r#"{"to": "NEXT"}"#; 10].join(", ");
        assert!(Model::parse(&chain(7, &ten)).is_ok(), "a million calls");
        let wrong = Model::parse(&chain(9, &ten))
            .expect_err("a hundred million")
            .to_string();
        assert!(
            wrong.starts_with("services.s1: a request to it comes to 11111110 calls"),
            "{wrong}"
        );
        let again = r#"{"to": "NEXT", "policies": [{"retry": {"max_attempts": 1000, "backoff": {"fixed": {"delay_us": 0}}}}]}"#;
        assert!(Model::parse(&chain(3, again)).is_ok());
        let wrong = Model::parse(&chain(4, again))
            .expect_err("a thousand millions of attempts")
            .to_string();
        assert!(wrong.contains("retries included"), "{wrong}");
        let rare = r#"{"to": "NEXT", "share": 0.1}"#;
        assert!(
            Model::parse(&chain(40, &[rare; 10].join(", "))).is_ok(),
            "one on average"
        );
    }
}
