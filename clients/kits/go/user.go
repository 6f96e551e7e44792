package kit

import (
	"context"
	"errors"
)

// user is one virtual user: calls one after another until it has enough. It belongs to one goroutine.
type user struct {
	number     int64
	round      Round
	call       Call
	connection *connection
	rows       *rows
	clock      clock
	alarm      *alarm

	calls, successes, attempts, attemptsOfCall int64
	last                                       Outcome // of the call's last attempt
}

// run calls until there is enough or the context ends; its error is a defect of the adapter.
func (u *user) run(ctx context.Context) error {
	defer u.connection.close()
	defer context.AfterFunc(ctx, u.alarm.close)()
	defer u.alarm.close()
	for !u.hasEnough(ctx) {
		if err := u.makeCall(ctx); err != nil {
			return err
		}
		if u.attemptsOfCall == 0 {
			u.pause(u.round.RejectedPauseUs)
		}
		if !u.hasEnough(ctx) {
			u.pause(u.round.ThinkTimeUs)
		}
	}
	return nil
}

// makeCall makes one call through the policies. It ends with its last attempt, whatever a policy made of that; one
// without an attempt was rejected, or its time was over while it waited.
func (u *user) makeCall(ctx context.Context) error {
	u.attemptsOfCall = 0
	_, err := u.call(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil && !errors.Is(err, ErrRejected) {
		return err
	}
	if u.attemptsOfCall == 0 {
		u.rows.add(row{user: u.number, call: u.calls, startUs: u.clock.elapsedUs(), outcome: rejected})
	} else if u.last.IsSuccess() {
		u.successes++
	}
	u.calls++
	return nil
}

// attempt is one try on the wire, whichever policy asked for it; none is made whose time is over.
func (u *user) attempt(ctx context.Context) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Timeout, err
	}
	u.attempts++
	u.attemptsOfCall++
	start := u.clock.elapsedUs()
	u.last = u.connection.send(ctx)
	u.rows.add(row{
		user: u.number, call: u.calls, attempt: u.attemptsOfCall,
		startUs: start, durationUs: u.clock.elapsedUs() - start, outcome: u.last,
	})
	return u.last, nil
}

func (u *user) hasEnough(ctx context.Context) bool {
	return ctx.Err() != nil ||
		reached(u.successes, u.round.Successes) ||
		reached(u.attempts, u.round.MaxAttempts) ||
		u.clock.elapsedUs() >= u.round.TimeLimitUs
}

func reached(count int64, limit *int64) bool { return limit != nil && count >= *limit }

// pause waits, though not beyond the round's end; the end of the user's context ends it.
func (u *user) pause(pauseUs int64) {
	u.alarm.wait(Micros(min(pauseUs, u.round.TimeLimitUs-u.clock.elapsedUs())))
}
