//! The log of requests: the truth that a measurement is held against.
//!
//! CSV. The first line is a comment with the offset of the clock, the second names the columns. Times are microseconds
//! on the machine's monotonic clock, so other processes on the machine can compare them with their own.

use patternbench_timing::{Nanos, US, now, since_epoch};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The status that stands for a reset connection.
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
    /// Adds a request.
    pub fn write(&self, id: u64, arrival: &Arrival, ending: Ending) {
        if let Some(mut file) = self.lock() {
            self.complain(write_line(&mut *file, id, arrival, ending));
        }
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
    format!("# epoch_us={epoch_us}\nid,method,path,received_us,started_us,finished_us,status\n")
}

fn write_line(file: &mut impl Write, id: u64, arrival: &Arrival, ending: Ending) -> std::io::Result<()> {
    let path = arrival.path.replace('"', "\"\"");
    write!(
        file,
        "{id},{},\"{path}\",{},",
        arrival.method,
        arrival.received / US
    )?;
    if let Some(started) = ending.started {
        write!(file, "{}", started / US)?;
    }
    writeln!(file, ",{},{}", ending.finished / US, ending.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_as_agreed() {
        let mut file = head(1_700_000_000_000_000).into_bytes();
        let arrival = |path: &str| Arrival {
            method: hyper::Method::GET,
            path: path.into(),
            received: 1_999,
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
        write_line(&mut file, 0, &arrival("/bytes/10?a=1,2"), served).unwrap();
        write_line(&mut file, 1, &arrival("/say/\"hi\""), refused).unwrap();
        let wanted = "# epoch_us=1700000000000000\n\
             id,method,path,received_us,started_us,finished_us,status\n\
             0,GET,\"/bytes/10?a=1,2\",1,2,3000,200\n\
             1,GET,\"/say/\"\"hi\"\"\",1,,2,503\n";
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
