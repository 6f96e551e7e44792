package kit

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// runningRound is a round under way: its users, each on a goroutine, and the rows that they leave.
type runningRound struct {
	rows   rows
	clock  clock
	ended  chan struct{} // closed when the last user has ended
	cancel context.CancelCauseFunc

	mu         sync.Mutex
	defect     error
	durationUs int64
	cpuUs      int64
	cpuAtStart int64
}

// begin gets every user ready, then lets all of them start at the same moment.
func begin(ctx context.Context, round Round, adapter Adapter) (*runningRound, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	running := &runningRound{ended: make(chan struct{}), cancel: cancel}
	users, err := running.users(round, adapter)
	if err != nil {
		cancel(err)
		return nil, err
	}
	var left sync.WaitGroup
	start := make(chan struct{})
	for _, one := range users {
		left.Go(func() {
			<-start
			running.runToEnd(ctx, one)
		})
	}
	running.letGo(users, start)
	go func() {
		left.Wait()
		close(running.ended)
	}()
	return running, nil
}

func (r *runningRound) users(round Round, adapter Adapter) ([]*user, error) {
	policies := guardsOf(round.Strategy.Policies, adapter)
	users := make([]*user, 0, round.Users)
	for number := range round.Users {
		connection, err := connectionTo(round, "patternbench-client-"+adapter.Description().Name+"/"+version)
		if err != nil {
			return nil, err
		}
		alarm, err := newAlarm()
		if err != nil {
			return nil, err
		}
		one := &user{alarm: alarm, number: int64(number), round: round, connection: connection, rows: &r.rows}
		one.call = stacked(policies.ofUser(), one.attempt)
		users = append(users, one)
	}
	return users, nil
}

// letGo starts the round's clock, and the users with it.
func (r *runningRound) letGo(users []*user, start chan struct{}) {
	r.cpuAtStart = cpuUs()
	r.clock = clock{time.Now()}
	for _, one := range users {
		one.clock = r.clock
	}
	close(start)
}

// runToEnd runs a user. The first one that cannot continue ends the round.
func (r *runningRound) runToEnd(ctx context.Context, one *user) {
	// Its own context, so that the attempts of one user wait for no lock of another's.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := guarded(func() error { return one.run(ctx) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.durationUs = max(r.durationUs, r.clock.elapsedUs())
	r.cpuUs = cpuUs() - r.cpuAtStart
	if err != nil && r.defect == nil {
		r.defect = err
		r.cancel(err)
	}
}

// guarded turns a panic of a library into an error.
func guarded(run func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return run()
}

// close ends the round, finished or not, and waits until none of its users is left.
func (r *runningRound) close() {
	r.cancel(nil)
	<-r.ended
}

// cpuUs is the time that this process has spent computing.
func cpuUs() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Utime.Nano()/1_000 + usage.Stime.Nano()/1_000
}
