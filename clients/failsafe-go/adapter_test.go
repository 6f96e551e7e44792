package main

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"patternbench.dev/clients/kit"
	"patternbench.dev/clients/kit/kittest"
)

// notSet are parameters of the library that its default or another one of its setters decides, with the reason.
var notSet = map[string]string{
	"HandleErrors":               "HandleIf says what is a failure",
	"HandleErrorTypes":           "HandleIf says what is a failure",
	"HandleResult":               "HandleIf says what is a failure",
	"AbortOnResult":              "what is not handled is not tried again",
	"AbortOnErrors":              "what is not handled is not tried again",
	"AbortOnErrorTypes":          "what is not handled is not tried again",
	"AbortIf":                    "what is not handled is not tried again",
	"WithMaxRetries":             "the same field as WithMaxAttempts",
	"WithBackoff":                "WithBackoffFactor with a factor of two",
	"WithRandomDelay":            "another kind of delay",
	"WithJitter":                 "another kind of jitter",
	"WithBudget":                 "there is none",
	"WithFailureThresholdRatio":  "WithFailureThreshold sets both of its numbers",
	"WithFailureThresholdPeriod": "another kind of window in time",
	"WithSuccessThresholdRatio":  "WithSuccessThreshold sets both of its numbers",
	"Build":                      "makes the policy",
}

func TestEveryParameterOfTheLibraryIsSet(t *testing.T) {
	source, err := os.ReadFile("libraryconfig.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, builder := range []reflect.Type{
		reflect.TypeFor[retrypolicy.Builder[kit.Outcome]](),
		reflect.TypeFor[circuitbreaker.Builder[kit.Outcome]](),
		reflect.TypeFor[bulkhead.Builder[kit.Outcome]](),
		reflect.TypeFor[timeout.Builder[kit.Outcome]](),
	} {
		for i := range builder.NumMethod() {
			name := builder.Method(i).Name
			set := strings.Contains(string(source), name+"(")
			if listens := strings.HasPrefix(name, "On"); !set && !listens && notSet[name] == "" {
				t.Errorf("%v.%s is left to the library's default", builder, name)
			}
		}
	}
}

func retryWith(backoff kit.Backoff) kit.Retry {
	return kit.Retry{MaxAttempts: 6, Backoff: backoff, Jitter: kit.Jitter{Kind: "none"}}
}

func TestDelaysAreThoseOfTheSharedVectors(t *testing.T) {
	for _, vector := range kittest.Backoffs(t) {
		t.Run(vector.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				delays := kittest.Delays(t, adapter{}.Guard(retryWith(vector.Backoff)))
				if !reflect.DeepEqual(delays, vector.DelaysUs) {
					t.Errorf("delays %v, want %v", delays, vector.DelaysUs)
				}
			})
		})
	}
}

func TestAFirstDelayIsNotLongerThanTheLongest(t *testing.T) {
	longest := int64(5_000)
	synctest.Test(t, func(t *testing.T) {
		policy := retryWith(kit.Backoff{Exponential: &kit.Exponential{InitialUs: 9_000, Multiplier: 2, MaxUs: &longest}})
		for _, delay := range kittest.Delays(t, adapter{}.Guard(policy)) {
			if delay != longest {
				t.Errorf("a delay of %d us, want %d", delay, longest)
			}
		}
	})
}

func TestJitterSpreadsADelayByAShareToEitherSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, backoff := range []kit.Backoff{
			{Fixed: &kit.Fixed{DelayUs: 40_000}},
			{Linear: &kit.Linear{InitialUs: 40_000}},
		} {
			policy := kit.Retry{MaxAttempts: 2001, Backoff: backoff, Jitter: kit.Jitter{Kind: "share", Share: 0.5}}
			least, most := int64(60_000), int64(20_000)
			for _, delay := range kittest.Delays(t, adapter{}.Guard(policy)) {
				least, most = min(least, delay), max(most, delay)
			}
			// Of two thousand delays, the chance that none lies within 2 % of an end is below one in a billion.
			if least < 20_000 || least > 20_800 || most < 59_200 || most > 60_000 {
				t.Errorf("delays from %d to %d us, want from 20000 to 60000", least, most)
			}
		}
	})
}

func TestACallEndsWithItsLastAttemptAndAFailureThatIsNotNamedEndsItAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, one := range []struct {
			on   []kit.Failure
			made int
		}{{nil, 6}, {[]kit.Failure{"503"}, 6}, {[]kit.Failure{"404"}, 1}} {
			made := 0
			policy := retryWith(kit.Backoff{Fixed: &kit.Fixed{}})
			policy.On = one.on
			outcome, err := adapter{}.Guard(policy)(t.Context(), kittest.Fails(&made))
			if outcome != 503 || err != nil || made != one.made {
				t.Errorf("on %v: %v, %v after %d attempts, want 503 after %d", one.on, outcome, err, made, one.made)
			}
		}
	})
}

func TestARejectionIsNotTriedAgain(t *testing.T) {
	made := 0
	guard := adapter{}.Guard(retryWith(kit.Backoff{Fixed: &kit.Fixed{}}))
	_, err := guard(t.Context(), func(context.Context) (kit.Outcome, error) {
		made++
		return 0, kit.ErrRejected
	})
	if !errors.Is(err, kit.ErrRejected) || made != 1 {
		t.Errorf("%v after %d tries", err, made)
	}
}

func TestABreakerDecidesAsTheSharedVectorsSay(t *testing.T) {
	follows := map[string]bool{
		"two failures open it, the wait runs out, a success closes it": true,
		"one success in the window keeps it closed at 100 percent":     true,
		"a failing probe opens it again for the whole wait":            true,
		"a time window forgets":                                        true,
	}
	for _, vector := range kittest.Breakers(t) {
		problems := kit.NewProblems("failsafe-go")
		refuse(kit.Entry{Policy: vector.CircuitBreaker, Users: 1}, problems)
		if refused := len(problems.All()) > 0; refused == follows[vector.Name] {
			t.Errorf("%s: refused %t", vector.Name, refused)
		}
		if follows[vector.Name] {
			t.Run(vector.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					kittest.Follow(t, adapter{}.Guard(vector.CircuitBreaker), vector)
				})
			})
		}
	}
}

func TestABreakerOpensOnCallsWhoseTimeATimeoutFurtherOutHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := int64(2)
		outer := adapter{}.Guard(kit.TimeoutPolicy{AfterUs: 30_000})
		breaker := adapter{}.Guard(kit.CircuitBreaker{
			FailureRate: 100, Window: kit.Window{Calls: &calls}, MinimumCalls: 2, OpenForUs: 1_000_000, HalfOpenCalls: 1,
		})
		asked := 0
		silent := func(ctx context.Context) (kit.Outcome, error) {
			asked++
			<-ctx.Done()
			return kit.Timeout, ctx.Err()
		}
		for range 5 {
			_, _ = outer(t.Context(), func(ctx context.Context) (kit.Outcome, error) { return breaker(ctx, silent) })
			synctest.Wait()
		}
		if asked != 2 {
			t.Errorf("a silent server was asked %d times, want 2 and then an open breaker", asked)
		}
	})
}

func TestABulkheadLetsSoManyInAndTheOthersWaitAsLongAsTheyMay(t *testing.T) {
	longest := int64(10_000)
	for _, one := range []struct {
		policy kit.Bulkhead
		done   int
	}{
		{kit.Bulkhead{MaxConcurrent: 2}, 2},
		{kit.Bulkhead{MaxConcurrent: 2, MaxWaiting: 6, MaxWaitUs: &longest}, 2},
		{kit.Bulkhead{MaxConcurrent: 2, MaxWaiting: 6}, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			guard := adapter{}.Guard(one.policy)
			outcomes := make(chan error, 6)
			for range 6 {
				go func() {
					_, err := guard(t.Context(), func(context.Context) (kit.Outcome, error) {
						time.Sleep(20 * time.Millisecond)
						return 200, nil
					})
					outcomes <- err
				}()
			}
			done := 0
			for range 6 {
				if err := <-outcomes; err == nil {
					done++
				} else if !errors.Is(err, kit.ErrRejected) {
					t.Error(err)
				}
			}
			if done != one.done {
				t.Errorf("%+v: %d of 6 were let in, want %d", one.policy, done, one.done)
			}
		})
	}
}

func TestATimeoutEndsWhatItGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		guard := adapter{}.Guard(kit.TimeoutPolicy{AfterUs: 30_000})
		outcome, err := guard(t.Context(), func(ctx context.Context) (kit.Outcome, error) {
			<-ctx.Done()
			return kit.Timeout, nil
		})
		if outcome != kit.Timeout || err != nil || time.Since(start) != 30*time.Millisecond {
			t.Errorf("%v, %v after %v, want a timeout after 30 ms", outcome, err, time.Since(start))
		}
	})
}

func TestATimeoutEndsThePauseOfARetryThatItGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, made := time.Now(), 0
		retry := adapter{}.Guard(retryWith(kit.Backoff{Fixed: &kit.Fixed{DelayUs: 90_000}}))
		outcome, err := adapter{}.Guard(kit.TimeoutPolicy{AfterUs: 30_000})(t.Context(),
			func(ctx context.Context) (kit.Outcome, error) { return retry(ctx, kittest.Fails(&made)) })
		if outcome != kit.Timeout || err != nil || made != 1 || time.Since(start) != 30*time.Millisecond {
			t.Errorf("%v, %v after %d attempts and %v, want a timeout after 1 and 30 ms", outcome, err, made, time.Since(start))
		}
	})
}

const breaker = `"failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2, "open_for_us": 1500`
const ends = `, "half_open_calls": 1, "scope": "client"}}`

func TestWhatTheLibraryCannotExpressIsRefusedByName(t *testing.T) {
	retry := func(backoff, jitter string) string {
		return `{"retry": {"max_attempts": 2, "backoff": ` + backoff + `, "jitter": ` + jitter + `}}`
	}
	breaks := `{"circuit_breaker": {` + breaker + ends
	changed := func(old, new string) string { return strings.Replace(breaks, old, new, 1) }
	full := `{"bulkhead": {"max_concurrent": 1, "max_waiting": 0, "scope": "client"}}`
	timeout := `{"timeout": {"after_us": 1}}`
	pausing := retry(`{"fixed": {"delay_us": 1}}`, `"none"`)
	for _, one := range []struct {
		strategy string
		refused  []string
	}{
		{retry(`{"fixed": {"delay_us": 1}}`, `0.5`), []string{}},
		{retry(`{"fixed": {"delay_us": 1}}`, `"full"`), []string{"strategy.retry.jitter"}},
		{retry(`{"linear": {"initial_us": 1, "increment_us": 1, "max_us": null}}`, `"equal"`), []string{"strategy.retry.jitter"}},
		{breaks, []string{}},
		{changed(`"half_open_calls": 1`, `"half_open_calls": 2`), []string{"strategy.circuit_breaker.half_open_calls"}},
		{changed(`"minimum_calls": 2`, `"minimum_calls": 1`), []string{"strategy.circuit_breaker.minimum_calls"}},
		{changed(`"failure_rate": 100`, `"failure_rate": 50`), []string{"strategy.circuit_breaker.failure_rate"}},
		{changed(`null`, `{"rate": 50, "duration_us": 1}`), []string{"strategy.circuit_breaker.slow_call"}},
		{changed(`{"calls": 2}`, `{"time_us": 1}`), []string{}},
		{strings.Replace(changed(`{"calls": 2}`, `{"time_us": 1}`), `100`, `49.5`, 1), []string{"strategy.circuit_breaker.failure_rate"}},
		{`{"stack": [` + breaks + `, ` + pausing + `, ` + timeout + `]}`, []string{}},
		{`{"stack": [` + breaks + `, ` + pausing + `, ` + full + `]}`, []string{"strategy.stack[0].circuit_breaker"}},
		{`{"stack": [` + timeout + `, ` + pausing + `]}`, []string{}},
		{`{"stack": [{"rate_limit": {}}]}`, []string{"strategy.stack[0].rate_limit"}},
	} {
		if refused := kittest.Refused(t, adapter{}, one.strategy); !reflect.DeepEqual(refused, one.refused) {
			t.Errorf("%s\nrefused %v, want %v", one.strategy, refused, one.refused)
		}
	}
}
