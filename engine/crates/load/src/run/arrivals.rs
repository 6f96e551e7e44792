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

/// When the next arrival of a group is due, and as whom it comes.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Nanos,
    user: Option<u32>,
    step: Option<u16>,
}

/// An arrival that was due.
#[derive(Debug, Clone, Copy)]
pub struct Arrived {
    pub group: usize,
    pub user: u32,
    pub at: Nanos,
    /// The step that its journey begins with, where a trace names one.
    pub step: Option<u16>,
    /// How many calls of its group may be in flight.
    pub max_in_flight: u32,
}

/// The arrivals of one group.
struct Arriving {
    group: usize,
    source: Source,
    users: u32,
    max_in_flight: u32,
    left: u64,
    count: u64,
    next: Option<Due>,
    /// Whether the time was over before the arrivals were.
    outlasts: bool,
}

/// The arrivals of all groups that have an open workload.
pub struct Schedules(Vec<Arriving>);

impl Schedules {
    /// Takes the schedules out of a job, since they change.
    pub fn new(job: &mut Job) -> Self {
        let (seed, end) = (job.seed, job.warm_up.saturating_add(job.duration));
        let groups = job.groups.iter_mut().enumerate();
        let open = groups.filter_map(|(index, group)| {
            Some(Arriving::new(index, open_of(&mut group.workload)?, seed, end))
        });
        Self(open.collect())
    }

    /// How many groups have arrivals.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The next arrival of one of these groups, if it is due.
    #[inline]
    pub fn take_due(&mut self, index: usize, now: Nanos, end: Nanos) -> Option<Arrived> {
        self.0[index].take_due(now, end)
    }

    /// When the next arrival is due.
    pub fn next_at(&self) -> Option<Nanos> {
        let due = self.0.iter().filter_map(|arriving| arriving.next);
        due.map(|due| due.at).min()
    }

    /// Lets nothing arrive from a moment on.
    pub fn end_at(&mut self, end: Nanos) {
        self.0.iter_mut().for_each(|arriving| arriving.end_at(end));
    }

    /// Whether nothing arrives any more.
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|arriving| arriving.next.is_none())
    }

    /// Whether the time was over before the arrivals of some group were.
    pub fn outlast(&self) -> bool {
        self.0.iter().any(|arriving| arriving.outlasts)
    }
}

fn open_of(workload: &mut Workload) -> Option<&mut Open> {
    match workload {
        Workload::Open(open) => Some(open),
        Workload::Closed(_) => None,
    }
}

impl Arriving {
    fn new(group: usize, open: &mut Open, seed: u64, end: Nanos) -> Self {
        // Every group draws from its own stream, so that adding one doesn't change the others.
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

    fn take_due(&mut self, now: Nanos, end: Nanos) -> Option<Arrived> {
        let due = self.next.filter(|due| due.at <= now)?;
        self.advance(end);
        Some(Arrived {
            group: self.group,
            user: self.user(due),
            at: due.at,
            step: due.step,
            max_in_flight: self.max_in_flight,
        })
    }

    /// Draws the next arrival, or none when the time or the count is over.
    fn advance(&mut self, end: Nanos) {
        let due = if self.left == 0 { None } else { self.source.next() };
        self.left = self.left.saturating_sub(1);
        self.next = due;
        self.end_at(end);
    }

    fn end_at(&mut self, end: Nanos) {
        self.outlasts |= self.next.is_some_and(|due| due.at >= end);
        self.next = self.next.filter(|due| due.at < end);
    }

    /// The user that an arrival comes as.
    fn user(&mut self, due: Due) -> u32 {
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
