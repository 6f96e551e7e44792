package main

import (
	"fmt"
	"math"

	"patternbench.dev/clients/kit"
)

// refuse says what of a policy the two libraries cannot do exactly.
func refuse(entry kit.Entry, problems *kit.Problems) {
	switch policy := entry.Policy.(type) {
	case kit.Retry:
		refuseRetry(policy, problems)
	case kit.CircuitBreaker:
		refuseBreaker(policy, problems)
	}
}

func refuseRetry(retry kit.Retry, problems *kit.Problems) {
	problems.RetryAfter(retry)
	problems.SpreadByShare(retry.Jitter)
	if retry.Backoff.Linear != nil && retry.Jitter.Kind == "share" {
		problems.Refuse("jitter", retry.Jitter.Share, "backoff spreads its own delays, fixed and exponential ones, and no"+
			" linear ones", "none")
	}
}

func refuseBreaker(breaker kit.CircuitBreaker, problems *kit.Problems) {
	problems.SlowCalls(breaker)
	problems.OneHalfOpenCall(breaker, "a half-open breaker of gobreaker opens at the first failure, without waiting for"+
		" further results")
	if calls := breaker.Window.Calls; calls != nil {
		problems.FailuresInARow(breaker, *calls, "gobreaker keeps no window of the last calls: only failures in a row are"+
			" the same")
		problems.AtMost("window.calls", *calls, math.MaxUint32, "gobreaker counts to no more")
	} else {
		refuseShare(breaker, problems)
	}
}

// refuseShare keeps a breaker from opening at a success, which is when gobreaker does not look: that can be when the
// success is the last of minimum_calls results and all the others, or enough of them, have failed.
func refuseShare(breaker kit.CircuitBreaker, problems *kit.Problems) {
	least := float64(breaker.MinimumCalls)
	if mostWithASuccess := 100 * (least - 1) / least; breaker.FailureRate <= mostWithASuccess {
		problems.Refuse("failure_rate", breaker.FailureRate, "gobreaker looks at the share after a failure only, where the"+
			" contract's breaker may open at the success that is the last of minimum_calls",
			fmt.Sprintf("above %g, or minimum_calls 1", mostWithASuccess))
	}
}
