//! Rates over time, with the expected number of arrivals and its inverse in closed form.

use crate::Problem;
use std::f64::consts::TAU;

/// The highest rate that a curve accepts, in arrivals per second: beyond it a rate is taken for a slip.
const HIGHEST_RATE: f64 = 10_000_000.0;

/// A stretch of time over which the rate changes linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Arrivals per second at its beginning.
    pub from: f64,
    /// Arrivals per second at its end.
    pub to: f64,
    /// How long it lasts, in seconds; infinite for a last segment without an end.
    pub lasting: f64,
}

/// A rate that swings around a mean: `mean + amplitude * sin(2 pi t / period)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sine {
    mean: f64,
    amplitude: f64,
    period: f64,
}

/// A rate over time, in arrivals per second against seconds from the start.
#[derive(Debug, Clone, PartialEq)]
pub enum Curve {
    /// Stretches of linear change, one after another; the arrivals end with the last of them.
    Segments(Vec<Segment>),
    /// A swing without an end.
    Sine(Sine),
}

impl Segment {
    fn slope(&self) -> f64 {
        if self.lasting.is_finite() {
            (self.to - self.from) / self.lasting
        } else {
            0.0
        }
    }

    /// Arrivals in the first `x` seconds: the area under the line.
    fn arrivals(&self, x: f64) -> f64 {
        self.from * x + 0.5 * self.slope() * x * x
    }

    fn all_arrivals(&self) -> f64 {
        if self.lasting.is_finite() {
            0.5 * (self.from + self.to) * self.lasting
        } else if self.from > 0.0 {
            f64::INFINITY
        } else {
            0.0
        }
    }

    /// Seconds after which `n` arrivals are due, `n` being at most [`Segment::all_arrivals`].
    ///
    /// Solves `from x + slope/2 x^2 = n` in the form `2n / (from + sqrt(from^2 + 2 slope n))`, which loses no digits
    /// when the slope is small and needs no special case when it is zero.
    fn time_of(&self, n: f64) -> f64 {
        if n <= 0.0 {
            return 0.0;
        }
        let root = (self.from * self.from + 2.0 * self.slope() * n).max(0.0).sqrt();
        (2.0 * n / (self.from + root)).min(self.lasting)
    }
}

impl Sine {
    fn rate_at(&self, t: f64) -> f64 {
        self.mean + self.amplitude * (TAU * t / self.period).sin()
    }

    fn arrivals_by(&self, t: f64) -> f64 {
        let swing = self.amplitude * self.period / TAU;
        self.mean * t + swing * (1.0 - (TAU * t / self.period).cos())
    }

    /// Inverts [`Sine::arrivals_by`]: whole periods by division, the rest by bisection on the monotone remainder.
    fn time_of(&self, n: f64) -> f64 {
        let per_period = self.mean * self.period;
        let whole = (n / per_period).floor();
        let rest = n - whole * per_period;
        let (mut low, mut high) = (0.0, self.period);
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if self.arrivals_by(middle) < rest {
                low = middle
            } else {
                high = middle
            }
        }
        whole * self.period + high
    }
}

impl Curve {
    /// The same rate for ever.
    ///
    /// # Errors
    /// When the rate is not a positive number of at most ten million a second.
    pub fn constant(rate: f64) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        positive_rate("rate", rate, &mut problems);
        ended(
            Self::Segments(vec![Segment {
                from: rate,
                to: rate,
                lasting: f64::INFINITY,
            }]),
            problems,
        )
    }

    /// From one rate to another over some seconds, and then at the second for ever.
    ///
    /// # Errors
    /// When a rate is negative or absurd, both are zero, or the time is not positive.
    pub fn ramp(from: f64, to: f64, over: f64) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        any_rate("from", from, &mut problems);
        any_rate("to", to, &mut problems);
        positive_time("over_us", over, &mut problems);
        if from == 0.0 && to == 0.0 {
            problems.push(Problem::new(
                "to",
                to,
                "a rate above zero",
                "a ramp from zero to zero sends nothing",
            ));
        }
        let rest = Segment {
            from: to,
            to,
            lasting: f64::INFINITY,
        };
        ended(
            Self::Segments(vec![
                Segment {
                    from,
                    to,
                    lasting: over,
                },
                rest,
            ]),
            problems,
        )
    }

    /// Levels of `(rate, seconds)`, one after another; the arrivals end with the last level.
    ///
    /// # Errors
    /// When there is no level, a rate is negative or absurd, all are zero, or a time is not positive.
    pub fn steps(levels: &[(f64, f64)]) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        for (index, (rate, lasting)) in levels.iter().enumerate() {
            any_rate(&format!("[{index}].rate"), *rate, &mut problems);
            positive_time(&format!("[{index}].for_us"), *lasting, &mut problems);
        }
        if levels.iter().all(|(rate, _)| *rate == 0.0) {
            problems.push(Problem::new(
                "",
                "[]",
                "at least one level with a rate above zero",
                "these steps send nothing",
            ));
        }
        let segment = |&(rate, lasting): &(f64, f64)| Segment {
            from: rate,
            to: rate,
            lasting,
        };
        ended(Self::Segments(levels.iter().map(segment).collect()), problems)
    }

    /// A base rate for ever, except for `lasting` seconds from `at` on, which have the peak rate.
    ///
    /// # Errors
    /// When a rate is negative or absurd, both are zero, `at` is negative, or the spike's time is not positive.
    pub fn spike(base: f64, peak: f64, at: f64, lasting: f64) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        any_rate("base", base, &mut problems);
        positive_rate("peak", peak, &mut problems);
        positive_time("for_us", lasting, &mut problems);
        if !at.is_finite() || at < 0.0 {
            problems.push(Problem::new(
                "at_us",
                at,
                "zero or more",
                "a spike can't begin before the start",
            ));
        }
        let level = |rate, lasting| Segment {
            from: rate,
            to: rate,
            lasting,
        };
        ended(
            Self::Segments(vec![
                level(base, at),
                level(peak, lasting),
                level(base, f64::INFINITY),
            ]),
            problems,
        )
    }

    /// A swing of `amplitude` around `mean`, with a period in seconds, for ever.
    ///
    /// # Errors
    /// When the mean is not positive, the amplitude is negative or above the mean, or the period is not positive.
    pub fn sine(mean: f64, amplitude: f64, period: f64) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        positive_rate("mean", mean, &mut problems);
        positive_time("period_us", period, &mut problems);
        if !amplitude.is_finite() || amplitude < 0.0 || amplitude > mean {
            let message = "a larger swing would need a negative rate";
            problems.push(Problem::new(
                "amplitude",
                amplitude,
                "from 0 to the mean",
                message,
            ));
        }
        ended(
            Self::Sine(Sine {
                mean,
                amplitude,
                period,
            }),
            problems,
        )
    }

    /// The rate at `t` seconds from the start, in arrivals per second; zero after the last segment.
    #[must_use]
    pub fn rate_at(&self, t: f64) -> f64 {
        match self {
            Self::Sine(sine) => sine.rate_at(t),
            Self::Segments(segments) => {
                let mut start = 0.0;
                for segment in segments {
                    if t < start + segment.lasting {
                        return segment.from + segment.slope() * (t - start);
                    }
                    start += segment.lasting;
                }
                0.0
            }
        }
    }

    /// How many arrivals are expected in the first `t` seconds: the integral of the rate.
    #[must_use]
    pub fn arrivals_by(&self, t: f64) -> f64 {
        match self {
            Self::Sine(sine) => sine.arrivals_by(t),
            Self::Segments(segments) => {
                let (mut start, mut sum) = (0.0, 0.0);
                for segment in segments {
                    let inside = (t - start).clamp(0.0, segment.lasting);
                    sum += segment.arrivals(inside);
                    start += segment.lasting;
                }
                sum
            }
        }
    }

    /// The second at which the `n`th arrival is due, or `None` when there are fewer arrivals.
    ///
    /// The inverse of [`Curve::arrivals_by`]; `n` need not be whole, so that a Poisson process can be placed on it.
    #[must_use]
    pub fn time_of(&self, n: f64) -> Option<f64> {
        match self {
            Self::Sine(sine) => Some(sine.time_of(n)),
            Self::Segments(segments) => time_of(segments, n),
        }
    }
}

fn time_of(segments: &[Segment], n: f64) -> Option<f64> {
    let (mut start, mut before) = (0.0, 0.0);
    for segment in segments {
        let here = segment.all_arrivals();
        // An arrival on the border belongs to the next stretch: a level of 2 s at 10/s holds arrivals 0 to 19.
        if n < before + here {
            return Some(start + segment.time_of(n - before));
        }
        before += here;
        start += segment.lasting;
    }
    None
}

fn ended(curve: Curve, problems: Vec<Problem>) -> Result<Curve, Vec<Problem>> {
    if problems.is_empty() {
        Ok(curve)
    } else {
        Err(problems)
    }
}

fn any_rate(path: &str, rate: f64, problems: &mut Vec<Problem>) {
    if !(0.0..=HIGHEST_RATE).contains(&rate) {
        let allowed = "from 0 to 10000000 arrivals per second";
        problems.push(Problem::new(
            path,
            rate,
            allowed,
            "this can't be a rate of arrivals",
        ));
    }
}

fn positive_rate(path: &str, rate: f64, problems: &mut Vec<Problem>) {
    if !(rate > 0.0 && rate <= HIGHEST_RATE) {
        let allowed = "above 0, at most 10000000 arrivals per second";
        problems.push(Problem::new(
            path,
            rate,
            allowed,
            "this can't be a rate of arrivals",
        ));
    }
}

fn positive_time(path: &str, seconds: f64, problems: &mut Vec<Problem>) {
    if !(seconds.is_finite() && seconds > 0.0) {
        problems.push(Problem::new(
            path,
            seconds * 1e6,
            "a time above zero",
            "this stretch takes no time",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curves() -> impl Strategy<Value = Curve> {
        prop_oneof![
            (0.1f64..1e5).prop_map(|rate| Curve::constant(rate).unwrap()),
            (0.0f64..1e4, 0.1f64..1e4, 0.1f64..600.0).prop_map(|(a, b, t)| Curve::ramp(a, b, t).unwrap()),
            (0.1f64..1e3, 0.1f64..1e4, 0.0f64..60.0, 0.1f64..60.0)
                .prop_map(|(base, peak, at, lasting)| Curve::spike(base, peak, at, lasting).unwrap()),
            (1.0f64..1e4, 0.0f64..1.0, 0.1f64..600.0).prop_map(|(mean, share, period)| Curve::sine(
                mean,
                mean * share,
                period
            )
            .unwrap()),
            proptest::collection::vec((0.1f64..1e3, 0.1f64..60.0), 1..6)
                .prop_map(|levels| Curve::steps(&levels).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn the_time_of_an_arrival_is_when_that_many_are_expected(curve in curves(), n in 0.0f64..5e4) {
            if let Some(t) = curve.time_of(n) {
                prop_assert!((curve.arrivals_by(t) - n).abs() < 1e-6 * (1.0 + n), "{} against {n}", curve.arrivals_by(t));
            }
        }

        #[test]
        fn later_arrivals_are_never_earlier(curve in curves(), n in 0.0f64..1e4, more in 0.0f64..10.0) {
            if let (Some(first), Some(second)) = (curve.time_of(n), curve.time_of(n + more)) {
                prop_assert!(first <= second + 1e-9);
            }
        }

        #[test]
        fn the_rate_is_the_slope_of_the_expected_arrivals(curve in curves(), t in 0.01f64..100.0) {
            let h = 1e-6;
            let slope = (curve.arrivals_by(t + h) - curve.arrivals_by(t)) / h;
            let (here, there) = (curve.rate_at(t), curve.rate_at(t + h));
            let jump = (here - there).abs();
            prop_assert!((slope - here).abs() <= jump + 1e-2 * (1.0 + here), "{slope} against {here}");
        }

        #[test]
        fn no_number_makes_a_curve_panic(a in any::<f64>(), b in any::<f64>(), c in any::<f64>(), d in any::<f64>()) {
            for made in [
                Curve::constant(a), Curve::ramp(a, b, c), Curve::spike(a, b, c, d), Curve::sine(a, b, c), Curve::steps(&[(a, b), (c, d)]),
            ] {
                match made {
                    Ok(curve) => prop_assert!(curve.time_of(1.0).is_none_or(|t| t >= 0.0)),
                    Err(problems) => prop_assert!(!problems.is_empty()),
                }
            }
        }
    }

    #[test]
    fn a_ramp_from_0_to_100_over_10_s_expects_500_arrivals() {
        assert!((Curve::ramp(0.0, 100.0, 10.0).unwrap().arrivals_by(10.0) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn a_whole_period_of_a_sine_expects_its_mean() {
        assert!((Curve::sine(40.0, 30.0, 5.0).unwrap().arrivals_by(5.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn a_quarter_period_of_a_sine_expects_mean_plus_swing() {
        // mean t + amplitude period / 2 pi = 40 * 1.25 + 30 * 5 / 6.2832
        let expected = 50.0 + 150.0 / TAU;
        assert!((Curve::sine(40.0, 30.0, 5.0).unwrap().arrivals_by(1.25) - expected).abs() < 1e-9);
    }

    #[test]
    fn a_spike_adds_its_peak_over_its_time_only() {
        let curve = Curve::spike(10.0, 100.0, 2.0, 3.0).unwrap();
        assert!((curve.arrivals_by(10.0) - (20.0 + 300.0 + 50.0)).abs() < 1e-9);
        assert_eq!(
            (curve.rate_at(1.9), curve.rate_at(2.0), curve.rate_at(5.0)),
            (10.0, 100.0, 10.0)
        );
    }

    #[test]
    fn every_problem_of_a_curve_is_listed_at_once() {
        let problems = Curve::ramp(-1.0, f64::NAN, 0.0).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["from", "to", "over_us"]);
    }
}
