package main

import (
	"math"

	"patternbench.dev/clients/kit"
)

// refuse says what of a policy failsafe-go cannot do exactly.
func refuse(entry kit.Entry, problems *kit.Problems) {
	switch policy := entry.Policy.(type) {
	case kit.Retry:
		problems.RetryAfter(policy)
		problems.SpreadByShare(policy.Jitter)
	case kit.CircuitBreaker:
		refuseBreaker(policy, problems)
		refuseAroundRejections(entry, problems)
	case kit.Bulkhead:
		problems.BoundedWaiting(policy, entry.Users)
	}
}

func refuseBreaker(breaker kit.CircuitBreaker, problems *kit.Problems) {
	problems.SlowCalls(breaker)
	problems.OneHalfOpenCall(breaker, "a half-open breaker of failsafe-go decides as soon as the rest cannot change it,"+
		" without waiting for further results")
	if calls := breaker.Window.Calls; calls != nil {
		problems.FailuresInARow(breaker, *calls, "failsafe-go opens after a number of failures among the last"+
			" calls, even before its window is full: only failures in a row are the same")
	} else if breaker.FailureRate != math.Trunc(breaker.FailureRate) {
		problems.Refuse("failure_rate", breaker.FailureRate, "failsafe-go rounds a rate to whole percents",
			"a whole number from 1 to 100")
	}
}

// refuseAroundRejections keeps a breaker from what may reject a call.
func refuseAroundRejections(entry kit.Entry, problems *kit.Problems) {
	for _, policy := range entry.Guarded {
		switch policy.(type) {
		case kit.CircuitBreaker, kit.Bulkhead:
			problems.Refuse("", nil, "failsafe-go's breaker counts a call that was rejected further in as a success or a"+
				" failure, where the contract's counts it as nothing",
				"a circuit_breaker that guards nothing but retries and timeouts")
			return
		}
	}
}
