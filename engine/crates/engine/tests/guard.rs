//! The guard leaves nothing behind, tried with real processes.

mod common;

use common::{ENGINE, eventually, is_alive, next_line, run, signal};
use std::io::BufReader;
use std::process::{Child, Command, Stdio};

/// A guard around a shell script that prints the pids that it wants to have watched, in one line.
struct Guarded {
    guard: Child,
    pids: Vec<u32>,
}

impl Guarded {
    fn start(grace: &str, script: &str) -> Self {
        let mut guard = Command::new(ENGINE)
            .args(["guard", "--grace", grace, "--", "bash", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let line = next_line(&mut BufReader::new(guard.stdout.take().unwrap()));
        let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        assert!(
            !pids.is_empty() && pids.iter().all(|pid| is_alive(*pid)),
            "running at first: {line}"
        );
        Self { guard, pids }
    }

    fn end(mut self) -> Option<i32> {
        let code = self.guard.wait().unwrap().code();
        let left: Vec<u32> = self.pids.iter().copied().filter(|pid| is_alive(*pid)).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        code
    }
}

/// A child, and a grandchild that leaves the process group and the session after a double fork.
const FAMILY: &str = r#"
    daemon=$(setsid bash -c 'sleep 1000 >/dev/null 2>&1 & echo $!')
    sleep 1000 & echo $$ $! $daemon; wait"#;

#[test]
fn the_exit_code_of_the_command_is_passed_on() {
    assert_eq!(
        run(&["guard", "--", "bash", "-c", "sleep 0.1; exit 7"])
            .status
            .code(),
        Some(143),
        "stdin is closed"
    );
    for (script, wanted) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
    ] {
        let mut guard = Command::new(ENGINE);
        guard
            .args(["guard", "--", "bash", "-c", script])
            .stdin(Stdio::piped());
        let mut guard = guard.spawn().unwrap();
        let keep_open = guard.stdin.take();
        assert_eq!(guard.wait().unwrap().code(), Some(wanted), "{script}");
        drop(keep_open);
    }
}

#[test]
fn what_the_command_writes_passes_through_and_it_reads_nothing() {
    let mut guard = Command::new(ENGINE);
    guard.args(["guard", "--", "bash", "-c", "cat; echo out; echo err >&2"]);
    let guard = guard
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut guard = guard.spawn().unwrap();
    let keep_open = guard.stdin.take();
    let output = guard.wait_with_output().unwrap();
    drop(keep_open);
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
}

#[test]
fn all_descendants_end_when_standard_input_closes() {
    let mut guarded = Guarded::start("2s", FAMILY);
    drop(guarded.guard.stdin.take());
    assert_eq!(guarded.end(), Some(143));
}

#[test]
fn all_descendants_end_when_the_guard_is_told_to_stop() {
    for name in ["TERM", "INT", "HUP"] {
        let guarded = Guarded::start("2s", FAMILY);
        signal(guarded.guard.id(), name);
        assert_eq!(guarded.end(), Some(143), "{name}");
    }
}

#[test]
fn all_descendants_end_when_the_command_ends() {
    let script = r#"
        daemon=$(setsid bash -c 'sleep 1000 >/dev/null 2>&1 & echo $!')
        sleep 1000 & echo $! $daemon; sleep 0.2; exit 3"#;
    let mut guarded = Guarded::start("2s", script);
    let keep_open = guarded.guard.stdin.take();
    assert_eq!(guarded.end(), Some(3));
    drop(keep_open);
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace() {
    let mut guarded = Guarded::start(
        "100ms",
        "trap '' TERM; (trap '' TERM; sleep 1000) & echo $$ $!; wait",
    );
    drop(guarded.guard.stdin.take());
    assert_eq!(guarded.end(), Some(137));
}

/// It is told to end, and woken so that it hears it: a kill after the grace would leave no word.
#[test]
fn a_stopped_process_is_woken_and_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let word = folder.path().join("word");
    let script = format!(
        "bash -c 'trap \"echo ended > {word}; exit 0\" TERM; kill -STOP $$; sleep 1000 & wait' & \
         until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; echo $$ $!; wait",
        word = word.display()
    );
    let mut guarded = Guarded::start("60s", &script);
    drop(guarded.guard.stdin.take());
    guarded.end();
    assert_eq!(std::fs::read_to_string(word).unwrap(), "ended\n");
}

#[test]
fn the_command_dies_with_a_guard_that_is_killed() {
    let mut guarded = Guarded::start("2s", "echo $$; exec sleep 1000");
    guarded.guard.kill().unwrap();
    guarded.guard.wait().unwrap();
    eventually("the command is gone", || !is_alive(guarded.pids[0]));
}

#[test]
fn a_command_that_is_not_there_is_named_in_one_line() {
    let output = run(&["guard", "--", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: cannot run /no/such/program: ") && text.lines().count() == 1,
        "{text}"
    );
}
