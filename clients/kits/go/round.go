package kit

import (
	"math"
	"slices"
)

// Contract is the version of the client contract that this kit speaks.
const Contract = 1

// Round is one round, as the contract describes it; times in microseconds.
type Round struct {
	Contract        int      `json:"contract"`
	Target          string   `json:"target"`
	Request         Request  `json:"request"`
	Users           int      `json:"users"`
	ThinkTimeUs     int64    `json:"think_time_us"`
	Successes       *int64   `json:"successes"`    // after which a user stops; nil for no such limit
	MaxAttempts     *int64   `json:"max_attempts"` // after which a user begins no further call; nil for no such limit
	RejectedPauseUs int64    `json:"rejected_pause_us"`
	TimeLimitUs     int64    `json:"time_limit_us"`
	Seed            uint64   `json:"seed"` // of whatever the library lets a client seed
	Strategy        Strategy `json:"strategy"`
}

// Request is the request of every attempt.
type Request struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	Body      *string           `json:"body"` // nil for none
	TimeoutUs int64             `json:"timeout_us"`
}

// Strategy is what a user does around an attempt: its name, and its policies, the outermost first.
type Strategy struct {
	Kind     string
	Policies []Policy
}

// Policy is one policy, alone or in a stack.
type Policy interface {
	// Kind is its name in the contract.
	Kind() string
	// Shared says whether all users share it; else each has its own.
	Shared() bool
}

// TimeoutPolicy ends what it guards after a time.
type TimeoutPolicy struct {
	AfterUs int64 `json:"after_us"`
}

// Retry tries again after a failure.
type Retry struct {
	MaxAttempts     int       `json:"max_attempts"` // of one call, the first included
	Backoff         Backoff   `json:"backoff"`
	Jitter          Jitter    `json:"jitter"`
	On              []Failure `json:"on"`                 // what is tried again; nil for every failure
	RetryAfterMaxUs int64     `json:"retry_after_max_us"` // the longest Retry-After that is heeded; 0 for none
}

// Failure is an outcome that a retry names, as 503, 500-599 or timeout.
type Failure string

// CircuitBreaker has rates in percent.
type CircuitBreaker struct {
	FailureRate   float64   `json:"failure_rate"`
	SlowCall      *SlowCall `json:"slow_call"`
	Window        Window    `json:"window"`
	MinimumCalls  int64     `json:"minimum_calls"`
	OpenForUs     int64     `json:"open_for_us"`
	HalfOpenCalls int64     `json:"half_open_calls"`
	Scope         Scope     `json:"scope"`
}

// SlowCall is when a call counts as slow, and the share of such calls that opens the breaker.
type SlowCall struct {
	Rate       float64 `json:"rate"`
	DurationUs int64   `json:"duration_us"`
}

// Window is the results that a closed breaker looks at: one of the two is nil.
type Window struct {
	Calls  *int64 `json:"calls"`
	TimeUs *int64 `json:"time_us"`
}

// Bulkhead lets at most MaxConcurrent calls in at once; MaxWaitUs is nil for an unbounded wait.
type Bulkhead struct {
	MaxConcurrent int64  `json:"max_concurrent"`
	MaxWaiting    int64  `json:"max_waiting"`
	MaxWaitUs     *int64 `json:"max_wait_us"`
	Scope         Scope  `json:"scope"`
}

// Scope is "client" for a policy that all users share, "user" for one of each.
type Scope string

func (s Scope) shared() bool { return s == "client" }

// foreign is a policy that no client of this kit has.
type foreign string

func (TimeoutPolicy) Kind() string  { return "timeout" }
func (Retry) Kind() string          { return "retry" }
func (CircuitBreaker) Kind() string { return "circuit_breaker" }
func (Bulkhead) Kind() string       { return "bulkhead" }
func (f foreign) Kind() string      { return string(f) }

func (TimeoutPolicy) Shared() bool    { return true }
func (Retry) Shared() bool            { return true }
func (b CircuitBreaker) Shared() bool { return b.Scope.shared() }
func (b Bulkhead) Shared() bool       { return b.Scope.shared() }
func (foreign) Shared() bool          { return true }

// IsRetried says whether an attempt with this outcome is tried again.
func (r Retry) IsRetried(outcome Outcome) bool {
	meant := func(failure Failure) bool { return outcome.isIn(string(failure)) }
	return !outcome.IsSuccess() && (r.On == nil || slices.ContainsFunc(r.On, meant))
}

// Backoff is how the delay grows from attempt to attempt: one of the three is not nil.
type Backoff struct {
	Fixed       *Fixed       `json:"fixed"`
	Linear      *Linear      `json:"linear"`
	Exponential *Exponential `json:"exponential"`
}

// Fixed is always the same delay.
type Fixed struct {
	DelayUs int64 `json:"delay_us"`
}

// Linear adds the same increment every time.
type Linear struct {
	InitialUs   int64  `json:"initial_us"`
	IncrementUs int64  `json:"increment_us"`
	MaxUs       *int64 `json:"max_us"`
}

// Exponential multiplies by the same factor every time.
type Exponential struct {
	InitialUs  int64   `json:"initial_us"`
	Multiplier float64 `json:"multiplier"`
	MaxUs      *int64  `json:"max_us"`
}

// DelayUs is the delay after this many failed attempts (at least 1), before jitter.
func (l Linear) DelayUs(failedAttempts int) float64 {
	grown := float64(l.InitialUs) + float64(failedAttempts-1)*float64(l.IncrementUs)
	if l.MaxUs == nil {
		return grown
	}
	return math.Min(grown, float64(*l.MaxUs))
}

// Jitter is how a delay is spread: "none", "full", "equal", or "share" with how far it goes to either side, 0 to 1.
type Jitter struct {
	Kind  string
	Share float64
}
