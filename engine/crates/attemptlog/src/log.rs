//! The thread that writes, and the way to it.

use crate::columns::{Scratch, Texts, file_writer, write};
use crate::row::Row;
use crate::tally::{Observer, Tally};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Rows that go to the thread at once.
const BATCH: usize = 2048;
/// Batches that may wait for the thread.
const WAITING: usize = 64;
/// Rows of one row group of the file: what is held in memory until it is written.
const ROW_GROUP: usize = 64 * BATCH;

/// Why the log could not be written, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogError(pub String);

/// What a log needs to know before its first row.
pub struct Settings {
    /// The Parquet file, or `None` to count only.
    pub file: Option<PathBuf>,
    /// Names of groups, by index.
    pub groups: Vec<String>,
    /// Names of steps, by index.
    pub steps: Vec<String>,
    /// Whether the file tells journeys and items.
    pub journeys: bool,
    /// Who else sees the rows.
    pub observer: Option<Box<dyn Observer>>,
}

/// What was written.
pub struct Written {
    /// Rows, warm-up included.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// How long the caller waited for the thread.
    pub stalled: Duration,
    /// Counts and histograms.
    pub tally: Tally,
}

enum Message {
    Rows(Vec<Row>),
    Tick { elapsed_us: u64, in_flight: u64 },
    MeasuresFrom(u64),
}

/// The caller's end of a log.
pub struct AttemptLog {
    batch: Vec<Row>,
    sender: SyncSender<Message>,
    emptied: Receiver<Vec<Row>>,
    thread: JoinHandle<Result<Written, LogError>>,
    stalled: Duration,
    failed: bool,
}

impl AttemptLog {
    /// Creates the file and starts the thread.
    ///
    /// # Errors
    /// When the file can't be created or the thread can't be started.
    pub fn start(settings: Settings) -> Result<Self, LogError> {
        let (sender, receiver) = sync_channel(WAITING);
        let (empty, emptied) = channel();
        let worker = Worker::new(settings)?;
        let thread = std::thread::Builder::new()
            .name("attempt-log".to_owned())
            .spawn(move || worker.run(&receiver, &empty))
            .map_err(|error| LogError(format!("the log's thread can't be started: {error}")))?;
        let batch = Vec::with_capacity(BATCH);
        Ok(Self {
            batch,
            sender,
            emptied,
            thread,
            stalled: Duration::ZERO,
            failed: false,
        })
    }

    /// Logs one attempt.
    #[inline]
    pub fn push(&mut self, row: Row) {
        self.batch.push(row);
        if self.batch.len() == BATCH {
            self.ship();
        }
    }

    /// Tells the observer the time, after all that was pushed before.
    pub fn tick(&mut self, elapsed_us: u64, in_flight: u64) {
        if !self.batch.is_empty() {
            self.ship();
        }
        self.send(Message::Tick {
            elapsed_us,
            in_flight,
        });
    }

    /// Tells the observer when measuring begins, in microseconds from the round's start.
    pub fn measures_from(&mut self, us: u64) {
        self.send(Message::MeasuresFrom(us));
    }

    /// Whether the thread has given up, so that going on is of no use; [`AttemptLog::finish`] says why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Writes what is left, and waits until it is on the file.
    ///
    /// # Errors
    /// When anything could not be written.
    pub fn finish(mut self) -> Result<Written, LogError> {
        self.ship();
        drop(self.sender);
        match self.thread.join() {
            Ok(result) => result.map(|written| Written {
                stalled: self.stalled,
                ..written
            }),
            Err(_) => Err(LogError("the log's thread has stopped unexpectedly".to_owned())),
        }
    }

    fn ship(&mut self) {
        let empty = self
            .emptied
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let full = std::mem::replace(&mut self.batch, empty);
        self.send(Message::Rows(full));
    }

    fn send(&mut self, message: Message) {
        match self.sender.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Disconnected(_)) => self.failed = true,
            Err(TrySendError::Full(message)) => {
                let before = Instant::now();
                self.failed |= self.sender.send(message).is_err();
                self.stalled += before.elapsed();
            }
        }
    }
}

/// What the thread holds.
struct Worker {
    file: Option<SerializedFileWriter<BufWriter<File>>>,
    texts: Texts,
    journeys: bool,
    tally: Tally,
    observer: Option<Box<dyn Observer>>,
    group: Vec<Row>,
    scratch: Scratch,
    rows: u64,
}

impl Worker {
    fn new(settings: Settings) -> Result<Self, LogError> {
        let Settings {
            file,
            groups,
            steps,
            journeys,
            observer,
        } = settings;
        let file = file.map(|path| open(path, journeys)).transpose()?;
        let tally = Tally::new(groups.len(), steps.len());
        let texts = Texts::new(&groups, &steps);
        let scratch = Scratch::default();
        Ok(Self {
            file,
            texts,
            journeys,
            tally,
            observer,
            group: Vec::new(),
            scratch,
            rows: 0,
        })
    }

    fn run(
        mut self,
        receiver: &Receiver<Message>,
        empty: &std::sync::mpsc::Sender<Vec<Row>>,
    ) -> Result<Written, LogError> {
        for message in receiver {
            match message {
                Message::Rows(mut rows) => {
                    self.take(&rows)?;
                    rows.clear();
                    // No one waits for empty batches any more when the caller is finishing.
                    let _ = empty.send(rows);
                }
                Message::MeasuresFrom(us) => {
                    self.observer
                        .iter_mut()
                        .for_each(|observer| observer.measures_from(us));
                }
                Message::Tick {
                    elapsed_us,
                    in_flight,
                } => {
                    self.observer
                        .iter_mut()
                        .for_each(|observer| observer.tick(elapsed_us, in_flight));
                }
            }
        }
        self.finish()
    }

    fn take(&mut self, rows: &[Row]) -> Result<(), LogError> {
        self.rows += rows.len() as u64;
        rows.iter().for_each(|row| self.tally.add(row));
        self.observer.iter_mut().for_each(|observer| observer.rows(rows));
        if self.file.is_some() {
            self.group.extend_from_slice(rows);
            if self.group.len() >= ROW_GROUP {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), LogError> {
        if let Some(file) = &mut self.file {
            write(file, &self.group, &self.texts, &mut self.scratch, self.journeys).map_err(unwritable)?;
        }
        self.group.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Written, LogError> {
        if !self.group.is_empty() {
            self.write_group()?;
        }
        let mut bytes = 0;
        if let Some(mut file) = self.file.take() {
            file.finish().map_err(unwritable)?;
            let length = file.inner().get_ref().metadata().map(|metadata| metadata.len());
            bytes = length.unwrap_or(file.bytes_written() as u64);
        }
        Ok(Written {
            rows: self.rows,
            bytes,
            cpu: thread_cpu(),
            stalled: Duration::ZERO,
            tally: self.tally,
        })
    }
}

fn open(path: PathBuf, journeys: bool) -> Result<SerializedFileWriter<BufWriter<File>>, LogError> {
    let file = File::create(&path)
        .map_err(|error| LogError(format!("{} can't be created: {error}", path.display())))?;
    file_writer(BufWriter::with_capacity(256 * 1024, file), journeys).map_err(unwritable)
}

fn unwritable(error: parquet::errors::ParquetError) -> LogError {
    LogError(format!("the log of attempts can't be written: {error}"))
}

fn thread_cpu() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        spent.tv_sec.unsigned_abs(),
        u32::try_from(spent.tv_nsec).unwrap_or(0),
    )
}
