//! What is counted over a round in addition to its attempts.

use crate::redirect::Refusal;
use patternbench_wire::Failure;

/// Counts by kind of failure, in the order of [`Failure::ALL`].
type ByKind = [u64; Failure::ALL.len()];

/// What was counted over a round.
#[derive(Debug, Default)]
pub struct Totals {
    failures: ByKind,
    measured_failures: ByKind,
    abandoned: u64,
    journeys: u64,
    refused: Vec<(Refusal, u64)>,
    tls_reason: Option<String>,
}

impl Totals {
    /// Failures of connections by kind, in the order of [`Failure::ALL`], warm-up included.
    pub fn failures(&self) -> ByKind {
        self.failures
    }

    /// The same without the warm-up.
    pub fn measured_failures(&self) -> ByKind {
        self.measured_failures
    }

    /// How many connections failed in one way, warm-up included.
    pub fn failed(&self, failure: Failure) -> u64 {
        self.failures[failure as usize]
    }

    /// Attempts that were given up because the time for waiting was over.
    pub fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// Journeys that ended, of those that began after the warm-up.
    pub fn journeys(&self) -> u64 {
        self.journeys
    }

    /// Redirects that were not followed, one of each kind with how many there were, warm-up included.
    pub fn refused(&self) -> &[(Refusal, u64)] {
        &self.refused
    }

    /// Why TLS failed for the first time, when it did.
    pub fn tls_reason(&self) -> Option<&str> {
        self.tls_reason.as_deref()
    }

    /// Counts a connection's failure, in the warm-up or after it.
    pub(super) fn count_failure(&mut self, failure: Failure, measured: bool) {
        self.failures[failure as usize] += 1;
        self.measured_failures[failure as usize] += u64::from(measured);
    }

    pub(super) fn count_abandoned(&mut self) {
        self.abandoned += 1;
    }

    pub(super) fn count_journey(&mut self) {
        self.journeys += 1;
    }

    /// Counts a redirect that is not followed.
    pub(super) fn count_refused(&mut self, refusal: Refusal) {
        let mut known = self.refused.iter_mut();
        match known.find(|(known, _)| known.kind() == refusal.kind()) {
            Some((_, count)) => *count += 1,
            None => self.refused.push((refusal, 1)),
        }
    }

    /// Remembers why TLS failed for the first time.
    pub(super) fn tls_failed(&mut self, reason: Option<&str>) {
        if self.tls_reason.is_none() {
            self.tls_reason = reason.map(str::to_owned);
        }
    }
}
