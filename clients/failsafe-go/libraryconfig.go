package main

import (
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"patternbench.dev/clients/kit"
)

// withoutEnd is what failsafe-go takes for no longest duration.
const withoutEnd = 0

// retryOf is a retry of failsafe-go with every parameter set. Errors are rejections, or a round that is over: neither
// is tried again.
func retryOf(builder retrypolicy.Builder[kit.Outcome], retry kit.Retry) retrypolicy.Builder[kit.Outcome] {
	builder.
		HandleIf(func(outcome kit.Outcome, err error) bool { return err == nil && retry.IsRetried(outcome) }).
		ReturnLastFailure().
		WithMaxAttempts(retry.MaxAttempts).
		WithMaxDuration(withoutEnd).
		WithJitterFactor(retry.Jitter.Share)
	return delays(builder, retry.Backoff)
}

// delays are the library's own back-off where it has it; else a delay is computed, as it lets us.
func delays(builder retrypolicy.Builder[kit.Outcome], backoff kit.Backoff) retrypolicy.Builder[kit.Outcome] {
	switch {
	case backoff.Fixed != nil:
		return builder.WithDelay(kit.Micros(backoff.Fixed.DelayUs))
	case backoff.Exponential != nil:
		longest := kit.Bound(backoff.Exponential.MaxUs)
		// The library's first delay may be longer than its longest one.
		first := min(kit.Micros(backoff.Exponential.InitialUs), longest)
		return builder.WithBackoffFactor(first, longest, backoff.Exponential.Multiplier)
	}
	return builder.WithDelayFunc(func(attempt failsafe.ExecutionAttempt[kit.Outcome]) time.Duration {
		return time.Duration(backoff.Linear.DelayUs(attempt.Attempts()) * float64(time.Microsecond))
	})
}

// breakerOf is a circuit breaker of failsafe-go with every parameter set. An error is that of a call whose time a
// policy further out has ended, which is a failure.
func breakerOf(
	builder circuitbreaker.Builder[kit.Outcome], breaker kit.CircuitBreaker,
) circuitbreaker.Builder[kit.Outcome] {
	builder.
		HandleIf(func(outcome kit.Outcome, err error) bool { return err != nil || !outcome.IsSuccess() }).
		WithDelay(kit.Micros(breaker.OpenForUs)).
		WithSuccessThreshold(uint(breaker.HalfOpenCalls))
	if window := breaker.Window; window.Calls != nil {
		return builder.WithFailureThreshold(uint(*window.Calls))
	}
	share := breaker.FailureRate / 100
	return builder.WithFailureRateThreshold(share, uint(breaker.MinimumCalls), kit.Bound(breaker.Window.TimeUs))
}

// bulkheadOf is a bulkhead of failsafe-go with every parameter set: without waiting places no one waits.
func bulkheadOf(policy kit.Bulkhead) bulkhead.Builder[kit.Outcome] {
	longest := kit.Bound(policy.MaxWaitUs)
	if policy.MaxWaiting == 0 {
		longest = 0
	}
	return bulkhead.NewBuilder[kit.Outcome](uint(policy.MaxConcurrent)).WithMaxWaitTime(longest)
}
