//! The benchmark's queue in nexosim: prints the mean time of a customer, in seconds.
//!
//!     mmc CUSTOMERS SERVERS RATE MEAN_S SEED

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit, SimulationError};
use nexosim::time::MonotonicTime;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
struct Queue {
    left: u64,
    free: u64,
    rate: f64,
    mean_s: f64,
    random: Pcg64,
    waiting: VecDeque<MonotonicTime>,
    #[serde(skip)]
    total_ns: Arc<AtomicU64>,
}

#[Model]
impl Queue {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>, _: &mut ()) {
        self.expect_next(cx);
    }

    fn exponential(&mut self, mean_s: f64) -> Duration {
        let uniform = (self.random.next_u64() >> 11) as f64 * (-53f64).exp2();
        // An event at the present moment is refused.
        Duration::from_secs_f64(-mean_s * (1.0 - uniform).ln()).max(Duration::from_nanos(1))
    }

    fn expect_next(&mut self, cx: &Context<Self>) {
        let pause = self.exponential(1.0 / self.rate);
        cx.schedule_event(pause, schedulable!(Self::arrives), ())
            .expect("a later moment");
    }

    #[nexosim(schedulable)]
    async fn arrives(&mut self, _: (), cx: &Context<Self>) {
        self.left -= 1;
        if self.left > 0 {
            self.expect_next(cx);
        }
        let now = cx.time();
        if self.free > 0 {
            self.free -= 1;
            self.serve(now, cx);
        } else {
            self.waiting.push_back(now);
        }
    }

    fn serve(&mut self, came: MonotonicTime, cx: &Context<Self>) {
        let takes = self.exponential(self.mean_s);
        cx.schedule_event(takes, schedulable!(Self::leaves), came)
            .expect("a later moment");
    }

    #[nexosim(schedulable)]
    async fn leaves(&mut self, came: MonotonicTime, cx: &Context<Self>) {
        let took = cx.time().duration_since(came).as_nanos() as u64;
        self.total_ns.fetch_add(took, Ordering::Relaxed);
        match self.waiting.pop_front() {
            Some(next) => self.serve(next, cx),
            None => self.free += 1,
        }
    }
}

fn main() -> Result<(), SimulationError> {
    let values: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| values[place].parse::<f64>().expect("a number");
    let customers = number(0) as u64;
    let total_ns = Arc::new(AtomicU64::new(0));
    let queue = Queue {
        left: customers,
        free: number(1) as u64,
        rate: number(2),
        mean_s: number(3),
        random: Pcg64::seed_from_u64(number(4) as u64),
        waiting: VecDeque::new(),
        total_ns: Arc::clone(&total_ns),
    };
    let bench = SimInit::with_num_threads(1).add_model(queue, Mailbox::new(), "queue");
    bench.init(MonotonicTime::EPOCH)?.run()?;
    println!(
        "{}",
        total_ns.load(Ordering::Relaxed) as f64 / customers as f64 / 1e9
    );
    Ok(())
}
