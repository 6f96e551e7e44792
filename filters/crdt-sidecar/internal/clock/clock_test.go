package clock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const second = int64(time.Second)

// stepped is a source whose wall clock can be set apart from its monotonic one.
type stepped struct{ wall, monotonic int64 }

func (s *stepped) read() (int64, int64) { return s.wall, s.monotonic }

func (s *stepped) pass(d int64) { s.wall += d; s.monotonic += d }

func TestAStepOfFiveSecondsIsSlewedAway(t *testing.T) {
	for _, step := range []int64{5 * second, -5 * second} {
		source := &stepped{wall: 1000 * second}
		clk := New(source.read)
		source.wall += step
		before := clk.Now()
		source.pass(second)
		if moved := clk.Now() - before; moved < 950*second/1000 || moved > 1050*second/1000 {
			t.Errorf("a step of %d s: one second took %d ms", step/second, moved/1_000_000)
		}
		for range 110 {
			source.pass(second)
			clk.Now()
		}
		if clk.Offset() != 0 {
			t.Errorf("a step of %d s leaves %d ns after two minutes", step/second, clk.Offset())
		}
	}
}

func TestAMachineThatSleptIsBelieved(t *testing.T) {
	source := &stepped{wall: 1000 * second}
	clk := New(source.read)
	source.wall += 3600 * second
	source.pass(second)
	if now := clk.Now(); now != source.wall {
		t.Errorf("an hour of sleep leaves %d s", (source.wall-now)/second)
	}
}

func TestTheClockNeverRunsBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := &stepped{wall: 1000 * second}
		clk, last := New(source.read), int64(0)
		for range 50 {
			source.wall += rapid.Int64Range(-20*second, 20*second).Draw(t, "step")
			source.pass(rapid.Int64Range(0, 3*second).Draw(t, "pass"))
			now := clk.Now()
			if now < last {
				t.Fatalf("%d after %d", now, last)
			}
			last = now
		}
	})
}
