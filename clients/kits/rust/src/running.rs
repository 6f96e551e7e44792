//! A round under way: its users, each a task, and the rows that they leave.

use crate::clock::{Clock, process_cpu};
use crate::connection::Connection;
use crate::rows::Rows;
use crate::target::Target;
use crate::user::User;
use crate::{Adapter, Guard, Policy, Round, Seeds};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A round that has begun; dropping it ends all that it holds.
pub(crate) struct Running {
    pub(crate) rows: Rc<Rows>,
    users: JoinSet<()>,
    ended: Rc<Ended>,
}

/// When the last user has ended so far: the time, and the CPU time of this process.
struct Ended {
    clock: Clock,
    cpu_before: Duration,
    duration_us: Cell<u64>,
    cpu: Cell<Duration>,
}

impl Running {
    /// Gets every user ready, then lets all of them begin. Belongs into a `LocalSet`.
    ///
    /// # Errors
    /// One sentence, when the round's target isn't valid, or the system has no timer for each user.
    pub(crate) fn start(round: Round, adapter: &dyn Adapter) -> Result<Self, String> {
        let target = Rc::new(Target::of(&round)?);
        let timeout = Duration::from_micros(round.request.timeout_us);
        let guards = Guards::new(&round, adapter);
        let chains: Vec<_> = (0..round.users).map(|_| guards.of_user()).collect();
        let (round, rows) = (Rc::new(round), Rc::new(Rows::default()));
        let clock = Clock::start();
        let ended = Rc::new(Ended::new(clock));
        let mut users = JoinSet::new();
        for (number, chain) in chains.into_iter().enumerate() {
            let connection = Connection::new(Rc::clone(&target), timeout);
            let user = User::new(number, Rc::clone(&round), connection, Rc::clone(&rows), clock)?;
            users.spawn_local(to_end(Rc::new(user), chain, Rc::clone(&ended)));
        }
        Ok(Self { rows, users, ended })
    }

    /// Waits for the end of one user.
    ///
    /// # Errors
    /// What kept it from going on. `None` when all have ended.
    pub(crate) async fn next_end(&mut self) -> Option<Result<(), String>> {
        let ended = self.users.join_next().await?;
        Some(ended.map_err(|error| format!("a user could not go on: {error}")))
    }

    /// From the start to the end of the last user.
    pub(crate) fn duration_us(&self) -> u64 {
        self.ended.duration_us.get()
    }

    /// The time that this process has spent computing meanwhile.
    pub(crate) fn cpu_us(&self) -> u64 {
        u64::try_from(self.ended.cpu.get().as_micros()).unwrap_or(u64::MAX)
    }

    /// Ends the round, finished or not, and everything that it holds.
    pub(crate) async fn close(&mut self) {
        self.users.shutdown().await;
    }
}

async fn to_end(user: Rc<User>, guards: Vec<Rc<dyn Guard>>, ended: Rc<Ended>) {
    user.run(guards).await;
    ended.note();
}

impl Ended {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            cpu_before: process_cpu(),
            duration_us: Cell::new(0),
            cpu: Cell::new(Duration::ZERO),
        }
    }

    fn note(&self) {
        self.duration_us.set(self.clock.elapsed_us());
        self.cpu.set(process_cpu().saturating_sub(self.cpu_before));
    }
}

/// The guards of one round: those that all users share, and new ones for each user.
struct Guards<'a> {
    adapter: &'a dyn Adapter,
    seeds: Seeds,
    policies: Vec<Policy>,
    shared: Vec<Option<Rc<dyn Guard>>>,
}

impl<'a> Guards<'a> {
    fn new(round: &Round, adapter: &'a dyn Adapter) -> Self {
        let seeds = Seeds::new(round.seed);
        let policies = round.strategy.policies();
        let of_all = |policy: &Policy| policy.is_shared().then(|| adapter.guard(policy, seeds.draw()));
        let shared = policies.iter().map(of_all).collect();
        Self {
            adapter,
            seeds,
            policies,
            shared,
        }
    }

    /// The guards of one user, the outermost first.
    fn of_user(&self) -> Vec<Rc<dyn Guard>> {
        let both = self.policies.iter().zip(&self.shared);
        both.map(|(policy, shared)| {
            let own = || self.adapter.guard(policy, self.seeds.draw());
            shared.as_ref().map_or_else(own, Rc::clone)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems;
    use crate::testing::{PlainAdapter, round};
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::{LocalSet, spawn_local};

    /// Rows as (call, attempt, outcome) of a round against a target that answers with these statuses; 0 hangs.
    fn rows_of(
        strategy: Value,
        changes: &[(&str, Value)],
        statuses: &'static [u16],
    ) -> Vec<(u64, u64, Value)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut body = round(strategy);
            body["target"] = json!(format!("http://{}", listener.local_addr().unwrap()));
            for (field, value) in changes {
                body[*field] = value.clone();
            }
            spawn_local(answer(listener, statuses));
            let round = problems(body.to_string().as_bytes(), &PlainAdapter).unwrap();
            let mut running = Running::start(round, &PlainAdapter).unwrap();
            while let Some(ended) = running.next_end().await {
                ended.unwrap();
            }
            let rows = running.rows.take().into_iter();
            rows.map(|row| (row.call, row.attempt, json!(row.outcome)))
                .collect()
        })
    }

    /// Answers one connection after another, each until it is closed.
    async fn answer(listener: TcpListener, statuses: &'static [u16]) {
        let mut left = statuses.iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            while asked(&mut stream).await {
                match left.next() {
                    Some(0) | None => {}
                    Some(status) => {
                        let text = format!("HTTP/1.1 {status} Some\r\nContent-Length: 2\r\n\r\nok");
                        stream.write_all(text.as_bytes()).await.unwrap();
                    }
                }
            }
        }
    }

    /// Whether a request came, before the other side closed.
    async fn asked(stream: &mut TcpStream) -> bool {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => text.push(byte),
                Err(_) => return false,
            }
        }
        true
    }

    fn retry(attempts: u32) -> Value {
        json!({"retry": {"max_attempts": attempts, "backoff": {"fixed": {"delay_us": 0}}, "jitter": "none"}})
    }

    #[test]
    fn a_retry_tries_again_until_an_answer_is_good() {
        let rows = rows_of(retry(3), &[], &[503, 302]);
        assert_eq!(rows, [(0, 1, json!(503)), (0, 2, json!(302))]);
    }

    #[test]
    fn a_call_that_has_begun_is_finished_and_the_next_one_is_not_begun() {
        let ends = [("successes", Value::Null), ("max_attempts", json!(3))];
        let rows = rows_of(retry(2), &ends, &[503; 9]);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[3], (1, 2, json!(503)));
    }

    #[test]
    fn what_a_policy_drops_is_a_timeout_and_the_next_attempt_has_a_connection_of_its_own() {
        let timeout = json!({"timeout": {"after_us": 100_000}});
        let rows = rows_of(json!({"stack": [retry(2), timeout]}), &[], &[0, 200]);
        assert_eq!(rows, [(0, 1, json!("timeout")), (0, 2, json!(200))]);
    }

    #[test]
    fn an_attempt_has_its_own_time_limit() {
        let request =
            json!({"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": 100_000});
        let rows = rows_of(retry(2), &[("request", request)], &[0, 200]);
        assert_eq!(rows, [(0, 1, json!("timeout")), (0, 2, json!(200))]);
    }

    #[test]
    fn nothing_that_listens_is_a_connection_error() {
        let ends = [
            ("target", json!("http://127.0.0.1:1")),
            ("successes", Value::Null),
            ("max_attempts", json!(1)),
        ];
        assert_eq!(
            rows_of(json!({"baseline": {}}), &ends, &[]),
            [(0, 1, json!("connection_error"))]
        );
    }
}
