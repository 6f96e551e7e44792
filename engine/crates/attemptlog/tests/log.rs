//! What is pushed comes back from the file, and in few bytes.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use patternbench_attemptlog::{AttemptLog, Measure, Outcome, Row, Settings, encoded, percentile};
use std::fs::File;
use std::path::Path;

/// Numbers without a pattern that a compressor could find (the finisher of SplitMix64).
fn scattered(index: u64) -> u64 {
    let mut bits = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (bits ^ (bits >> 31)) >> 24
}

/// Rows like those of fifty users who wait for answers of about a millisecond, with a failure in a hundred.
fn row(index: u32) -> Row {
    let scatter = scattered(u64::from(index));
    let end = i64::from(index) * 20 + (scatter % 17) as i64;
    let start = end - 1000 - (scatter % 400) as i64;
    let failed = index % 100 == 99;
    Row {
        user: (scatter % 50) as u32,
        group: 0,
        step: (index % 2) as u16,
        call: index / 50,
        attempt: 1,
        status: if failed { 0 } else { 200 },
        outcome: if failed {
            Outcome::ConnectionError
        } else {
            Outcome::Answered
        },
        success: !failed,
        warm_up: index < 1000,
        intended_us: start,
        start_us: start,
        first_byte_us: if failed { -1 } else { end - 3 },
        end_us: end,
        bytes: if failed { Row::NO_BYTES } else { 25 },
        lateness_us: 5,
        call_response_us: end - start,
        call_success: !failed,
        redirects: 0,
        journey: 0,
        ends_journey: false,
        items: 0,
        failed_items: 0,
    }
}

fn log(file: Option<&Path>, rows: u32) -> patternbench_attemptlog::Written {
    let settings = Settings {
        file: file.map(Path::to_path_buf),
        groups: vec!["all".to_owned()],
        steps: vec!["look".to_owned(), "buy".to_owned()],
        journeys: false,
        observer: None,
    };
    let mut log = AttemptLog::start(settings).unwrap();
    (0..rows).for_each(|index| log.push(row(index)));
    log.finish().unwrap()
}

#[test]
fn every_row_comes_back_with_every_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attempts.parquet");
    let written = log(Some(&path), 200_000);
    assert_eq!(written.rows, 200_000);
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let mut count = 0u32;
    for (index, read) in reader.get_row_iter(None).unwrap().enumerate() {
        let (read, pushed) = (read.unwrap(), row(index as u32));
        count += 1;
        assert_eq!(read.get_uint(0).unwrap(), pushed.user);
        assert_eq!(read.get_string(1).unwrap(), "all");
        assert_eq!(
            read.get_string(2).unwrap(),
            ["look", "buy"][usize::from(pushed.step)]
        );
        assert_eq!(read.get_uint(3).unwrap(), pushed.call);
        assert_eq!(read.get_ushort(4).unwrap(), 1);
        assert_eq!(read.get_long(5).unwrap(), pushed.intended_us);
        assert_eq!(read.get_long(6).unwrap(), pushed.start_us);
        assert_eq!(
            read.get_long(7).ok(),
            (pushed.first_byte_us >= 0).then_some(pushed.first_byte_us)
        );
        assert_eq!(read.get_long(8).unwrap(), pushed.end_us);
        assert_eq!(read.get_string(9).unwrap(), pushed.outcome.name());
        assert_eq!(
            read.get_ushort(10).ok(),
            (pushed.status != 0).then_some(pushed.status)
        );
        assert_eq!(read.get_bool(11).unwrap(), pushed.success);
        assert_eq!(read.get_uint(12).ok(), pushed.success.then_some(25));
        assert_eq!(read.get_bool(13).unwrap(), pushed.warm_up);
    }
    assert_eq!(count, 200_000);
}

#[test]
fn a_row_takes_at_most_twenty_bytes_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let written = log(Some(&folder.path().join("attempts.parquet")), 300_000);
    let bytes = written.bytes as f64 / written.rows as f64;
    println!(
        "{bytes:.2} bytes and {:.0} ns of CPU per row",
        written.cpu.as_nanos() as f64 / written.rows as f64
    );
    assert!(bytes <= 20.0, "{bytes}");
}

#[test]
fn counts_and_histograms_leave_the_warm_up_out() {
    let tally = log(None, 11_000).tally;
    let counts = tally.counts();
    assert_eq!(
        (counts.warm_up, counts.calls, counts.sent()),
        (1000, 10_000, 10_000)
    );
    assert_eq!(
        (counts.of(Outcome::ConnectionError), counts.good_calls),
        (100, 9_900)
    );
    assert_eq!((counts.statuses[2], counts.bytes), (9_900, 9_900 * 25));
    assert_eq!(tally.total(Measure::Response).len(), 10_000);
    assert_eq!(tally.total(Measure::SuccessResponse).len(), 9_900);
    assert_eq!(tally.total(Measure::Service).len(), 9_900);
    assert_eq!(
        tally
            .cells()
            .map(|(group, step, _)| (group, step))
            .collect::<Vec<_>>(),
        [(0, 0), (0, 1)]
    );
    assert_eq!(percentile(tally.lateness(), 99.0), Some(5));
}

#[test]
fn an_encoded_histogram_can_be_read_again() {
    use base64::Engine as _;
    let response = log(None, 5000).tally.total(Measure::Response);
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded(&response))
        .unwrap();
    let read: patternbench_attemptlog::Histogram = hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .unwrap();
    assert_eq!(read, response);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let settings = Settings {
        file: Some("/no/such/folder/a.parquet".into()),
        groups: vec![],
        steps: vec![],
        journeys: false,
        observer: None,
    };
    assert!(
        AttemptLog::start(settings)
            .err()
            .unwrap()
            .0
            .contains("/no/such/folder/a.parquet")
    );
}

#[test]
fn a_disk_that_is_full_ends_the_log_with_a_message() {
    let settings = Settings {
        file: Some("/dev/full".into()),
        groups: vec!["all".to_owned()],
        steps: vec!["look".to_owned(), "buy".to_owned()],
        journeys: false,
        observer: None,
    };
    let mut log = AttemptLog::start(settings).unwrap();
    (0..300_000).for_each(|index| log.push(row(index)));
    assert!(log.finish().err().unwrap().0.contains("can't be written"));
}

#[test]
fn times_of_any_length_are_kept_to_three_digits() {
    let mut histogram = patternbench_attemptlog::histogram();
    for time in [1, 2_000, 3_000_000, 86_400_000_000] {
        patternbench_attemptlog::record(&mut histogram, time);
    }
    let most = percentile(&histogram, 100.0).unwrap();
    assert!((most as f64 / 86.4e9 - 1.0).abs() < 0.001, "{most}");
    assert!((percentile(&histogram, 75.0).unwrap() as f64 / 3e6 - 1.0).abs() < 0.001);
}

/// Takes half a minute: `cargo test --release -p patternbench-attemptlog -- --ignored`.
#[test]
#[ignore = "logs ten million rows"]
fn ten_million_rows_stay_below_64_megabytes_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    let written = log(Some(&folder.path().join("attempts.parquet")), 10_000_000);
    assert_eq!(written.rows, 10_000_000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!(
        "{} MiB at most, {:.2} bytes per row",
        kibibytes / 1024,
        written.bytes as f64 / 1e7
    );
    assert!(kibibytes < 64 * 1024, "{kibibytes} KiB");
}
