package main

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"patternbench.dev/clients/kit"
	"patternbench.dev/clients/kit/kittest"
)

func TestEverySettingOfTheBreakerAndTheBackOffIsSet(t *testing.T) {
	set := fieldsIn(t, "libraryconfig.go")
	for _, one := range []reflect.Type{
		reflect.TypeFor[gobreaker.Settings](), reflect.TypeFor[backoff.ExponentialBackOff](),
	} {
		for i := range one.NumField() {
			if field := one.Field(i); field.IsExported() && !set[field.Name] {
				t.Errorf("%v.%s is left to the library's default", one, field.Name)
			}
		}
	}
}

// fieldsIn are the names that composite literals of a file set.
func fieldsIn(t *testing.T, name string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if pair, ok := node.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.Ident); ok {
				set[key.Name] = true
			}
		}
		return true
	})
	return set
}

func TestEveryOptionOfTheRetryIsSet(t *testing.T) {
	source, err := os.ReadFile("libraryconfig.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range optionsOf(t, "github.com/cenkalti/backoff/v5") {
		if !strings.Contains(string(source), "backoff."+name+"(") {
			t.Errorf("backoff.%s is left to the library's default", name)
		}
	}
}

// optionsOf are the exported functions of a package that return a RetryOption.
func optionsOf(t *testing.T, path string) []string {
	t.Helper()
	listed, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimSpace(string(listed))
	source, err := parser.ParseFile(token.NewFileSet(), folder+"/retry.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declared := range source.Decls {
		if one, ok := declared.(*ast.FuncDecl); ok && one.Name.IsExported() && returnsOption(one) {
			names = append(names, one.Name.Name)
		}
	}
	if len(names) == 0 {
		t.Fatal("no options were found")
	}
	return names
}

func returnsOption(one *ast.FuncDecl) bool {
	if one.Type.Results == nil || len(one.Type.Results.List) != 1 {
		return false
	}
	kind, ok := one.Type.Results.List[0].Type.(*ast.Ident)
	return ok && kind.Name == "RetryOption"
}

func retryWith(backoff kit.Backoff) kit.Retry {
	return kit.Retry{MaxAttempts: 6, Backoff: backoff, Jitter: kit.Jitter{Kind: "none"}}
}

func TestDelaysAreThoseOfTheSharedVectors(t *testing.T) {
	for _, vector := range kittest.Backoffs(t) {
		t.Run(vector.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := adapter{}.Guard(retryWith(vector.Backoff))
				for range 2 { // a second call begins with the first delay again
					if delays := kittest.Delays(t, guard); !reflect.DeepEqual(delays, vector.DelaysUs) {
						t.Errorf("delays %v, want %v", delays, vector.DelaysUs)
					}
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
		policy := kit.Retry{
			MaxAttempts: 2001,
			Backoff:     kit.Backoff{Fixed: &kit.Fixed{DelayUs: 40_000}},
			Jitter:      kit.Jitter{Kind: "share", Share: 0.5},
		}
		least, most := int64(60_000), int64(20_000)
		for _, delay := range kittest.Delays(t, adapter{}.Guard(policy)) {
			least, most = min(least, delay), max(most, delay)
		}
		// Of two thousand delays, the chance that none lies within 2 % of an end is below one in a billion.
		if least < 20_000 || least > 20_800 || most < 59_200 || most > 60_000 {
			t.Errorf("delays from %d to %d us, want from 20000 to 60000", least, most)
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

func rejects(context.Context) (kit.Outcome, error) { return 0, kit.ErrRejected }

func TestARejectionIsNotTriedAgain(t *testing.T) {
	for _, attempts := range []int{1, 6} {
		policy := retryWith(kit.Backoff{Fixed: &kit.Fixed{}})
		policy.MaxAttempts = attempts
		made := 0
		_, err := adapter{}.Guard(policy)(t.Context(), func(ctx context.Context) (kit.Outcome, error) {
			made++
			return rejects(ctx)
		})
		if !errors.Is(err, kit.ErrRejected) || made != 1 {
			t.Errorf("%v after %d tries", err, made)
		}
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
		problems := kit.NewProblems("gobreaker with backoff")
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

func breakerOf(window kit.Window, rate float64, least int64) kit.CircuitBreaker {
	return kit.CircuitBreaker{
		FailureRate: rate, Window: window, MinimumCalls: least, OpenForUs: 20_000, HalfOpenCalls: 1, Scope: "client",
	}
}

func TestARejectionFurtherInCountsAsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two, made := int64(2), 0
		guard := adapter{}.Guard(breakerOf(kit.Window{Calls: &two}, 100, 2))
		guard(t.Context(), kittest.Fails(&made))
		guard(t.Context(), rejects)
		guard(t.Context(), kittest.Fails(&made)) // the second failure in a row
		if _, err := guard(t.Context(), kittest.Fails(&made)); !errors.Is(err, kit.ErrRejected) || made != 2 {
			t.Errorf("%v after %d attempts, want a rejection after 2", err, made)
		}
		time.Sleep(21 * time.Millisecond)
		guard(t.Context(), rejects) // half-open: the place of the call that tries is free again
		if _, err := guard(t.Context(), kittest.Fails(&made)); err != nil || made != 3 {
			t.Errorf("%v after %d attempts, want a third one", err, made)
		}
	})
}

func TestABreakerOverTimeOpensAtAShareOfTheResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, made := int64(1_000_000), 0
		guard := adapter{}.Guard(breakerOf(kit.Window{TimeUs: &second}, 40, 1))
		succeeds := func(context.Context) (kit.Outcome, error) { return 200, nil }
		for range 4 {
			guard(t.Context(), succeeds)
		}
		guard(t.Context(), kittest.Fails(&made))
		guard(t.Context(), kittest.Fails(&made)) // two of six
		guard(t.Context(), kittest.Fails(&made)) // three of seven are above 40 %
		if _, err := guard(t.Context(), succeeds); !errors.Is(err, kit.ErrRejected) || made != 3 {
			t.Errorf("%v after %d failures, want a rejection after 3", err, made)
		}
	})
}

func TestWhatTheLibrariesCannotExpressIsRefusedByName(t *testing.T) {
	retry := func(backoff, jitter string) string {
		return `{"retry": {"max_attempts": 2, "backoff": ` + backoff + `, "jitter": ` + jitter + `}}`
	}
	breaks := `{"circuit_breaker": {"failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2,
		"open_for_us": 1500, "half_open_calls": 1, "scope": "client"}}`
	changed := func(old, replacement string) string { return strings.Replace(breaks, old, replacement, 1) }
	linear := `{"linear": {"initial_us": 1, "increment_us": 1, "max_us": null}}`
	overTime := func(rate, least string) string {
		return strings.NewReplacer(`{"calls": 2}`, `{"time_us": 1}`, `100`, rate, `"minimum_calls": 2`, `"minimum_calls": `+least).
			Replace(breaks)
	}
	bulkhead := `{"bulkhead": {"max_concurrent": 1, "max_waiting": 0, "scope": "client"}}`
	for _, one := range []struct {
		strategy string
		refused  []string
	}{
		{retry(`{"fixed": {"delay_us": 1}}`, `0.5`), []string{}},
		{retry(`{"fixed": {"delay_us": 1}}`, `"full"`), []string{"strategy.retry.jitter"}},
		{retry(linear, `"none"`), []string{}},
		{retry(linear, `0.5`), []string{"strategy.retry.jitter"}},
		{breaks, []string{}},
		{changed(`"half_open_calls": 1`, `"half_open_calls": 2`), []string{"strategy.circuit_breaker.half_open_calls"}},
		{changed(`"minimum_calls": 2`, `"minimum_calls": 1`), []string{"strategy.circuit_breaker.minimum_calls"}},
		{changed(`100`, `50`), []string{"strategy.circuit_breaker.failure_rate"}},
		{changed(`null`, `{"rate": 50, "duration_us": 1}`), []string{"strategy.circuit_breaker.slow_call"}},
		{overTime(`100`, `9`), []string{}},
		{overTime(`12.5`, `1`), []string{}},
		{overTime(`51`, `2`), []string{}},
		{overTime(`50`, `2`), []string{"strategy.circuit_breaker.failure_rate"}},
		{`{"stack": [` + breaks + `, ` + breaks + `]}`, []string{}},
		{`{"stack": [` + breaks + `, ` + bulkhead + `]}`, []string{"strategy.stack[1].bulkhead"}},
	} {
		if refused := kittest.Refused(t, adapter{}, one.strategy); !reflect.DeepEqual(refused, one.refused) {
			t.Errorf("%s\nrefused %v, want %v", one.strategy, refused, one.refused)
		}
	}
}
