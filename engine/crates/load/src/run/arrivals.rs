//! Arrivals of open workloads, due by their schedule, which doesn't wait for answers.

use crate::job::{Arrivals, Job, Open, Workload};
use crate::units::Nanos;
use patternbench_schedule::{Schedule, Trace};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

/// Where arrivals come from.
enum Source {
    Schedule(Schedule, Pcg64),
    Trace(Trace, Vec<Option<u16>>, usize),
}

/// An arrival that is due.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    pub at: Nanos,
    user: Option<u32>,
    pub step: Option<u16>,
}

/// The arrivals of one group.
pub struct Arriving {
    pub group: usize,
    source: Source,
    users: u32,
    pub max_in_flight: u32,
    left: u64,
    count: u64,
    pub next: Option<Due>,
    /// Whether the time was over before the arrivals were.
    pub outlasts: bool,
}

/// The arrivals of all groups that have an open workload; schedules are taken out of the job, since they change.
pub fn all(job: &mut Job) -> Vec<Arriving> {
    let (seed, end) = (job.seed, job.warm_up.saturating_add(job.duration));
    let groups = job.groups.iter_mut().enumerate();
    groups
        .filter_map(|(index, group)| Some(Arriving::new(index, open_of(&mut group.workload)?, seed, end)))
        .collect()
}

fn open_of(workload: &mut Workload) -> Option<&mut Open> {
    match workload {
        Workload::Open(open) => Some(open),
        Workload::Closed(_) => None,
    }
}

impl Arriving {
    fn new(group: usize, open: &mut Open, seed: u64, end: Nanos) -> Self {
        // Every group draws from a stream of its own, so that adding one doesn't change the others.
        let random = Pcg64::seed_from_u64(seed ^ (group as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let source = match &mut open.arrivals {
            Arrivals::Schedule(schedule) => Source::Schedule(schedule.clone(), random),
            Arrivals::Trace(trace, steps) => Source::Trace(std::mem::take(trace), std::mem::take(steps), 0),
        };
        let mut arriving = Self {
            group,
            source,
            users: open.users,
            max_in_flight: open.max_in_flight,
            left: open.calls,
            count: 0,
            next: None,
            outlasts: false,
        };
        arriving.advance(end);
        arriving
    }

    /// When the next arrival is due.
    pub fn next_at(&self) -> Option<Nanos> {
        self.next.map(|due| due.at)
    }

    /// Draws the next arrival, or none when the time or the count is over.
    pub fn advance(&mut self, end: Nanos) {
        let due = if self.left == 0 { None } else { self.source.next() };
        self.left = self.left.saturating_sub(1);
        self.next = due;
        self.end_at(end);
    }

    /// Lets nothing arrive from a moment on.
    pub fn end_at(&mut self, end: Nanos) {
        self.outlasts |= self.next.is_some_and(|due| due.at >= end);
        self.next = self.next.filter(|due| due.at < end);
    }

    /// The user that an arrival comes as.
    pub fn user(&mut self, due: Due) -> u32 {
        self.count += 1;
        due.user
            .unwrap_or(((self.count - 1) % u64::from(self.users)) as u32)
    }
}

impl Source {
    fn next(&mut self) -> Option<Due> {
        match self {
            Self::Schedule(schedule, random) => schedule.next(random).map(|at| Due {
                at,
                user: None,
                step: None,
            }),
            Self::Trace(trace, steps, place) => {
                let arrival = trace.arrivals.get(*place)?;
                let step = steps.get(*place).copied().flatten();
                *place += 1;
                Some(Due {
                    at: arrival.at,
                    user: arrival.user,
                    step,
                })
            }
        }
    }
}
