package main

import (
	"context"
	"errors"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"patternbench.dev/clients/kit"
)

type adapter struct{}

func (adapter) Description() kit.Description {
	return kit.Description{
		Name:       "failsafe-go",
		Library:    "failsafe-go",
		Modules:    []string{"github.com/failsafe-go/failsafe-go"},
		Strategies: []string{"baseline", "retry", "circuit_breaker", "stack"},
		Policies:   []string{"retry", "circuit_breaker", "bulkhead", "timeout"},
	}
}

func (adapter) Refuse(entry kit.Entry, problems *kit.Problems) { refuse(entry, problems) }

// Guard executes what it guards through one policy. Each policy has its own executor, in the order of the
// stack, and the context goes from one to the next.
func (adapter) Guard(policy kit.Policy) kit.Guard {
	executor := failsafe.With(ofLibrary(policy))
	return func(ctx context.Context, guarded kit.Call) (kit.Outcome, error) {
		outcome, err := executor.WithContext(ctx).GetWithExecution(
			func(execution failsafe.Execution[kit.Outcome]) (kit.Outcome, error) {
				return guarded(execution.Context())
			})
		return translated(outcome, err)
	}
}

// translated is what the library's own errors mean to the contract.
func translated(outcome kit.Outcome, err error) (kit.Outcome, error) {
	switch {
	case errors.Is(err, circuitbreaker.ErrOpen), errors.Is(err, bulkhead.ErrFull):
		return outcome, kit.ErrRejected
	case errors.Is(err, timeout.ErrExceeded):
		return kit.Timeout, nil
	}
	return outcome, err
}

func ofLibrary(policy kit.Policy) failsafe.Policy[kit.Outcome] {
	switch policy := policy.(type) {
	case kit.Retry:
		return retryOf(retrypolicy.NewBuilder[kit.Outcome](), policy).Build()
	case kit.CircuitBreaker:
		return breakerOf(circuitbreaker.NewBuilder[kit.Outcome](), policy).Build()
	case kit.Bulkhead:
		return bulkheadOf(policy).Build()
	case kit.TimeoutPolicy:
		return timeout.NewBuilder[kit.Outcome](kit.Micros(policy.AfterUs)).Build()
	}
	panic("a policy that the description does not have: " + policy.Kind())
}
