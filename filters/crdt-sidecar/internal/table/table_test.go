package table

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

type hands struct{ wall, monotonic int64 }

func (h *hands) read() (int64, int64) { return h.wall, h.monotonic }

func (h *hands) pass(d time.Duration) { h.wall += int64(d); h.monotonic += int64(d) }

func newTable(maxKeys int64) (*Table, *hands) {
	h := &hands{wall: 1_790_000_000_000_000_000}
	return New(1, clock.New(h.read), maxKeys), h
}

func rule(t *testing.T, algorithm limit.Algorithm, units, windowMS int64) limit.Rule {
	t.Helper()
	p, err := limit.NewRule(algorithm, units, windowMS, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFullTableRefusesNewKeysAndKeepsTheOldOnes(t *testing.T) {
	held, _ := newTable(3)
	p := rule(t, limit.FixedWindow, 5, 60_000)
	for i := range 3 {
		if _, err := held.Take(fmt.Append(nil, "client", i), p, 5); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if _, err := held.Take(fmt.Append(nil, "flood", i), p, 1); !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	answer, err := held.Take([]byte("client0"), p, 1)
	if err != nil || answer.Allowed != 0 {
		t.Errorf("a flood of keys reset a client's limit: %+v %v", answer, err)
	}
	if refused := held.Counters.RefusedKeys.Load(); refused != 1000 {
		t.Errorf("%d refusals counted", refused)
	}
}

func TestLogsAreBoundedTogether(t *testing.T) {
	held, h := newTable(2)
	p := rule(t, limit.SlidingWindowLog, 1000, 60_000)
	counted := 0
	for range 100 {
		if _, err := held.Take([]byte("k"), p, 1); err == nil {
			counted++
		}
	}
	if counted != 2*entriesPerKey {
		t.Errorf("%d entries held", counted)
	}
	stranger := limit.NewState(p)
	limit.Take(stranger, 2, h.wall, p, 1)
	held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: stranger.Cells(0)}})
	if entries := held.entries.Load(); entries != 2*entriesPerKey || held.Counters.IgnoredCells.Load() != 1 {
		t.Errorf("%d entries held after a peer sent more", entries)
	}
}

func TestEntriesThatPeersSendCountAgainstTheSameBound(t *testing.T) {
	held, h := newTable(2)
	p := rule(t, limit.SlidingWindowLog, 1000, 60_000)
	peers := limit.NewState(p)
	for range 2 * entriesPerKey {
		limit.Take(peers, 2, h.wall, p, 1)
		h.wall++
	}
	held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: peers.Cells(0)}})
	if entries := held.entries.Load(); entries != 2*entriesPerKey {
		t.Errorf("%d entries counted", entries)
	}
	if _, err := held.Take([]byte("k"), p, 1); !errors.Is(err, ErrFull) {
		t.Errorf("a table that peers have filled takes more: %v", err)
	}
}

func TestIdleKeysDropByAgeAndMakeRoom(t *testing.T) {
	held, h := newTable(6)
	for algorithm := limit.FixedWindow; algorithm <= limit.GCRA; algorithm++ {
		if _, err := held.Take([]byte("k"), rule(t, algorithm, 5, 1000), 1); err != nil {
			t.Fatal(err)
		}
	}
	h.pass(4 * time.Second)
	held.Sweep()
	if held.Keys() != 6 {
		t.Errorf("%d keys held before their age", held.Keys())
	}
	h.pass(5 * time.Second)
	held.Sweep()
	if held.Keys() != 0 || held.Counters.DroppedByAge.Load() != 6 {
		t.Errorf("%d keys held after their age", held.Keys())
	}
}

func TestCellsFromTheFarFutureMakeNoKey(t *testing.T) {
	held, h := newTable(6)
	p := rule(t, limit.FixedWindow, 5, 1000)
	future := limit.NewState(p)
	future.Count(2, h.wall+int64(1000*time.Hour), p, 5)
	held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: future.Cells(0)}})
	if answer := held.Peek([]byte("k"), p, 5); answer.Allowed != 1 || held.Keys() != 0 {
		t.Error("a peer's clock in the future is believed")
	}
}

func TestCellsFromTheNearFutureAreDroppedByMonotonicAge(t *testing.T) {
	for _, algorithm := range []limit.Algorithm{limit.FixedWindow, limit.SlidingWindowCounter} {
		held, h := newTable(6)
		p := rule(t, algorithm, 5, 1000)
		future := limit.NewState(p)
		future.Count(2, h.wall+limit.MaxAhead/2, p, 5)
		held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: future.Cells(0)}})
		if answer := held.Peek([]byte("k"), p, 5); answer.Allowed != 1 || held.Keys() != 1 {
			t.Error("a peer's clock in the future rejects our client now")
		}
		h.pass(8 * time.Second)
		held.Sweep()
		if held.Keys() != 0 {
			t.Error("a peer's clock in the future makes us hold a key until that time")
		}
	}
}

func TestAPeersCellsThatNoLongerMatterMakeNoKey(t *testing.T) {
	held, h := newTable(6)
	p := rule(t, limit.FixedWindow, 5, 1000)
	old := limit.NewState(p)
	old.Count(2, h.wall-int64(10*time.Second), p, 5)
	held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: old.Cells(0)}})
	if held.Keys() != 0 {
		t.Error("an old cell was held")
	}
}

func TestCellsOfAnotherShapeAreIgnored(t *testing.T) {
	held, h := newTable(6)
	p, q := rule(t, limit.FixedWindow, 5, 1000), rule(t, limit.SlidingWindowCounter, 5, 1000)
	if _, err := held.Take([]byte("k"), p, 1); err != nil {
		t.Fatal(err)
	}
	foreign := limit.NewState(q)
	foreign.Count(2, h.wall, q, 5)
	held.Merge([]wire.Item{{Key: KeyOf([]byte("k"), p), Cells: foreign.Cells(0)}})
	if answer := held.Peek([]byte("k"), p, 4); answer.Allowed != 1 || held.Counters.IgnoredCells.Load() != 1 {
		t.Errorf("%+v", answer)
	}
}

func TestAlgorithmsNeverShareState(t *testing.T) {
	held, _ := newTable(100)
	for algorithm := limit.FixedWindow; algorithm <= limit.GCRA; algorithm++ {
		answer, err := held.Take([]byte("k"), rule(t, algorithm, 5, 1000), 5)
		if err != nil || answer.Allowed != 1 {
			t.Errorf("algorithm %d found another's state: %+v", algorithm, answer)
		}
	}
}

func TestRulesThatDifferInTheirSubWindowsNeverShareState(t *testing.T) {
	held, _ := newTable(100)
	for subWindows := range int64(5) {
		p, err := limit.NewRule(limit.SlidingWindowCounter, 5, 1000, subWindows+1)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := held.Take([]byte("k"), p, 5); err != nil || answer.Allowed != 1 {
			t.Errorf("%d sub-windows found another's state: %+v", subWindows+1, answer)
		}
	}
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	held, _ := newTable(100)
	p := rule(t, limit.FixedWindow, 1, 1000)
	changed := func() (n int) { held.Changed(func(wire.Item) { n++ }); return }
	_, _ = held.Take([]byte("k"), p, 1)
	_, _ = held.Take([]byte("l"), p, 1)
	if n := changed(); n != 2 {
		t.Errorf("%d items after two grants", n)
	}
	_, _ = held.Take([]byte("k"), p, 1) // rejected
	held.Peek([]byte("m"), p, 1)
	if n := changed(); n != 0 {
		t.Errorf("%d items after a rejection and a look", n)
	}
	_, _ = held.Report([]byte("k"), p, 1) // over the limit, yet counted
	if n := changed(); n != 1 {
		t.Errorf("%d items after a report", n)
	}
}
