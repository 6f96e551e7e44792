//! Arrivals of open workloads, due by their schedule, which doesn't wait for answers.

use crate::job::{Arrivals, Group, Job, Open, Workload};
use crate::units::Nanos;
use patternbench_schedule::{Part, Schedule, Trace};
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
    /// Its place in the whole load of its group.
    pub place: Place,
    /// How many calls of its group may be in flight.
    pub max_in_flight: u32,
}

/// The place of an arrival in the whole load of its group, whatever part of it is made here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// How many arrivals come before it.
    pub turn: u64,
    /// How many of them took the journey whose turn it was, as no trace named their step.
    pub free: u64,
    /// How many of them came as the same user.
    pub of_user: u64,
}

/// The arrivals of one group.
struct Arriving {
    group: usize,
    source: Source,
    part: Part,
    users: u32,
    max_in_flight: u32,
    left: u64,
    /// The place of the arrival that was drawn last, and of the one that it makes room for.
    place: Place,
    coming: Place,
    /// The steps with which journeys begin, so that a trace can name one of them.
    begins: Vec<u16>,
    /// How many arrivals came as each user, where a trace names users and the load is split.
    of_users: Vec<u64>,
    next: Option<Due>,
    /// Whether the next arrival has its place, and whether it lies beyond the end.
    counted: bool,
    beyond: bool,
    /// Whether the time was over before the arrivals were.
    outlasts: bool,
}

/// The arrivals of all groups that have an open workload.
pub struct Schedules(Vec<Arriving>);

impl Schedules {
    /// Takes the schedules out of a job, since they change.
    pub fn new(job: &mut Job) -> Self {
        let (seed, end) = (job.seed, job.warm_up.saturating_add(job.duration));
        let part = job.part;
        let groups = job.groups.iter_mut().enumerate();
        let open = groups.filter_map(|(index, group)| {
            let begins = first_steps(group);
            let open = open_of(&mut group.workload)?;
            Some(Arriving::new((index, begins), open, part, seed, end))
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

    /// Draws from another seed from now on.
    pub fn reseed(&mut self, seed: u64, now: Nanos, end: Nanos) {
        self.0
            .iter_mut()
            .for_each(|arriving| arriving.reseed(seed, now, end));
    }

    /// Lets nothing arrive from a moment on.
    pub fn end_at(&mut self, end: Nanos) {
        self.0.iter_mut().for_each(|arriving| arriving.end_at(end));
    }

    /// Whether nothing arrives any more.
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|arriving| arriving.next.is_none())
    }

    /// Whether an arrival that lies beyond the end could still be drawn anew.
    pub fn may_return(&self) -> bool {
        self.0.iter().any(|arriving| arriving.beyond)
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

/// The random numbers of the arrivals of a group: each draws from its own stream, so that adding one doesn't change
/// the others.
fn stream(seed: u64, group: usize) -> Pcg64 {
    Pcg64::seed_from_u64(seed ^ (group as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// The steps with which the journeys of a group begin.
fn first_steps(group: &Group) -> Vec<u16> {
    group
        .journeys
        .iter()
        .map(|journey| journey.steps[0].name)
        .collect()
}

impl Arriving {
    fn new((group, begins): (usize, Vec<u16>), open: &mut Open, part: Part, seed: u64, end: Nanos) -> Self {
        let random = stream(seed, group);
        let source = match &mut open.arrivals {
            Arrivals::Schedule(schedule) => Source::Schedule(schedule.clone(), random),
            Arrivals::Trace(trace, steps) => Source::Trace(std::mem::take(trace), std::mem::take(steps), 0),
        };
        let named = matches!(&source, Source::Trace(..)) && !part.is_whole();
        let mut arriving = Self {
            group,
            source,
            part,
            users: open.users,
            max_in_flight: share_of(open.max_in_flight, part),
            left: open.calls,
            place: Place::default(),
            coming: Place::default(),
            begins,
            of_users: vec![0; if named { open.users as usize } else { 0 }],
            next: None,
            counted: false,
            beyond: false,
            outlasts: false,
        };
        arriving.advance(end);
        arriving
    }

    fn take_due(&mut self, now: Nanos, end: Nanos) -> Option<Arrived> {
        let due = self.next.filter(|due| due.at <= now)?;
        let arrived = Arrived {
            group: self.group,
            user: self.user(due),
            at: due.at,
            step: due.step,
            place: self.place,
            max_in_flight: self.max_in_flight,
        };
        self.advance(end);
        Some(arrived)
    }

    /// Draws the next arrival of this part, or none when the time or the count is over.
    ///
    /// Those of other parts are drawn as well: each part knows the whole schedule, and leaves to others what is theirs.
    fn advance(&mut self, end: Nanos) {
        loop {
            let is_drawn = self.left > 0;
            let due = if is_drawn { self.source.next() } else { None };
            self.left = self.left.saturating_sub(1);
            self.counted = false;
            self.next = due;
            self.end_at(end);
            self.beyond = is_drawn && self.next.is_none();
            match self.next {
                Some(due) => self.count(due),
                None => return,
            }
            if self.part.has(self.place.turn) {
                return;
            }
        }
    }

    /// Gives an arrival its place, and makes room for the next one.
    fn count(&mut self, due: Due) {
        self.counted = true;
        self.place = self.coming;
        self.place.of_user = self.count_of_user(due);
        self.coming.turn += 1;
        let named = due.step.is_some_and(|step| self.begins.contains(&step));
        self.coming.free += u64::from(!named);
    }

    /// How many arrivals came as the user of an arrival before it.
    fn count_of_user(&mut self, due: Due) -> u64 {
        let user = self.user(due) as usize;
        match self.of_users.get_mut(user) {
            Some(count) => {
                *count += 1;
                *count - 1
            }
            None => self.place.turn / u64::from(self.users),
        }
    }

    fn end_at(&mut self, end: Nanos) {
        self.outlasts |= self.next.is_some_and(|due| due.at >= end);
        self.next = self.next.filter(|due| due.at < end);
    }

    /// Draws from another seed. The next arrival of a Poisson process is drawn anew, since for how long none has come says
    /// nothing of when one will; any other schedule knows its next arrival already.
    fn reseed(&mut self, seed: u64, now: Nanos, end: Nanos) {
        let is_to_come = self.beyond || self.next.is_some_and(|due| due.at > now);
        let Source::Schedule(schedule, random) = &mut self.source else {
            return;
        };
        *random = stream(seed, self.group);
        if !is_to_come || !self.part.is_whole() || !schedule.forget(now as f64 / 1e9) {
            return;
        }
        self.next = self.source.next();
        self.end_at(end);
        self.beyond = self.next.is_none();
        if let Some(due) = self.next.filter(|_| !self.counted) {
            self.count(due);
        }
    }

    /// The user that the present arrival comes as.
    fn user(&self, due: Due) -> u32 {
        due.user
            .unwrap_or((self.place.turn % u64::from(self.users)) as u32)
    }
}

/// How many of all that may be in flight may be so in a part.
fn share_of(max_in_flight: u32, part: Part) -> u32 {
    part.share(u64::from(max_in_flight)) as u32
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::path::Path as File;

    /// All arrivals of a part of an open workload, with their places.
    fn arrivals(open: &Value, seed: u64, part: Part) -> Vec<(Nanos, u32, Place)> {
        let job = json!({
            "contract": 1, "seed": seed, "targets": [{"url": "http://127.0.0.1:1"}], "duration_us": 2_000_000,
            "part": {"index": part.index(), "of": part.of()},
            "groups": [{"workload": {"open": open}, "journeys": [{"steps": [{}]}]}],
        });
        let mut job =
            Job::parse(&job.to_string(), File::new("/nowhere")).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let mut schedules = Schedules::new(&mut job);
        let next = || schedules.take_due(0, Nanos::MAX, job.duration);
        std::iter::from_fn(next)
            .map(|arrived| (arrived.at, arrived.user, arrived.place))
            .collect()
    }

    fn schedule(kind: usize, rate: f64, trace: &File) -> Value {
        match kind {
            0 => json!({"constant": {"rate": rate}}),
            1 => json!({"ramp": {"from": 0, "to": rate, "over_us": 700_000}}),
            2 => json!({"sine": {"mean": rate, "amplitude": rate, "period_us": 300_000}}),
            3 => json!({"steps": [{"rate": rate, "for_us": 500_000}, {"rate": 1, "for_us": 900_000}]}),
            _ => json!({"trace": {"file": trace}}),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn the_arrivals_of_all_parts_are_the_whole_schedule_to_the_nanosecond(
            kind in 0usize..5, rate in 1.0f64..3_000.0, poisson in any::<bool>(), seed in any::<u32>(), of in 1u32..40,
            users in 1u32..9, gaps in proptest::collection::vec(0u64..90_000, 1..200),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let trace = folder.path().join("trace.csv");
            let mut at = 0;
            let lines: String = gaps.iter().map(|gap| { at += gap; format!("{at}\n") }).collect();
            std::fs::write(&trace, format!("at_us\n{lines}")).unwrap();
            let spacing = if poisson { "poisson" } else { "regular" };
            let open = json!({"schedule": schedule(kind, rate, &trace), "spacing": spacing, "users": users});
            let whole = arrivals(&open, seed.into(), Part::WHOLE);
            let mut union = Vec::new();
            for part in (0..of).filter_map(|index| Part::new(index, of)) {
                let mine = arrivals(&open, seed.into(), part);
                prop_assert_eq!(mine.len() as u64, part.share(whole.len() as u64));
                union.extend(mine);
            }
            union.sort_unstable_by_key(|(_, _, place)| place.turn);
            prop_assert_eq!(union, whole);
        }
    }
}
