//! When a round begins that several generators begin together: at a moment that they are told once all are ready.
#![expect(
    clippy::disallowed_methods,
    reason = "the moment is one of this machine's clocks, before the round's own begins"
)]

use std::fs::read_to_string;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the file is looked for.
const GLANCE: Duration = Duration::from_millis(1);

/// Says that the round is ready, and waits until a file has the moment of its beginning: nanoseconds since 1970.
///
/// # Errors
/// In a sentence: the file doesn't hold such a moment, the moment has passed, or the round was ended meanwhile.
pub fn awaited(file: &Path, told: &mut impl Write, stop: &AtomicBool) -> Result<Instant, String> {
    writeln!(told, "{{\"ready\": true}}")
        .and_then(|()| told.flush())
        .map_err(|error| format!("nobody hears that the load is ready: {error}"))?;
    loop {
        match read_to_string(file) {
            Ok(text) => return moment(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("{} can't be read: {error}", file.display())),
        }
        if stop.load(Ordering::Relaxed) {
            return Err("the load was ended before it began".to_owned());
        }
        sleep(GLANCE);
    }
}

/// A moment of the wall clock on the clock that no one sets.
fn moment(text: &str) -> Result<Instant, String> {
    let at: u64 = text.trim().parse().map_err(|_| {
        format!("the load can't begin at {text:?}, which isn't a count of nanoseconds since 1970")
    })?;
    let at = UNIX_EPOCH + Duration::from_nanos(at);
    let (today, now) = (SystemTime::now(), Instant::now());
    match at.duration_since(today) {
        Ok(ahead) => Ok(now + ahead),
        Err(error) => Err(format!(
            "the load was to begin {:.1} ms before that was known",
            error.duration().as_secs_f64() * 1000.0
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, stopped: bool) -> (Result<Instant, String>, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("begin");
        if !text.is_empty() {
            std::fs::write(&file, text).unwrap();
        }
        let mut said = Vec::new();
        let result = awaited(&file, &mut said, &AtomicBool::new(stopped));
        (result, String::from_utf8(said).unwrap())
    }

    fn in_nanos(ahead: Duration) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        (now + ahead).as_nanos().to_string()
    }

    #[test]
    fn a_moment_to_come_is_awaited_on_the_clock_that_no_one_sets() {
        let before = Instant::now();
        let (begins, said) = told(&in_nanos(Duration::from_secs(5)), false);
        let ahead = begins.unwrap() - before;
        assert!(
            ahead > Duration::from_millis(4999) && ahead < Duration::from_secs(6),
            "{ahead:?}"
        );
        assert_eq!(said, "{\"ready\": true}\n");
    }

    #[test]
    fn a_moment_that_has_passed_is_refused_as_the_others_have_begun() {
        let past = in_nanos(Duration::ZERO).parse::<u128>().unwrap() - 2_000_000;
        let (begins, _) = told(&past.to_string(), false);
        assert!(begins.unwrap_err().contains("ms before that was known"));
    }

    #[test]
    fn what_is_no_moment_is_refused_and_so_is_a_load_that_was_ended_before() {
        assert!(told("soon", false).0.unwrap_err().contains("\"soon\""));
        assert!(told("", true).0.unwrap_err().contains("ended before it began"));
    }
}
