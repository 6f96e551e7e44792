//! How what a policy guards ends, and what the policy makes of it.

use super::call::{Call, Frame, State};
use super::decision::{Decision, Turn, Why};
use super::layers::{Layer, Waiter};
use crate::breaker::{Breaker, Ticket};
use crate::outcome::{Failure, Failures, Kind, Outcome};
use rand_core::Rng;

/// How a frame comes to its end.
#[derive(Clone, Copy)]
enum Ending {
    Ended(Outcome),
    Cancelled(Why),
}

impl Call {
    /// The content of a frame has ended: the frame ends with it, or tries again, or waits for others.
    pub(super) fn ends<R: Rng>(&mut self, turn: &mut Turn<'_, R>, id: Option<u32>, outcome: Outcome) {
        let Some(id) = id else {
            return turn.decisions.push(Decision::Done(outcome));
        };
        let Some(place) = self.position(id) else { return };
        let outcome = match self.frames[place].state {
            State::Retry { .. } => self.retried(turn, place, outcome),
            State::Hedge { .. } => self.hedged(turn, place, outcome),
            _ => Some(outcome),
        };
        let Some(outcome) = outcome else { return };
        // Cancelling may have moved it.
        let Some(place) = self.position(id) else { return };
        let frame = self.frames.remove(place);
        let parent = frame.parent;
        self.settle(turn, frame, Ending::Ended(outcome));
        self.ends(turn, parent, outcome);
    }

    /// How a retry ends, or `None` when it tries again.
    fn retried<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize, outcome: Outcome) -> Option<Outcome> {
        let frame = &mut self.frames[place];
        let State::Retry { failed, last } = &mut frame.state else {
            return Some(outcome);
        };
        let failure = match outcome {
            Outcome::Good => return Some(outcome),
            // A rejection is not tried again, and does not hide the failure before it.
            Outcome::Rejected => return Some(*last),
            Outcome::Failed(failure) => failure,
        };
        (*failed, *last) = (*failed + 1, outcome);
        let at_us = next_try(
            &turn.stack.layers[frame.layer],
            *failed,
            failure,
            turn.now_us,
            turn.rng,
        );
        let Some(at_us) = at_us.filter(|at_us| *at_us < frame.bound_us) else {
            return Some(outcome);
        };
        frame.due_us = Some(at_us);
        self.wake(turn);
        None
    }

    /// How hedging ends, or `None` when others are still on their way.
    fn hedged<R: Rng>(&mut self, turn: &mut Turn<'_, R>, place: usize, outcome: Outcome) -> Option<Outcome> {
        let id = self.frames[place].id;
        let State::Hedge { going, last, .. } = &mut self.frames[place].state else {
            return Some(outcome);
        };
        *going -= 1;
        if outcome == Outcome::Good {
            self.cancel_inside(turn, id, Why::Superseded);
            return Some(outcome);
        }
        if outcome != Outcome::Rejected {
            *last = outcome;
        }
        (*going == 0).then_some(*last)
    }

    /// Gives up all that is on its way inside of a frame.
    pub(super) fn cancel_inside<R>(&mut self, turn: &mut Turn<'_, R>, id: u32, why: Why) {
        while let Some(place) = self.frames.iter().position(|frame| frame.parent == Some(id)) {
            let child = self.frames[place].id;
            self.cancel_inside(turn, child, why);
            if let Some(place) = self.position(child) {
                let frame = self.frames.remove(place);
                self.settle(turn, frame, Ending::Cancelled(why));
            }
        }
    }

    /// Gives back what a frame held.
    fn settle<R>(&self, turn: &mut Turn<'_, R>, frame: Frame, ending: Ending) {
        let Frame { id, layer, state, .. } = frame;
        let layer = turn.stack.layers.get_mut(layer);
        match (state, layer, ending) {
            (State::Attempt, _, Ending::Cancelled(why)) => {
                turn.decisions.push(Decision::Cancel { frame: id, why });
            }
            (State::Breaker { ticket, since_us }, Some(Layer::Breaker(breaker, counted)), ending) => {
                let verdict = verdict(ending, counted);
                report(breaker.of(self.user), ticket, since_us, turn.now_us, verdict);
            }
            (State::Inside, Some(Layer::Bulkhead(bulkhead, _)), _) => {
                turn.stack.granted.extend(bulkhead.of(self.user).leave());
            }
            (State::Queued, Some(Layer::Bulkhead(bulkhead, _)), _) => {
                let (bulkhead, who) = (bulkhead.of(self.user), self.who);
                if !bulkhead.stop_waiting(Waiter { who, frame: id }) {
                    // It had been given a place, but had not been notified yet.
                    turn.stack.granted.extend(bulkhead.leave());
                }
            }
            _ => {}
        }
    }
}

/// When a retry tries again.
fn next_try(layer: &Layer, failed: u32, failure: Failure, now_us: u64, rng: &mut impl Rng) -> Option<u64> {
    let Layer::Retry(config) = layer else { return None };
    let pause_us = config.pause_us(failed, failure, rng)?;
    Some(now_us.saturating_add(pause_us))
}

/// Whether an ending is a success to a breaker that counts these failures; `None` where it says nothing.
fn verdict(ending: Ending, counted: &Failures) -> Option<bool> {
    match ending {
        Ending::Ended(Outcome::Rejected) | Ending::Cancelled(Why::Superseded) => None,
        Ending::Ended(Outcome::Good) => Some(true),
        Ending::Ended(Outcome::Failed(failure)) => Some(!counted.includes(failure.kind)),
        Ending::Cancelled(Why::TimedOut) => Some(!counted.includes(Kind::Timeout)),
    }
}

/// Tells a breaker how a call that it let through ended.
fn report(breaker: &mut Breaker, ticket: Ticket, since_us: u64, now_us: u64, verdict: Option<bool>) {
    match verdict {
        Some(success) => breaker.record(ticket, now_us, now_us.saturating_sub(since_us), success),
        None => breaker.forget(ticket),
    }
}
