package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"patternbench.dev/clients/kit"
)

type adapter struct{}

func (adapter) Description() kit.Description {
	return kit.Description{
		Name:       "gobreaker",
		Library:    "gobreaker with backoff",
		Modules:    []string{"github.com/sony/gobreaker/v2", "github.com/cenkalti/backoff/v5"},
		Strategies: []string{"baseline", "retry", "circuit_breaker", "stack"},
		Policies:   []string{"retry", "circuit_breaker"},
	}
}

func (adapter) Refuse(entry kit.Entry, problems *kit.Problems) { refuse(entry, problems) }

func (adapter) Guard(policy kit.Policy) kit.Guard {
	switch policy := policy.(type) {
	case kit.Retry:
		return retried(policy)
	case kit.CircuitBreaker:
		return broken(policy)
	}
	panic("a policy that the description does not have: " + policy.Kind())
}

// failed is an attempt that failed, for libraries that see errors only.
type failed kit.Outcome

func (f failed) Error() string { return fmt.Sprint("an attempt ended with ", kit.Outcome(f)) }

// ending takes the failure, which is an outcome to the contract, out of a library's error.
func ending(outcome kit.Outcome, err error) (kit.Outcome, error) {
	var failure failed
	if errors.As(err, &failure) {
		return kit.Outcome(failure), nil
	}
	return outcome, err
}

// retried makes each call through its own retry, since the library keeps the delay that it has reached in it.
func retried(policy kit.Retry) kit.Guard {
	return func(ctx context.Context, guarded kit.Call) (kit.Outcome, error) {
		attempt := func() (kit.Outcome, error) {
			outcome, err := guarded(ctx)
			switch {
			case err != nil: // a rejection, or a round that is over: neither is tried again
				return outcome, backoff.Permanent(err)
			case policy.IsRetried(outcome):
				return outcome, failed(outcome)
			}
			return outcome, nil
		}
		return ending(backoff.Retry(ctx, attempt, options(policy)...))
	}
}

// broken makes calls through one breaker.
func broken(policy kit.CircuitBreaker) kit.Guard {
	breaker := gobreaker.NewCircuitBreaker[kit.Outcome](settings(policy))
	return func(ctx context.Context, guarded kit.Call) (kit.Outcome, error) {
		outcome, err := ending(breaker.Execute(func() (kit.Outcome, error) {
			outcome, err := guarded(ctx)
			if err == nil && !outcome.IsSuccess() {
				err = failed(outcome)
			}
			return outcome, err
		}))
		if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
			err = kit.ErrRejected
		}
		return outcome, err
	}
}
