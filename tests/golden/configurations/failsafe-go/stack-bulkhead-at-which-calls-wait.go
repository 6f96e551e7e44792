// bulkhead.max_concurrent 4: exact, NewBuilder(4)
// bulkhead.max_waiting 8: approximated, WithMaxWaitTime(100 * time.Millisecond) (it bounds how long calls wait, not how many)
// bulkhead.max_wait 100ms: exact, WithMaxWaitTime(100 * time.Millisecond)
// bulkhead.scope client: exact (all users of one RoundTripper share it)

package service

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
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
		bulkhead.NewBuilder[*http.Response](4).
			WithMaxWaitTime(100 * time.Millisecond).
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
