//! The log of requests: the truth that a measurement is held against.
//!
//! CSV. The first line is a comment with the offset of the clock, the second names the columns. Times are microseconds
//! on the machine's monotonic clock, so other processes on the machine can compare them with their own. `finished_us`
//! is when the work was done, `written_us` when the operating system had taken over all of the answer: between the two
//! the answer waits for the thread that writes, and a caller can't have it earlier. Lines come in the order of their
//! ends.

use patternbench_timing::{Nanos, US, now, since_epoch};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The status that is logged for a reset connection.
pub const RESET: u16 = 0;

/// What is known of a request when it arrives.
#[derive(Debug)]
pub struct Arrival {
    /// Its method.
    pub method: hyper::Method,
    /// Its path and query.
    pub path: String,
    /// When its head had been read.
    pub received: Nanos,
}

/// How a request ended. One that was refused or that no worker was needed for has not `started`.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// When a worker took it.
    pub started: Option<Nanos>,
    /// When the worker was done, or it was refused.
    pub finished: Nanos,
    /// What it was answered with; [`RESET`] when it was not.
    pub status: u16,
}

/// A request that a worker has finished, or no one was needed for; its line is written when the entry is dropped.
///
/// It goes the way of the answer, so that its end, however it comes, is in the log.
#[derive(Debug)]
pub struct Entry {
    log: Arc<Log>,
    id: u64,
    arrival: Arrival,
    ending: Ending,
    written: Option<Nanos>,
}

impl Entry {
    /// An entry of an answer that is still to be written.
    pub fn new(log: &Arc<Log>, id: u64, arrival: Arrival, ending: Ending) -> Self {
        Self {
            log: Arc::clone(log),
            id,
            arrival,
            ending,
            written: None,
        }
    }

    /// All of the answer has been taken over by the operating system.
    pub fn written(mut self, at: Nanos) {
        self.written = Some(at);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(mut file) = self.log.lock() {
            self.log.complain(write_line(&mut *file, self));
        }
    }
}

/// Writes a line for every request; without a file it writes nothing.
#[derive(Debug)]
pub struct Log {
    file: Option<Mutex<BufWriter<File>>>,
    is_incomplete: AtomicBool,
}

impl Log {
    /// Creates the file, in place of one that is there.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn create(path: Option<&Path>) -> Result<Self, String> {
        let file = path.map(create).transpose()?.map(Mutex::new);
        Ok(Self {
            file,
            is_incomplete: AtomicBool::new(false),
        })
    }

    /// Brings everything to the file.
    pub fn flush(&self) {
        if let Some(mut file) = self.lock() {
            self.complain(file.flush());
        }
    }

    /// A log with holes is worse than none: that something is missing is said, once.
    fn complain(&self, result: std::io::Result<()>) {
        if let Err(error) = result
            && !self.is_incomplete.swap(true, Ordering::Relaxed)
        {
            eprintln!("error: the log is incomplete: {error}");
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, BufWriter<File>>> {
        self.file
            .as_ref()
            .map(|file| file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, String> {
    let wrong = |error| format!("cannot write the log {}: {error}", path.display());
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(wrong)?);
    write_head(&mut file).map_err(wrong)?;
    Ok(file)
}

fn write_head(file: &mut impl Write) -> std::io::Result<()> {
    file.write_all(head(since_epoch().saturating_sub(now()) / US).as_bytes())?;
    file.flush()
}

fn head(epoch_us: u64) -> String {
    format!("# epoch_us={epoch_us}\nid,method,path,received_us,started_us,finished_us,status,written_us\n")
}

fn write_line(file: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    let Entry {
        id,
        arrival,
        ending,
        written,
        ..
    } = entry;
    let path = arrival.path.replace('"', "\"\"");
    let received = arrival.received / US;
    write!(file, "{id},{},\"{path}\",{received},", arrival.method)?;
    write_time(file, ending.started)?;
    write!(file, ",{},{},", ending.finished / US, ending.status)?;
    write_time(file, *written)?;
    writeln!(file)
}

fn write_time(file: &mut impl Write, time: Option<Nanos>) -> std::io::Result<()> {
    time.map_or(Ok(()), |time| write!(file, "{}", time / US))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_as_agreed() {
        let mut file = head(1_700_000_000_000_000).into_bytes();
        let log = Arc::new(Log::create(None).unwrap());
        let entry = |id, path: &str, ending| {
            let arrival = Arrival {
                method: hyper::Method::GET,
                path: path.into(),
                received: 1_999,
            };
            Entry::new(&log, id, arrival, ending)
        };
        let served = Ending {
            started: Some(2_000),
            finished: 3_000_000,
            status: 200,
        };
        let refused = Ending {
            started: None,
            finished: 2_500,
            status: 503,
        };
        let mut first = entry(0, "/bytes/10?a=1,2", served);
        first.written = Some(3_001_000);
        write_line(&mut file, &first).unwrap();
        write_line(&mut file, &entry(1, "/say/\"hi\"", refused)).unwrap();
        let wanted = "# epoch_us=1700000000000000\n\
             id,method,path,received_us,started_us,finished_us,status,written_us\n\
             0,GET,\"/bytes/10?a=1,2\",1,2,3000,200,3001\n\
             1,GET,\"/say/\"\"hi\"\"\",1,,2,503,\n";
        assert_eq!(String::from_utf8(file).unwrap(), wanted);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Log::create(Some(Path::new("/nowhere/at/all.csv"))).unwrap_err();
        assert!(
            error.starts_with("cannot write the log /nowhere/at/all.csv: "),
            "{error}"
        );
    }
}
