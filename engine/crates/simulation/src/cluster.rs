//! A service as a whole: its replicas, what it does for which request, and the limit at its door.

use crate::Nanos;
use crate::faults::Faults;
use crate::model::{Balance, CallModel, Door, ServiceModel};
use crate::service::{Id, Moment, Replica, Rules, Taken};
use crate::times::uniform;
use patternbench_policies::rate_limit::RateLimit;
use rand_pcg::Pcg64;
use std::collections::HashMap;
use std::rc::Rc;

/// The numbers of the calls that are made together, stage after stage.
pub type Stages = Vec<Rc<[usize]>>;

/// A service: its replicas, and what they share.
pub struct Cluster {
    pub rules: Rules,
    pub faults: Faults,
    /// What is called, by operation.
    pub stages: Vec<Stages>,
    pub waits: bool,
    pub crashes: u32,
    /// The operations of paths, but for the usual one.
    paths: HashMap<Vec<u8>, usize>,
    replicas: Vec<Replica>,
    balance: Balance,
    turn: usize,
    door: Option<(RateLimit, u16)>,
}

impl Cluster {
    /// The service of a model; `number` numbers its calls.
    pub fn new(model: &ServiceModel, faults: Faults, mut number: impl FnMut(&CallModel) -> usize) -> Self {
        let mut numbered = |stages: &[Vec<CallModel>]| -> Stages {
            let stage = |calls: &Vec<CallModel>| calls.iter().map(&mut number).collect();
            stages.iter().map(stage).collect()
        };
        let (mut times, mut stages) = (vec![model.times.clone()], vec![numbered(&model.calls)]);
        let mut paths = HashMap::new();
        for (path, operation) in &model.operations {
            paths.insert(path.as_bytes().to_vec(), times.len());
            times.push(operation.times.clone());
            stages.push(numbered(&operation.calls));
        }
        Self {
            rules: Rules {
                workers: model.workers,
                slowdown: model.slowdown.clone(),
                queue: model.queue.clone(),
                times,
            },
            faults,
            stages,
            waits: model.waits,
            crashes: 0,
            paths,
            replicas: (0..model.replicas).map(|_| Replica::default()).collect(),
            balance: model.balance,
            turn: 0,
            door: model
                .door
                .map(|door: Door| (RateLimit::new(door.config()), door.status)),
        }
    }

    /// The operation that the bytes of a request ask for.
    pub fn operation(&self, request: &[u8]) -> usize {
        if self.paths.is_empty() {
            return 0;
        }
        let mut words = request.split(|byte| *byte == b' ');
        let path = words.nth(1).unwrap_or_default();
        self.paths.get(path).copied().unwrap_or(0)
    }

    /// A request comes: to which replica, and what becomes of it.
    pub fn arrive(&mut self, id: Id, operation: usize, now: Nanos, random: &mut Pcg64) -> (usize, Taken) {
        if let Some((limit, status)) = &mut self.door
            && limit.reserve(now / 1000, u64::MAX).is_none()
        {
            return (0, Taken::Refused(*status));
        }
        let replica = self.choose(random);
        let mut at = Moment {
            rules: &self.rules,
            faults: &self.faults,
            now,
            random,
        };
        (replica, self.replicas[replica].arrive(id, operation, &mut at))
    }

    /// A worker of a replica is done with what it had, and takes the next one.
    pub fn next(&mut self, replica: usize, now: Nanos, random: &mut Pcg64) -> Option<(Id, Taken)> {
        let mut at = Moment {
            rules: &self.rules,
            faults: &self.faults,
            now,
            random,
        };
        self.replicas[replica].next(&mut at)
    }

    /// How many requests wait for a worker, at all replicas together.
    pub fn waiting(&self) -> usize {
        self.replicas.iter().map(Replica::waiting).sum()
    }

    /// How many requests are there, those that are worked on included.
    pub fn inside(&self) -> usize {
        self.replicas.iter().map(Replica::load).sum()
    }

    /// All replicas are gone with all that they had.
    pub fn crash(&mut self) {
        self.crashes += 1;
        self.replicas.iter_mut().for_each(Replica::crash);
    }

    fn choose(&mut self, random: &mut Pcg64) -> usize {
        let count = self.replicas.len();
        if count == 1 {
            return 0;
        }
        match self.balance {
            Balance::Random => (uniform(random) * count as f64) as usize,
            Balance::RoundRobin => {
                self.turn = (self.turn + 1) % count;
                self.turn
            }
            Balance::LeastBusy => (0..count)
                .min_by_key(|number| self.replicas[*number].load())
                .unwrap_or_default(),
        }
    }
}
