// timeout 2s: exact, NewBuilder(2 * time.Second)
// retry.backoff.exponential.initial 50ms: exact, WithBackoffFactor(25*time.Millisecond, math.MaxInt64, 2) (0.5 of each delay, which the factor spreads)
// retry.backoff.exponential.multiplier 2: exact, WithBackoffFactor(25*time.Millisecond, math.MaxInt64, 2) (0.5 of each delay, which the factor spreads)
// retry.jitter full: exact, WithJitterFactor(1)
// retry.max_attempts 3: exact, WithMaxAttempts(3)
// retry.on all failures: exact, HandleIf(isRetried)
// retry.retry_after_max 1m: not expressible (this source does not honour Retry-After)
// timeout_2 250ms: exact, NewBuilder(250 * time.Millisecond)

package service

import (
	"bytes"
	"io"
	"math"
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
		timeout.NewBuilder[*http.Response](2 * time.Second).
			Build(),
		retrypolicy.NewBuilder[*http.Response]().
			HandleIf(isRetried).
			ReturnLastFailure().
			WithMaxAttempts(3).
			WithMaxDuration(0).
			WithBackoffFactor(25*time.Millisecond, math.MaxInt64, 2).
			WithJitterFactor(1).
			Build(),
		timeout.NewBuilder[*http.Response](250 * time.Millisecond).
			Build(),
	}
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
