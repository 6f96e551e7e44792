// circuit_breaker.failure_rate 50: exact, WithFailureRateThreshold(50/100.0, 20, 10*time.Second)
// circuit_breaker.minimum_calls 20: exact, WithFailureRateThreshold(50/100.0, 20, 10*time.Second)
// circuit_breaker.window.time 10s: exact, WithFailureRateThreshold(50/100.0, 20, 10*time.Second)
// circuit_breaker.open_for 5s: exact, WithDelay(5 * time.Second)
// circuit_breaker.half_open_calls 1: exact, WithSuccessThreshold(1)
// circuit_breaker.on all failures: exact, HandleIf(isFailure)
// circuit_breaker.scope client: exact (all users of one RoundTripper share it)
// retry.backoff.fixed.delay 100ms: exact, WithDelay(100 * time.Millisecond)
// retry.jitter 0.25: exact, WithJitterFactor(0.25)
// retry.max_attempts 2: exact, WithMaxAttempts(2)
// retry.on all failures: exact, HandleIf(isRetried)
// retry.retry_after_max 0ms: exact

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
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
		circuitbreaker.NewBuilder[*http.Response]().
			HandleIf(isFailure).
			WithFailureRateThreshold(50/100.0, 20, 10*time.Second).
			WithDelay(5 * time.Second).
			WithSuccessThreshold(1).
			Build(),
		retrypolicy.NewBuilder[*http.Response]().
			HandleIf(isRetried).
			ReturnLastFailure().
			WithMaxAttempts(2).
			WithMaxDuration(0).
			WithDelay(100 * time.Millisecond).
			WithJitterFactor(0.25).
			Build(),
	}
}

// isFailure says whether an attempt counts as a failure.
func isFailure(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return response.StatusCode < 200 || response.StatusCode >= 400
}

// isRetried says whether an attempt is tried again, if it failed.
func isRetried(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return response.StatusCode < 200 || response.StatusCode >= 400
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
