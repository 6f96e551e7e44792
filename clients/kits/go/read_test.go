package kit

import (
	"reflect"
	"strings"
	"testing"
)

const fixed = `{"max_attempts": 3, "backoff": {"fixed": {"delay_us": 10000}}, "jitter": "none"}`

// roundOf is the body of a round with a strategy, which is JSON.
func roundOf(strategy string) string {
	return `{"contract": 1, "target": "http://127.0.0.1:1", "users": 1, "think_time_us": 0, "successes": 1,
		"request": {"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": 1000000},
		"max_attempts": null, "rejected_pause_us": 1000, "time_limit_us": 1000000, "seed": 1,
		"strategy": ` + strategy + `}`
}

func policiesOf(t *testing.T, strategy string) []Policy {
	t.Helper()
	round, problems := read([]byte(roundOf(strategy)), plain{})
	if len(problems) > 0 {
		t.Fatalf("refused: %v", problems)
	}
	return round.Strategy.Policies
}

func paths(problems []Problem) []string {
	all := []string{}
	for _, problem := range problems {
		all = append(all, problem.Path)
	}
	return all
}

func expectEqual(t *testing.T, seen, due any) {
	t.Helper()
	if !reflect.DeepEqual(seen, due) {
		t.Errorf("seen %v, want %v", seen, due)
	}
}

func TestEveryFieldOfAStrategyIsRead(t *testing.T) {
	two := int64(2)
	breaker := `{"failure_rate": 50, "slow_call": {"rate": 20, "duration_us": 7}, "window": {"calls": 2},
		"minimum_calls": 1, "open_for_us": 20000, "half_open_calls": 3, "scope": "user"}`
	expectEqual(t, policiesOf(t, `{"circuit_breaker": `+breaker+`}`), []Policy{CircuitBreaker{
		50, &SlowCall{20, 7}, Window{Calls: &two}, 1, 20_000, 3, "user",
	}})
	grown := `{"exponential": {"initial_us": 1, "multiplier": 1.5, "max_us": null}}`
	expectEqual(t, policiesOf(t, `{"retry": {"max_attempts": 3, "backoff": `+grown+`, "jitter": 0.5}}`), []Policy{Retry{
		MaxAttempts: 3, Backoff: Backoff{Exponential: &Exponential{1, 1.5, nil}}, Jitter: Jitter{"share", 0.5},
	}})
	expectEqual(t, policiesOf(t, `{"baseline": {}}`), []Policy(nil))
}

func TestAStackIsReadInItsOrder(t *testing.T) {
	retry := `{"retry": {"max_attempts": 2, "backoff": {"fixed": {"delay_us": 0}}, "jitter": "none",
		"on": [503, "500-599", "timeout"], "retry_after_max_us": 0}}`
	expectEqual(t, policiesOf(t, `{"stack": [{"timeout": {"after_us": 5}}, `+retry+`]}`), []Policy{
		TimeoutPolicy{5},
		Retry{2, Backoff{Fixed: &Fixed{0}}, Jitter{Kind: "none"}, []Failure{"503", "500-599", "timeout"}, 0},
	})
}

func TestARetryTriesAgainWhatItNames(t *testing.T) {
	retry := Retry{On: []Failure{"500-599", "429", "timeout"}}
	for outcome, due := range map[Outcome]bool{503: true, 429: true, Timeout: true, 404: false, ConnectionError: false} {
		if retry.IsRetried(outcome) != due {
			t.Errorf("%v is tried again: %t, want %t", outcome, !due, due)
		}
	}
	if (Retry{}).IsRetried(302) || !(Retry{}).IsRetried(404) {
		t.Error("without a list all failures are tried again, and no success")
	}
}

func TestWhatTheLibraryLacksIsRefusedWhereItStands(t *testing.T) {
	hedge := `{"hedge": {"delay_us": 1, "max_attempts": 2}}`
	late := strings.Replace(fixed, `"none"`, `"none", "retry_after_max_us": 1`, 1)
	strategy := `{"stack": [` + hedge + `, {"retry": ` + late + `}, ` + hedge + `]}`
	problems := Check([]byte(roundOf(strategy)), plain{})
	expectEqual(t, paths(problems), []string{
		"strategy.stack[0].hedge", "strategy.stack[1].retry.retry_after_max_us", "strategy.stack[2].hedge",
	})
	expectEqual(t, paths(Check([]byte(roundOf(`{"hedge": {}}`)), plain{})), []string{"strategy"})
}

func TestAnotherVersionAndItsFieldsAreRefused(t *testing.T) {
	round := roundOf(`{"baseline": {}}`)
	for _, change := range [][2]string{
		{`"contract": 1`, `"contract": 2`},
		{`"seed": 1`, `"seed": 1, "surprise": 1`},
		{`"body": null`, `"body": null, "surprise": 1`},
		{`{"baseline": {}}`, `{"baseline": {"surprise": 1}}`},
		{`{"baseline": {}}`, `{"retry": ` + strings.Replace(fixed, `"jitter"`, `"surprise": 1, "jitter"`, 1) + `}`},
	} {
		changed := strings.Replace(round, change[0], change[1], 1)
		if changed == round || len(Check([]byte(changed), plain{})) != 1 {
			t.Errorf("not refused: %s", change[1])
		}
	}
}

func TestWhatIsNoRoundIsAProblemAndNoPanic(t *testing.T) {
	for _, body := range []string{"", "{", "null", "[]", `{"contract": 1`, "{}", "\xff\xfe", `{"contract": 1}`, `{} {}`} {
		if len(Check([]byte(body), plain{})) == 0 {
			t.Errorf("%q is taken for a round", body)
		}
	}
}

func TestHeadersThatTheClientSetsItselfAreRefused(t *testing.T) {
	round := strings.Replace(roundOf(`{"baseline": {}}`), `"headers": {}`, `"headers": {"Content-Length": "3", "X-Fine": "yes"}`, 1)
	expectEqual(t, paths(Check([]byte(round), plain{})), []string{"request.headers.Content-Length"})
}

func TestABoundOnWhoWaitsIsRefusedOnlyWhereItCouldBeReached(t *testing.T) {
	for _, one := range []struct {
		bulkhead Bulkhead
		users    int
		refused  int
	}{
		{Bulkhead{2, 3, nil, "client"}, 5, 0}, // of five users at most three wait
		{Bulkhead{2, 3, nil, "client"}, 6, 1},
		{Bulkhead{2, 3, nil, "user"}, 6, 0},
		{Bulkhead{2, 0, nil, "client"}, 6, 0},
	} {
		problems := NewProblems("none")
		problems.BoundedWaiting(one.bulkhead, one.users)
		if len(problems.All()) != one.refused {
			t.Errorf("%v for %d users: %v", one.bulkhead, one.users, problems.All())
		}
	}
}

func TestOnlyFailuresInARowAreTheSameAsAShareOfTheLastCalls(t *testing.T) {
	for _, one := range []struct {
		breaker CircuitBreaker
		refused []string
	}{
		{CircuitBreaker{FailureRate: 100, MinimumCalls: 4}, []string{}},
		{CircuitBreaker{FailureRate: 75.1, MinimumCalls: 4}, []string{}}, // three of four are less
		{CircuitBreaker{FailureRate: 75, MinimumCalls: 4}, []string{"failure_rate"}},
		{CircuitBreaker{FailureRate: 50, MinimumCalls: 2}, []string{"minimum_calls", "failure_rate"}},
	} {
		problems := NewProblems("none")
		problems.FailuresInARow(one.breaker, 4, "why")
		expectEqual(t, paths(problems.All()), one.refused)
	}
}
