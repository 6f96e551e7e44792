package main

import (
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"patternbench.dev/clients/kit"
)

const (
	// withoutEnd is what backoff takes for no longest duration.
	withoutEnd = 0

	// never is gobreaker's interval that never clears what it counted.
	never = 0

	// buckets are those into which a window in time is divided.
	buckets = 10
)

// options are every option of backoff's retry.
func options(retry kit.Retry) []backoff.RetryOption {
	return []backoff.RetryOption{
		backoff.WithBackOff(delays(retry)),
		backoff.WithMaxTries(uint(retry.MaxAttempts)),
		backoff.WithMaxElapsedTime(withoutEnd),
		backoff.WithNotify(nil),
	}
}

// delays are the library's exponential ones, where a fixed delay is one that does not grow; a linear one is ours, as
// the library lets it be.
func delays(retry kit.Retry) backoff.BackOff {
	grown := retry.Backoff.Exponential
	switch {
	case retry.Backoff.Linear != nil:
		return &linear{Linear: *retry.Backoff.Linear}
	case retry.Backoff.Fixed != nil:
		grown = &kit.Exponential{InitialUs: retry.Backoff.Fixed.DelayUs, Multiplier: 1}
	}
	longest := kit.Bound(grown.MaxUs)
	return &backoff.ExponentialBackOff{
		// The library's first interval may be longer than its longest one.
		InitialInterval:     min(kit.Micros(grown.InitialUs), longest),
		RandomizationFactor: retry.Jitter.Share,
		Multiplier:          grown.Multiplier,
		MaxInterval:         longest,
	}
}

// linear is a back-off that the library does not have.
type linear struct {
	kit.Linear
	failed int
}

func (l *linear) Reset() { l.failed = 0 }

func (l *linear) NextBackOff() time.Duration {
	l.failed++
	return time.Duration(l.DelayUs(l.failed) * float64(time.Microsecond))
}

// settings are every setting of gobreaker's breaker. What was rejected further in counts as nothing.
func settings(breaker kit.CircuitBreaker) gobreaker.Settings {
	window := interval(breaker.Window)
	return gobreaker.Settings{
		Name:          "circuit_breaker",
		MaxRequests:   uint32(breaker.HalfOpenCalls),
		Interval:      window,
		BucketPeriod:  window / buckets,
		Timeout:       kit.Micros(breaker.OpenForUs),
		ReadyToTrip:   trips(breaker),
		OnStateChange: nil,
		IsSuccessful:  func(err error) bool { return err == nil },
		IsExcluded:    func(err error) bool { return errors.Is(err, kit.ErrRejected) },
	}
}

func interval(window kit.Window) time.Duration {
	if window.TimeUs == nil {
		return never
	}
	return kit.Micros(*window.TimeUs)
}

// trips says after each failure whether a closed breaker opens: after a number in a row, or at a share of the results.
func trips(breaker kit.CircuitBreaker) func(gobreaker.Counts) bool {
	if calls := breaker.Window.Calls; calls != nil {
		return func(counts gobreaker.Counts) bool { return int64(counts.ConsecutiveFailures) >= *calls }
	}
	return func(counts gobreaker.Counts) bool {
		results := float64(counts.TotalSuccesses) + float64(counts.TotalFailures)
		return results >= float64(breaker.MinimumCalls) &&
			100*float64(counts.TotalFailures) >= breaker.FailureRate*results
	}
}
