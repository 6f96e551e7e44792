//! Faults as windows, in the words of a study: what they do to work that is going on, and to requests that come.

use crate::Nanos;
use crate::times::uniform;
use rand_pcg::Pcg64;
use serde::Deserialize;

/// A fault and when it acts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
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
    },
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
        match self.kind {
            FaultKind::Cpu { percentage } if !(0.0..=99.0).contains(&percentage) => {
                Some(format!("a share of {percentage} %; allowed: 0 to 99"))
            }
            FaultKind::Abort { percentage, .. } | FaultKind::Delay { percentage, .. }
                if !(0.0..=100.0).contains(&percentage) =>
            {
                Some(format!("a share of {percentage} %; allowed: 0 to 100"))
            }
            FaultKind::Abort { status, .. } if !(200..=599).contains(&status) => {
                Some(format!("a status of {status}; allowed: 200 to 599"))
            }
            FaultKind::Delay { duration_us, .. } if duration_us < 0 => {
                Some(format!("a delay of {duration_us} us; allowed: 0 or more"))
            }
            _ => None,
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

/// What becomes of a request on its way to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the service after a time.
    Passed(Nanos),
    /// It is answered with a status in the service's place.
    Answered(u16),
}

/// All faults of a round.
#[derive(Debug, Clone, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// When work that begins now is done, where the service needs `work` nanoseconds at its usual speed;
    /// `Nanos::MAX` where it never is, because the service stands still for good.
    pub fn done(&self, now: Nanos, work: f64) -> Nanos {
        let (mut at, mut left) = (now, work);
        loop {
            let (speed, until) = (self.speed(at), self.next_change(at));
            let room = until.saturating_sub(at) as f64 * speed;
            if left <= room || until == Nanos::MAX {
                return if speed > 0.0 {
                    at + (left / speed).round() as Nanos
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
        self.0
            .iter()
            .filter(|one| one.kind == FaultKind::Crash {} && one.to_us > one.from_us)
            .map(Fault::begins)
    }

    /// Whether the service is down.
    pub fn is_down(&self, now: Nanos) -> bool {
        self.0
            .iter()
            .any(|one| one.kind == FaultKind::Crash {} && one.acts_at(now))
    }

    /// What becomes of a request that is sent now: the first fault that answers decides, delays add up.
    pub fn fate(&self, now: Nanos, random: &mut Pcg64) -> Fate {
        let mut held = 0;
        for one in self.0.iter().filter(|one| one.acts_at(now)) {
            match one.kind {
                FaultKind::Abort { percentage, status } if hits(percentage, random) => {
                    return Fate::Answered(status);
                }
                FaultKind::Delay {
                    percentage,
                    duration_us,
                } if hits(percentage, random) => {
                    held += nanos(duration_us);
                }
                _ => {}
            }
        }
        Fate::Passed(held)
    }
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
        Fault { kind, from_us, to_us }
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
        let faults = Faults(vec![
            fault(
                FaultKind::Abort {
                    percentage: 20.0,
                    status: 503,
                },
                0,
                10,
            ),
            fault(
                FaultKind::Delay {
                    percentage: 50.0,
                    duration_us: 7,
                },
                0,
                10,
            ),
        ]);
        let mut random = Pcg64::seed_from_u64(1);
        let fates: Vec<Fate> = (0..20_000).map(|_| faults.fate(5_000, &mut random)).collect();
        let share = |wanted| fates.iter().filter(|fate| **fate == wanted).count() as f64 / 20_000.0;
        assert!((share(Fate::Answered(503)) - 0.2).abs() < 0.015);
        assert!((share(Fate::Passed(7_000)) - 0.4).abs() < 0.015);
        assert_eq!(
            faults.fate(10_000, &mut random),
            Fate::Passed(0),
            "a window ends before its end"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |kind, from, to| fault(kind, from, to).mistake();
        assert!(wrong(FaultKind::Freeze {}, 5, 4).is_some_and(|text| text.contains("before it begins")));
        assert!(wrong(FaultKind::Cpu { percentage: 100.0 }, 0, 1).is_some());
        assert!(
            wrong(
                FaultKind::Abort {
                    percentage: 101.0,
                    status: 503
                },
                0,
                1
            )
            .is_some()
        );
        assert!(
            wrong(
                FaultKind::Abort {
                    percentage: 1.0,
                    status: 99
                },
                0,
                1
            )
            .is_some()
        );
        assert!(
            wrong(
                FaultKind::Delay {
                    percentage: 1.0,
                    duration_us: -1
                },
                0,
                1
            )
            .is_some()
        );
        assert_eq!(wrong(FaultKind::Crash {}, 0, 1), None);
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
