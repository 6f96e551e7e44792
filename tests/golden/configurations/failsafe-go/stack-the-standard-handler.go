// bulkhead.max_concurrent 1000: exact, NewBuilder(1000)
// bulkhead.max_waiting 0: exact, WithMaxWaitTime(0)
// bulkhead.scope client: exact (all users of one RoundTripper share it)
// timeout 30s: exact, NewBuilder(30 * time.Second)
// retry.backoff.exponential.initial 2s: exact, WithBackoffFactor(2*time.Second, math.MaxInt64, 2)
// retry.backoff.exponential.multiplier 2: exact, WithBackoffFactor(2*time.Second, math.MaxInt64, 2)
// retry.jitter none: exact, WithJitterFactor(0)
// retry.max_attempts 4: exact, WithMaxAttempts(4)
// retry.on [408, 429, 500-599, timeout, connection_error]: exact, HandleIf(isRetried)
// retry.retry_after_max 0ms: exact
// circuit_breaker.failure_rate 10: exact, WithFailureRateThreshold(10/100.0, 100, 30*time.Second)
// circuit_breaker.minimum_calls 100: exact, WithFailureRateThreshold(10/100.0, 100, 30*time.Second)
// circuit_breaker.window.time 30s: exact, WithFailureRateThreshold(10/100.0, 100, 30*time.Second)
// circuit_breaker.open_for 5s: exact, WithDelay(5 * time.Second)
// circuit_breaker.half_open_calls 1: exact, WithSuccessThreshold(1)
// circuit_breaker.on [408, 429, 500-599, timeout, connection_error]: exact, HandleIf(isFailure)
// circuit_breaker.scope client: exact (all users of one RoundTripper share it)
// timeout_2 10s: exact, NewBuilder(10 * time.Second)

package service

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// RoundTripper guards what inner sends with the policies; a nil inner is http.DefaultTransport. All users of one
// RoundTripper share their state.
func RoundTripper(inner http.RoundTripper) http.RoundTripper {
	if inner == nil {
		inner = http.DefaultTransport
	}
	return failsafehttp.NewRoundTripper(whole{inner}, Policies()...)
}

// Policies are new ones at each call, the outermost first.
func Policies() []failsafe.Policy[*http.Response] {
	return []failsafe.Policy[*http.Response]{
		bulkhead.NewBuilder[*http.Response](1000).
			WithMaxWaitTime(0).
			Build(),
		timeout.NewBuilder[*http.Response](30 * time.Second).
			Build(),
		retrypolicy.NewBuilder[*http.Response]().
			HandleIf(isRetried).
			ReturnLastFailure().
			WithMaxAttempts(4).
			WithMaxDuration(0).
			WithBackoffFactor(2*time.Second, math.MaxInt64, 2).
			WithJitterFactor(0).
			Build(),
		circuitbreaker.NewBuilder[*http.Response]().
			HandleIf(isFailure).
			WithFailureRateThreshold(10/100.0, 100, 30*time.Second).
			WithDelay(5 * time.Second).
			WithSuccessThreshold(1).
			Build(),
		timeout.NewBuilder[*http.Response](10 * time.Second).
			Build(),
	}
}

// isRetried says whether an attempt is tried again, if it failed.
func isRetried(response *http.Response, err error) bool {
	if errors.Is(err, circuitbreaker.ErrOpen) {
		return false // a policy further in has rejected it
	}
	if err != nil {
		return true
	}
	return response.StatusCode == 408 || response.StatusCode == 429 || (response.StatusCode >= 500 && response.StatusCode <= 599)
}

// isFailure says whether an attempt counts as a failure.
func isFailure(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return response.StatusCode == 408 || response.StatusCode == 429 || (response.StatusCode >= 500 && response.StatusCode <= 599)
}

// whole reads each answer to its last byte within the attempt, so that a policy judges all of it.
type whole struct{ inner http.RoundTripper }

func (w whole) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.inner.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
