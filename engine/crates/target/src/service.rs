//! How long a request takes and how it ends: pure, with the random source and the time as arguments.

use crate::settings::{Pathology, Pause, ServiceTime};
use patternbench_timing::Nanos;
use rand_distr::{Distribution, Exp1, LogNormal};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// What one request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The time that a worker needs for it.
    pub service: Nanos,
    /// Whether it ends with a reset connection.
    pub reset: bool,
}

/// Draws the work of one request after the other, in the order in which they arrive.
///
/// Every request takes the same number of draws of its kind from its own stream, so that a share of slow answers does not
/// change the times of the others.
#[derive(Debug)]
pub struct Dice {
    times: Pcg64Mcg,
    chances: Pcg64Mcg,
    service_time: ServiceTime,
    pathology: Pathology,
}

impl Dice {
    /// The same seed gives the same work, request by request.
    pub fn new(seed: u64, service_time: ServiceTime, pathology: Pathology) -> Self {
        let times = Pcg64Mcg::seed_from_u64(seed);
        let chances = Pcg64Mcg::seed_from_u64(seed ^ 0x5EED_0000_C4A4_CE50);
        Self {
            times,
            chances,
            service_time,
            pathology,
        }
    }

    /// The work of the next request.
    pub fn next(&mut self) -> Work {
        let service = draw(self.service_time, &mut self.times);
        let slow = self.falls_in(self.pathology.slow_share.value());
        let reset = self.falls_in(self.pathology.reset_share.value());
        let factor = if slow { self.pathology.slow_factor } else { 1.0 };
        Work {
            service: (service * factor).round() as Nanos,
            reset,
        }
    }

    fn falls_in(&mut self, share: f64) -> bool {
        let uniform = (self.chances.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        uniform < share
    }
}

fn draw(service_time: ServiceTime, rng: &mut Pcg64Mcg) -> f64 {
    match service_time {
        ServiceTime::Fixed(time) => time as f64,
        ServiceTime::Exponential(mean) => {
            let unit: f64 = Exp1.sample(rng);
            mean as f64 * unit
        }
        ServiceTime::LogNormal { mean, sigma } => mean as f64 * log_normal_of_mean_one(sigma, rng),
    }
}

/// exp(N(-sigma²/2, sigma²)), whose mean is 1.
fn log_normal_of_mean_one(sigma: f64, rng: &mut Pcg64Mcg) -> f64 {
    LogNormal::new(-sigma * sigma / 2.0, sigma)
        .expect("sigma was checked when it was read")
        .sample(rng)
}

/// When work of length `service` that starts at `started` is done, all times from the start of the target.
///
/// No work is done during a pause: once per `every`, for the first time after one whole `every`.
pub fn finish(started: Nanos, service: Nanos, pause: Option<Pause>) -> Nanos {
    let Some(pause) = pause else {
        return started + service;
    };
    let mut at = after_pause(started, pause);
    let mut left = service;
    loop {
        let next_pause = (at / pause.every() + 1) * pause.every();
        if left <= next_pause - at {
            return at + left;
        }
        left -= next_pause - at;
        at = next_pause + pause.length();
    }
}

fn after_pause(moment: Nanos, pause: Pause) -> Nanos {
    let into = moment % pause.every();
    let paused = moment >= pause.every() && into < pause.length();
    if paused {
        moment - into + pause.length()
    } else {
        moment
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Share;

    const MS: Nanos = 1_000_000;

    fn mean_and_deviation(service_time: ServiceTime) -> (f64, f64) {
        let mut dice = Dice::new(1, service_time, Pathology::default());
        let times: Vec<f64> = (0..100_000)
            .map(|_| dice.next().service as f64 / MS as f64)
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let variance = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / times.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn the_distributions_have_the_mean_and_spread_of_their_formulas() {
        assert_eq!(mean_and_deviation(ServiceTime::Fixed(5 * MS)), (5.0, 0.0));
        let (mean, deviation) = mean_and_deviation(ServiceTime::Exponential(5 * MS));
        assert!(
            (mean - 5.0).abs() < 0.1 && (deviation - 5.0).abs() < 0.15,
            "{mean} {deviation}"
        );
        let (mean, deviation) = mean_and_deviation(ServiceTime::LogNormal {
            mean: 5 * MS,
            sigma: 0.5,
        });
        let wanted = 5.0 * (0.25f64.exp() - 1.0).sqrt();
        assert!(
            (mean - 5.0).abs() < 0.1 && (deviation - wanted).abs() < 0.15,
            "{mean} {deviation}"
        );
    }

    #[test]
    fn slow_requests_change_neither_the_times_nor_the_resets_of_others() {
        let share = |percent: &str| percent.parse::<Share>().expect("a share");
        let drawn = |slow: &str| {
            let pathology = Pathology {
                slow_share: share(slow),
                slow_factor: 50.0,
                reset_share: share("30%"),
                ..Pathology::default()
            };
            let mut dice = Dice::new(7, ServiceTime::Exponential(5 * MS), pathology);
            [0; 200].map(|_| dice.next())
        };
        let (none, many) = (drawn("0%"), drawn("40%"));
        assert_eq!(none.map(|work| work.reset), many.map(|work| work.reset));
        let alike = (0..200).filter(|&i| none[i].service == many[i].service);
        assert!((100..140).contains(&alike.count()));
    }

    #[test]
    fn the_same_seed_draws_the_same_work() {
        let draw = |seed| {
            let mut dice = Dice::new(seed, ServiceTime::Exponential(5 * MS), Pathology::default());
            [0; 50].map(|_| dice.next().service)
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn slow_answers_and_resets_come_in_their_share_and_leave_the_others_alone() {
        let pathology = Pathology {
            slow_share: "1%".parse().unwrap(),
            slow_factor: 50.0,
            reset_share: "0.5%".parse::<Share>().unwrap(),
            pause: None,
        };
        let mut healthy = Dice::new(1, ServiceTime::Exponential(5 * MS), Pathology::default());
        let mut ill = Dice::new(1, ServiceTime::Exponential(5 * MS), pathology);
        let pairs: Vec<(Work, Work)> = (0..100_000).map(|_| (healthy.next(), ill.next())).collect();
        let slow = pairs
            .iter()
            .filter(|(well, ill)| ill.service != well.service)
            .count();
        let reset = pairs.iter().filter(|(_, ill)| ill.reset).count();
        assert!((800..1200).contains(&slow), "{slow}");
        assert!((400..600).contains(&reset), "{reset}");
        let longer = |(well, ill): &(Work, Work)| ill.service.abs_diff(50 * well.service) <= 50;
        assert!(
            pairs
                .iter()
                .filter(|(well, ill)| ill.service != well.service)
                .all(longer)
        );
    }

    #[test]
    fn work_stands_still_during_a_pause() {
        let pause = Pause::try_new(100, 1000).ok();
        for (started, service, wanted, why) in [
            (0, 10, 10, "the first pause comes after one whole period"),
            (990, 10, 1000, "done just before the pause"),
            (990, 11, 1101, "the last of it after the pause"),
            (1000, 0, 1100, "even no work waits for the end of the pause"),
            (1050, 10, 1110, "begins in the pause"),
            (1100, 900, 2000, "a whole period of work"),
            (1100, 1801, 3101, "over two pauses"),
        ] {
            assert_eq!(finish(started, service, pause), wanted, "{why}");
        }
        assert_eq!(finish(1050, 10, None), 1060);
    }
}
