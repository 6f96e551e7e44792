//! A library behind the contract: reads its rounds, and drives them.

use crate::running::Running;
use crate::{Adapter, Round, problems, rows};
use patternbench_contract_server::{Client, Place, Stream};
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;

/// Twice within the contract's 200 ms, with room for a busy machine.
const BATCH_EVERY: Duration = Duration::from_millis(80);

/// A client of a library, for the contract's server.
pub(crate) struct Library(pub(crate) Rc<dyn Adapter>);

impl Client for Library {
    type Round = Round;

    fn description(&self) -> Value {
        self.0.description().as_json()
    }

    fn read(&self, body: &[u8]) -> Result<Round, Vec<Value>> {
        problems(body, &*self.0).map_err(|noted| noted.iter().map(|problem| json!(problem)).collect())
    }

    fn start(&self, round: Round, stream: Stream, place: Place) -> Result<(), String> {
        spawn_local(drive(round, Rc::clone(&self.0), stream, place));
        Ok(())
    }
}

/// Drives a round to its end, or until its reader has left.
async fn drive(round: Round, adapter: Rc<dyn Adapter>, stream: Stream, place: Place) {
    let last = match Running::start(round, &*adapter) {
        Ok(mut running) => {
            let went = batches(&mut running, &stream).await;
            running.close().await;
            send(&stream, &running);
            last_line(&running, went)
        }
        Err(why) => json!({"error": why}),
    };
    stream.end(format!("{last}\n"), place);
}

/// Writes batches until the last user has ended, or no one listens any more.
async fn batches(running: &mut Running, stream: &Stream) -> Result<(), String> {
    let mut ticks = tokio::time::interval(BATCH_EVERY);
    loop {
        tokio::select! {
            () = stream.left() => return Ok(()),
            _ = ticks.tick() => send(stream, running),
            ended = running.next_end() => match ended {
                Some(Ok(())) => {}
                Some(Err(why)) => return Err(why),
                None => return Ok(()),
            },
        }
    }
}

fn send(stream: &Stream, running: &Running) {
    for line in rows::lines(&running.rows.take()) {
        // No bound is set on the rows that wait, so no one counts them.
        stream.send(line, 0);
    }
}

fn last_line(running: &Running, went: Result<(), String>) -> Value {
    match went {
        Ok(()) => json!({"end": {
            "rows": running.rows.taken(),
            "duration_us": running.duration_us(),
            "cpu_us": running.cpu_us(),
        }}),
        Err(why) => json!({"error": why}),
    }
}
