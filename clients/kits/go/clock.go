package kit

import (
	"math"
	"time"
)

// clock is the time since a round's start, which it reads from a clock that never steps.
type clock struct {
	start time.Time
}

func (c clock) elapsedUs() int64 { return time.Since(c.start).Microseconds() }

// Micros is a time of the contract as Go has it; one beyond what Go can count is as long as it can.
func Micros(us int64) time.Duration {
	if us > math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(us) * time.Microsecond
}

// Bound is a longest time; nil is longer than any round.
func Bound(us *int64) time.Duration {
	if us == nil {
		return math.MaxInt64
	}
	return Micros(*us)
}
