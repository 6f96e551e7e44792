//! The workers: threads that take a request, spend its time, and say that it is done.

use crate::log::{Arrival, Ending, Entry, Log, RESET};
use crate::queue::{Job, Queue};
use crate::service::finish;
use crate::settings::Pause;
use patternbench_timing::{Nanos, S, now, sharpen, sleep_until};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A request on its way through the queue, and the way back to who asked.
pub struct Order {
    /// For the log.
    pub arrival: Arrival,
    /// The status that it will be answered with, unless the connection is reset.
    pub status: u16,
    /// Who waits for it.
    pub reply: oneshot::Sender<(Outcome, Entry)>,
}

/// How long a worker sleeps at most before it looks whether its request was given up.
const LOOK: Nanos = S / 10;
/// The status of a request that was given up.
const GIVEN_UP: u16 = 503;

/// What a worker says of a request that it has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answer it.
    Answer,
    /// Reset its connection.
    Reset,
    /// Say that it was given up, together with all that the target had been asked.
    GivenUp,
}

/// What all workers share.
pub struct Shop {
    /// Where requests wait.
    pub queue: Queue<Order>,
    /// The log of requests.
    pub log: Arc<Log>,
    /// When the target started, from which pauses count.
    pub opened: Nanos,
    /// When workers pause.
    pub pause: Option<Pause>,
}

/// Starts the workers. Each is its own thread: timers of an event loop have a grain of a millisecond.
///
/// # Errors
/// One sentence, when the system has no more threads to give.
pub fn start(shop: &Arc<Shop>, workers: usize) -> Result<(), String> {
    for number in 0..workers {
        let shop = Arc::clone(shop);
        let thread = std::thread::Builder::new()
            .name(format!("worker-{number}"))
            .stack_size(128 * 1024);
        thread
            .spawn(move || work(&shop))
            .map_err(|error| format!("cannot start worker {number}: {error}"))?;
    }
    Ok(())
}

fn work(shop: &Shop) {
    sharpen();
    loop {
        serve(shop, shop.queue.pop());
    }
}

fn serve(shop: &Shop, job: Job<Order>) {
    let started = now();
    let end = shop.opened + finish(started - shop.opened, job.work.service, shop.pause);
    let (outcome, status) = if worked_until(end, shop, &job) {
        ending(&job)
    } else {
        (Outcome::GivenUp, GIVEN_UP)
    };
    let ending = Ending {
        started: Some(started),
        finished: now(),
        status,
    };
    shop.queue.done();
    let Order { arrival, reply, .. } = job.payload;
    // No one waits any more when the connection was closed meanwhile: then the entry ends here.
    let _ = reply.send((outcome, Entry::new(&shop.log, job.id, arrival, ending)));
}

/// Spends the time of a request up to its end; false if it was given up before.
fn worked_until(end: Nanos, shop: &Shop, job: &Job<Order>) -> bool {
    while now() + LOOK < end {
        sleep_until(now() + LOOK);
        if shop.queue.gave_up(job) {
            return false;
        }
    }
    sleep_until(end);
    true
}

fn ending(job: &Job<Order>) -> (Outcome, u16) {
    if job.work.reset {
        (Outcome::Reset, RESET)
    } else {
        (Outcome::Answer, job.payload.status)
    }
}
