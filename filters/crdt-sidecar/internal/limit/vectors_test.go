package limit

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
)

// vectors are the shared ones that hold the languages together; times in microseconds.
type vectors struct {
	Cases []struct {
		Name string
		Rule struct {
			Limit, Window, Burst int64
			SubWindows           int64 `json:"sub_windows"`
		} `json:"plan"`
		Requests [][2]int64
		Answers  [][5]any
	}
}

// roundUp turns nanoseconds into the vectors' microseconds; Never stays what it is.
func roundUp(nanoseconds int64) int64 {
	if nanoseconds < 0 {
		return nanoseconds
	}
	return (nanoseconds + microsecond - 1) / microsecond
}

// close is equal but for the last microsecond of a duration: a unit's emission is rounded up to a nanosecond.
func close(got, expected [5]any) bool {
	for i := 2; i < 5; i++ {
		if difference := got[i].(float64) - expected[i].(float64); difference < 0 || difference > 1 {
			return false
		}
	}
	return got[0] == expected[0] && got[1] == expected[1]
}

func TestTheSharedVectorsHold(t *testing.T) {
	for name, algorithm := range Names {
		text, err := os.ReadFile(fmt.Sprintf("../../../../contracts/ratelimit/vectors/%s.json", name))
		if err != nil {
			t.Fatal(err)
		}
		var read vectors
		if err := json.Unmarshal(text, &read); err != nil || len(read.Cases) == 0 {
			t.Fatal(name, err)
		}
		for _, c := range read.Cases {
			if slices.ContainsFunc(c.Requests, func(r [2]int64) bool { return r[0] < c.Requests[0][0] }) {
				continue // a clock that is set back: the sidecar's never is
			}
			parameter := map[Algorithm]int64{SlidingWindowCounter: c.Rule.SubWindows}[algorithm]
			if algorithm >= TokenBucket {
				parameter = c.Rule.Burst
			}
			rule, err := NewRule(algorithm, c.Rule.Limit, c.Rule.Window/1000, parameter)
			if err != nil {
				t.Fatal(err)
			}
			state := NewState(rule)
			for i, r := range c.Requests {
				a := Take(state, 1, r[0]*microsecond, rule, r[1])
				got := [5]any{a.Allowed == 1, float64(a.Remaining), float64(roundUp(a.Reset)), float64(roundUp(a.RetryAfter)), float64(roundUp(a.Delay))}
				if !close(got, c.Answers[i]) {
					t.Errorf("%s, %s, request %d %v: got %v, expected %v", name, c.Name, i, r, got, c.Answers[i])
					break
				}
			}
		}
	}
}
