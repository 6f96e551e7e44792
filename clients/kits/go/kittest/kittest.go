// Package kittest holds the policies of a library against the contract's shared vectors; for the tests of adapters.
//
// Its functions that watch time pass run in a bubble of testing/synctest, whose clock moves when everyone waits.
package kittest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"patternbench.dev/clients/kit"
)

// Backoff is a case of contracts/client/vectors/backoff.json.
type Backoff struct {
	Name     string      `json:"name"`
	Backoff  kit.Backoff `json:"backoff"`
	DelaysUs []int64     `json:"delays_us"`
}

// Breaker is a case of contracts/client/vectors/breaker.json.
type Breaker struct {
	Name           string             `json:"name"`
	CircuitBreaker kit.CircuitBreaker `json:"circuit_breaker"`
	Steps          []Step             `json:"steps"`
}

// Step is a call at a time, and whether it is let through.
type Step struct {
	AtUs       int64 `json:"at_us"`
	DurationUs int64 `json:"duration_us"`
	Success    bool  `json:"success"`
	Admitted   bool  `json:"admitted"`
}

// Backoffs are the shared vectors of delays.
func Backoffs(t *testing.T) []Backoff { return cases[Backoff](t, "backoff.json") }

// Breakers are the shared vectors of breakers.
func Breakers(t *testing.T) []Breaker { return cases[Breaker](t, "breaker.json") }

func cases[C any](t *testing.T, name string) []C {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../../contracts/client/vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []C `json:"cases"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("no cases in %s", name)
	}
	return file.Cases
}

// Refused are the paths at which an adapter refuses a strategy, which is JSON, for two users.
func Refused(t *testing.T, adapter kit.Adapter, strategy string) []string {
	t.Helper()
	paths := []string{}
	for _, problem := range kit.Check(Round(strategy), adapter) {
		paths = append(paths, problem.Path)
	}
	return paths
}

// Round is the body of a round with a strategy, which is JSON, for two users.
func Round(strategy string) []byte {
	return []byte(`{"contract": 1, "target": "http://127.0.0.1:1", "users": 2, "think_time_us": 0, "successes": 1,
		"request": {"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": 1000000},
		"max_attempts": null, "rejected_pause_us": 1000, "time_limit_us": 1000000, "seed": 1,
		"strategy": ` + strategy + `}`)
}

// Fails is a call that always fails, and counts how often it was made.
func Fails(made *int) kit.Call {
	return func(context.Context) (kit.Outcome, error) {
		*made++
		return 503, nil
	}
}

// Delays are those between the attempts of one call that always fails, in microseconds.
func Delays(t *testing.T, guard kit.Guard) []int64 {
	t.Helper()
	var at []time.Time
	outcome, err := guard(t.Context(), func(context.Context) (kit.Outcome, error) {
		at = append(at, time.Now())
		return 503, nil
	})
	if outcome != 503 || err != nil {
		t.Errorf("a call whose attempts are used up ends with %v, %v; want 503", outcome, err)
	}
	delays := []int64{}
	for i := range at[1:] {
		delays = append(delays, at[i+1].Sub(at[i]).Microseconds())
	}
	return delays
}

// Follow lets the calls of a vector come one after another, and says where the breaker decides otherwise.
func Follow(t *testing.T, guard kit.Guard, vector Breaker) {
	t.Helper()
	start := time.Now()
	for number, step := range vector.Steps {
		time.Sleep(time.Until(start.Add(kit.Micros(step.AtUs))))
		_, err := guard(t.Context(), func(context.Context) (kit.Outcome, error) {
			time.Sleep(kit.Micros(step.DurationUs))
			if step.Success {
				return 200, nil
			}
			return 503, nil
		})
		if admitted := !errors.Is(err, kit.ErrRejected); admitted != step.Admitted {
			t.Errorf("step %d: admitted %t, want %t", number, admitted, step.Admitted)
		}
	}
}
