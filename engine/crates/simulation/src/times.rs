//! How long a service works on a request.

use rand_core::Rng;
use rand_pcg::Pcg64;
use serde::Deserialize;

/// Service times, in microseconds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Times {
    /// The same for every request.
    #[serde(rename = "fixed_us")]
    Fixed(f64),
    /// Exponential, with this mean.
    #[serde(rename = "exponential_us")]
    Exponential(f64),
    /// By a quantile function: pairs of a share and the time that this share takes at most, linear in between.
    #[serde(rename = "quantiles_us")]
    Quantiles(Vec<(f64, f64)>),
}

impl Times {
    /// What is wrong with them, in a sentence.
    pub fn mistake(&self) -> Option<String> {
        match self {
            Self::Fixed(us) | Self::Exponential(us) => {
                (!us.is_finite() || *us < 0.0).then(|| format!("a time of {us} us; allowed: 0 or more"))
            }
            Self::Quantiles(points) => mistake_of_quantiles(points),
        }
    }

    /// One service time, in nanoseconds.
    pub fn draw(&self, random: &mut Pcg64) -> f64 {
        1_000.0
            * match self {
                Self::Fixed(us) => *us,
                Self::Exponential(mean) => -mean * (1.0 - uniform(random)).ln(),
                Self::Quantiles(points) => quantile(points, uniform(random)),
            }
    }
}

fn mistake_of_quantiles(points: &[(f64, f64)]) -> Option<String> {
    let ends = (
        points.first().map(|first| first.0),
        points.last().map(|last| last.0),
    );
    if ends != (Some(0.0), Some(1.0)) {
        return Some("a quantile function begins at the share 0 and ends at 1".to_owned());
    }
    for pair in points.windows(2) {
        let ((share, us), (next, later)) = (pair[0], pair[1]);
        if next <= share {
            return Some(format!("the share {next} comes after {share}; shares rise"));
        }
        if later < us {
            return Some(format!("the quantile function falls from {us} to {later} us"));
        }
    }
    points
        .iter()
        .find(|(_, us)| !us.is_finite() || *us < 0.0)
        .map(|(_, us)| format!("a time of {us} us; allowed: 0 or more"))
}

/// The value of a quantile function at a share below 1.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let after = points
        .partition_point(|point| point.0 <= share)
        .clamp(1, points.len() - 1);
    let ((low, from), (high, to)) = (points[after - 1], points[after]);
    from + (to - from) * (share - low) / (high - low)
}

/// A number from 0 to below 1, of 53 random bits.
pub fn uniform(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 * (-53f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn mean(times: &Times) -> f64 {
        let mut random = Pcg64::seed_from_u64(7);
        (0..200_000).map(|_| times.draw(&mut random)).sum::<f64>() / 200_000.0 / 1_000.0
    }

    #[test]
    fn times_have_the_mean_of_their_distribution() {
        assert!((mean(&Times::Fixed(250.0)) - 250.0).abs() < 1e-9);
        assert!((mean(&Times::Exponential(400.0)) - 400.0).abs() < 4.0);
        let uniform = Times::Quantiles(vec![(0.0, 100.0), (1.0, 300.0)]);
        assert!((mean(&uniform) - 200.0).abs() < 1.0);
        let tail = Times::Quantiles(vec![(0.0, 100.0), (0.9, 100.0), (1.0, 1100.0)]);
        assert!((mean(&tail) - 150.0).abs() < 2.0);
    }

    #[test]
    fn a_quantile_function_that_falls_or_has_no_ends_is_refused() {
        let wrong = |points: &[(f64, f64)]| Times::Quantiles(points.to_vec()).mistake();
        assert!(wrong(&[]).is_some());
        assert!(wrong(&[(0.0, 1.0), (0.9, 2.0)]).is_some_and(|text| text.contains("ends at 1")));
        assert!(wrong(&[(0.0, 2.0), (1.0, 1.0)]).is_some_and(|text| text.contains("falls from 2 to 1")));
        assert!(wrong(&[(0.0, 1.0), (0.5, 1.0), (0.5, 2.0), (1.0, 2.0)]).is_some());
        assert!(wrong(&[(0.0, -1.0), (1.0, 1.0)]).is_some());
        assert!(wrong(&[(0.0, 1.0), (1.0, f64::INFINITY)]).is_some());
        assert_eq!(wrong(&[(0.0, 1.0), (1.0, 1.0)]), None);
        assert!(Times::Exponential(-1.0).mistake().is_some());
        assert!(Times::Fixed(f64::NAN).mistake().is_some());
    }
}
