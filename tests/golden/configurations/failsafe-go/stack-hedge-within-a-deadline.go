// deadline 1s: approximated, NewBuilder(1 * time.Second) (it counts from when the call begins, not from when it was due)
// hedge.delay 50ms: approximated, NewBuilderWithDelay[*http.Response](50 * time.Millisecond) (no client of ours has the library's hedge, so this was not measured with it)
// hedge.max_attempts 2: approximated, WithMaxHedges(1) (no client of ours has the library's hedge, so this was not measured with it)

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
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
		timeout.NewBuilder[*http.Response](1 * time.Second).
			Build(),
		hedgepolicy.NewBuilderWithDelay[*http.Response](50 * time.Millisecond).
			CancelIf(func(response *http.Response, err error) bool { return !isBad(response, err) }).
			WithMaxHedges(1).
			Build(),
	}
}

// isBad says whether an attempt has failed, so that others go on.
func isBad(response *http.Response, err error) bool {
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
