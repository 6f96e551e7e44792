// retry.backoff.exponential.initial 25ms: exact, WithBackoffFactor(12500*time.Microsecond, 125*time.Millisecond, 2) (0.5 of each delay, which the factor spreads)
// retry.backoff.exponential.multiplier 2: exact, WithBackoffFactor(12500*time.Microsecond, 125*time.Millisecond, 2) (0.5 of each delay, which the factor spreads)
// retry.backoff.exponential.max 250ms: exact, WithBackoffFactor(12500*time.Microsecond, 125*time.Millisecond, 2) (0.5 of each delay, which the factor spreads)
// retry.jitter full: exact, WithJitterFactor(1)
// retry.max_attempts 3: exact, WithMaxAttempts(3)
// retry.on [500-599]: exact, HandleIf(isRetried)
// retry.retry_after_max 0ms: exact
// request.timeout 1s: exact, NewBuilder(1 * time.Second)

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
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
			WithMaxAttempts(3).
			WithMaxDuration(0).
			WithBackoffFactor(12500*time.Microsecond, 125*time.Millisecond, 2).
			WithJitterFactor(1).
			Build(),
		timeout.NewBuilder[*http.Response](1 * time.Second).
			Build(),
	}
}

// isRetried says whether an attempt is tried again, if it failed.
func isRetried(response *http.Response, err error) bool {
	if err != nil {
		return false
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
