//! All that a round holds while it runs.

use super::arrivals::{self, Arriving};
use super::guarded::Policies;
use super::session::{GroupState, Session};
use super::spread::{Dealt, Spread};
use super::timers::Timers;
use super::trace::Trace;
use super::warm_up::WarmUp;
use super::wires::{Attempt, Wires};
use super::world::World;
use crate::job::Job;
use crate::redirect::Refusal;
use crate::units::Nanos;
use patternbench_attemptlog::AttemptLog;
use patternbench_wire::{Failure, Readiness};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use slab::Slab;

/// All that a round holds while it runs.
pub struct Runner<W: World> {
    pub world: W,
    pub wires: Wires<W::Connection>,
    pub spread: Spread,
    /// The target that each user keeps to, in groups that do.
    pub dealt: Dealt,
    pub sessions: Slab<Session>,
    pub groups: Vec<GroupState>,
    pub arriving: Vec<Arriving>,
    pub timers: Timers,
    /// Attempts that failed before they began, to be handled in the next turn rather than in a recursion.
    pub stillborn: Vec<(Attempt, Failure)>,
    /// Connections that have more to read than they were given time for.
    pub unread: Vec<Readiness>,
    /// What calls have to go through, when there is anything.
    pub policies: Option<Box<Policies>>,
    pub log: AttemptLog,
    /// The interval of the log observer's ticks, and the next tick.
    pub tick: Nanos,
    pub next_tick: Nanos,
    /// When no new calls begin any more.
    pub end: Nanos,
    /// When answers are no longer waited for.
    pub give_up: Nanos,
    pub warm_up: Nanos,
    /// What ends the warm-up before its time.
    pub warming: WarmUp,
    pub last_end: Nanos,
    pub failures: [u64; Failure::ALL.len()],
    pub measured_failures: [u64; Failure::ALL.len()],
    pub abandoned: u64,
    /// Journeys that ended, of those that began after the warm-up.
    pub journeys: u64,
    /// The number of the latest journey.
    pub begun_journeys: u32,
    pub refused: Vec<(Refusal, u64)>,
    pub tls_reason: Option<String>,
    /// The attempts that are reported one by one, if the job asks for that.
    pub trace: Option<Box<Trace>>,
    pub interrupted: bool,
    pub epochs: u32,
    pub counters: Vec<u64>,
    pub random: Pcg64,
}

impl<W: World> Runner<W> {
    pub fn new(job: &mut Job, log: AttemptLog, world: W) -> Self {
        let targets = job.targets.iter().map(|(target, _)| target.clone()).collect();
        let end = job.warm_up.saturating_add(job.duration);
        Self {
            world,
            wires: Wires::new(targets),
            spread: Spread::new(job.targets.iter().map(|(_, weight)| *weight)),
            dealt: Dealt::new(job.targets.iter().map(|(_, weight)| *weight)),
            sessions: Slab::new(),
            groups: job
                .groups
                .iter()
                .map(|group| GroupState::new(group, job.trace > 0))
                .collect(),
            arriving: arrivals::all(job),
            timers: Timers::default(),
            stillborn: Vec::new(),
            unread: Vec::new(),
            policies: Policies::new(job),
            log,
            tick: job.tick,
            // The first tick is immediate, so that observers learn when the round began.
            next_tick: 0,
            end,
            give_up: end.saturating_add(job.drain),
            warm_up: job.warm_up,
            warming: WarmUp::new(job.warm_up_end),
            last_end: 0,
            failures: [0; Failure::ALL.len()],
            measured_failures: [0; Failure::ALL.len()],
            abandoned: 0,
            journeys: 0,
            begun_journeys: 0,
            refused: Vec::new(),
            tls_reason: None,
            trace: Trace::new(job.trace),
            interrupted: false,
            epochs: 0,
            counters: vec![0; job.counters],
            random: Pcg64::seed_from_u64(job.seed),
        }
    }

    /// Nanoseconds since the round's start.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.world.now()
    }
}
