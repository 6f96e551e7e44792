package limit

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

const testNow = int64(1_790_000_000_000_000_000)

func drawSlot(t *rapid.T) Slot {
	epoch := rapid.Int64Range(0, 3).Draw(t, "epoch")
	return Slot{epoch, rapid.Int64Range(0, 5).Draw(t, "granted"), rapid.Int64Range(0, 5).Draw(t, "returned")}
}

func drawBucket(t *rapid.T) Bucket {
	n := rapid.Int64Range(0, 4)
	return Bucket{1, n.Draw(t, "epoch"), n.Draw(t, "granted"), n.Draw(t, "returned"), n.Draw(t, "capacity")}
}

func checkJoin[C comparable](t *testing.T, draw func(*rapid.T) C, join func(C, C) C) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t), draw(t), draw(t)
		if join(a, b) != join(b, a) {
			t.Fatalf("not commutative: %v %v", a, b)
		}
		if join(join(a, b), c) != join(a, join(b, c)) {
			t.Fatalf("not associative: %v %v %v", a, b, c)
		}
		if join(a, a) != a || join(join(a, b), b) != join(a, b) {
			t.Fatalf("not idempotent: %v %v", a, b)
		}
	})
}

func TestMergingSlotsIsAJoin(t *testing.T) { checkJoin(t, drawSlot, Slot.join) }

func TestMergingBucketsIsAJoin(t *testing.T) { checkJoin(t, drawBucket, Bucket.join) }

// step is one thing that happens in a group of nodes that hold the same key.
type step struct {
	node   int
	after  int64 // nanoseconds since the step before
	verb   int
	amount int64
}

func drawSteps(t *rapid.T, nodes int) []step {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.IntRange(0, nodes-1).Draw(t, "node"), rapid.Int64Range(0, 400*millisecond).Draw(t, "after"),
			rapid.IntRange(0, 4).Draw(t, "verb"), rapid.Int64Range(1, 4).Draw(t, "amount"),
		}
	}), 1, 40).Draw(t, "steps")
}

func drawRule(t *rapid.T) Rule {
	algorithm := Algorithm(rapid.IntRange(int(FixedWindow), int(GCRA)).Draw(t, "algorithm"))
	parameter := int64(0)
	if name, _ := parameterOf(algorithm); name != "parameter of a window without sub-windows" {
		parameter = rapid.Int64Range(0, 12).Draw(t, "parameter")
	}
	rule, err := NewRule(algorithm, rapid.Int64Range(1, 12).Draw(t, "limit"), rapid.Int64Range(1, 2000).Draw(t, "window"), parameter)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// act does one step at a node; verb 4 exchanges full state with the next node, everything else stays local.
func act(states []State, s step, now int64, rule Rule) {
	mine, self := states[s.node], Replica(s.node+1)
	switch s.verb {
	case 0:
		Take(mine, self, now, rule, s.amount)
	case 1:
		Lease(mine, self, now, rule, s.amount)
	case 2:
		Report(mine, self, now, rule, s.amount)
	case 3:
		GiveBack(mine, self, now, rule, s.amount, s.after)
	default:
		states[(s.node+1)%len(states)].Merge(now, mine.Cells(0))
	}
}

func grow(t *rapid.T, nodes int) ([]State, Rule, int64) {
	rule := drawRule(t)
	states := make([]State, nodes)
	for i := range states {
		states[i] = NewState(rule)
	}
	now := testNow
	for _, s := range drawSteps(t, nodes) {
		now += s.after
		act(states, s, now, rule)
	}
	return states, rule, now
}

func pruned(s State, now int64, rule Rule) Cells {
	s.Room(now, rule)
	cells := s.Cells(0)
	cells.TAT = 0 // derived, not replicated: it may differ by what is stated in the contract
	return cells
}

func TestCopiesAreEqualWhateverTheOrderAndNumberOfMerges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 3)
		order := rapid.Permutation([]int{0, 1, 2, 0, 1, 2}).Draw(t, "order")
		one, other := NewState(rule), NewState(rule)
		for i := range states {
			one.Merge(now, states[i].Cells(0))
		}
		for _, i := range order {
			other.Merge(now, states[i].Cells(0))
		}
		if !reflect.DeepEqual(pruned(one, now, rule), pruned(other, now, rule)) {
			t.Fatalf("%+v\n%+v", pruned(one, now, rule), pruned(other, now, rule))
		}
	})
}

func TestNodesAgreeOnTheWindowsOnceEveryCellHasArrived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 3)
		for range 2 {
			for i := range states {
				states[(i+1)%3].Merge(now, states[i].Cells(0))
			}
		}
		if rule.Burst > 0 {
			return // buckets: see the test of their bound
		}
		for _, s := range states[1:] {
			if s.Room(now, rule) != states[0].Room(now, rule) {
				t.Fatalf("room %d and %d", s.Room(now, rule), states[0].Room(now, rule))
			}
		}
	})
}

func TestEveryGrantIsChargedExactlyOnceWhateverTheOrderOfNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := Algorithm(rapid.IntRange(int(FixedWindow), int(GCRA)).Draw(t, "algorithm"))
		rule, _ := NewRule(algorithm, 1000, 60_000, 0)
		states := []State{NewState(rule), NewState(rule), NewState(rule)}
		granted, now := int64(0), testNow-testNow%rule.Window // a nanosecond a step: nothing refills
		tell := func(from, to int, cells Cells) {
			if from != to {
				states[to].Merge(now, cells)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now++
			from, to := rapid.IntRange(0, 2).Draw(t, "from"), rapid.IntRange(0, 2).Draw(t, "to")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				granted += Take(states[from], Replica(from+1), now, rule, 1).Allowed
			case 1:
				tell(from, to, states[from].Cells(Replica(from+1)))
			default:
				tell(from, to, states[from].Cells(0))
			}
		}
		for i := range 9 {
			tell(i/3, i%3, states[i/3].Cells(0))
		}
		for i, s := range states {
			if room := s.Room(now, rule); room != rule.Limit-granted {
				t.Fatalf("%+v: node %d has room for %d after %d grants", rule, i, room, granted)
			}
		}
	})
}

func TestABucketIsNeverOwedMoreThanItsBurstAfterAMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 3)
		before := states[0].Room(now, rule)
		states[0].Merge(now, states[1].Cells(0))
		after := states[0].Room(now, rule)
		if rule.Burst > 0 && (after < 0 || after > rule.Burst) {
			t.Fatalf("room %d of %d", after, rule.Burst)
		}
		returns := states[1].Cells(0)
		if rule.Burst > 0 && after > before && !anyReturned(returns) {
			t.Fatalf("a merge without returns made room: %d to %d", before, after)
		}
	})
}

func anyReturned(cells Cells) bool {
	for _, cell := range cells.Buckets {
		if cell.Returned > 0 {
			return true
		}
	}
	return false
}

func TestANewNodeTakesOverTheDebtOfABucketAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states, rule, now := grow(t, 1)
		fresh := NewState(rule)
		fresh.Merge(now, states[0].Cells(0))
		if fresh.Room(now, rule) != states[0].Room(now, rule) {
			t.Fatalf("room %d, was %d", fresh.Room(now, rule), states[0].Room(now, rule))
		}
	})
}

func TestAnOwnMessageLostOnceIsMadeUpForByTheNextOne(t *testing.T) {
	rule, _ := NewRule(SlidingWindowLog, 10, 1000, 0)
	mine, theirs := NewState(rule), NewState(rule)
	Take(mine, 1, testNow, rule, 1)
	mine.Cells(1) // lost
	Take(mine, 1, testNow+1, rule, 1)
	theirs.Merge(testNow+2, mine.Cells(1))
	if room := theirs.Room(testNow+2, rule); room != 8 {
		t.Fatalf("room %d of 10 after two grants", room)
	}
}

func TestAPartitionedBucketOwesAtMostOneBurstAfterHealing(t *testing.T) {
	rule, _ := NewRule(TokenBucket, 100, 60_000, 5)
	one, other := NewState(rule), NewState(rule)
	now := testNow
	for range 20_000 { // an hour at three times the rate on both sides
		now += 180 * millisecond
		Take(one, 1, now, rule, 1)
		Take(other, 2, now, rule, 1)
	}
	one.Merge(now, other.Cells(0))
	if wait := one.Wait(now, rule, 5); wait > emission(rule, 5) {
		t.Fatalf("a full bucket is %d s away", wait/1_000_000_000)
	}
}
