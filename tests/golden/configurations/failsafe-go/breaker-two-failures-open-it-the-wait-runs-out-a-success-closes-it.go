// circuit_breaker.failure_rate 100: exact, WithFailureThreshold(2) (failures in a row)
// circuit_breaker.minimum_calls 2: exact, WithFailureThreshold(2) (failures in a row)
// circuit_breaker.window.calls 2: exact, WithFailureThreshold(2) (failures in a row)
// circuit_breaker.open_for 20ms: exact, WithDelay(20 * time.Millisecond)
// circuit_breaker.half_open_calls 1: exact, WithSuccessThreshold(1)
// circuit_breaker.on all failures: exact, HandleIf(isFailure)
// circuit_breaker.scope client: exact (all users of one RoundTripper share it)

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
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
			WithFailureThreshold(2).
			WithDelay(20 * time.Millisecond).
			WithSuccessThreshold(1).
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
