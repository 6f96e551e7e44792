package service

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"patternbench.dev/clients/kit"
	"patternbench.dev/clients/kit/kittest"
)

// vector is what these policies were written from, such as backoff-fixed-20ms; empty if they don't say it exactly.
func vector(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(here)
	if slices.Contains(strings.Split(os.Getenv("APPLIED_EXACT"), ","), name) {
		return name
	}
	return ""
}

func slug(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
}

func answer(status int) *http.Response {
	return &http.Response{StatusCode: status, Body: http.NoBody}
}

func TestTheDelaysAreThoseOfTheVector(t *testing.T) {
	name := vector(t)
	for _, vector := range kittest.Backoffs(t) {
		if name != "backoff-"+slug(vector.Name) {
			continue
		}
		t.Logf("followed %s", name)
		for _, status := range []int{404, 503} {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				_, _ = failsafe.With(Policies()...).Get(func() (*http.Response, error) {
					at = append(at, time.Now())
					return answer(status), nil
				})
				delays := []int64{}
				for i := range at[1:] {
					delays = append(delays, at[i+1].Sub(at[i]).Microseconds())
				}
				if !reflect.DeepEqual(delays, vector.DelaysUs) {
					t.Errorf("status %d: delays %v, want %v", status, delays, vector.DelaysUs)
				}
			})
		}
	}
}

func TestTheBreakerDecidesAsTheVectorSays(t *testing.T) {
	name := vector(t)
	for _, vector := range kittest.Breakers(t) {
		if name != "breaker-"+slug(vector.Name) {
			continue
		}
		t.Logf("followed %s", name)
		synctest.Test(t, func(t *testing.T) {
			start, guard := time.Now(), failsafe.With(Policies()...)
			for number, step := range vector.Steps {
				time.Sleep(time.Until(start.Add(kit.Micros(step.AtUs))))
				_, err := guard.Get(func() (*http.Response, error) {
					time.Sleep(kit.Micros(step.DurationUs))
					if step.Success {
						return answer(200), nil
					}
					return answer(503), nil
				})
				if admitted := !errors.Is(err, circuitbreaker.ErrOpen); admitted != step.Admitted {
					t.Errorf("step %d: admitted %t, want %t", number, admitted, step.Admitted)
				}
			}
		})
	}
}

// sends answers every request itself, and counts them.
type sends struct {
	status int
	made   int
}

func (s *sends) RoundTrip(*http.Request) (*http.Response, error) {
	s.made++
	return &http.Response{StatusCode: s.status, Body: io.NopCloser(strings.NewReader("whole"))}, nil
}

func TestAnAnswerComesThroughTheRoundTripperWithItsWholeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &sends{status: 200}
		client := http.Client{Transport: RoundTripper(inner)}
		response, err := client.Get("http://service.example/")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if string(body) != "whole" || err != nil || inner.made != 1 {
			t.Errorf("%q, %v after %d requests", body, err, inner.made)
		}
	})
}
