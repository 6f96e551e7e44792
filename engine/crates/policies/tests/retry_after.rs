//! What servers ask of those who want to come back.

use patternbench_policies::retry::retry_after_us;
use proptest::prelude::*;
use std::time::{Duration, SystemTime};

/// Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110, section 5.6.7.
fn example() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
}

#[test]
fn seconds_are_read() {
    assert_eq!(retry_after_us(" 120 ", example()), Some(120_000_000));
    assert_eq!(retry_after_us("0", example()), Some(0));
    assert_eq!(
        retry_after_us("99999999999999999999999", example()),
        Some(u64::MAX)
    );
}

#[test]
fn all_three_forms_of_a_date_are_read() {
    let before = example() - Duration::from_millis(1_500);
    for date in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ] {
        assert_eq!(retry_after_us(date, before), Some(1_500_000), "{date}");
    }
}

#[test]
fn a_date_in_the_past_asks_for_nothing() {
    let later = example() + Duration::from_secs(1);
    assert_eq!(retry_after_us("Sun, 06 Nov 1994 08:49:37 GMT", later), Some(0));
}

#[test]
fn what_is_neither_is_not_heard() {
    for value in ["", "-1", "+5", "1.5", "soon", "Sun, 66 Nov 1994 08:49:37 GMT"] {
        assert_eq!(retry_after_us(value, example()), None, "{value}");
    }
}

proptest! {
    #[test]
    fn nothing_that_a_server_says_is_a_panic(value in "\\PC{0,40}") {
        let _ = retry_after_us(&value, example());
    }
}
