//! What a target is asked to be, read from text once and valid from then on.

use patternbench_timing::{Nanos, parse_duration};
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A whole target.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on; 0 takes a free one.
    pub port: u16,
    /// How many requests are served at the same time; at least 1.
    pub workers: usize,
    /// How long a worker takes for one.
    pub service_time: ServiceTime,
    /// How many may wait.
    pub queue: QueueLimit,
    /// Of every draw: service times, slow answers, resets, bytes.
    pub seed: u64,
    /// Where the log of requests goes.
    pub log: Option<PathBuf>,
    /// What is wrong with it, on purpose.
    pub pathology: Pathology,
}

/// Misbehaviour on purpose; by default there is no misbehaviour.
#[derive(Debug, Clone, Default)]
pub struct Pathology {
    /// Share of requests that take `slow_factor` times as long.
    pub slow_share: Share,
    /// How much longer those take.
    pub slow_factor: f64,
    /// Share of requests that end with a reset connection instead of an answer.
    pub reset_share: Share,
    /// All workers pause now and then.
    pub pause: Option<Pause>,
}

/// All workers pause for `length` at the end of every `every`, counted from the start of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    length: Nanos,
    every: Nanos,
}

impl Pause {
    /// A pause, when it is shorter than what it interrupts.
    ///
    /// # Errors
    /// One sentence, when no time would be left to work in.
    pub fn try_new(length: Nanos, every: Nanos) -> Result<Self, String> {
        if length == 0 || length >= every {
            return Err("--pause must be longer than 0 and shorter than --pause-every".into());
        }
        Ok(Self { length, every })
    }

    /// How long it lasts.
    pub fn length(&self) -> Nanos {
        self.length
    }

    /// From the start of one to the start of the next.
    pub fn every(&self) -> Nanos {
        self.every
    }
}

/// How the time is distributed that a worker takes for a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceTime {
    /// The same for all.
    Fixed(Nanos),
    /// Exponential, with this mean.
    Exponential(Nanos),
    /// Log-normal.
    LogNormal {
        /// The mean of the times themselves.
        mean: Nanos,
        /// The standard deviation of their logarithm.
        sigma: f64,
    },
}

const SERVICE_TIMES: &str = "write fixed:5ms, exponential:5ms or lognormal:5ms,0.5 (mean and sigma)";

impl FromStr for ServiceTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text
            .split_once(':')
            .ok_or_else(|| format!("'{text}' is not a service time: {SERVICE_TIMES}"))?;
        match kind {
            "fixed" => parse_duration(rest).map(Self::Fixed),
            "exponential" => parse_duration(rest).map(Self::Exponential),
            "lognormal" => log_normal(rest),
            _ => Err(format!("'{kind}' is not a distribution: {SERVICE_TIMES}")),
        }
    }
}

fn log_normal(text: &str) -> Result<ServiceTime, String> {
    let (mean, sigma) = text
        .split_once(',')
        .ok_or_else(|| format!("'{text}' has no sigma: write lognormal:5ms,0.5"))?;
    let sigma: f64 = sigma
        .trim()
        .parse()
        .map_err(|_| format!("sigma '{sigma}' is not a number: write lognormal:5ms,0.5"))?;
    if !(0.0..=5.0).contains(&sigma) {
        return Err(format!("sigma {sigma} is out of range: from 0 to 5"));
    }
    Ok(ServiceTime::LogNormal {
        mean: parse_duration(mean)?,
        sigma,
    })
}

/// How many requests may wait while all workers are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Any number.
    Unbounded,
    /// At most this many; more are refused with 503.
    AtMost(usize),
}

impl FromStr for QueueLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unbounded" {
            return Ok(Self::Unbounded);
        }
        text.parse()
            .map(Self::AtMost)
            .map_err(|_| format!("'{text}' is not a queue: write a number, or unbounded"))
    }
}

/// A share of requests, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share(f64);

impl Share {
    /// As a number from 0 to 1.
    pub fn value(&self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .strip_suffix('%')
            .ok_or_else(|| format!("'{text}' has no unit: write {text}%"))?;
        let percent: f64 = number
            .trim()
            .parse()
            .map_err(|_| format!("'{text}' is not a share: write 1%"))?;
        if !(0.0..=100.0).contains(&percent) {
            return Err(format!("'{text}' is out of range: from 0% to 100%"));
        }
        Ok(Self(percent / 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distributions_are_read() {
        assert_eq!("fixed:5ms".parse(), Ok(ServiceTime::Fixed(5_000_000)));
        assert_eq!(
            "exponential:2s".parse(),
            Ok(ServiceTime::Exponential(2_000_000_000))
        );
        assert_eq!(
            "lognormal:5ms,0.5".parse(),
            Ok(ServiceTime::LogNormal {
                mean: 5_000_000,
                sigma: 0.5
            })
        );
    }

    #[test]
    fn a_mistake_in_a_distribution_says_what_to_write() {
        let wrong = |text: &str| text.parse::<ServiceTime>().unwrap_err();
        assert_eq!(
            wrong("5ms"),
            format!("'5ms' is not a service time: {SERVICE_TIMES}")
        );
        assert_eq!(
            wrong("uniform:5ms"),
            format!("'uniform' is not a distribution: {SERVICE_TIMES}")
        );
        assert_eq!(wrong("fixed:5"), "'5' has no unit: write 5ms or 5s");
        assert_eq!(
            wrong("lognormal:5ms"),
            "'5ms' has no sigma: write lognormal:5ms,0.5"
        );
        assert_eq!(wrong("lognormal:5ms,9"), "sigma 9 is out of range: from 0 to 5");
        assert_eq!(
            wrong("lognormal:5ms,NaN"),
            "sigma NaN is out of range: from 0 to 5"
        );
    }

    #[test]
    fn a_share_needs_its_percent_sign() {
        assert_eq!("0.5%".parse::<Share>().unwrap().value(), 0.005);
        assert_eq!("1".parse::<Share>().unwrap_err(), "'1' has no unit: write 1%");
        assert_eq!(
            "101%".parse::<Share>().unwrap_err(),
            "'101%' is out of range: from 0% to 100%"
        );
        assert_eq!(
            "NaN%".parse::<Share>().unwrap_err(),
            "'NaN%' is out of range: from 0% to 100%"
        );
    }

    #[test]
    fn a_queue_is_a_number_or_unbounded() {
        assert_eq!("0".parse(), Ok(QueueLimit::AtMost(0)));
        assert_eq!("unbounded".parse(), Ok(QueueLimit::Unbounded));
        assert!("-1".parse::<QueueLimit>().is_err());
    }

    #[test]
    fn a_pause_leaves_time_to_work() {
        assert!(Pause::try_new(100, 1000).is_ok());
        assert!(Pause::try_new(1000, 1000).is_err());
        assert!(Pause::try_new(0, 1000).is_err());
    }
}
