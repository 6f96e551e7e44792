//! Counts and histograms of what was logged, warm-up left out.

use crate::row::{Outcome, Row};
use base64::Engine as _;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// A histogram of microseconds with three significant digits, which grows as far as it must.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// Longer times than this (a year) count as this.
const LONGEST_US: u64 = 366 * 24 * 3600 * 1_000_000;

/// Sees every row and tick in the log's thread, in order; for live views.
pub trait Observer: Send {
    /// A batch of rows has come.
    fn rows(&mut self, rows: &[Row]);
    /// The caller's clock has ticked: microseconds since the start, calls in flight.
    fn tick(&mut self, elapsed_us: u64, in_flight: u64);
    /// Measuring begins this many microseconds after the start. This may be called while the warm-up lasts.
    fn measures_from(&mut self, _us: u64) {}
}

/// What a histogram measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Calls: from the intended start of the first attempt to the end of the last. Rejected and dropped calls took no time and are not in it.
    Response,
    /// Good calls, likewise.
    SuccessResponse,
    /// Attempts that were answered: from the send to the last byte.
    Service,
}

impl Measure {
    /// All measures, in the order in which they are written.
    pub const ALL: [Self; 3] = [Self::Response, Self::SuccessResponse, Self::Service];

    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::SuccessResponse => "success_response",
            Self::Service => "service",
        }
    }
}

/// How often something happened, outside the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Attempts by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Answers by the hundreds of their status: `statuses[2]` counts 200 to 299.
    pub statuses: [u64; 10],
    /// Calls that ended.
    pub calls: u64,
    /// Calls that ended well.
    pub good_calls: u64,
    /// Bytes of answers.
    pub bytes: u64,
    /// Redirects that were followed.
    pub redirects: u64,
    /// Rows of the warm-up, which nothing else here counts.
    pub warm_up: u64,
}

impl Counts {
    /// Attempts that ended so.
    #[must_use]
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Attempts on the wire.
    #[must_use]
    pub fn sent(&self) -> u64 {
        Outcome::ALL
            .iter()
            .filter(|outcome| outcome.was_sent())
            .map(|outcome| self.of(*outcome))
            .sum()
    }

    fn add(&mut self, row: &Row) {
        self.outcomes[row.outcome as usize] += 1;
        if row.bytes != Row::NO_BYTES {
            self.bytes += u64::from(row.bytes);
        }
        count_status(&mut self.statuses, row);
        self.redirects += u64::from(row.redirects);
        if row.call_response_us >= 0 {
            self.calls += 1;
            self.good_calls += u64::from(row.call_success);
        }
    }
}

/// Counts an answer by the hundreds of its status; a row without an answer counts as nothing.
pub fn count_status(statuses: &mut [u64; 10], row: &Row) {
    if row.bytes != Row::NO_BYTES {
        statuses[usize::from(row.status / 100).min(9)] += 1;
    }
}

/// What was logged of one step in one group.
pub struct Cell {
    /// Its counts.
    pub counts: Counts,
    histograms: [Histogram; Measure::ALL.len()],
}

/// What was logged, by group and step.
pub struct Tally {
    steps: usize,
    cells: Vec<Option<Box<Cell>>>,
    lateness: Histogram,
}

/// An empty histogram of microseconds.
///
/// # Panics
/// Never: three significant digits are always accepted.
#[must_use]
pub fn histogram() -> Histogram {
    let mut histogram = Histogram::new(3).expect("three digits are allowed");
    histogram.auto(true);
    histogram
}

/// Records a time; the histogram grows for it (its saturating way would quietly cut it off instead).
pub fn record(histogram: &mut Histogram, microseconds: i64) {
    let value = u64::try_from(microseconds).unwrap_or(0).min(LONGEST_US);
    // It can't fail: the histogram grows by itself, and the value is bounded.
    let _ = histogram.record(value);
}

impl Cell {
    fn new() -> Self {
        Self {
            counts: Counts::default(),
            histograms: std::array::from_fn(|_| histogram()),
        }
    }

    fn add(&mut self, row: &Row) {
        self.counts.add(row);
        if row.outcome.was_sent() && row.call_response_us >= 0 {
            record(
                &mut self.histograms[Measure::Response as usize],
                row.call_response_us,
            );
            if row.call_success {
                record(
                    &mut self.histograms[Measure::SuccessResponse as usize],
                    row.call_response_us,
                );
            }
        }
        if matches!(row.outcome, Outcome::Answered | Outcome::ExpectationFailed) {
            record(
                &mut self.histograms[Measure::Service as usize],
                row.end_us - row.start_us,
            );
        }
    }

    /// The histogram of one measure.
    #[must_use]
    pub fn histogram(&self, measure: Measure) -> &Histogram {
        &self.histograms[measure as usize]
    }
}

impl Tally {
    /// A tally for this many groups and steps.
    #[must_use]
    pub fn new(groups: usize, steps: usize) -> Self {
        let cells = std::iter::repeat_with(|| None).take(groups * steps).collect();
        Self {
            steps,
            cells,
            lateness: histogram(),
        }
    }

    pub(crate) fn add(&mut self, row: &Row) {
        let cell = self.cells[usize::from(row.group) * self.steps + usize::from(row.step)]
            .get_or_insert_with(|| Box::new(Cell::new()));
        if row.warm_up {
            cell.counts.warm_up += 1;
            return;
        }
        cell.add(row);
        if row.attempt == 1 {
            record(&mut self.lateness, i64::from(row.lateness_us));
        }
    }

    /// What there is of every group and step that was logged, as `(group, step, cell)`.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize, &Cell)> {
        let place = |(index, cell): (usize, &'_ Option<Box<Cell>>)| {
            (index / self.steps, index % self.steps, cell.is_some())
        };
        self.cells
            .iter()
            .enumerate()
            .map(place)
            .filter(|(_, _, there)| *there)
            .filter_map(|(group, step, _)| {
                self.cells[group * self.steps + step]
                    .as_deref()
                    .map(|cell| (group, step, cell))
            })
    }

    /// How late the generator was with first attempts.
    #[must_use]
    pub fn lateness(&self) -> &Histogram {
        &self.lateness
    }

    /// One measure over everything.
    #[must_use]
    pub fn total(&self, measure: Measure) -> Histogram {
        let mut sum = histogram();
        for cell in self.cells.iter().flatten() {
            // Both sides grow by themselves and have the same digits, so that adding can't fail.
            let _ = sum.add(cell.histogram(measure));
        }
        sum
    }

    /// All counts together.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for Counts {
            outcomes,
            statuses,
            calls,
            good_calls,
            bytes,
            redirects,
            warm_up,
        } in self.cells.iter().flatten().map(|cell| &cell.counts)
        {
            sum.outcomes
                .iter_mut()
                .zip(outcomes)
                .for_each(|(sum, more)| *sum += more);
            sum.statuses
                .iter_mut()
                .zip(statuses)
                .for_each(|(sum, more)| *sum += more);
            sum.calls += calls;
            sum.good_calls += good_calls;
            sum.bytes += bytes;
            sum.redirects += redirects;
            sum.warm_up += warm_up;
        }
        sum
    }
}

/// A histogram in HdrHistogram's V2 encoding, compressed and as base64: what its logs and libraries in other languages read.
#[must_use]
pub fn encoded(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory can't fail");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The histogram that [`encoded`] wrote, which can take in others; `None` for another text.
#[must_use]
pub fn decoded(text: &str) -> Option<Histogram> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    let mut histogram: Histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
    histogram.auto(true);
    Some(histogram)
}

/// The value at a percentile (0 to 100) in microseconds, the largest one itself for 100; `None` without values.
#[must_use]
pub fn percentile(histogram: &Histogram, percent: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_percentile(percent).min(histogram.max()))
}
