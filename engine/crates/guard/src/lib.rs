//! Runs a command and leaves nothing of it behind.
//!
//! The guard is the parent that a component deserves: when its own parent goes away (its standard input closes, however
//! that came about), when it is told to stop, or when the command ends, whatever the command started is ended too, also
//! what left its process group. The kernel hands orphans to the guard (it is their subreaper), so none is lost sight of.

pub mod descendants;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often descendants are looked at while they are being ended.
const GLANCE: Duration = Duration::from_millis(10);

/// Runs `command`, and ends what it started before returning its exit code (128 + signal when a signal ended it).
///
/// What is still there `grace` after SIGTERM gets SIGKILL.
///
/// # Errors
/// One sentence, when the command cannot be started.
pub fn run(command: &[OsString], grace: Duration) -> Result<i32, String> {
    let mut bells = Bells::hang().map_err(|error| format!("cannot listen for signals: {error}"))?;
    // A guard that cannot adopt orphans still ends the process group.
    let _ = set_child_subreaper(Some(getpid()));
    let mut ward = Ward::start(command)?;
    while ward.exit_code.is_none() && !bells.wait_for_the_end() {
        ward.reap();
    }
    ward.end(grace);
    Ok(ward.exit_code.unwrap_or(1))
}

/// What the guard wakes up for.
struct Bells {
    child: UnixStream,
    stop: UnixStream,
    stdin: Option<std::io::Stdin>,
}

impl Bells {
    fn hang() -> std::io::Result<Self> {
        let bell = |signals: &[i32]| {
            let (hear, ring) = UnixStream::pair()?;
            hear.set_nonblocking(true)?;
            for signal in signals {
                signal_hook::low_level::pipe::register(*signal, ring.try_clone()?)?;
            }
            Ok::<_, std::io::Error>(hear)
        };
        Ok(Self {
            child: bell(&[SIGCHLD])?,
            stop: bell(&[SIGTERM, SIGINT, SIGHUP])?,
            stdin: Some(std::io::stdin()),
        })
    }

    /// Sleeps until something happens; true when that means that the guard's work is over.
    fn wait_for_the_end(&mut self) -> bool {
        let stdin = self.stdin.as_ref().expect("it is only given up at the end");
        let mut fds = [
            PollFd::new(&self.child, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(stdin, PollFlags::IN),
        ];
        let heard = poll(&mut fds, None);
        let rang = fds.each_ref().map(|fd| heard.is_ok() && !fd.revents().is_empty());
        drain(&mut self.child);
        rang[1] || (rang[2] && self.stdin_closed())
    }

    /// Only the end of the parent's pipe matters, not what the parent writes to it.
    fn stdin_closed(&mut self) -> bool {
        let mut waste = [0; 512];
        let stdin = self.stdin.as_ref().expect("it is only given up at the end");
        match rustix::io::read(stdin.as_fd(), &mut waste) {
            Ok(0) => true,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => false,
            Err(_) => true,
        }
    }
}

fn drain(bell: &mut UnixStream) {
    let mut waste = [0; 64];
    while matches!(bell.read(&mut waste), Ok(n) if n > 0) {}
}

/// The command, its process group, and how it ended once it has.
struct Ward {
    pid: Pid,
    exit_code: Option<i32>,
}

impl Ward {
    fn start(command: &[OsString]) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("no command: write it after --")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        die_with_the_guard(&mut command);
        let child = command
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.to_string_lossy()))?;
        let pid = Pid::from_raw(child.id() as i32).expect("a child has a number above 0");
        Ok(Self { pid, exit_code: None })
    }

    /// Takes note of all children that have ended; true as long as there are others.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.pid => {
                    let signalled = status.terminating_signal().map(|signal| 128 + signal);
                    self.exit_code = status.exit_status().or(signalled);
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Ends the command and everything that it started: asks, waits up to `grace`, then insists.
    fn end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        self.tell_all(Signal::TERM);
        // A stopped process hears nothing else.
        self.tell_all(Signal::CONT);
        while self.reap() && Instant::now() < deadline {
            glance();
        }
        while self.reap() {
            self.tell_all(Signal::KILL);
            glance();
        }
    }

    /// Orphans of any generation are the guard's own, so its descendants are all there is.
    fn tell_all(&self, signal: Signal) {
        if self.exit_code.is_none() {
            let _ = kill_process_group(self.pid, signal);
        }
        for pid in descendants::of(getpid()) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Waits a little, with poll as a sleep that a signal ends early.
fn glance() {
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: GLANCE.as_nanos() as _,
    };
    let _ = poll(&mut [], Some(&time));
}

/// Has the kernel kill the command when the guard is killed without a chance to do it.
#[allow(unsafe_code)]
fn die_with_the_guard(command: &mut Command) {
    let guard = getpid();
    let set = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The guard may have died before the line above.
        if getppid() == Some(guard) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::Interrupted.into())
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(set) };
}
