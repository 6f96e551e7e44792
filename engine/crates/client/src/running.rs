//! A round while it runs: its users, its clock, and the rows on their way out.

use crate::connection::{Connection, resolve};
use crate::round::{Round, Scope, Strategy};
use crate::rows::{MOST_ROWS, Row, batch_line, end_line, error_line};
use crate::user::{Progress, SharedBreaker, User};
use patternbench_policies::breaker::Breaker;
use patternbench_timing::{Nanos, US, cpu_of_process, now, sharpen, sleep_until};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often rows are sent; the contract asks for 200 ms at least.
const BATCH_TIME: Duration = Duration::from_millis(100);
/// Users look up from a pause this often, to see whether the round goes on.
const GLANCE: Nanos = 100_000 * US;
/// Time for all threads to be ready before the round starts.
const HEAD_START: Nanos = 2_000 * US;
/// How long users have to go home from a round that was abandoned.
const FAREWELL: Duration = Duration::from_millis(700);
/// Rows that wait to be read by the other side; more means that it does not read.
const MOST_WAITING: usize = 5_000_000;
const STACK: usize = 256 * 1024;

/// Takes lines of the stream; false when nobody reads them any more.
pub trait Audience {
    /// Sends a line.
    fn send(&self, line: String) -> bool;
    /// Whether nobody reads any more.
    fn has_left(&self) -> bool;
}

/// What the users of a round share.
#[derive(Default)]
pub struct Stage {
    start: OnceLock<Nanos>,
    abandoned: AtomicBool,
    end_us: AtomicU64,
    inside: Mutex<Inside>,
    last_user_left: Condvar,
}

#[derive(Default)]
struct Inside {
    rows: Vec<Row>,
    users: usize,
    fault: Option<String>,
}

impl Stage {
    /// Microseconds since the start of the round.
    pub fn elapsed_us(&self) -> u64 {
        now().saturating_sub(*self.start.wait()) / US
    }

    /// Whether users are to stop at once.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Sleeps for so long, or until the round is abandoned.
    pub fn pause_us(&self, pause_us: u64) {
        let until = now().saturating_add(pause_us.saturating_mul(US));
        while now() < until && !self.is_abandoned() {
            sleep_until(until.min(now() + GLANCE));
        }
    }

    /// Notes down what happened.
    pub fn note(&self, row: Row) {
        self.lock().rows.push(row);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, message: String) {
        self.lock().fault.get_or_insert(message);
        self.abandoned.store(true, Ordering::Relaxed);
    }

    fn user_leaves(&self) {
        self.end_us.fetch_max(self.elapsed_us(), Ordering::Relaxed);
        let mut inside = self.lock();
        inside.users -= 1;
        if inside.users == 0 {
            self.last_user_left.notify_all();
        }
    }

    /// Waits until all users have left or `time` has passed; true when they have.
    fn wait_for_users(&self, time: Duration) -> bool {
        let inside = self.lock();
        let waited = self
            .last_user_left
            .wait_timeout_while(inside, time, |inside| inside.users > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.users == 0
    }
}

/// Runs a round from its start to its last line.
pub fn run(round: Round, audience: &impl Audience) {
    let stage = Arc::new(Stage::default());
    let cpu_before = cpu_of_process();
    let last = match Running::start(round, Arc::clone(&stage)) {
        Ok(running) => running.stream(audience, cpu_before),
        Err(message) => Some(error_line(&message)),
    };
    if let Some(line) = last {
        audience.send(line);
    }
}

struct Running {
    stage: Arc<Stage>,
    connections: Vec<Connection>,
    rows: u64,
}

impl Running {
    fn start(round: Round, stage: Arc<Stage>) -> Result<Self, String> {
        let addresses = resolve(&round.request.uri)?;
        let crowd = Crowd::new(round, addresses, Arc::clone(&stage));
        let mut running = Self {
            stage,
            connections: vec![],
            rows: 0,
        };
        let gathered = crowd.gather(&mut running.connections);
        if let Err(message) = gathered {
            running.stage.fail(message);
        }
        let start = now() + HEAD_START;
        running.stage.start.get_or_init(|| start);
        Ok(running)
    }

    /// Sends rows until all users have left; the last line, unless nobody would read it.
    fn stream(mut self, audience: &impl Audience, cpu_before: Nanos) -> Option<String> {
        loop {
            let over = self.stage.wait_for_users(BATCH_TIME);
            if !self.send_rows(audience) || audience.has_left() {
                self.abandon();
                return None;
            }
            if let Some(message) = self.fault() {
                self.abandon();
                return Some(error_line(&message));
            }
            if over {
                let duration_us = self.stage.end_us.load(Ordering::Relaxed);
                return Some(end_line(
                    self.rows,
                    duration_us,
                    (cpu_of_process() - cpu_before) / US,
                ));
            }
        }
    }

    fn send_rows(&mut self, audience: &impl Audience) -> bool {
        let rows = std::mem::take(&mut self.stage.lock().rows);
        self.rows += rows.len() as u64;
        rows.chunks(MOST_ROWS)
            .all(|chunk| audience.send(batch_line(chunk)))
    }

    fn fault(&self) -> Option<String> {
        let inside = self.stage.lock();
        let unread =
            (inside.rows.len() > MOST_WAITING).then(|| "the rows are not read fast enough".to_owned());
        inside.fault.clone().or(unread)
    }

    /// Sends everyone home, also those that wait for an answer.
    fn abandon(self) {
        self.stage.abandoned.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + FAREWELL;
        for connection in self.connections {
            connection.cut();
        }
        self.stage
            .wait_for_users(deadline.saturating_duration_since(Instant::now()));
    }
}

/// The users of a round, about to be started.
struct Crowd {
    round: Arc<Round>,
    addresses: Vec<SocketAddr>,
    stage: Arc<Stage>,
    shared_breaker: Option<SharedBreaker>,
}

impl Crowd {
    fn new(round: Round, addresses: Vec<SocketAddr>, stage: Arc<Stage>) -> Self {
        let shared_breaker = match round.strategy {
            Strategy::CircuitBreaker {
                config,
                scope: Scope::Client,
            } => Some(Arc::new(Mutex::new(Breaker::new(config)))),
            _ => None,
        };
        Self {
            round: Arc::new(round),
            addresses,
            stage,
            shared_breaker,
        }
    }

    /// Starts a thread for each user, which then waits for the round to start.
    fn gather(&self, connections: &mut Vec<Connection>) -> Result<(), String> {
        for number in 0..self.round.users {
            let user = self.user(number);
            connections.push(user.connection.clone());
            self.stage.lock().users += 1;
            let thread = std::thread::Builder::new()
                .name(format!("user-{number}"))
                .stack_size(STACK);
            if let Err(error) = thread.spawn(move || take_part(user)) {
                self.stage.lock().users -= 1;
                return Err(format!("cannot start user {number}: {error}; use fewer users"));
            }
        }
        Ok(())
    }

    fn user(&self, number: u32) -> User {
        User {
            number,
            round: Arc::clone(&self.round),
            connection: Connection::new(&self.round.request, &self.addresses),
            breaker: self.breaker(),
            rng: Pcg64Mcg::seed_from_u64(seed_of(self.round.seed, number)),
            stage: Arc::clone(&self.stage),
            progress: Progress::default(),
        }
    }

    fn breaker(&self) -> Option<SharedBreaker> {
        match self.round.strategy {
            Strategy::CircuitBreaker {
                config,
                scope: Scope::User,
            } => Some(Arc::new(Mutex::new(Breaker::new(config)))),
            _ => self.shared_breaker.clone(),
        }
    }
}

/// Each user has a stream of its own, whatever the order in which they run.
fn seed_of(seed: u64, number: u32) -> u64 {
    seed ^ (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn take_part(user: User) {
    sharpen();
    let stage = Arc::clone(&user.stage);
    sleep_until(*stage.start.wait());
    match catch_unwind(AssertUnwindSafe(|| user.live())) {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => stage.fail(fault.0),
        Err(_) => stage.fail("a user of the client has failed; this is a defect of the client".into()),
    }
    stage.user_leaves();
}
