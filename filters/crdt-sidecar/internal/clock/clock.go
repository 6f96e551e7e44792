// Package clock gives a time that agrees with the wall clock, yet never steps and never runs backwards.
package clock

import (
	"sync"
	"time"
)

const (
	// slewDivisor bounds the correction: at most one twentieth (5 %) of the time that has passed.
	slewDivisor = 20
	// AdoptAfter is how far the wall clock must be ahead to be believed at once: a machine that slept.
	AdoptAfter = 60 * time.Second
)

// Source reads the machine's clocks, both in nanoseconds: the wall clock since the Unix epoch, and a monotonic one.
type Source func() (wall, monotonic int64)

// Clock follows the wall clock by slewing, so that a stepped wall clock neither opens nor closes windows at once.
type Clock struct {
	mu     sync.Mutex
	source Source
	now    int64
	seen   int64
	offset int64
}

// Machine is the source that reads this machine's clocks.
func Machine() Source {
	start := time.Now()
	return func() (int64, int64) {
		t := time.Now()
		return t.UnixNano(), int64(t.Sub(start))
	}
}

// New starts a clock at the wall time of its source.
func New(source Source) *Clock {
	wall, monotonic := source()
	return &Clock{source: source, now: wall, seen: monotonic}
}

// Now is the slewed wall time in nanoseconds since the Unix epoch; it never decreases.
func (c *Clock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, monotonic := c.source()
	elapsed := max(monotonic-c.seen, 0)
	c.seen = max(monotonic, c.seen)
	c.now += elapsed + correction(wall-c.now-elapsed, elapsed)
	c.offset = wall - c.now
	return c.now
}

// Monotonic is the time in nanoseconds since the source was made, untouched by any correction.
func (c *Clock) Monotonic() int64 {
	_, monotonic := c.source()
	return monotonic
}

// Offset is how far the machine's wall clock was ahead of Now at its last reading, in nanoseconds.
func (c *Clock) Offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

func correction(offset, elapsed int64) int64 {
	if offset > int64(AdoptAfter) {
		return offset
	}
	most := elapsed / slewDivisor
	return min(max(offset, -most), most)
}
