// bulkhead.max_concurrent 24: exact, NewBuilder(24)
// bulkhead.max_waiting 0: exact, WithMaxWaitTime(0)
// bulkhead.scope client: exact (all users of one RoundTripper share it)

package service

import (
	"bytes"
	"io"
	"net/http"

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
		bulkhead.NewBuilder[*http.Response](24).
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
