// retry.backoff.linear.initial 10ms: exact, WithDelayFunc
// retry.backoff.linear.increment 10ms: exact, WithDelayFunc
// retry.jitter none: exact, WithJitterFactor(0)
// retry.max_attempts 4: exact, WithMaxAttempts(4)
// retry.on all failures: exact, HandleIf(isRetried)
// retry.retry_after_max 1m: not expressible (this source does not honour Retry-After)
// circuit_breaker.failure_rate 100: exact, WithFailureThreshold(5) (failures in a row)
// circuit_breaker.minimum_calls 5: exact, WithFailureThreshold(5) (failures in a row)
// circuit_breaker.window.calls 5: exact, WithFailureThreshold(5) (failures in a row)
// circuit_breaker.open_for 500ms: exact, WithDelay(500 * time.Millisecond)
// circuit_breaker.half_open_calls 2: approximated, WithSuccessThreshold(2) (half open it decides as soon as the remaining calls can't change the decision)
// circuit_breaker.slow_call.rate 80: not expressible (it counts no slow calls)
// circuit_breaker.slow_call.duration 1s: not expressible (it counts no slow calls)
// circuit_breaker.on [500-599, timeout]: exact, HandleIf(isFailure)
// circuit_breaker.scope user: exact (make a RoundTripper for each user)

package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
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
		retrypolicy.NewBuilder[*http.Response]().
			HandleIf(isRetried).
			ReturnLastFailure().
			WithMaxAttempts(4).
			WithMaxDuration(0).
			WithDelayFunc(func(attempt failsafe.ExecutionAttempt[*http.Response]) time.Duration {
				delay := 10*time.Millisecond + time.Duration(attempt.Attempts()-1)*10*time.Millisecond
				return delay
			}).
			WithJitterFactor(0).
			Build(),
		circuitbreaker.NewBuilder[*http.Response]().
			HandleIf(isFailure).
			WithFailureThreshold(5).
			WithDelay(500 * time.Millisecond).
			WithSuccessThreshold(2).
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
	return response.StatusCode < 200 || response.StatusCode >= 400
}

// timedOut says whether a time-out has ended an attempt, rather than a connection that failed.
func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, timeout.ErrExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		(errors.As(err, &slow) && slow.Timeout())
}

// isFailure says whether an attempt counts as a failure.
func isFailure(response *http.Response, err error) bool {
	if err != nil {
		return timedOut(err)
	}
	return (response.StatusCode >= 500 && response.StatusCode <= 599)
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
