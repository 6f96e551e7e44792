//! How probable a rare event is, by multilevel splitting: paths that reach a level are continued in several ways.
//!
//! The probability of the event is the product of those of reaching each level from the one before. A repetition
//! follows equally many paths to each level (fixed effort), from the states in which the one before was reached, each
//! continued about equally often, in shuffled order. With levels that are fixed beforehand its product is unbiased,
//! however the states depend on each other. Levels come from a pilot of which nothing else is used. Repetitions are
//! independent of each other, so that their scatter says how far off their mean may be: neither ties between paths nor
//! the choice of levels can make the interval too short.
//!
//! Sources: Garvels, The splitting method in rare event simulation, thesis, Twente 2000 (fixed effort); Amrein and
//! Künsch, A variant of importance splitting for rare event estimation, ACM TOMACS 21 (2011) (unbiased products);
//! Cérou and Guyader, Adaptive multilevel splitting for rare event analysis, Stochastic Analysis and Applications 25
//! (2007) (levels by quantiles).

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many independent repetitions an estimate rests on.
pub const REPETITIONS: usize = 20;
/// The 97.5 % quantile of Student's t with 19 degrees of freedom.
const T: f64 = 2.093;
/// Which part of the paths is to reach each level from the one before.
const PART: f64 = 0.2;
/// Paths of a pilot from each level, how many of them must come further, and how often more are tried until they do.
const PILOT: usize = 200;
const FEWEST: usize = 10;
const BATCHES: usize = 3;
/// How many pilots are tried until one comes to the event: after many levels all paths of one descend from few states,
/// from which the event may be out of reach.
const PILOTS: u64 = 5;
/// The levels of a pilot at most: a probability below 1e-100 counts as 0.
const MOST_LEVELS: usize = 150;

/// What became of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// Whether it reached the level after its last seed.
    pub reached: bool,
    /// The most that it reached.
    pub highest: u64,
}

/// A system whose paths can be followed: from the first seed on, and from each level on with the next one.
pub trait Walk: Sync {
    /// Follows a path to the level after its last seed, or to its end.
    ///
    /// # Errors
    /// When it can't be followed, in a sentence.
    fn follow(&self, levels: &[u64], seeds: &[u64]) -> Result<Followed, String>;
}

/// What an estimate may take.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Paths to each level, in each repetition.
    pub paths: usize,
    /// What everything is drawn from.
    pub seed: u64,
    /// Threads.
    pub cores: usize,
}

/// The probability that a level is reached, with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelEstimate {
    /// The level.
    pub level: u64,
    /// The mean of all repetitions.
    pub probability: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end; none where no path reached the level.
    pub high: Option<f64>,
}

/// What was found of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The levels on the way to the event; the last one is the event, if the pilot came so far.
    pub levels: Vec<LevelEstimate>,
    /// How many paths were followed, those of the pilot included.
    pub paths: u64,
}

/// Estimates how probable it is that a threshold is reached. `told` hears how many paths were followed so far.
///
/// # Errors
/// When a path can't be followed, or `stop` has become true.
pub fn estimate<W: Walk>(
    walk: &W,
    threshold: u64,
    effort: Effort,
    stop: &AtomicBool,
    told: &(dyn Fn(u64) + Sync),
) -> Result<Estimate, String> {
    let counted = Counted {
        walk,
        count: AtomicUsize::new(0),
        stop,
        told,
    };
    let levels = piloted(&counted, threshold, effort.seed)?;
    let found = repetitions(&counted, &levels, effort)?;
    Ok(Estimate {
        levels: estimates(&levels, &found),
        paths: counted.count.load(Ordering::Relaxed) as u64,
    })
}

/// The same with given levels, which rise to the threshold.
///
/// # Errors
/// As for [`estimate`].
pub fn estimate_at<W: Walk>(walk: &W, levels: &[u64], effort: Effort) -> Result<Vec<LevelEstimate>, String> {
    repetitions(walk, levels, effort).map(|found| estimates(levels, &found))
}

/// Counts the paths that are followed, and follows no more when that is to end.
struct Counted<'a, W> {
    walk: &'a W,
    count: AtomicUsize,
    stop: &'a AtomicBool,
    told: &'a (dyn Fn(u64) + Sync),
}

impl<W: Walk> Walk for Counted<'_, W> {
    fn follow(&self, levels: &[u64], seeds: &[u64]) -> Result<Followed, String> {
        if self.stop.load(Ordering::Relaxed) {
            return Err("it was stopped".to_owned());
        }
        let followed = self.walk.follow(levels, seeds)?;
        (self.told)(self.count.fetch_add(1, Ordering::Relaxed) as u64 + 1);
        Ok(followed)
    }
}

/// A state: the seeds that lead to it.
type State = Vec<u64>;

/// The levels of the first pilot that comes to the threshold, or else of the one that comes furthest.
fn piloted<W: Walk>(walk: &W, threshold: u64, seed: u64) -> Result<Vec<u64>, String> {
    let mut furthest = vec![0];
    for number in 0..PILOTS {
        let levels = pilot(walk, threshold, &mut stream(seed, u64::MAX - 1 - number))?;
        if levels.last() > furthest.last() {
            furthest = levels;
        }
        if furthest.last() == Some(&threshold) {
            break;
        }
    }
    Ok(furthest)
}

/// Levels on the way to a threshold, of which about a fifth of the paths reaches each from the one before. The last one
/// is the threshold, unless no path came so far.
fn pilot<W: Walk>(walk: &W, threshold: u64, random: &mut Pcg64) -> Result<Vec<u64>, String> {
    let (mut levels, mut states) = (Vec::new(), vec![State::new()]);
    while levels.last() != Some(&threshold) && levels.len() < MOST_LEVELS {
        let tried = tried(walk, &levels, threshold, &states, random)?;
        let Some(level) = next_level(&tried, levels.last().copied().unwrap_or(0)) else {
            break;
        };
        let further = tried.into_iter().filter(|(_, highest)| *highest >= level);
        states = further.map(|(state, _)| state).collect();
        levels.push(level.min(threshold));
    }
    if levels.is_empty() {
        // Not even the first step was seen: the threshold itself, of which no path will be seen either.
        levels.push(threshold);
    }
    Ok(levels)
}

/// Paths from states on, each with the most that it reached, until enough came further.
fn tried<W: Walk>(
    walk: &W,
    levels: &[u64],
    threshold: u64,
    states: &[State],
    random: &mut Pcg64,
) -> Result<Vec<(State, u64)>, String> {
    let present = levels.last().copied().unwrap_or(0);
    let all: Vec<u64> = levels.iter().copied().chain([threshold]).collect();
    let mut tried = Vec::new();
    for _ in 0..BATCHES {
        for number in 0..PILOT {
            let state = continued(&states[number % states.len()], random);
            let highest = walk.follow(&all, &state)?.highest;
            tried.push((state, highest));
        }
        if tried.iter().filter(|(_, highest)| *highest > present).count() >= FEWEST {
            break;
        }
    }
    Ok(tried)
}

/// The next level: what a fifth of the paths reached, or else the least that is further; none where no path came there.
fn next_level(tried: &[(State, u64)], present: u64) -> Option<u64> {
    let mut highest: Vec<u64> = tried.iter().map(|(_, highest)| *highest).collect();
    highest.sort_unstable_by(|one, other| other.cmp(one));
    let by_part = highest[(PART * highest.len() as f64) as usize];
    let further = highest.into_iter().rev().find(|value| *value > present)?;
    Some(by_part.max(further))
}

fn continued(state: &State, random: &mut Pcg64) -> State {
    let mut state = state.clone();
    state.push(random.next_u64());
    state
}

/// All repetitions, by their numbers, whatever thread carried them out.
fn repetitions<W: Walk>(walk: &W, levels: &[u64], effort: Effort) -> Result<Vec<Vec<f64>>, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= REPETITIONS {
                return done;
            }
            let mut random = stream(effort.seed, number as u64);
            done.push((number, repetition(walk, levels, effort.paths, &mut random)));
        }
    };
    let mut found = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..effort.cores.clamp(1, REPETITIONS))
            .map(|_| scope.spawn(work))
            .collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, shares)| shares).collect()
}

/// The probability of each level in one repetition.
fn repetition<W: Walk>(
    walk: &W,
    levels: &[u64],
    paths: usize,
    random: &mut Pcg64,
) -> Result<Vec<f64>, String> {
    let (mut states, mut probability) = (vec![State::new()], 1.0);
    let mut found = Vec::with_capacity(levels.len());
    for number in 0..levels.len() {
        states = advanced(walk, &levels[..=number], states, paths, random)?;
        probability *= states.len() as f64 / paths as f64;
        found.push(probability);
    }
    Ok(found)
}

/// The states in which the last of some levels is reached, by this many paths from those of the one before.
fn advanced<W: Walk>(
    walk: &W,
    levels: &[u64],
    mut states: Vec<State>,
    paths: usize,
    random: &mut Pcg64,
) -> Result<Vec<State>, String> {
    if states.is_empty() {
        return Ok(states);
    }
    shuffle(&mut states, random);
    let mut further = Vec::new();
    for number in 0..paths {
        let state = continued(&states[number % states.len()], random);
        if walk.follow(levels, &state)?.reached {
            further.push(state);
        }
    }
    Ok(further)
}

/// Puts states into a random order (Fisher and Yates): where paths don't go round evenly, chance decides who gets one
/// more.
fn shuffle(states: &mut [State], random: &mut Pcg64) {
    for last in (1..states.len()).rev() {
        let chosen = (random.next_u64() % (last as u64 + 1)) as usize;
        states.swap(last, chosen);
    }
}

/// The random numbers of a repetition.
fn stream(seed: u64, number: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed ^ number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn estimates(levels: &[u64], repetitions: &[Vec<f64>]) -> Vec<LevelEstimate> {
    let estimate = |(number, level): (usize, &u64)| {
        let values: Vec<f64> = repetitions.iter().map(|one| one[number]).collect();
        of_values(*level, &values)
    };
    levels.iter().enumerate().map(estimate).collect()
}

/// A mean with its interval, by the scatter of repetitions (Student's t) on a log scale: products of shares are skewed
/// to the right, and a probability lies above 0.
fn of_values(level: u64, values: &[f64]) -> LevelEstimate {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if mean == 0.0 {
        return LevelEstimate {
            level,
            probability: 0.0,
            low: 0.0,
            high: None,
        };
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let factor = (T * (variance / count).sqrt() / mean).exp();
    LevelEstimate {
        level,
        probability: mean,
        low: mean / factor,
        high: Some((mean * factor).min(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(values: &[u64]) -> Vec<(State, u64)> {
        values.iter().map(|value| (State::new(), *value)).collect()
    }

    #[test]
    fn a_fifth_of_the_paths_reaches_the_next_level() {
        let tried: Vec<u64> = (1..=100).collect();
        assert_eq!(next_level(&reached(&tried), 0), Some(80));
    }

    #[test]
    fn where_fewer_come_further_the_least_step_is_the_next_level() {
        let mut tried = vec![7; 97];
        tried.extend([9, 8, 12]);
        assert_eq!(next_level(&reached(&tried), 7), Some(8));
        assert_eq!(next_level(&reached(&[7; 100]), 7), None);
    }

    #[test]
    fn an_interval_is_that_of_students_t_on_a_log_scale() {
        let values: Vec<f64> = (0..20)
            .map(|number| if number % 2 == 0 { 0.01 } else { 0.03 })
            .collect();
        let found = of_values(5, &values);
        assert!((found.probability - 0.02).abs() < 1e-12);
        // The deviation is 0.01 * sqrt(20 / 19), so that its mean has 0.01 / sqrt(19).
        let factor = (2.093 * 0.01 / 19f64.sqrt() / 0.02).exp();
        assert!((found.low - 0.02 / factor).abs() < 1e-12);
        assert!(
            found
                .high
                .is_some_and(|high| (high - 0.02 * factor).abs() < 1e-12)
        );
        assert_eq!(of_values(5, &[0.0; 20]).high, None);
        assert_eq!(of_values(5, &[1.0; 20]).high, Some(1.0));
    }
}
