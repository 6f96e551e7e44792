// Package limit decides, counts and merges: the replicated state of one key, without clock, lock or network.
//
// All times are nanoseconds; instants count from the Unix epoch. Every state is a set of cells, each written by one
// replica only, and merging two copies of a cell is a join (commutative, associative, idempotent), so that copies
// converge whatever the network does to messages.
package limit

import "fmt"

// Algorithm names one of the six ways to limit.
type Algorithm uint8

// The algorithms; their wire numbers must not change.
const (
	FixedWindow Algorithm = iota + 1
	SlidingWindowLog
	SlidingWindowCounter
	TokenBucket
	LeakyBucket
	GCRA
)

// Names holds the algorithms by the name that users write.
var Names = map[string]Algorithm{
	"fixed_window":           FixedWindow,
	"sliding_window_log":     SlidingWindowLog,
	"sliding_window_counter": SlidingWindowCounter,
	"token_bucket":           TokenBucket,
	"leaky_bucket":           LeakyBucket,
	"gcra":                   GCRA,
}

// Bounds of what a rule may say.
const (
	MaxUnits      = 1_000_000_000
	MaxLogLimit   = 100_000
	MaxWindow     = 86_400_000 * millisecond
	MaxSubWindows = 60
	MaxFill       = 365 * MaxWindow // of a bucket: burst x window / limit
	MaxGranted    = 1 << 52         // units in one cell of a window
	MaxEmission   = 1 << 61         // nanoseconds in one cell of a bucket
	MaxRate       = 1000            // of a bucket: units per millisecond
	microsecond   = 1000
	millisecond   = 1_000_000
)

// Rule is what a caller asks to be enforced.
type Rule struct {
	Algorithm Algorithm
	Limit     int64 // units per window
	Window    int64 // nanoseconds
	SubWindow int64 // sliding_window_counter: how many; 0 for the others
	Burst     int64 // buckets: units admitted at once from idle; 0 for the others
}

// NewRule checks and completes a rule; its error names the argument, its value and what is allowed.
func NewRule(algorithm Algorithm, limit, windowMS, parameter int64) (Rule, error) {
	if err := checkRule(algorithm, limit, windowMS, parameter); err != nil {
		return Rule{}, err
	}
	rule := Rule{Algorithm: algorithm, Limit: limit, Window: windowMS * millisecond}
	switch algorithm {
	case SlidingWindowCounter:
		rule.SubWindow = max(parameter, 1)
	case TokenBucket, LeakyBucket, GCRA:
		rule.Burst = parameter
		if parameter == 0 {
			rule.Burst = limit
		}
		return rule, checkBucket(rule)
	}
	return rule, nil
}

// checkBucket keeps the rounding of an emission to a nanosecond below a thousandth, and sums far from overflow.
func checkBucket(rule Rule) error {
	if most := MaxRate * rule.Window / millisecond; rule.Limit > most {
		return fmt.Errorf("limit is %d in %d ms; allowed for a bucket: at most %d units per millisecond, here %d",
			rule.Limit, rule.Window/millisecond, MaxRate, most)
	}
	if fill := mulDivUp(rule.Burst, rule.Window, rule.Limit); fill > MaxFill {
		return fmt.Errorf("burst is %d; it would take more than a year to refill at %d units in %d ms: choose at most %d",
			rule.Burst, rule.Limit, rule.Window/millisecond, mulDivDown(MaxFill, rule.Limit, rule.Window))
	}
	return nil
}

func checkRule(algorithm Algorithm, limit, windowMS, parameter int64) error {
	if err := CheckRange("limit", limit, 1, maxLimit(algorithm)); err != nil {
		return err
	}
	if err := CheckRange("window_ms", windowMS, 1, MaxWindow/millisecond); err != nil {
		return err
	}
	name, most := parameterOf(algorithm)
	return CheckRange(name, parameter, 0, most)
}

func maxLimit(algorithm Algorithm) int64 {
	if algorithm == SlidingWindowLog {
		return MaxLogLimit
	}
	return MaxUnits
}

func parameterOf(algorithm Algorithm) (string, int64) {
	switch algorithm {
	case SlidingWindowCounter:
		return "sub-windows", MaxSubWindows
	case TokenBucket, LeakyBucket, GCRA:
		return "burst", MaxUnits
	}
	return "parameter of a window without sub-windows", 0
}

// CheckRange says what is wrong with a number outside its range, or nothing.
func CheckRange(name string, value, least, most int64) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d; allowed: %d to %d", name, value, least, most)
	}
	return nil
}

// Capacity is the most that a client may hold at once: the burst of a bucket, the limit of a window.
func (p Rule) Capacity() int64 {
	if p.Burst > 0 {
		return p.Burst
	}
	return p.Limit
}
