package kit

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a round, or that the library cannot express.
type Problem struct {
	Path    string  `json:"path"`  // where in the round, as strategy.retry.jitter
	Value   any     `json:"value"` // what stands there; nil when nothing does
	Message string  `json:"message"`
	Allowed *string `json:"allowed"` // what may stand there; nil when nothing may
}

func newProblem(path string, value any, message, allowed string) Problem {
	problem := Problem{Path: path, Value: value, Message: message}
	if allowed != "" {
		problem.Allowed = &allowed
	}
	return problem
}

// Problems are those of a round, noted one after another; paths are those of the round.
type Problems struct {
	noted   *[]Problem
	library string
	under   string
}

// NewProblems begins with none; library is the name that its messages use.
func NewProblems(library string) *Problems {
	return &Problems{noted: &[]Problem{}, library: library}
}

// in returns the same list, for paths under a prefix, as "strategy.retry.".
func (p *Problems) in(prefix string) *Problems {
	return &Problems{p.noted, p.library, p.under + prefix}
}

// All returns those that were noted.
func (p *Problems) All() []Problem { return *p.noted }

// Refuse notes that the library cannot express what stands at a path; an empty one is all of the policy.
// Nothing is allowed where allowed is empty.
func (p *Problems) Refuse(path string, value any, message, allowed string) {
	at := strings.TrimSuffix(p.under+path, ".")
	*p.noted = append(*p.noted, newProblem(at, value, message, allowed))
}

// AtMost refuses a value above a largest one.
func (p *Problems) AtMost(path string, value, most int64, why string) {
	if value > most {
		p.Refuse(path, value, why, fmt.Sprintf("at most %d", most))
	}
}

// RetryAfter refuses to honour Retry-After, which no client of this kit reads.
func (p *Problems) RetryAfter(retry Retry) {
	if retry.RetryAfterMaxUs > 0 {
		p.Refuse("retry_after_max_us", retry.RetryAfterMaxUs, "this client does not read Retry-After", "0")
	}
}

// SpreadByShare refuses the jitter of libraries that spread a delay by a share to either side only.
func (p *Problems) SpreadByShare(jitter Jitter) {
	if jitter.Kind == "full" || jitter.Kind == "equal" {
		why := p.library + " has no such jitter; it spreads a delay by a share to either side"
		p.Refuse("jitter", jitter.Kind, why, "none, or a number above 0, at most 1")
	}
}

// BoundedWaiting refuses a bound on how many wait, for libraries without one, unless it is never reached.
func (p *Problems) BoundedWaiting(bulkhead Bulkhead, users int) {
	most := int64(0)
	if bulkhead.Shared() {
		most = max(0, int64(users)-bulkhead.MaxConcurrent)
	}
	if bulkhead.MaxWaiting > 0 && bulkhead.MaxWaiting < most {
		why := fmt.Sprintf("%s does not bound how many wait; of these users %d may", p.library, most)
		p.Refuse("max_waiting", bulkhead.MaxWaiting, why, fmt.Sprintf("0, or at least %d", most))
	}
}

// OneHalfOpenCall refuses several half-open calls, of which the library does not wait for all.
func (p *Problems) OneHalfOpenCall(breaker CircuitBreaker, why string) {
	p.AtMost("half_open_calls", breaker.HalfOpenCalls, 1, why)
}

// SlowCalls refuses slow calls, which the library does not count.
func (p *Problems) SlowCalls(breaker CircuitBreaker) {
	if breaker.SlowCall != nil {
		p.Refuse("slow_call", breaker.SlowCall.Rate, p.library+"'s breaker does not count slow calls", "null")
	}
}

// FailuresInARow refuses a breaker over the last calls that is about anything else: exact only when all must fail.
func (p *Problems) FailuresInARow(breaker CircuitBreaker, calls int64, why string) {
	if breaker.MinimumCalls != calls {
		p.Refuse("minimum_calls", breaker.MinimumCalls, why, fmt.Sprintf("%d, as window.calls", calls))
	}
	if breaker.FailureRate*float64(calls) <= 100*float64(calls-1) {
		p.Refuse("failure_rate", breaker.FailureRate, why, "100, or a window in time")
	}
}
