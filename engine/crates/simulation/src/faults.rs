//! Faults as windows, in the words of a study: what they do to work that is going on, and to requests that come.

use crate::Nanos;
use crate::times::uniform;
use rand_pcg::Pcg64;
use serde::Deserialize;

/// A fault, where and when it acts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// The service to which it happens, or to which the link leads; by default the one where load comes in.
    #[serde(default)]
    pub at: Option<String>,
    /// The service that calls over the link; by default the load.
    #[serde(default)]
    pub from: Option<String>,
    /// When it begins, in microseconds from the round's start.
    pub from_us: i64,
    /// When it ends.
    pub to_us: i64,
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultKind {
    /// The service stands still, and goes on where it was.
    Freeze {},
    /// The service is gone with all that it had; connections are reset, and new ones refused.
    Crash {},
    /// The service gets that share of its processor time less.
    Cpu {
        /// In percent.
        percentage: f64,
    },
    /// That share of the requests is answered in the service's place.
    Abort {
        /// In percent.
        percentage: f64,
        /// The status of the answer.
        status: u16,
    },
    /// That share of the requests is held back before it reaches the service.
    Delay {
        /// In percent.
        percentage: f64,
        /// How long.
        duration_us: i64,
        /// How much longer or shorter at most, evenly.
        #[serde(default)]
        spread_us: i64,
    },
    /// Nothing passes the link, in either direction; what waits arrives when it ends.
    Partition {},
    /// New connections are refused, and those that are open are reset.
    Refuse {},
    /// The connection of that share of the requests is reset instead of being answered.
    Reset {
        /// In percent.
        percentage: f64,
    },
    /// That share of the requests is never answered; their connections are reset when it ends.
    Stall {
        /// In percent.
        percentage: f64,
    },
}

impl FaultKind {
    /// Whether it happens to a service itself, and not to a link.
    pub fn is_of_service(&self) -> bool {
        matches!(self, Self::Freeze {} | Self::Crash {} | Self::Cpu { .. })
    }

    /// The share that it hits, in percent.
    fn share(&self) -> Option<f64> {
        match self {
            Self::Abort { percentage, .. }
            | Self::Delay { percentage, .. }
            | Self::Reset { percentage }
            | Self::Stall { percentage } => Some(*percentage),
            _ => None,
        }
    }
}

impl Fault {
    /// What is wrong with it, in a sentence.
    pub fn mistake(&self) -> Option<String> {
        if self.to_us < self.from_us {
            return Some(format!(
                "ends at {} us, before it begins at {} us",
                self.to_us, self.from_us
            ));
        }
        if self.from.is_some() && self.kind.is_of_service() {
            return Some("happens to a service; leave out `from`".to_owned());
        }
        if let Some(share) = self.kind.share().filter(|share| !(0.0..=100.0).contains(share)) {
            return Some(format!("a share of {share} %; allowed: 0 to 100"));
        }
        match self.kind {
            FaultKind::Cpu { percentage } if !(0.0..=99.0).contains(&percentage) => {
                Some(format!("a share of {percentage} %; allowed: 0 to 99"))
            }
            FaultKind::Abort { status, .. } if !(200..=599).contains(&status) => {
                Some(format!("a status of {status}; allowed: 200 to 599"))
            }
            FaultKind::Delay { duration_us, .. } if duration_us < 0 => {
                Some(format!("a delay of {duration_us} us; allowed: 0 or more"))
            }
            FaultKind::Delay {
                duration_us,
                spread_us,
                ..
            } if !(0..=duration_us).contains(&spread_us) => {
                Some(format!("a spread of {spread_us} us; allowed: 0 to {duration_us}"))
            }
            _ => None,
        }
    }

    /// What it does to a request that it hits.
    fn falls_on(&self, fate: &mut Fate, random: &mut Pcg64) {
        match self.kind {
            FaultKind::Abort { status, .. } => fate.ends(End::Aborted(status)),
            FaultKind::Stall { .. } => fate.ends(End::Stalled(self.ends())),
            FaultKind::Reset { .. } => fate.ends(End::Cut),
            FaultKind::Delay {
                duration_us,
                spread_us,
                ..
            } => {
                let held = nanos(spread(duration_us, spread_us, random));
                fate.held = fate.held.saturating_add(held);
            }
            _ => {}
        }
    }

    fn begins(&self) -> Nanos {
        nanos(self.from_us)
    }

    fn ends(&self) -> Nanos {
        nanos(self.to_us)
    }

    fn acts_at(&self, now: Nanos) -> bool {
        self.begins() <= now && now < self.ends()
    }

    /// How fast the service works while it acts, where 1 is its usual speed.
    fn speed(&self) -> f64 {
        match self.kind {
            FaultKind::Freeze {} => 0.0,
            FaultKind::Cpu { percentage } => 1.0 - percentage / 100.0,
            _ => 1.0,
        }
    }
}

/// A time of a model in nanoseconds from the round's start; what lies before that is the start.
pub fn nanos(us: i64) -> Nanos {
    Nanos::try_from(us).unwrap_or(0).saturating_mul(1_000)
}

/// How a request that was sent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By the service's answer.
    Answered,
    /// By an answer with this status in the service's place.
    Aborted(u16),
    /// Never; its connection is reset at this moment, `Nanos::MAX` for never.
    Stalled(Nanos),
    /// By a reset in the place of the service's answer.
    Cut,
}

/// What becomes of a request on its way to the service: how long it is held back, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    pub held: Nanos,
    pub end: End,
}

impl Fate {
    /// Ends it so, unless another fault has already decided on its end.
    fn ends(&mut self, end: End) {
        if self.end == End::Answered {
            self.end = end;
        }
    }
}

/// The faults of one place: of a service, or of a link.
#[derive(Debug, Clone, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// When work that begins now is done, where the service needs `work` nanoseconds at its usual speed;
    /// `Nanos::MAX` where it never is, because the service stands still for good.
    pub fn done(&self, now: Nanos, work: f64) -> Nanos {
        if self.0.is_empty() {
            return now.saturating_add(work.round() as Nanos);
        }
        let (mut at, mut left) = (now, work);
        loop {
            let (speed, until) = (self.speed(at), self.next_change(at));
            let room = until.saturating_sub(at) as f64 * speed;
            if left <= room || until == Nanos::MAX {
                return if speed > 0.0 {
                    at.saturating_add((left / speed).round() as Nanos)
                } else {
                    Nanos::MAX
                };
            }
            left -= room;
            at = until;
        }
    }

    fn speed(&self, at: Nanos) -> f64 {
        self.0
            .iter()
            .filter(|one| one.acts_at(at))
            .map(Fault::speed)
            .product()
    }

    fn next_change(&self, at: Nanos) -> Nanos {
        self.0
            .iter()
            .flat_map(|one| [one.begins(), one.ends()])
            .filter(|change| *change > at)
            .min()
            .unwrap_or(Nanos::MAX)
    }

    /// The moments at which the service crashes, in no order.
    pub fn crashes(&self) -> impl Iterator<Item = Nanos> {
        self.beginnings(FaultKind::Crash {})
    }

    /// The moments from which on a link refuses connections, in no order.
    pub fn refusals(&self) -> impl Iterator<Item = Nanos> {
        self.beginnings(FaultKind::Refuse {})
    }

    fn beginnings(&self, kind: FaultKind) -> impl Iterator<Item = Nanos> {
        self.0
            .iter()
            .filter(move |one| one.kind == kind && one.to_us > one.from_us)
            .map(Fault::begins)
    }

    /// Whether the service is down.
    pub fn is_down(&self, now: Nanos) -> bool {
        self.acts(&FaultKind::Crash {}, now)
    }

    /// Whether the link refuses connections.
    pub fn refuses(&self, now: Nanos) -> bool {
        self.acts(&FaultKind::Refuse {}, now)
    }

    fn acts(&self, kind: &FaultKind, now: Nanos) -> bool {
        self.0.iter().any(|one| one.kind == *kind && one.acts_at(now))
    }

    /// When what sets out on the link at a moment gets through: then, or when a partition ends.
    pub fn passes(&self, now: Nanos) -> Nanos {
        let ends = self.0.iter().filter(|one| one.kind == FaultKind::Partition {});
        let held = ends.filter(|one| one.acts_at(now)).map(Fault::ends).max();
        // Another partition may begin before this one has ended.
        held.map_or(now, |end| if end == Nanos::MAX { end } else { self.passes(end) })
    }

    /// What becomes of a request that is sent now, as in the fault proxy: the first fault that ends it decides, and all
    /// that hold it back add up, also before an answer in the service's place.
    pub fn fate(&self, now: Nanos, random: &mut Pcg64) -> Fate {
        let mut fate = Fate {
            held: 0,
            end: End::Answered,
        };
        for one in self.0.iter().filter(|one| one.acts_at(now)) {
            if one.kind.share().is_some_and(|share| hits(share, random)) {
                one.falls_on(&mut fate, random);
            }
        }
        fate
    }
}

/// A time within a spread around its middle; without one nothing is drawn.
fn spread(middle: i64, around: i64, random: &mut Pcg64) -> i64 {
    if around == 0 {
        return middle;
    }
    middle + ((2.0 * uniform(random) - 1.0) * around as f64).round() as i64
}

fn hits(percentage: f64, random: &mut Pcg64) -> bool {
    uniform(random) * 100.0 < percentage
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    fn fault(kind: FaultKind, from_us: i64, to_us: i64) -> Fault {
        Fault {
            kind,
            at: None,
            from: None,
            from_us,
            to_us,
        }
    }

    fn delay(percentage: f64, duration_us: i64, spread_us: i64) -> FaultKind {
        FaultKind::Delay {
            percentage,
            duration_us,
            spread_us,
        }
    }

    fn passed(held: Nanos) -> Fate {
        Fate {
            held,
            end: End::Answered,
        }
    }

    #[test]
    fn work_stands_still_in_a_freeze_and_takes_longer_with_less_processor() {
        let faults = Faults(vec![
            fault(FaultKind::Freeze {}, 10, 30),
            fault(FaultKind::Cpu { percentage: 50.0 }, 100, 200),
        ]);
        assert_eq!(faults.done(0, 5_000.0), 5_000);
        assert_eq!(faults.done(0, 20_000.0), 40_000, "twenty microseconds are lost");
        assert_eq!(
            faults.done(15_000, 1_000.0),
            31_000,
            "it begins to work when the freeze is over"
        );
        assert_eq!(faults.done(100_000, 10_000.0), 120_000);
        assert_eq!(
            faults.done(190_000, 10_000.0),
            205_000,
            "half of it at half the speed"
        );
    }

    #[test]
    fn faults_that_overlap_act_together() {
        let slow = fault(FaultKind::Cpu { percentage: 50.0 }, 0, 100);
        let faults = Faults(vec![slow.clone(), slow, fault(FaultKind::Freeze {}, 50, 60)]);
        assert_eq!(faults.done(0, 10_000.0), 40_000);
        assert_eq!(faults.done(40_000, 5_000.0), 70_000);
    }

    #[test]
    fn a_share_of_the_requests_is_hit() {
        let abort = FaultKind::Abort {
            percentage: 20.0,
            status: 503,
        };
        let faults = Faults(vec![fault(abort, 0, 10), fault(delay(50.0, 7, 0), 0, 10)]);
        let mut random = Pcg64::seed_from_u64(1);
        let fates: Vec<Fate> = (0..20_000).map(|_| faults.fate(5_000, &mut random)).collect();
        let share = |wanted: &dyn Fn(&Fate) -> bool| {
            fates.iter().filter(|fate| wanted(fate)).count() as f64 / 20_000.0
        };
        assert!((share(&|fate| fate.end == End::Aborted(503)) - 0.2).abs() < 0.015);
        assert!((share(&|fate| *fate == passed(7_000)) - 0.4).abs() < 0.015);
        assert_eq!(
            faults.fate(10_000, &mut random),
            passed(0),
            "a window ends before its end"
        );
    }

    #[test]
    fn connections_are_cut_and_stalled() {
        let mut random = Pcg64::seed_from_u64(1);
        let mut end = |kind| Faults(vec![fault(kind, 0, 10)]).fate(5_000, &mut random).end;
        assert_eq!(end(FaultKind::Reset { percentage: 100.0 }), End::Cut);
        assert_eq!(end(FaultKind::Stall { percentage: 100.0 }), End::Stalled(10_000));
    }

    #[test]
    fn an_answer_in_the_services_place_waits_for_what_holds_a_request_back_in_either_order() {
        let abort = || FaultKind::Abort {
            percentage: 100.0,
            status: 503,
        };
        let mut random = Pcg64::seed_from_u64(1);
        for kinds in [[delay(100.0, 7, 0), abort()], [abort(), delay(100.0, 7, 0)]] {
            let faults = Faults(kinds.map(|kind| fault(kind, 0, 10)).to_vec());
            let wanted = Fate {
                held: 7_000,
                end: End::Aborted(503),
            };
            assert_eq!(faults.fate(5_000, &mut random), wanted);
        }
        let both = [FaultKind::Reset { percentage: 100.0 }, abort()];
        let faults = Faults(both.map(|kind| fault(kind, 0, 10)).to_vec());
        assert_eq!(faults.fate(5_000, &mut random).end, End::Cut, "the first decides");
    }

    #[test]
    fn work_that_would_take_longer_than_there_is_time_never_ends() {
        let slow = Faults(vec![fault(FaultKind::Cpu { percentage: 50.0 }, 0, 10)]);
        assert_eq!(slow.done(5, 1e300), Nanos::MAX);
        assert_eq!(Faults::default().done(5, 1e300), Nanos::MAX);
    }

    #[test]
    fn a_delay_is_spread_evenly_around_its_middle() {
        let faults = Faults(vec![fault(delay(100.0, 100, 50), 0, 10)]);
        let mut random = Pcg64::seed_from_u64(1);
        let held: Vec<f64> = (0..20_000)
            .map(|_| faults.fate(0, &mut random).held as f64 / 1000.0)
            .collect();
        assert!(held.iter().all(|us| (50.0..=150.0).contains(us)));
        assert!((held.iter().sum::<f64>() / 20_000.0 - 100.0).abs() < 1.0);
        assert!((held.iter().filter(|us| **us < 75.0).count() as f64 / 20_000.0 - 0.25).abs() < 0.02);
    }

    #[test]
    fn what_waits_at_a_partition_passes_when_all_of_them_are_over() {
        let faults = Faults(vec![
            fault(FaultKind::Partition {}, 10, 20),
            fault(FaultKind::Partition {}, 15, 30),
            fault(FaultKind::Partition {}, 40, 50),
        ]);
        let found = [5_000, 10_000, 25_000, 30_000, 49_999].map(|at| faults.passes(at));
        assert_eq!(found, [5_000, 30_000, 30_000, 30_000, 50_000]);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |kind, from, to| fault(kind, from, to).mistake();
        assert!(wrong(FaultKind::Freeze {}, 5, 4).is_some_and(|text| text.contains("before it begins")));
        assert!(wrong(FaultKind::Cpu { percentage: 100.0 }, 0, 1).is_some());
        assert!(wrong(FaultKind::Reset { percentage: -1.0 }, 0, 1).is_some());
        assert!(wrong(FaultKind::Stall { percentage: f64::NAN }, 0, 1).is_some());
        assert!(wrong(delay(101.0, 0, 0), 0, 1).is_some());
        assert!(wrong(delay(1.0, -1, 0), 0, 1).is_some());
        assert!(wrong(delay(1.0, 5, 6), 0, 1).is_some_and(|text| text.contains("0 to 5")));
        let abort = |status| FaultKind::Abort {
            percentage: 10.0,
            status,
        };
        assert!(wrong(abort(199), 0, 1).is_some());
        assert_eq!(wrong(abort(503), 0, 1), None);
        let from = Fault {
            from: Some("a".to_owned()),
            ..fault(FaultKind::Freeze {}, 0, 1)
        };
        assert!(
            from.mistake()
                .is_some_and(|text| text.contains("leave out `from`"))
        );
    }

    proptest! {
        #[test]
        fn work_in_two_parts_ends_when_it_would_in_one(
            now in 0u64..400_000, first in 0u64..200_000, second in 0u64..200_000, from in 0i64..300, long in 0i64..200,
        ) {
            let faults = Faults(vec![
                fault(FaultKind::Freeze {}, from, from + long),
                fault(FaultKind::Cpu { percentage: 75.0 }, 50, 250),
            ]);
            let halfway = faults.done(now, first as f64);
            let whole = faults.done(now, (first + second) as f64);
            prop_assert!(faults.done(halfway, second as f64).abs_diff(whole) <= 4, "but for rounding");
        }
    }
}
