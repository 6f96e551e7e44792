//! The moments of a round: its ticks, the end of its warm-up, its end, and when answers are no longer waited for.

use super::warm_up::WarmUp;
use crate::job::Job;
use crate::units::Nanos;
use std::time::Duration;

/// The moments of a round, from its start.
pub struct Timing {
    /// The interval of the log observer's ticks, and the next tick.
    interval: Nanos,
    next_tick: Nanos,
    warm_up: Nanos,
    /// What ends the warm-up before its time.
    warming: WarmUp,
    /// When no new calls begin any more.
    end: Nanos,
    /// When answers are no longer waited for.
    give_up: Nanos,
    /// When the latest attempt ended.
    last_end: Nanos,
}

impl Timing {
    pub fn new(job: &Job) -> Self {
        let end = job.warm_up.saturating_add(job.duration);
        Self {
            interval: job.tick,
            // The first tick is immediate, so that observers learn when the round began.
            next_tick: 0,
            warm_up: job.warm_up,
            warming: WarmUp::new(job.warm_up_end),
            end,
            give_up: end.saturating_add(job.drain),
            last_end: 0,
        }
    }

    /// When the warm-up ends, as far as that is known.
    pub fn warm_up(&self) -> Nanos {
        self.warm_up
    }

    pub fn end(&self) -> Nanos {
        self.end
    }

    pub fn give_up(&self) -> Nanos {
        self.give_up
    }

    pub fn next_tick(&self) -> Nanos {
        self.next_tick
    }

    /// Whether a call that was intended for a moment is measured.
    #[inline]
    pub fn is_measured(&self, intended: Nanos) -> bool {
        intended >= self.warm_up
    }

    /// Whether answers can still end the warm-up.
    #[inline]
    pub fn is_warm_up_open(&self) -> bool {
        self.warming.is_open()
    }

    /// Remembers when an attempt ended.
    #[inline]
    pub fn attempt_ended(&mut self, now: Nanos) {
        self.last_end = self.last_end.max(now);
    }

    /// Whether a tick is due; the next one is an interval later.
    pub fn ticks(&mut self, now: Nanos) -> bool {
        if now < self.next_tick {
            return false;
        }
        self.next_tick = now - now % self.interval + self.interval;
        true
    }

    /// Whether the warm-up ends by its time before the next tick.
    pub fn is_warm_up_running_out(&self, now: Nanos) -> bool {
        self.warming.is_open() && (now..=now + self.interval).contains(&self.warm_up)
    }

    /// Counts an answer of the warm-up. True if it has ended the warm-up and moved the round's end.
    ///
    /// The end is a tick after the next one, so that observers know it beforehand, and no attempt that has ended
    /// changes its side.
    pub fn warmed(&mut self, job: &Job, took: Nanos) -> bool {
        if !self.warming.answered(took) {
            return false;
        }
        self.warming = WarmUp::Over;
        let soon = self.next_tick + self.interval;
        if soon >= self.warm_up {
            return false;
        }
        self.warm_up = soon;
        self.end = soon.saturating_add(job.duration);
        self.give_up = self.end.saturating_add(job.drain);
        true
    }

    /// How many answers were missing when the time of the warm-up was over.
    pub fn missing(&self) -> u64 {
        self.warming.missing()
    }

    /// Whether the warm-up waits for a service that is still getting faster.
    pub fn is_settling(&self) -> bool {
        self.warming.is_settling()
    }

    /// How long was measured: to the end of the last attempt, or of the time for which calls were to start (`whole`).
    pub fn measured(&self, whole: bool) -> Duration {
        let end = if whole { self.end } else { 0 };
        Duration::from_nanos(self.last_end.max(end).saturating_sub(self.warm_up))
    }
}
