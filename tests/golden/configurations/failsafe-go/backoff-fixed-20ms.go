// retry.backoff.fixed.delay 20ms: exact, WithDelay(20 * time.Millisecond)
// retry.jitter none: exact, WithJitterFactor(0)
// retry.max_attempts 6: exact, WithMaxAttempts(6)
// retry.on all failures: exact, HandleIf(isRetried)
// retry.retry_after_max 0ms: exact

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
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
		retrypolicy.NewBuilder[*http.Response]().
			HandleIf(isRetried).
			ReturnLastFailure().
			WithMaxAttempts(6).
			WithMaxDuration(0).
			WithDelay(20 * time.Millisecond).
			WithJitterFactor(0).
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
