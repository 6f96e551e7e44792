// rate_limit.calls 10: approximated, NewSmoothBuilder[*http.Response](10, 1*time.Second) (it counts from the start of an interval: two calls may go out just before and after it)
// rate_limit.per 1s: approximated, NewSmoothBuilder[*http.Response](10, 1*time.Second) (it counts from the start of an interval: two calls may go out just before and after it)
// rate_limit.burst 1: approximated, NewSmoothBuilder[*http.Response](10, 1*time.Second) (it counts from the start of an interval: two calls may go out just before and after it)
// rate_limit.max_wait 0ms: exact, WithMaxWaitTime(0)
// rate_limit.scope client: exact (all users of one RoundTripper share it)

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
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
		ratelimiter.NewSmoothBuilder[*http.Response](10, 1*time.Second).
			WithMaxWaitTime(0).
			Build(),
	}
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
