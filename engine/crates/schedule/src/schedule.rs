//! Arrivals placed on a curve.

use crate::Curve;
use rand_core::Rng;

/// How arrivals are placed on a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly: arrival `k` is due when exactly `k` are expected. The first is due at the start.
    Regular,
    /// As a Poisson process: the expected arrivals between two of them are exponential with mean one.
    Poisson,
}

/// An endless or finite sequence of arrivals; holds no clock and no random source.
#[derive(Debug, Clone)]
pub struct Schedule {
    curve: Curve,
    spacing: Spacing,
    /// Regular: the number of arrivals so far. Poisson: the sum of exponential gaps so far.
    reached: f64,
}

impl Schedule {
    /// Places arrivals on a curve.
    #[must_use]
    pub fn new(curve: Curve, spacing: Spacing) -> Self {
        Self {
            curve,
            spacing,
            reached: 0.0,
        }
    }

    /// Forgets the arrival that was drawn last, which has not come by a moment, in seconds from the start; the next one
    /// is drawn from there on. False of arrivals that are not a Poisson process, which are not to be forgotten.
    pub fn forget(&mut self, seconds: f64) -> bool {
        let is_poisson = self.spacing == Spacing::Poisson;
        if is_poisson {
            self.reached = self.curve.arrivals_by(seconds);
        }
        is_poisson
    }

    /// The next arrival, in nanoseconds from the start, or `None` when there are no more.
    ///
    /// Times never go back. A Poisson process on a rate that varies is placed by the time-rescaling theorem:
    /// a process of rate one, carried back through the inverse of the expected arrivals.
    pub fn next(&mut self, random: &mut impl Rng) -> Option<u64> {
        let due = match self.spacing {
            Spacing::Regular => self.reached,
            Spacing::Poisson => self.reached + exponential(random),
        };
        self.reached = if self.spacing == Spacing::Regular {
            due + 1.0
        } else {
            due
        };
        let seconds = self.curve.time_of(due)?;
        // `as` saturates: an arrival in the far future stays in the far future.
        Some((seconds * 1e9) as u64)
    }
}

/// Draws from the exponential distribution with mean one, by inversion.
fn exponential(random: &mut impl Rng) -> f64 {
    // 53 random bits, moved into (0, 1] so that the logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    fn arrivals(curve: Curve, spacing: Spacing, seconds: f64) -> Vec<f64> {
        seeded(7, curve, spacing, seconds)
    }

    fn seeded(seed: u64, curve: Curve, spacing: Spacing, seconds: f64) -> Vec<f64> {
        let mut schedule = Schedule::new(curve, spacing);
        let mut random = Pcg64::seed_from_u64(seed);
        std::iter::from_fn(|| schedule.next(&mut random))
            .map(|nanoseconds| nanoseconds as f64 / 1e9)
            .take_while(|at| *at < seconds)
            .collect()
    }

    #[test]
    fn a_constant_rate_has_equal_gaps_from_the_start_on() {
        let times = arrivals(Curve::constant(250.0).unwrap(), Spacing::Regular, 10.0);
        assert_eq!(times.len(), 2500);
        assert!(
            times
                .iter()
                .enumerate()
                .all(|(k, at)| (at - k as f64 * 0.004).abs() < 2e-9)
        );
    }

    #[test]
    fn a_ramp_places_arrival_k_at_the_square_root_of_its_share() {
        // From 0 to 100/s over 10 s: expected arrivals are 5 t^2, so arrival k is due at sqrt(k / 5).
        let times = arrivals(Curve::ramp(0.0, 100.0, 10.0).unwrap(), Spacing::Regular, 10.0);
        assert_eq!(times.len(), 500);
        assert!(
            times
                .iter()
                .enumerate()
                .all(|(k, at)| (at - (k as f64 / 5.0).sqrt()).abs() < 2e-9)
        );
    }

    #[test]
    fn steps_hold_their_counts_and_then_end() {
        let curve = Curve::steps(&[(10.0, 2.0), (0.0, 5.0), (50.0, 1.0)]).unwrap();
        let times = arrivals(curve, Spacing::Regular, f64::INFINITY);
        assert_eq!(times.iter().filter(|at| **at < 2.0).count(), 20);
        assert_eq!(times.iter().filter(|at| **at >= 2.0 && **at < 7.0).count(), 0);
        assert_eq!(times.len(), 70);
    }

    #[test]
    fn a_spike_holds_the_counts_of_its_three_stretches() {
        let times = arrivals(
            Curve::spike(10.0, 200.0, 5.0, 2.0).unwrap(),
            Spacing::Regular,
            10.0,
        );
        let within = |low: f64, high: f64| times.iter().filter(|at| **at >= low && **at < high).count();
        assert_eq!(
            (within(0.0, 5.0), within(5.0, 7.0), within(7.0, 10.0)),
            (50, 400, 30)
        );
    }

    #[test]
    fn a_sine_holds_its_mean_over_whole_periods() {
        assert_eq!(
            arrivals(Curve::sine(100.0, 100.0, 4.0).unwrap(), Spacing::Regular, 12.0).len(),
            1200
        );
    }

    /// The largest distance between the empirical distribution of `values` and a distribution function.
    fn kolmogorov_smirnov(mut values: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let distance = |(k, value): (usize, &f64)| {
            let expected = distribution(*value);
            (expected - k as f64 / n)
                .abs()
                .max(((k + 1) as f64 / n - expected).abs())
        };
        values.iter().enumerate().map(distance).fold(0.0, f64::max)
    }

    #[test]
    fn gaps_of_a_poisson_schedule_are_exponential() {
        let times = arrivals(Curve::constant(1000.0).unwrap(), Spacing::Poisson, 20.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let critical = 1.628 / (gaps.len() as f64).sqrt(); // of Kolmogorov's distribution, at 1 %
        let distance = kolmogorov_smirnov(gaps, |gap| 1.0 - (-1000.0 * gap).exp());
        assert!(distance < critical, "{distance} against {critical}");
    }

    #[test]
    fn counts_of_a_poisson_schedule_vary_as_much_as_their_mean() {
        let times = arrivals(Curve::constant(1000.0).unwrap(), Spacing::Poisson, 100.0);
        let mut counts = vec![0.0f64; 1000];
        times.iter().for_each(|at| counts[(at * 10.0) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / 1000.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 999.0;
        // The index of dispersion of 1,000 counts has a standard error of sqrt(2 / 999) = 0.045.
        assert!((variance / mean - 1.0).abs() < 3.0 * 0.045, "{}", variance / mean);
        assert!((mean - 100.0).abs() < 3.0 * (100.0f64 / 1000.0).sqrt(), "{mean}");
    }

    #[test]
    fn a_poisson_schedule_follows_a_ramp() {
        // Given their number, arrivals of an inhomogeneous process are independent with distribution L(t) / L(T).
        let times = arrivals(Curve::ramp(0.0, 400.0, 20.0).unwrap(), Spacing::Poisson, 20.0);
        let critical = 1.628 / (times.len() as f64).sqrt();
        assert!(kolmogorov_smirnov(times, |at| (at / 20.0).powi(2)) < critical);
    }

    #[test]
    fn a_poisson_schedule_goes_on_from_where_it_forgot_its_next_arrival() {
        let mut random = Pcg64::seed_from_u64(3);
        let curve = Curve::ramp(0.0, 400.0, 20.0).unwrap();
        let mut schedule = Schedule::new(curve.clone(), Spacing::Poisson);
        schedule.next(&mut random);
        assert!(schedule.forget(10.0));
        let times: Vec<f64> = std::iter::from_fn(|| schedule.next(&mut random))
            .map(|at| at as f64 / 1e9)
            .take_while(|at| *at < 20.0)
            .collect();
        assert!(times[0] >= 10.0 - 1e-9);
        let critical = 1.628 / (times.len() as f64).sqrt();
        assert!(kolmogorov_smirnov(times, |at| (at.powi(2) - 100.0) / 300.0) < critical);
        assert!(!Schedule::new(curve, Spacing::Regular).forget(10.0));
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals() {
        let once = |seed| {
            seeded(
                seed,
                Curve::sine(100.0, 50.0, 1.0).unwrap(),
                Spacing::Poisson,
                5.0,
            )
        };
        assert_eq!(once(1), once(1));
        assert_ne!(once(1), once(2));
    }
}
