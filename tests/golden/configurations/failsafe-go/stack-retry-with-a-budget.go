// retry.backoff.fixed.delay 0ms: exact, WithDelay(0)
// retry.jitter none: exact, WithJitterFactor(0)
// retry_budget.ratio 0.2: approximated, WithMaxRate(0.2) (its budget is a share of the executions under way, and not of those begun)
// retry_budget.min_per_s 10: not expressible (its budget is a share of the executions under way, and not of those begun)
// retry_budget.capacity 100: not expressible (its budget is a share of the executions under way, and not of those begun)
// retry_budget.scope client: exact (all users of one RoundTripper share it)
// retry.max_attempts 3: exact, WithMaxAttempts(3)
// retry.on [503, timeout, connection_error]: exact, HandleIf(isRetried)
// retry.retry_after_max 1m: not expressible (this source does not honour Retry-After)

package service

import (
	"bytes"
	"io"
	"net/http"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
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
			WithMaxAttempts(3).
			WithMaxDuration(0).
			WithDelay(0).
			WithJitterFactor(0).
			WithBudget(budget.NewBuilder().WithMaxRate(0.2).WithMinConcurrency(1).Build()).
			Build(),
	}
}

// isRetried says whether an attempt is tried again, if it failed.
func isRetried(response *http.Response, err error) bool {
	if err != nil {
		return true
	}
	return response.StatusCode == 503
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
